//! As `short.rs`; in a process of its own, since it sets variables of the environment.

mod common;

#[test]
fn whatever_dynamodb_answers_it_is_an_answer_or_an_error() {
    common::holds("dynamodb_items", leaseflake_fuzzing::dynamodb_items, 3_000);
}
