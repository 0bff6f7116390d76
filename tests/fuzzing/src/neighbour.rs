//! A neighbour that answers over HTTP/1 with whatever it is told to: what DynamoDB and the metadata services are to us.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

/// What is asked: its first line and headers.
pub(crate) struct Question<'a> {
    pub(crate) head: &'a str,
}

/// Bytes of an answer, and whether the connection is kept after it.
pub(crate) struct Answer {
    pub(crate) bytes: Vec<u8>,
    pub(crate) keep: bool,
}

/// Answers every question by this.
type Script = Arc<Mutex<Box<dyn FnMut(Question<'_>) -> Answer + Send>>>;

/// A server on a port of its own, for as long as the process lives.
pub(crate) struct Neighbour {
    url: String,
    script: Script,
}

impl Neighbour {
    pub(crate) fn new() -> Neighbour {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let script: Script = Arc::new(Mutex::new(Box::new(|_| Answer { bytes: Vec::new(), keep: false })));
        let shared = Arc::clone(&script);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let script = Arc::clone(&shared);
                // Whoever goes before the answer is one who asks no more.
                std::thread::spawn(move || serve(stream, &script));
            }
        });
        Neighbour { url, script }
    }

    /// Where it is.
    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// Answers by this from now on.
    pub(crate) fn answer_by(&self, script: impl FnMut(Question<'_>) -> Answer + Send + 'static) {
        *self.script.lock().expect("a script that does not panic") = Box::new(script);
    }
}

fn serve(stream: TcpStream, script: &Script) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut writer = stream;
    loop {
        let (mut length, mut head) = (0, String::new());
        loop {
            let before = head.len();
            if reader.read_line(&mut head)? == 0 {
                return Ok(());
            }
            let line = head[before..].trim_end();
            if line.is_empty() {
                break;
            }
            if let Some((name, value)) = line.split_once(':')
                && name.eq_ignore_ascii_case("content-length")
            {
                length = value.trim().parse().unwrap_or(0);
            }
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body)?;
        let answer = (script.lock().expect("a script that does not panic"))(Question { head: &head });
        // In one piece: two small ones would wait for each other's acknowledgement.
        writer.write_all(&answer.bytes)?;
        if !answer.keep {
            return Ok(());
        }
    }
}
