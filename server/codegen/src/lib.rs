//! The code in `server/src/generated` is what the proto file says: see `tests/generated.rs`.
