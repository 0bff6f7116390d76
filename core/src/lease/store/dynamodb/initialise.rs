//! Creates a datacenter's items: all at once, or not at all as far as anybody can tell.

use std::time::Duration;

use aws_sdk_dynamodb::error::SdkError;
use aws_sdk_dynamodb::operation::transact_write_items::TransactWriteItemsError;
use aws_sdk_dynamodb::types::{ConditionCheck, Put, TransactWriteItem};

use super::client::DateProbe;
use super::items::{self, Item};
use super::{Described, Reply, Session, StoreError, StoreErrorKind, shown};
use crate::layout::Layout;
use crate::lease::record::{LayoutPin, LeaseRecord};

/// DynamoDB takes so many items in one transaction; one is LAYOUT, or the check that it is absent.
const WORKERS_PER_TRANSACTION: usize = 99;
/// So often others may get in between before the keeper is asked to come back later.
const ROUNDS: usize = 5;

/// Creates whatever is missing of an uninitialised datacenter, LAYOUT with the last of it.
pub(super) async fn run(
    session: Session<'_>,
    datacenter_id: u32,
    layout: &Layout,
    described: &Described,
    probe: &DateProbe,
) -> Result<Reply, StoreError> {
    let pin = items::layout_item(datacenter_id, &LayoutPin::new(layout, &described.table));
    for _ in 0..ROUNDS {
        let found = items::inventory(session.query(datacenter_id, probe).await?);
        if found.has_layout {
            return Ok(Reply::Applied);
        }
        if found.used {
            return Err(used_without_layout(&session, datacenter_id));
        }
        if described.no_transactions {
            return Err(without_transactions(&session, datacenter_id));
        }
        let missing: Vec<Item> = (0..=layout.max_worker_id())
            .filter(|worker_id| !found.workers.contains_key(worker_id))
            .map(|worker_id| items::worker_item(datacenter_id, &LeaseRecord::unused(worker_id)))
            .collect();
        if create(session, datacenter_id, missing, &pin, probe).await? {
            return Ok(Reply::Applied);
        }
        // Somebody else is at it too: look again a little later, each at another time.
        tokio::time::sleep(Duration::from_millis(10 + random_below(40))).await;
    }
    Err(session.doing("TransactWriteItems").error(
        StoreErrorKind::Unavailable,
        &format!("datacenter {datacenter_id} is being initialised by others; try again"),
    ))
}

/// `false` if a condition did not hold or another transaction was in the way.
async fn create(
    session: Session<'_>,
    datacenter_id: u32,
    mut missing: Vec<Item>,
    pin: &Item,
    probe: &DateProbe,
) -> Result<bool, StoreError> {
    loop {
        let rest = missing.split_off(missing.len().min(WORKERS_PER_TRANSACTION));
        let last = rest.is_empty();
        let mut writes = Vec::with_capacity(missing.len() + 1);
        for item in missing {
            writes.push(put_if_absent(&session, item)?);
        }
        writes.push(if last { put_if_absent(&session, pin.clone())? } else { layout_absent(&session, datacenter_id)? });
        if !transact(session, writes, probe).await? {
            return Ok(false);
        }
        if last {
            return Ok(true);
        }
        missing = rest;
    }
}

fn put_if_absent(session: &Session<'_>, item: Item) -> Result<TransactWriteItem, StoreError> {
    let put = Put::builder()
        .table_name(session.table())
        .set_item(Some(item))
        .condition_expression("attribute_not_exists(#pk)")
        .expression_attribute_names("#pk", items::PK)
        .build();
    match put {
        Ok(put) => Ok(TransactWriteItem::builder().put(put).build()),
        Err(error) => Err(session.doing("TransactWriteItems").error(StoreErrorKind::Rejected, &error.to_string())),
    }
}

fn layout_absent(session: &Session<'_>, datacenter_id: u32) -> Result<TransactWriteItem, StoreError> {
    let check = ConditionCheck::builder()
        .table_name(session.table())
        .set_key(Some(items::key(datacenter_id, items::LAYOUT)))
        .condition_expression("attribute_not_exists(#pk)")
        .expression_attribute_names("#pk", items::PK)
        .build();
    match check {
        Ok(check) => Ok(TransactWriteItem::builder().condition_check(check).build()),
        Err(error) => Err(session.doing("TransactWriteItems").error(StoreErrorKind::Rejected, &error.to_string())),
    }
}

async fn transact(session: Session<'_>, writes: Vec<TransactWriteItem>, probe: &DateProbe) -> Result<bool, StoreError> {
    let answer = session
        .client
        .transact_write_items()
        .set_transact_items(Some(writes))
        // Of the kernel, not of a generator in memory, which a fork would copy.
        .client_request_token(token())
        .customize()
        .interceptor(probe.clone())
        .send()
        .await;
    match answer {
        Ok(_) => Ok(true),
        Err(SdkError::ServiceError(refused)) => match refused.err() {
            TransactWriteItemsError::TransactionCanceledException(cancelled) => {
                let codes: Vec<&str> =
                    cancelled.cancellation_reasons().iter().filter_map(|reason| reason.code()).collect();
                let contended = |code: &&str| {
                    matches!(*code, "None" | "ConditionalCheckFailed" | "TransactionConflict" | "DuplicateItem")
                };
                match codes.iter().find(|code| !contended(code)) {
                    None => Ok(false),
                    Some(code) => Err(session.doing("TransactWriteItems").answered(400, Some(code), None)),
                }
            }
            TransactWriteItemsError::TransactionInProgressException(_) => Ok(false),
            _ => Err(session.doing("TransactWriteItems").failed(&SdkError::ServiceError(refused))),
        },
        Err(error) => Err(session.doing("TransactWriteItems").failed(&error)),
    }
}

/// Item by item it could stop half-way and go on when an item had been used and deleted meanwhile,
/// with a floor of 0. A fence gives each item a floor of now, and is run by one operator.
fn without_transactions(session: &Session<'_>, datacenter_id: u32) -> StoreError {
    StoreError::new(
        StoreErrorKind::Rejected,
        format!(
            "table {}: datacenter {datacenter_id} is not initialised, and a global table with multi-region strong \
             consistency takes no transactions: run `leaseflake registry fence --at now --store {} --datacenter-id \
             {datacenter_id}` once, before the first process",
            shown(session.table()),
            session.config.store_argument()
        ),
    )
}

fn used_without_layout(session: &Session<'_>, datacenter_id: u32) -> StoreError {
    StoreError::new(
        StoreErrorKind::Rejected,
        format!(
            "table {}: datacenter {datacenter_id} has used worker items but no LAYOUT, so somebody deleted it: stop the \
             holders and run `leaseflake registry fence --at now --store {} --datacenter-id {datacenter_id}`",
            shown(session.table()),
            session.config.store_argument()
        ),
    )
}

fn token() -> String {
    let mut bytes = [0_u8; 16];
    // Without randomness the SDK's own token would do as well: the conditions keep this right.
    let _ = getrandom::fill(&mut bytes);
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn random_below(limit: u64) -> u64 {
    let mut bytes = [0_u8; 8];
    let _ = getrandom::fill(&mut bytes);
    u64::from_le_bytes(bytes) % limit
}
