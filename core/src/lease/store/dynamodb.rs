//! The registry of a fleet: a DynamoDB table.
