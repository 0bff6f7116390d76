//! What a connection writes in one turn is sent in one piece. HTTP/2's own code sends an answer of more than 256 bytes
//! in two, and a client may make a call anew only while nothing of its answer has come: a service that is killed
//! between the two fails calls that would otherwise go to another one.

use std::error::Error;
use std::future::{Future, poll_fn};
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// How much is gathered, in bytes: as much as an answer of 1,000 IDs.
const MOST: usize = 32 * 1024;

/// An IO whose writes are sent when the turn ends, or when there are too many to keep.
pub(crate) struct Gathered<I>(Arc<Mutex<Writes<I>>>);

/// The other end of a [`Gathered`]: what ends its turns.
pub(crate) struct Turns<I>(Arc<Mutex<Writes<I>>>);

pub(crate) fn gather<I>(io: I) -> (Gathered<I>, Turns<I>) {
    let writes = Arc::new(Mutex::new(Writes { io, held: Vec::new(), sent: 0 }));
    (Gathered(Arc::clone(&writes)), Turns(writes))
}

struct Writes<I> {
    io: I,
    held: Vec<u8>,
    /// How much of that is sent.
    sent: usize,
}

impl<I: AsyncWrite + Unpin> Writes<I> {
    fn poll_send(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        while self.sent < self.held.len() {
            let sent = ready!(Pin::new(&mut self.io).poll_write(context, &self.held[self.sent..]))?;
            if sent == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            self.sent += sent;
        }
        // No buffer that outlives the turn, as a BufWriter's would: most connections are idle most of the time.
        (self.held, self.sent) = (Vec::new(), 0);
        Pin::new(&mut self.io).poll_flush(context)
    }
}

impl<I: AsyncWrite + Unpin> Turns<I> {
    /// The connection's end. After each poll of it, what it wrote is sent.
    pub(crate) async fn of<E: Error + Send + Sync + 'static>(
        &self,
        mut connection: Pin<&mut impl Future<Output = Result<(), E>>>,
    ) -> Result<(), Box<dyn Error + Send + Sync>> {
        poll_fn(|context| {
            let ended = connection.as_mut().poll(context);
            // What a slow reader leaves is sent when it reads on, which is a turn, too.
            let sent = lock(&self.0).poll_send(context);
            match (ended, sent) {
                (Poll::Ready(ended), _) => Poll::Ready(ended.map_err(Into::into)),
                (Poll::Pending, Poll::Ready(Err(error))) => Poll::Ready(Err(error.into())),
                (Poll::Pending, _) => Poll::Pending,
            }
        })
        .await
    }
}

impl<I: AsyncWrite + Unpin> AsyncWrite for Gathered<I> {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let mut writes = lock(&self.0);
        if writes.held.len() >= MOST {
            ready!(writes.poll_send(context))?;
        }
        let taken = bytes.len().min(MOST - writes.held.len());
        writes.held.extend_from_slice(&bytes[..taken]);
        Poll::Ready(Ok(taken))
    }

    /// The turn's end does that.
    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let mut writes = lock(&self.0);
        ready!(writes.poll_send(context))?;
        Pin::new(&mut writes.io).poll_shutdown(context)
    }
}

impl<I: AsyncRead + Unpin> AsyncRead for Gathered<I> {
    fn poll_read(self: Pin<&mut Self>, context: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut lock(&self.0).io).poll_read(context, into)
    }
}

fn lock<I>(writes: &Mutex<Writes<I>>) -> MutexGuard<'_, Writes<I>> {
    writes.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::future::pending;
    use std::pin::pin;

    use tokio::io::AsyncWriteExt;

    use super::*;

    /// What came in each write, of 20,000 bytes at most.
    #[derive(Default)]
    struct Pieces(Vec<Vec<u8>>);

    impl AsyncWrite for Pieces {
        fn poll_write(mut self: Pin<&mut Self>, _: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
            let room = 20_000 - self.0.iter().map(Vec::len).sum::<usize>();
            if room == 0 {
                return Poll::Ready(Err(io::ErrorKind::StorageFull.into()));
            }
            let piece = &bytes[..bytes.len().min(room)];
            self.0.push(piece.to_vec());
            Poll::Ready(Ok(piece.len()))
        }

        fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }

        fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }
    }

    /// A connection that writes pieces of these sizes in one turn, and then waits.
    async fn writing(mut io: Gathered<Pieces>, sizes: &[usize]) -> Result<(), Infallible> {
        for (piece, size) in (1_u8..).zip(sizes) {
            io.write_all(&vec![piece; *size]).await.unwrap();
            io.flush().await.unwrap();
        }
        pending().await
    }

    #[tokio::test]
    async fn what_is_written_in_one_turn_is_one_piece() {
        let (io, turns) = gather(Pieces::default());
        let mut connection = pin!(writing(io, &[300, 10]));
        tokio::select! {
            biased;
            ended = turns.of(connection.as_mut()) => panic!("{ended:?}"),
            () = async {} => {}
        }
        let whole = [vec![1; 300], vec![2; 10]].concat();
        assert_eq!(lock(&turns.0).io.0, [whole]);
    }

    #[tokio::test]
    async fn what_cannot_be_sent_ends_the_connection() {
        let (io, turns) = gather(Pieces::default());
        let mut connection = pin!(writing(io, &[30_000]));
        let error = turns.of(connection.as_mut()).await.unwrap_err();
        assert_eq!(error.downcast::<io::Error>().unwrap().kind(), io::ErrorKind::StorageFull);
    }
}
