//! Raises the floors of a datacenter after a restore; the holders are stopped.

use std::collections::HashMap;

use aws_sdk_dynamodb::error::SdkError;
use aws_sdk_dynamodb::operation::put_item::PutItemError;

use super::client::DateProbe;
use super::items::{self, Item};
use super::{Reply, Session, StoreError, StoreErrorKind};
use crate::lease::record::{LayoutPin, LeaseRecord, TableIdentity};
use crate::lease::store::FenceRequest;

/// So often an item may change under our hands before we say that a holder is still running.
const ROUNDS: usize = 3;

/// Fences each worker item on exactly what was read, then pins LAYOUT anew: last, so that a fence
/// that stops half-way leaves the datacenter refused as it was.
pub(super) async fn run(
    session: Session<'_>,
    fence: &FenceRequest,
    table: &TableIdentity,
    probe: &DateProbe,
) -> Result<Reply, StoreError> {
    let mut waiting: Vec<u32> = fence.workers().collect();
    for _ in 0..ROUNDS {
        let found = items::inventory(session.query(fence.datacenter_id, probe).await?);
        let mut changed = Vec::new();
        for worker_id in waiting {
            if !fence_one(session, fence, worker_id, found.workers.get(&worker_id), probe).await? {
                changed.push(worker_id);
            }
        }
        waiting = changed;
        if waiting.is_empty() {
            break;
        }
    }
    if !waiting.is_empty() {
        return Err(session.doing("PutItem").error(
            StoreErrorKind::Rejected,
            &format!(
                "worker IDs {waiting:?} of datacenter {} are being written by a holder that still runs: stop all \
                 holders, then fence again",
                fence.datacenter_id
            ),
        ));
    }
    if fence.worker_id.is_none() {
        let pin = items::layout_item(fence.datacenter_id, &LayoutPin::new(&fence.layout, table));
        let put = session.client.put_item().table_name(session.table()).set_item(Some(pin));
        let done = put.customize().interceptor(probe.clone()).send().await;
        done.map_err(|error| session.doing("PutItem").failed(&error))?;
    }
    Ok(Reply::Applied)
}

/// `false` if the item is no longer what was read.
async fn fence_one(
    session: Session<'_>,
    fence: &FenceRequest,
    worker_id: u32,
    found: Option<&Item>,
    probe: &DateProbe,
) -> Result<bool, StoreError> {
    // A broken item is rebuilt: its floor is unknown, and the operator's time stands in for it.
    let before = found.and_then(|item| items::read_worker(item).ok()).unwrap_or(LeaseRecord::unused(worker_id));
    let (condition, names, values) = unchanged(found);
    let answer = session
        .client
        .put_item()
        .table_name(session.table())
        .set_item(Some(items::worker_item(fence.datacenter_id, &fence.fenced(&before))))
        .condition_expression(condition)
        .set_expression_attribute_names(Some(names))
        .set_expression_attribute_values(Some(values).filter(|values| !values.is_empty()))
        .customize()
        .interceptor(probe.clone())
        .send()
        .await;
    match answer {
        Ok(_) => Ok(true),
        Err(SdkError::ServiceError(refused))
            if matches!(refused.err(), PutItemError::ConditionalCheckFailedException(_)) =>
        {
            Ok(false)
        }
        Err(error) => Err(session.doing("PutItem").failed(&error)),
    }
}

/// The condition that an item still is what was read, however broken.
fn unchanged(found: Option<&Item>) -> (String, HashMap<String, String>, Item) {
    let mut names = HashMap::new();
    let mut values = HashMap::new();
    let Some(item) = found else {
        names.insert("#pk".to_owned(), items::PK.to_owned());
        return ("attribute_not_exists(#pk)".to_owned(), names, values);
    };
    let mut conditions = Vec::new();
    for (name, attribute) in items::worker_names() {
        let value = name.replace('#', ":");
        match item.get(&attribute) {
            Some(held) => {
                conditions.push(format!("{name} = {value}"));
                values.insert(value, held.clone());
            }
            None => conditions.push(format!("attribute_not_exists({name})")),
        }
        names.insert(name, attribute);
    }
    (conditions.join(" AND "), names, values)
}
