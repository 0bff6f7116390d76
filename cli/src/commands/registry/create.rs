//! `leaseflake registry create`: the DynamoDB table.

use clap::Args;
use leaseflake::Error;

use crate::args::RegistryArgs;
use crate::failure::Failure;

/// Make the DynamoDB table.
///
/// On-demand billing, protected against deletion, and without a TTL: items carry the floors that
/// keep IDs from repeating and must never vanish. A table that is there already is checked and left
/// as it is. Waits until the table is active. deploy/aws holds the same as a template.
#[derive(Args)]
pub(super) struct Create {
    #[command(flatten)]
    registry: RegistryArgs,
}

impl Create {
    pub(super) fn run(self) -> Result<(), Failure> {
        let options = self.registry.options()?;
        let store = options.get("store").unwrap_or_default();
        match store.strip_prefix("dynamodb://") {
            Some(table) => create(table),
            None => Err(Error::invalid(
                "store",
                store,
                "dynamodb://TABLE; a SQLite file needs no table, `leaseflake registry init` makes it",
            )
            .into()),
        }
    }
}

#[cfg(feature = "dynamodb")]
fn create(text_after_scheme: &str) -> Result<(), Failure> {
    use leaseflake::lease::store::dynamodb::{DynamoDbConfig, DynamoDbStore, TableCreation};

    let config = DynamoDbConfig::parse(text_after_scheme)?;
    let name = config.table().to_owned();
    let created = DynamoDbStore::new(config).create_table().map_err(Error::from)?;
    crate::output::print(&match created {
        TableCreation::Created => format!("table {name} created: on-demand, protected against deletion, no TTL\n"),
        TableCreation::AlreadyThere => format!("table {name} was there already, with the right keys\n"),
    })
}

#[cfg(not(feature = "dynamodb"))]
fn create(_: &str) -> Result<(), Failure> {
    Err(Error::invalid("store", "dynamodb", "a store that this build has; it was built without `dynamodb`").into())
}
