//! The table as a whole: what it says of itself, and how it is made.

use std::time::Duration;

use aws_sdk_dynamodb::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_dynamodb::operation::create_table::CreateTableError;
use aws_sdk_dynamodb::types::{
    AttributeDefinition, BillingMode, KeySchemaElement, KeyType, MultiRegionConsistency, ScalarAttributeType,
    TableDescription, TableStatus,
};

use super::config::region_of_arn;
use super::{Described, Session, StoreError, StoreErrorKind, items, shown};
use crate::lease::record::TableIdentity;

/// How long a new table may take to become active.
const ACTIVE_WITHIN: Duration = Duration::from_secs(60);
const LOOK_EVERY: Duration = Duration::from_millis(500);

/// What `create_table` found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TableCreation {
    /// The table is new.
    Created,
    /// A table of that name with the right keys was there.
    AlreadyThere,
}

/// Asks the table who it is, and refuses one that cannot be a registry.
pub(super) async fn describe(session: Session<'_>) -> Result<Described, StoreError> {
    let answer = session.client.describe_table().table_name(session.table()).send().await;
    let description = match answer {
        Ok(answer) => answer.table.unwrap_or_else(|| TableDescription::builder().build()),
        Err(SdkError::ServiceError(refused)) if refused.err().code() == Some("AccessDeniedException") => {
            return Ok(not_permitted(&session));
        }
        Err(error) => return Err(session.doing("DescribeTable").failed(&error)),
    };
    check_keys(&session, &description)?;
    let region = description
        .table_arn()
        .and_then(region_of_arn)
        // Emulators write a word of their own, such as `ddblocal`, and take any signature.
        .filter(|region| is_region_name(region))
        .unwrap_or_else(|| session.region.to_owned());
    check_replicas(&session, &description, &region)?;
    let table_id = description.table_id().unwrap_or_default().to_owned();
    let no_transactions = description.multi_region_consistency() == Some(&MultiRegionConsistency::Strong);
    Ok(Described { table: TableIdentity { region, table_id }, warning: None, no_transactions })
}

/// Whether this looks like a region of AWS, known or new: `us-east-1`, `us-gov-west-1`.
fn is_region_name(text: &str) -> bool {
    text.split('-').count() >= 3 && text.ends_with(|last: char| last.is_ascii_digit())
}

/// DynamoDB checks the region of a signature, so the region we sign for is the table's.
fn not_permitted(session: &Session<'_>) -> Described {
    Described {
        table: TableIdentity { region: session.region.to_owned(), table_id: String::new() },
        no_transactions: false,
        warning: Some(format!(
            "table {}: dynamodb:DescribeTable is not permitted, so a restored table and replicas in other regions \
             cannot be told: allow it, as deploy/aws does",
            shown(session.table())
        )),
    }
}

fn check_keys(session: &Session<'_>, description: &TableDescription) -> Result<(), StoreError> {
    let schema = description.key_schema();
    // An answer that leaves the schema out proves nothing.
    if schema.is_empty() {
        return Ok(());
    }
    let is = |name: &str, kind: &KeyType| {
        schema.iter().any(|key| key.attribute_name() == name && key.key_type() == kind)
            && description.attribute_definitions().iter().any(|attribute| {
                attribute.attribute_name() == name && *attribute.attribute_type() == ScalarAttributeType::S
            })
    };
    if schema.len() == 2 && is(items::PK, &KeyType::Hash) && is(items::SK, &KeyType::Range) {
        return Ok(());
    }
    let names: Vec<String> = schema.iter().map(|key| shown(key.attribute_name())).collect();
    Err(session.doing("DescribeTable").error(
        StoreErrorKind::Rejected,
        &format!(
            "its keys are {}, but a registry has PK and SK, both strings: name another table; `leaseflake registry \
             create` makes one",
            names.join(" and ")
        ),
    ))
}

/// A replica that is written on its own and catches up later could give one worker ID to two.
fn check_replicas(session: &Session<'_>, description: &TableDescription, region: &str) -> Result<(), StoreError> {
    let others: Vec<String> = description
        .replicas()
        .iter()
        .filter_map(|replica| replica.region_name())
        .filter(|other| *other != region)
        .map(shown)
        .collect();
    if others.is_empty() || description.multi_region_consistency() == Some(&MultiRegionConsistency::Strong) {
        return Ok(());
    }
    Err(session.doing("DescribeTable").error(
        StoreErrorKind::Rejected,
        &format!(
            "it has eventually consistent replicas in {}, which could give one worker ID to two processes: use a \
             table without replicas, or a global table with multi-region strong consistency (MRSC)",
            others.join(", ")
        ),
    ))
}

/// Creates the table, or checks the one that is there; waits until it is active.
pub(super) async fn create(session: Session<'_>) -> Result<TableCreation, StoreError> {
    let answer = session
        .client
        .create_table()
        .table_name(session.config.table_name())
        .billing_mode(BillingMode::PayPerRequest)
        .deletion_protection_enabled(true)
        .set_attribute_definitions(Some(vec![string_attribute(items::PK), string_attribute(items::SK)]))
        .set_key_schema(Some(vec![key(items::PK, KeyType::Hash), key(items::SK, KeyType::Range)]))
        .send()
        .await;
    let creation = match answer {
        Ok(_) => TableCreation::Created,
        Err(SdkError::ServiceError(refused))
            if matches!(refused.err(), CreateTableError::ResourceInUseException(_)) =>
        {
            TableCreation::AlreadyThere
        }
        Err(error) => return Err(session.doing("CreateTable").failed(&error)),
    };
    let active = tokio::time::timeout(ACTIVE_WITHIN, until_active(session)).await;
    let description = active.unwrap_or_else(|_| {
        let message = format!("not active within {} s; look again later", ACTIVE_WITHIN.as_secs());
        Err(session.doing("CreateTable").error(StoreErrorKind::Unavailable, &message))
    })?;
    check_keys(&session, &description)?;
    check_replicas(&session, &description, session.region)?;
    Ok(creation)
}

async fn until_active(session: Session<'_>) -> Result<TableDescription, StoreError> {
    loop {
        match session.client.describe_table().table_name(session.table()).send().await {
            Ok(answer) => {
                if let Some(description) = answer.table
                    && description.table_status() == Some(&TableStatus::Active)
                {
                    return Ok(description);
                }
            }
            // For a moment a new table may not be there for everyone.
            Err(SdkError::ServiceError(refused)) if refused.err().is_resource_not_found_exception() => {}
            Err(error) => {
                let failed = session.doing("DescribeTable").failed(&error);
                if failed.kind != StoreErrorKind::Unavailable {
                    return Err(failed);
                }
            }
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
}

// A builder fails only where a required part was left out, and none is.
fn string_attribute(name: &str) -> AttributeDefinition {
    AttributeDefinition::builder()
        .attribute_name(name)
        .attribute_type(ScalarAttributeType::S)
        .build()
        .expect("name and type are given")
}

fn key(name: &str, kind: KeyType) -> KeySchemaElement {
    KeySchemaElement::builder().attribute_name(name).key_type(kind).build().expect("name and type are given")
}
