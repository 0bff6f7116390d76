//! The seeds of each kind of input, and some thousands of mutations of them, in every run of the tests.

mod common;

use common::holds;

#[test]
fn what_people_give_to_the_command_is_read_or_refused() {
    holds("cli_text", leaseflake_fuzzing::cli_text, 20_000);
}

#[test]
fn the_text_of_an_id_has_one_spelling() {
    holds("id_text", leaseflake_fuzzing::id_text, 20_000);
}

#[test]
fn a_metadata_service_cannot_spoil_who_we_are() {
    holds("metadata", leaseflake_fuzzing::metadata, 4_000);
}

#[test]
fn options_that_are_wrong_together_are_refused_and_no_others() {
    holds("options_resolve", leaseflake_fuzzing::options_resolve, 20_000);
}

#[test]
fn the_text_of_an_option_is_taken_or_refused_by_name_and_value() {
    holds("options_text", leaseflake_fuzzing::options_text, 20_000);
}

#[test]
fn whatever_a_network_sends_others_are_served() {
    holds("server_input", leaseflake_fuzzing::server_input, 10_000);
}

#[test]
fn an_option_of_the_service_is_taken_or_refused_by_name_and_value() {
    holds("server_options", leaseflake_fuzzing::server_options, 20_000);
}

#[test]
fn whatever_a_registry_file_holds_it_is_an_answer() {
    holds("sqlite_file", leaseflake_fuzzing::sqlite_file, 3_000);
}

#[test]
fn whatever_the_rows_of_a_registry_hold_a_fence_heals_them() {
    holds("sqlite_items", leaseflake_fuzzing::sqlite_items, 3_000);
}
