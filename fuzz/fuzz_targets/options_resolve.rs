#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| leaseflake_fuzzing::options_resolve(data));
