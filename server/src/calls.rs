//! What is done about every ID call, whatever it answers: it is counted and timed, has a deadline, takes
//! its place among those under way, and a panic in it is an answer like any other.

use std::any::Any;
use std::convert::Infallible;
use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::{HeaderMap, Response};
use http_body::{Frame, SizeHint};
use leaseflake::{Error, ErrorCode};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tonic::body::Body;
use tonic::{Code, Status};

use crate::answer;
use crate::metrics::{Method, Metrics};
use crate::unread::{Sending, Unread};

/// Where an answer keeps its details.
const DETAILS: &str = "grpc-status-details-bin";

/// The calls under way.
pub(crate) struct Calls {
    metrics: Arc<Metrics>,
    places: Arc<Semaphore>,
    most: u32,
    timeout: Duration,
}

impl Calls {
    pub(crate) fn new(metrics: Arc<Metrics>, most: u32, timeout: Duration) -> Calls {
        Calls { metrics, places: Arc::new(Semaphore::new(most as usize)), most, timeout }
    }

    /// Makes a call of this method.
    pub(crate) async fn make(
        &self,
        method: Method,
        headers: &HeaderMap,
        unread: Arc<Unread>,
        call: impl Future<Output = Result<Response<Body>, Infallible>>,
    ) -> Response<Body> {
        let mut counted = Counted { metrics: &self.metrics, method, began: Instant::now(), code: Code::Cancelled };
        let response = match Arc::clone(&self.places).try_acquire_owned() {
            // A slow reader keeps its place until it has read all.
            Ok(place) => {
                let response = with_details(self.in_time(headers, call).await);
                response.map(|body| Body::new(Held { body, _place: place, _sending: unread.begin() }))
            }
            Err(_) => answer::overloaded(self.most).into_http(),
        };
        counted.code = code_of(&response);
        response
    }

    async fn in_time(
        &self,
        headers: &HeaderMap,
        call: impl Future<Output = Result<Response<Body>, Infallible>>,
    ) -> Response<Body> {
        let limit = deadline(headers).map_or(self.timeout, |asked| asked.min(self.timeout));
        match tokio::time::timeout(limit, caught(call)).await {
            Ok(Ok(Ok(response))) => response,
            Ok(Ok(Err(never))) => match never {},
            Ok(Err(panic)) => answer::status(&panic_error(&*panic), None).into_http(),
            Err(_) => answer::too_late(limit).into_http(),
        }
    }

    /// How many calls are under way.
    pub(crate) fn under_way(&self) -> usize {
        self.most as usize - self.places.available_permits()
    }
}

/// The code of an answer: in the head where there is no message, else the message says that all is well.
pub(crate) fn code_of(response: &Response<Body>) -> Code {
    response.headers().get(Status::GRPC_STATUS).map_or(Code::Ok, |code| Code::from_bytes(code.as_bytes()))
}

/// A call, which is counted when it ends: as cancelled if its client goes before it is answered.
struct Counted<'a> {
    metrics: &'a Metrics,
    method: Method,
    began: Instant,
    code: Code,
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.metrics.answered(self.method, self.code, self.began.elapsed());
    }
}

/// What the protocol's own code says of requests that it cannot read has codes that mean something else in the
/// table, and no details: it is the client's doing.
fn with_details(response: Response<Body>) -> Response<Body> {
    let code = code_of(&response);
    if response.headers().contains_key(DETAILS) {
        return response;
    }
    let said =
        || Status::from_header_map(response.headers()).map_or_else(String::new, |said| said.message().to_owned());
    match code {
        Code::Internal | Code::OutOfRange | Code::Unimplemented => {
            let error = Error::new(ErrorCode::InvalidArgument, format!("the request cannot be read: {}", said()));
            answer::status(&error, None).into_http()
        }
        // It broke off: the client has gone, and nobody hears this.
        Code::Unknown => Status::cancelled(said()).into_http(),
        _ => response,
    }
}

/// The same for the services beside, which have methods that they do not implement.
pub(crate) fn without_blame(response: Response<Body>) -> Response<Body> {
    if code_of(&response) == Code::Unimplemented { response } else { with_details(response) }
}

async fn caught<T>(call: impl Future<Output = T>) -> Result<T, Box<dyn Any + Send>> {
    let mut call = pin!(call);
    // After a panic the future is dropped and never polled again.
    poll_fn(|context| match catch_unwind(AssertUnwindSafe(|| call.as_mut().poll(context))) {
        Ok(polled) => polled.map(Ok),
        Err(panic) => Poll::Ready(Err(panic)),
    })
    .await
}

fn panic_error(panic: &(dyn Any + Send)) -> Error {
    let said = panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("no message");
    tracing::error!("a call panicked: {said}");
    Error::new(
        ErrorCode::Internal,
        format!("the call panicked ({said}): this is a bug in Leaseflake, please report it"),
    )
}

/// How long the client is ready to wait, by its `grpc-timeout`; what makes no sense is no deadline.
pub fn deadline(headers: &HeaderMap) -> Option<Duration> {
    let text = headers.get("grpc-timeout")?.to_str().ok()?;
    let (digits, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
    if !(1..=8).contains(&digits.len()) || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let number = digits.parse().ok()?;
    match unit {
        "H" => Some(Duration::from_secs(number * 3600)),
        "M" => Some(Duration::from_secs(number * 60)),
        "S" => Some(Duration::from_secs(number)),
        "m" => Some(Duration::from_millis(number)),
        "u" => Some(Duration::from_micros(number)),
        "n" => Some(Duration::from_nanos(number)),
        _ => None,
    }
}

/// The body of an answer, with the place of its call, until all of it is sent.
struct Held {
    body: Body,
    _place: OwnedSemaphorePermit,
    _sending: Sending,
}

impl http_body::Body for Held {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        http_body::Body::poll_frame(Pin::new(&mut self.body), context)
    }

    fn is_end_stream(&self) -> bool {
        http_body::Body::is_end_stream(&self.body)
    }

    fn size_hint(&self) -> SizeHint {
        http_body::Body::size_hint(&self.body)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_deadline_is_read_as_the_protocol_writes_it_and_nonsense_is_none() {
        let read = |text: &str| {
            let mut headers = HeaderMap::new();
            headers.insert("grpc-timeout", text.parse().unwrap());
            deadline(&headers)
        };
        assert_eq!(read("1H"), Some(Duration::from_secs(3600)));
        assert_eq!(read("99999999H"), Some(Duration::from_secs(99_999_999 * 3600)));
        assert_eq!(read("20m"), Some(Duration::from_millis(20)));
        assert_eq!(read("7u"), Some(Duration::from_micros(7)));
        assert_eq!(read("0n"), Some(Duration::ZERO));
        for nonsense in ["", "m", "1", "-1m", "+1m", "1x", "123456789S", "1.5S", " 1S", "1 S"] {
            assert_eq!(read(nonsense), None, "{nonsense:?}");
        }
        let mut headers = HeaderMap::new();
        headers.insert("grpc-timeout", http::HeaderValue::from_bytes(b"1\xc3\xa9").unwrap());
        assert_eq!(deadline(&headers), None);
    }
}
