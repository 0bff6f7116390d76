//! An echo service: tonic's own server, the same messages, and no work.

use std::net::{Ipv4Addr, SocketAddr};

use leaseflake_server::proto::id_generator_service_server::{IdGeneratorService, IdGeneratorServiceServer};
use leaseflake_server::proto::{
    GenerateIdBatchRequest, GenerateIdBatchResponse, GenerateIdRequest, GenerateIdResponse,
};
use tokio::net::TcpListener;
use tonic::transport::Server;
use tonic::transport::server::TcpIncoming;
use tonic::{Request, Response, Status};

struct Echo;

#[tonic::async_trait]
impl IdGeneratorService for Echo {
    async fn generate_id(&self, _: Request<GenerateIdRequest>) -> Result<Response<GenerateIdResponse>, Status> {
        // As long as a true answer.
        let id = 123_456_789_012_345_678;
        Ok(Response::new(GenerateIdResponse {
            id,
            id_str: id.to_string(),
            timestamp_ms: 1_796_000_000_000,
            datacenter_id: 1,
            worker_id: 17,
        }))
    }

    async fn generate_id_batch(
        &self,
        _: Request<GenerateIdBatchRequest>,
    ) -> Result<Response<GenerateIdBatchResponse>, Status> {
        Err(Status::unimplemented("nothing is compared with it"))
    }
}

/// Serves until the process ends.
pub(crate) async fn start() -> SocketAddr {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.expect("a free port");
    let address = listener.local_addr().expect("it listens");
    let incoming = TcpIncoming::from(listener).with_nodelay(Some(true));
    let service = IdGeneratorServiceServer::new(Echo);
    tokio::spawn(async move { Server::builder().add_service(service).serve_with_incoming(incoming).await });
    address
}
