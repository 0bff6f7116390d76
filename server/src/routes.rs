//! Which service a request is for.

use std::sync::Arc;

use http::{HeaderMap, Method as HttpMethod, Request, Response, StatusCode, Version, header};
use hyper::body::Incoming;
use tonic::Status;
use tonic::body::Body;
use tonic::codegen::Service as _;
use tonic_health::pb::health_server::{Health, HealthServer};
use tonic_reflection::server::{v1, v1alpha};

use crate::calls::{Calls, code_of, without_blame};
use crate::metrics::{Method, Metrics};
use crate::proto::id_generator_service_server::IdGeneratorServiceServer;
use crate::service::Service;
use crate::unread::Unread;

/// The longest message that is read: a request is a number and a name.
const LONGEST_MESSAGE: usize = 16 * 1024;

/// All services of the port.
pub(crate) struct Routes<H, R, A> {
    ids: IdGeneratorServiceServer<Service>,
    health: H,
    reflection: R,
    reflection_alpha: A,
    calls: Arc<Calls>,
    metrics: Arc<Metrics>,
}

/// Answers a request; shared by all connections.
pub(crate) trait Answer: Send + Sync + 'static {
    /// The answer to one request of a connection with these unread answers.
    fn answer(
        self: Arc<Self>,
        request: Request<Incoming>,
        unread: Arc<Unread>,
    ) -> impl Future<Output = Response<Body>> + Send + 'static;
}

/// All services, with reflection on all of them.
pub(crate) fn routes(
    service: Service,
    health: HealthServer<impl Health>,
    calls: Arc<Calls>,
    metrics: Arc<Metrics>,
) -> Arc<impl Answer> {
    let described = || {
        tonic_reflection::server::Builder::configure()
            .register_encoded_file_descriptor_set(crate::proto::FILE_DESCRIPTOR_SET)
            .register_encoded_file_descriptor_set(tonic_health::pb::FILE_DESCRIPTOR_SET)
    };
    let broken = "descriptors that are compiled in can be read";
    Arc::new(Routes {
        ids: IdGeneratorServiceServer::new(service).max_decoding_message_size(LONGEST_MESSAGE),
        health: health.max_decoding_message_size(LONGEST_MESSAGE),
        reflection: described().build_v1().expect(broken).max_decoding_message_size(LONGEST_MESSAGE),
        reflection_alpha: described().build_v1alpha().expect(broken).max_decoding_message_size(LONGEST_MESSAGE),
        calls,
        metrics,
    })
}

impl<H, R, A> Answer for Routes<HealthServer<H>, v1::ServerReflectionServer<R>, v1alpha::ServerReflectionServer<A>>
where
    H: Health,
    R: v1::ServerReflection,
    A: v1alpha::ServerReflection,
{
    async fn answer(self: Arc<Self>, request: Request<Incoming>, unread: Arc<Unread>) -> Response<Body> {
        if let Some(refusal) = not_grpc(&request) {
            return refusal;
        }
        let (service, method) = request.uri().path()[1..].split_once('/').unwrap_or_default();
        let method = match (service, method) {
            ("hispeeddesign.idgen.v1.IdGeneratorService", "GenerateId") => Method::GenerateId,
            ("hispeeddesign.idgen.v1.IdGeneratorService", "GenerateIdBatch") => Method::GenerateIdBatch,
            ("grpc.health.v1.Health", _) => Method::Health,
            ("grpc.reflection.v1.ServerReflection", _) => Method::Reflection,
            ("grpc.reflection.v1alpha.ServerReflection", _) => Method::ReflectionAlpha,
            _ => Method::Unknown,
        };
        let response = match method {
            Method::GenerateId | Method::GenerateIdBatch => {
                // Cheap: a clone of the service is a clone of its Arc.
                let mut ids = self.ids.clone();
                let headers = timeout_of(request.headers());
                return self.calls.make(method, &headers, unread, ids.call(request)).await;
            }
            Method::Health => self.health.clone().call(request).await,
            Method::Reflection => self.reflection.clone().call(request).await,
            Method::ReflectionAlpha => self.reflection_alpha.clone().call(request).await,
            Method::Unknown => Ok(Status::unimplemented("no such service or method").into_http()),
        };
        let response = without_blame(response.unwrap_or_else(|never| match never {}));
        self.metrics.answered_untimed(method, code_of(&response));
        response
    }
}

/// Only what a call's deadline needs: the request itself goes on to the service.
fn timeout_of(headers: &HeaderMap) -> HeaderMap {
    let mut kept = HeaderMap::new();
    if let Some(timeout) = headers.get("grpc-timeout") {
        kept.insert("grpc-timeout", timeout.clone());
    }
    kept
}

/// What a request that is no gRPC gets: gRPC asks for 415, and a browser or `curl` understands it.
fn not_grpc(request: &Request<Incoming>) -> Option<Response<Body>> {
    let is_grpc = |kind: &http::HeaderValue| kind.as_bytes().starts_with(b"application/grpc");
    let refuse = |status| {
        let mut response = Response::new(Body::empty());
        *response.status_mut() = status;
        Some(response)
    };
    if request.method() != HttpMethod::POST || !request.uri().path().starts_with('/') {
        return refuse(StatusCode::METHOD_NOT_ALLOWED);
    }
    if request.version() != Version::HTTP_2 || !request.headers().get(header::CONTENT_TYPE).is_some_and(is_grpc) {
        return refuse(StatusCode::UNSUPPORTED_MEDIA_TYPE);
    }
    None
}
