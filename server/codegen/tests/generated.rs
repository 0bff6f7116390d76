//! The committed code is what the proto file says, and the proto file is what was agreed.

use std::path::{Path, PathBuf};
use std::{env, fs};

const PROTO: &str = "hispeeddesign/idgen/v1/id_generator.proto";

/// The service as it was agreed: packages, names and field numbers never change.
const AGREED: &str = r#"
syntax = "proto3";
package hispeeddesign.idgen.v1;
service IdGeneratorService {
  rpc GenerateId (GenerateIdRequest) returns (GenerateIdResponse);
  rpc GenerateIdBatch (GenerateIdBatchRequest) returns (GenerateIdBatchResponse);
}
message GenerateIdRequest {
  string caller_service = 1;
}
message GenerateIdResponse {
  int64 id = 1;
  string id_str = 2;
  int64 timestamp_ms = 3;
  int32 datacenter_id = 4;
  int32 worker_id = 5;
}
message GenerateIdBatchRequest {
  int32 count = 1;
  string caller_service = 2;
}
message GenerateIdBatchResponse {
  repeated int64 ids = 1;
  repeated string ids_str = 2;
  int64 epoch_offset_ms = 3;
}
"#;

/// The crate of the service.
fn folder() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
}

/// The words of a proto file, without its comments.
fn words(text: &str) -> Vec<&str> {
    text.lines().map(|line| line.split("//").next().unwrap_or_default()).flat_map(str::split_whitespace).collect()
}

/// Everything that is generated, as (name, bytes).
fn generate(into: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut compiler = protox::Compiler::new([folder().join("proto")]).expect("the folder is there");
    compiler.include_source_info(true).open_file(PROTO).unwrap_or_else(|error| panic!("{PROTO}: {error}"));
    let set = compiler.encode_file_descriptor_set();
    tonic_prost_build::configure()
        .build_transport(false)
        .out_dir(into)
        .compile_fds(compiler.file_descriptor_set())
        .expect("a proto file that compiles");
    let mut files: Vec<_> = fs::read_dir(into)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .map(|path| (PathBuf::from(path.file_name().unwrap()), fs::read(&path).unwrap()))
        .collect();
    files.push(("id_generator.binpb".into(), set));
    files.sort();
    files
}

#[test]
fn the_committed_code_is_what_the_proto_file_says() {
    let fresh = tempfile::tempdir().unwrap();
    let committed = folder().join("src/generated");
    for (name, bytes) in generate(fresh.path()) {
        let path = committed.join(&name);
        if env::var_os("LEASEFLAKE_WRITE_GENERATED").is_some() {
            fs::create_dir_all(&committed).unwrap();
            fs::write(&path, &bytes).unwrap();
        }
        let there = fs::read(&path).unwrap_or_default();
        assert!(there == bytes, "{} is not what {PROTO} says: run `make proto`", path.display());
    }
}

#[test]
fn the_proto_file_is_the_one_that_was_agreed_but_for_comments() {
    let text = fs::read_to_string(folder().join("proto").join(PROTO)).unwrap();
    assert_eq!(words(&text), words(AGREED));
}
