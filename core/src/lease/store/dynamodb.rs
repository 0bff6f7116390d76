//! The registry of a fleet: a DynamoDB table.
//!
//! One conditional `UpdateItem` for a claim, heartbeat or release, one strongly consistent `Query`
//! to read a datacenter, one transaction to initialise it. Nothing is retried here: a conditional
//! write whose answer was lost may have succeeded, and only the keeper knows what to make of that.

mod client;
mod config;
mod credentials;
mod errors;
mod fence;
mod http;
mod initialise;
mod items;
mod regions;
mod table;

use std::time::Duration;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::error::SdkError;
use aws_sdk_dynamodb::operation::update_item::UpdateItemError;
use aws_sdk_dynamodb::types::{AttributeValue, ReturnValuesOnConditionCheckFailure};

use super::{Answer, LeaseStore, LeaseWrite, Reply, Request, StoreError, StoreErrorKind};
use crate::layout::Layout;
use crate::lease::record::{DatacenterView, TableIdentity};
use client::{Connection, DateProbe};
pub use config::DynamoDbConfig;
use errors::{Doing, shown};
use items::Item;
pub use regions::{REGIONS, datacenter_of_region};
pub use table::TableCreation;

/// A read stops after this many pages of 1 MB: no registry is that large.
const MAX_PAGES: usize = 64;
/// So many skipped items are named one by one.
const MAX_WARNINGS: usize = 20;

/// A [`LeaseStore`] over one DynamoDB table.
///
/// Making one does nothing: the runtime, the connection and the credentials are made by the first
/// call, in the thread that calls. So one made after a fork shares nothing with the parent's.
pub struct DynamoDbStore {
    config: DynamoDbConfig,
    connection: Option<Connection>,
    described: Option<Described>,
}

/// What `DescribeTable` said, once per store.
#[derive(Clone, Debug)]
struct Described {
    table: TableIdentity,
    warning: Option<String>,
    /// It is replicated to other regions, strongly: such a table takes no transactions.
    no_transactions: bool,
}

impl DynamoDbStore {
    /// A store on this table; nothing is asked yet.
    pub fn new(config: DynamoDbConfig) -> DynamoDbStore {
        DynamoDbStore { config, connection: None, described: None }
    }

    /// The table and how it is reached.
    pub fn config(&self) -> &DynamoDbConfig {
        &self.config
    }

    /// Creates the table: on-demand, protected against deletion, without a TTL. Waits until it is
    /// active, for at most a minute. A table that is there already is checked and left as it is.
    ///
    /// # Errors
    ///
    /// `STORE_REJECTED` with the IAM action to allow, or where a table of that name has other
    /// keys; `STORE_UNAVAILABLE` where DynamoDB does not answer.
    pub fn create_table(&mut self) -> Result<TableCreation, StoreError> {
        self.connected()?;
        let connection = self.connection.as_ref().expect("made by connected()");
        let created = connection.runtime.block_on(table::create(connection.session(&self.config)))?;
        self.described = None;
        Ok(created)
    }

    /// Makes the connection if there is none, and sees that its credentials are fresh.
    fn connected(&mut self) -> Result<(), StoreError> {
        if self.connection.is_none() {
            self.connection = Some(Connection::open(&self.config)?);
        }
        let connection = self.connection.as_mut().expect("made above");
        connection.refresh_credentials(&self.config)?;
        connection.notice_closed_sockets();
        Ok(())
    }
}

/// What an operation works with.
#[derive(Clone, Copy)]
struct Session<'a> {
    client: &'a Client,
    config: &'a DynamoDbConfig,
    /// The region that requests are signed for.
    region: &'a str,
}

impl Session<'_> {
    fn table(&self) -> &str {
        self.config.table()
    }

    fn doing(&self, operation: &'static str) -> Doing<'_> {
        Doing { config: self.config, operation }
    }

    /// All items of a datacenter as they are.
    async fn query(&self, datacenter_id: u32, probe: &DateProbe) -> Result<Vec<Item>, StoreError> {
        let mut found = Vec::new();
        let mut from = None;
        for _ in 0..MAX_PAGES {
            let page = self
                .client
                .query()
                .table_name(self.table())
                .consistent_read(true)
                .key_condition_expression("#pk = :pk")
                .expression_attribute_names("#pk", items::PK)
                .expression_attribute_values(":pk", AttributeValue::S(items::partition_key(datacenter_id)))
                .set_exclusive_start_key(from)
                .customize()
                .interceptor(probe.clone())
                .send()
                .await
                .map_err(|error| self.doing("Query").failed(&error))?;
            found.extend(page.items.unwrap_or_default());
            from = page.last_evaluated_key.filter(|key| !key.is_empty());
            if from.is_none() {
                return Ok(found);
            }
        }
        Err(StoreError::new(
            StoreErrorKind::Rejected,
            format!(
                "table {}: datacenter {datacenter_id} holds more than {MAX_PAGES} pages of items; \
                 use a table of its own for Leaseflake",
                shown(self.table())
            ),
        ))
    }

    async fn write(&self, write: &LeaseWrite, probe: &DateProbe) -> Result<Reply, StoreError> {
        let next = &write.next;
        let mut request = self
            .client
            .update_item()
            .table_name(self.table())
            .set_key(Some(items::worker_key(write.datacenter_id, next.worker_id)))
            .update_expression(
                "SET #instance = :instance, #ip = :ip, #expiry = :expiry, #epoch = :epoch, \
                 #version = :version, #renewal = :renewal",
            )
            .set_expression_attribute_names(Some(items::worker_names()))
            .set_expression_attribute_values(Some(items::worker_values(next)))
            .expression_attribute_values(":expected_epoch", items::number(write.expected_epoch))
            .expression_attribute_values(":expected_version", items::number(write.expected_version))
            .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld);
        let mut condition = "#epoch = :expected_epoch AND #version = :expected_version".to_owned();
        if let Some(now_ms) = write.expired_before {
            condition.push_str(" AND #expiry < :now_ms");
            request = request.expression_attribute_values(":now_ms", items::number(now_ms));
        }
        let answer = request.condition_expression(condition).customize().interceptor(probe.clone()).send().await;
        match answer {
            Ok(_) => Ok(Reply::Applied),
            Err(SdkError::ServiceError(refused)) if refused.err().is_conditional_check_failed_exception() => {
                // An item that we cannot read is nobody's lease: like one that is missing.
                let UpdateItemError::ConditionalCheckFailedException(failure) = refused.err() else {
                    return Ok(Reply::Refused(None));
                };
                let item = failure.item().and_then(|item| items::read_worker(item).ok());
                Ok(Reply::Refused(item))
            }
            Err(error) => Err(self.doing("UpdateItem").failed(&error)),
        }
    }

    async fn view(&self, datacenter_id: u32, layout: &Layout, probe: &DateProbe) -> Result<DatacenterView, StoreError> {
        let found = self.query(datacenter_id, probe).await?;
        items::view(datacenter_id, layout, &found, self.config)
    }
}

impl LeaseStore for DynamoDbStore {
    fn call(&mut self, request: &Request) -> Answer {
        if let Err(error) = self.connected() {
            return Answer::undated(Err(error));
        }
        let connection = self.connection.as_ref().expect("made by connected()");
        let session = connection.session(&self.config);
        let known = self.described.clone();
        let probe = DateProbe::default();
        let patience = self.config.timeout() * 4;
        let work = async {
            // A plain write needs no word from the table; everything else runs beside the question.
            if let Request::Write(write) = request {
                return (session.write(write, &probe).await, None);
            }
            let describe = async {
                match known {
                    Some(described) => Ok(described),
                    None => table::describe(session).await,
                }
            };
            match request {
                Request::Write(_) => unreachable!("answered above"),
                Request::Read { datacenter_id, layout } => {
                    let (view, described) = tokio::join!(session.view(*datacenter_id, layout, &probe), describe);
                    (read_reply(view, &described), described.ok())
                }
                Request::Initialise { datacenter_id, layout } => match describe.await {
                    Ok(described) => {
                        let done = initialise::run(session, *datacenter_id, layout, &described, &probe).await;
                        (done, Some(described))
                    }
                    Err(error) => (Err(error), None),
                },
                Request::Fence(fence) => match describe.await {
                    Ok(described) => (fence::run(session, fence, &described.table, &probe).await, Some(described)),
                    Err(error) => (Err(error), None),
                },
            }
        };
        let limit = match request {
            // Many writes, by an operator who waits for them.
            Request::Fence(_) | Request::Initialise { .. } => patience.max(Duration::from_secs(60)),
            _ => patience,
        };
        let outcome = connection.runtime.block_on(async { tokio::time::timeout(limit, work).await });
        let (result, described) = outcome.unwrap_or_else(|_| {
            let message = format!("table {}: not done within {} ms", shown(self.config.table()), limit.as_millis());
            (Err(StoreError::new(StoreErrorKind::Unavailable, message)), None)
        });
        if self.described.is_none() {
            self.described = described;
        }
        Answer { date_ms: probe.date_ms(), result }
    }

    fn describe(&mut self) -> Result<TableIdentity, StoreError> {
        if let Some(described) = &self.described {
            return Ok(described.table.clone());
        }
        self.connected()?;
        let connection = self.connection.as_ref().expect("made by connected()");
        let described = connection.runtime.block_on(table::describe(connection.session(&self.config)))?;
        let table = described.table.clone();
        self.described = Some(described);
        Ok(table)
    }

    fn auto_datacenters(&mut self, layout: &Layout) -> Result<Vec<u32>, StoreError> {
        // DynamoDB refuses a signature for another region than its own, so the region that we sign
        // for is the table's, and a question that would cost a round trip is spared. Whoever
        // answers at an endpoint of its own is asked.
        if self.described.is_none() && !client::has_endpoint(&self.config) {
            self.connected()?;
            let connection = self.connection.as_ref().expect("made by connected()");
            return regions::auto_datacenters(connection.session(&self.config).region, layout);
        }
        let table = self.describe()?;
        regions::auto_datacenters(&table.region, layout)
    }

    fn name(&self) -> String {
        format!("dynamodb://{}", self.config.table())
    }
}

/// The answer to a read: both questions must have been answered.
fn read_reply(
    view: Result<DatacenterView, StoreError>,
    described: &Result<Described, StoreError>,
) -> Result<Reply, StoreError> {
    let mut view = view?;
    let described = described.as_ref().map_err(Clone::clone)?;
    view.table = described.table.clone();
    view.warnings.extend(described.warning.clone());
    Ok(Reply::View(view))
}
