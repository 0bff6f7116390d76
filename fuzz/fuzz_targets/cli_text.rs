#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| leaseflake_fuzzing::cli_text(data));
