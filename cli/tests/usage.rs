//! What is asked for wrongly: exit code 1, and a message that names the option, the value and what
//! is allowed.

mod common;

use common::{Place, bare, run};

#[test]
fn bad_options_are_named_with_their_value_and_what_is_allowed() {
    let place = Place::new();
    let tomorrow = (std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_millis()
        + 86_400_000)
        .to_string();
    let cases: &[(&[&str], &[&str])] = &[
        (&["--store", "redis://localhost"], &["store", "redis://localhost", "dynamodb://", "sqlite:PATH"]),
        (&["--store", ""], &["store", "\"\"", "leave --store out"]),
        (&["--datacenter-id", "32"], &["datacenter_id", "\"32\"", "0..=31"]),
        (&["--datacenter-id", "-1"], &["datacenter_id", "\"-1\""]),
        (&["--datacenter-id", "west"], &["datacenter_id", "\"west\"", "auto"]),
        (&["--slot", "-1"], &["slot", "\"-1\"", "0..=1023"]),
        (&["--slot", "one"], &["slot", "\"one\"", "0..=1023"]),
        (&["--batch", "0"], &["batch", "\"0\"", "1..=1000"]),
        (&["--batch", "-1"], &["batch", "\"-1\"", "1..=1000"]),
        (&["--batch", "1001"], &["batch", "\"1001\"", "1..=1000"]),
        (&["--batch", "257", "--layout", "45-5-5-8"], &["batch", "\"257\"", "1..=256"]),
        (&["--count", "0"], &["count", "\"0\"", "unlimited"]),
        (&["--count", "-1"], &["count", "\"-1\"", "unlimited"]),
        (&["--count", "many"], &["count", "\"many\"", "unlimited"]),
        (&["--count", "99999999999999999999"], &["count", "unlimited"]),
        (&["--lease-ttl-ms", "15000"], &["lease_ttl_ms", "15000", "heartbeat_interval_ms + safety_margin_ms"]),
        (&["--lease-ttl-ms", "soon"], &["lease_ttl_ms", "\"soon\"", "an integer"]),
        (&["--lease-ttl-max-ms", "10"], &["lease_ttl_max_ms", "10", "30000"]),
        (&["--epoch-ms", &tomorrow], &["epoch_ms", &tomorrow, "not in the future"]),
        (&["--epoch-ms", "-1"], &["epoch_ms", "-1"]),
        (&["--epoch-ms", "monday"], &["epoch_ms", "monday", "milliseconds"]),
        (&["--layout", "41-5-5-13"], &["layout", "41-5-5-13", "63"]),
        (&["--layout", "text"], &["layout", "text", "41-5-5-12"]),
        (&["--sequence-jitter", "4096"], &["sequence_jitter", "4096", "0..=4095"]),
        (&["--format", "xml"], &["xml", "--format", "decimal, json, csv"]),
        (&["--stroe", "sqlite:"], &["--stroe", "--store"]),
        (&["surplus"], &["surplus"]),
        (&["--store", "sqlite:\u{7}"], &["store", "control"]),
    ];
    for (arguments, parts) in cases {
        let ended = place.run(&[&["generate"][..], arguments].concat());
        ended.refused(1, &["leaseflake: INVALID_ARGUMENT: "]);
        ended.refused(1, parts);
        assert_eq!(ended.out, "", "{arguments:?}");
        assert!(!ended.err.contains('\u{7}'), "{arguments:?}");
    }
}

#[cfg(feature = "dynamodb")]
#[test]
fn an_unknown_query_key_of_a_store_is_named() {
    let ended = run(bare(&["generate", "--store", "dynamodb://ids?regoin=us-east-1"]), "");
    ended.refused(1, &["INVALID_ARGUMENT", "regoin", "region, endpoint"]);
}

#[cfg(not(feature = "dynamodb"))]
#[test]
fn a_store_that_this_build_lacks_is_named() {
    run(bare(&["generate", "--store", "dynamodb://ids"]), "").refused(1, &["INVALID_ARGUMENT", "dynamodb"]);
    run(bare(&["registry", "create", "--store", "dynamodb://ids"]), "").refused(1, &["INVALID_ARGUMENT", "dynamodb"]);
}

#[test]
fn a_bad_variable_is_named_as_such_and_an_option_wins_over_it() {
    let place = Place::new();
    let mut command = place.command(&["generate"]);
    command.env("LEASEFLAKE_DATACENTER_ID", "99999");
    run(command, "").refused(1, &["LEASEFLAKE_DATACENTER_ID", "99999"]);
    let mut command = place.command(&["generate", "--format", "csv", "--datacenter-id", "7"]);
    command.env("LEASEFLAKE_DATACENTER_ID", "8").env("LEASEFLAKE_PORT", "tcp://10.0.0.1:80");
    assert!(run(command, "").good().lines().nth(1).unwrap().contains(",7,"));
}

#[test]
fn help_and_version_are_no_fault_and_no_command_is() {
    let version = run(bare(&["--version"]), "");
    assert_eq!(version.good(), format!("leaseflake {}\n", env!("CARGO_PKG_VERSION")));
    let help = run(bare(&["--help"]), "").good();
    assert!(
        help.contains("13  NO_WORKER_ID") && help.contains("generate") && help.contains("LEASEFLAKE_LOG"),
        "{help}"
    );
    for command in ["generate", "decode", "registry", "doctor", "completions"] {
        let help = run(bare(&[command, "--help"]), "").good();
        assert!(help.contains("Usage: leaseflake"), "{help}");
    }
    let nothing = run(bare(&[]), "");
    assert_eq!((nothing.code(), nothing.out.as_str()), (Some(1), ""));
    assert!(nothing.err.contains("Usage: leaseflake <COMMAND>"), "{nothing:?}");
    run(bare(&["generat"]), "").refused(1, &["INVALID_ARGUMENT", "generat", "generate"]);
}

#[test]
fn every_shell_gets_its_completions() {
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let script = run(bare(&["completions", shell]), "").good();
        assert!(script.contains("lease-ttl-ms") && script.contains("fence"), "{shell}");
    }
    run(bare(&["completions", "cmd"]), "").refused(1, &["cmd", "bash"]);
}
