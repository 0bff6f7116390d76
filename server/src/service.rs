//! The two calls of the protocol.

use std::sync::Arc;

use leaseflake::{Error, Id};
use tonic::{Request, Response, Status};

use crate::answer;
use crate::metrics::Metrics;
use crate::pool::{Pool, Refused};
use crate::proto::id_generator_service_server::IdGeneratorService;
use crate::proto::{GenerateIdBatchRequest, GenerateIdBatchResponse, GenerateIdRequest, GenerateIdResponse};

/// Answers calls from the pool.
pub(crate) struct Service {
    pool: Arc<Pool>,
    metrics: Arc<Metrics>,
    most: usize,
}

impl Service {
    /// Answers from this pool, with batches of up to `most`.
    pub(crate) fn new(pool: Arc<Pool>, metrics: Arc<Metrics>, most: usize) -> Service {
        Service { pool, metrics, most }
    }
}

impl From<Refused> for Status {
    fn from(refused: Refused) -> Status {
        answer::status(&refused.error, refused.worker)
    }
}

#[tonic::async_trait]
impl IdGeneratorService for Service {
    async fn generate_id(&self, request: Request<GenerateIdRequest>) -> Result<Response<GenerateIdResponse>, Status> {
        let taken = self.pool.reserve(1)?;
        let id = taken.first().await?;
        self.metrics.issued(&request.get_ref().caller_service, 1);
        let parts = taken.generator.decode(id);
        Ok(Response::new(GenerateIdResponse {
            id: id.as_i64(),
            id_str: text(id.as_i64()),
            timestamp_ms: parts.timestamp_ms,
            datacenter_id: parts.datacenter_id as i32,
            worker_id: parts.worker_id as i32,
        }))
    }

    async fn generate_id_batch(
        &self,
        request: Request<GenerateIdBatchRequest>,
    ) -> Result<Response<GenerateIdBatchResponse>, Status> {
        let request = request.get_ref();
        // Before anything that another time might mend.
        let count = usize::try_from(request.count)
            .ok()
            .filter(|count| (1..=self.most).contains(count))
            .ok_or_else(|| Error::invalid("batch size", request.count, format_args!("1..={}", self.most)))
            .map_err(|error| answer::status(&error, None))?;
        let taken = self.pool.reserve(count)?;
        let first: Id = taken.first().await?;
        self.metrics.issued(&request.caller_service, count as u64);
        let ids: Vec<i64> = (first.as_i64()..).take(count).collect();
        let ids_str = ids.iter().copied().map(text).collect();
        let epoch_offset_ms = taken.generator.layout().epoch_ms();
        Ok(Response::new(GenerateIdBatchResponse { ids, ids_str, epoch_offset_ms }))
    }
}

fn text(id: i64) -> String {
    itoa::Buffer::new().format(id).to_owned()
}
