//! The first bytes of a connection: only HTTP/2 with prior knowledge goes on.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::{Buf, Bytes};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadBuf};

/// What every HTTP/2 client sends first.
const PREFACE: &[u8; 24] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
/// What somebody gets who speaks HTTP/1 to the port.
const HTTP1_ANSWER: &[u8] = b"HTTP/1.1 505 HTTP Version Not Supported\r\ncontent-type: text/plain\r\n\
    content-length: 56\r\nconnection: close\r\n\r\nthis port speaks gRPC: HTTP/2 with prior knowledge only\n";

/// Reads the preface. `None` where something else came, or the end.
///
/// # Errors
///
/// Whatever reading or writing gives.
pub async fn expect<I: AsyncRead + AsyncWrite + Unpin>(mut io: I) -> io::Result<Option<Prefaced<I>>> {
    let mut first = [0_u8; PREFACE.len()];
    let mut read = 0;
    while read < first.len() {
        let more = io.read(&mut first[read..]).await?;
        read += more;
        if more == 0 || !PREFACE.starts_with(&first[..read]) {
            if looks_like_http1(&first[..read]) {
                io.write_all(HTTP1_ANSWER).await?;
            }
            io.shutdown().await?;
            return Ok(None);
        }
    }
    Ok(Some(Prefaced { first: Bytes::from_static(PREFACE), io }))
}

fn looks_like_http1(first: &[u8]) -> bool {
    ["GET ", "HEAD", "POST", "PUT ", "OPTI", "DELE"].iter().any(|method| first.starts_with(method.as_bytes()))
}

/// A connection whose preface is read once more.
pub struct Prefaced<I> {
    first: Bytes,
    io: I,
}

impl<I: AsyncRead + Unpin> AsyncRead for Prefaced<I> {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        if self.first.has_remaining() {
            let length = self.first.remaining().min(into.remaining());
            into.put_slice(&self.first.split_to(length));
            return Poll::Ready(Ok(()));
        }
        Pin::new(&mut self.io).poll_read(context, into)
    }
}

impl<I: AsyncWrite + Unpin> AsyncWrite for Prefaced<I> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.io).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn after(sent: &[u8], then_end: bool) -> (io::Result<Option<Prefaced<tokio::io::DuplexStream>>>, String) {
        let (ours, mut theirs) = tokio::io::duplex(1024);
        theirs.write_all(sent).await.unwrap();
        if then_end {
            theirs.shutdown().await.unwrap();
        }
        let expected = expect(ours).await;
        let mut answer = String::new();
        if matches!(expected, Ok(None)) {
            theirs.read_to_string(&mut answer).await.unwrap();
        }
        (expected, answer)
    }

    #[tokio::test]
    async fn the_preface_goes_on_whole_with_what_follows() {
        let sent = [PREFACE.as_slice(), b"rest"].concat();
        let mut prefaced = after(&sent, true).await.0.unwrap().expect("it is the preface");
        let mut read = Vec::new();
        prefaced.read_to_end(&mut read).await.unwrap();
        assert_eq!(read, sent);
    }

    #[tokio::test]
    async fn a_client_of_http1_is_told_in_its_own_words_and_others_get_the_end() {
        let (_, answer) = after(b"GET / HTTP/1.1\r\n\r\n", false).await;
        let (head, body) = answer.split_once("\r\n\r\n").expect("a head and a body");
        assert!(head.contains(&format!("content-length: {}", body.len())), "{answer}");
        for sent in [b"\x16\x03\x01\x02\x00\x01".as_slice(), b"PRI * HTTP/2.1", b"\0", b""] {
            let (expected, answer) = after(sent, true).await;
            assert!(matches!(expected, Ok(None)), "{sent:?}");
            assert_eq!(answer, "", "{sent:?}");
        }
    }
}
