//! A program's side of the protocol, for programs written in Rust: see `PROTOCOL.md`.
//!
//! What issues IDs comes in through [`Open`] and [`Issue`], so that the driver's own tests can
//! take part with generators that do wrong.

mod background;
mod stream;

use std::io::{self, BufRead, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use leaseflake::{Error, ErrorCode, Status, StatusValue};

use background::{Background, Pace};
use stream::Output;

/// The most IDs that are issued before they are written.
const BLOCK: usize = 10_000;
/// What a forked child issues in a second if `run` has not said it.
const CHILD_RATE: u64 = 1_000;

/// Opens generators.
pub trait Open {
    /// What it opens.
    type Generator: Issue + 'static;

    /// The optional capabilities that it has, as `ready` says them.
    const CAPABILITIES: &str = "fork threads";

    /// Opens one with the options of the environment.
    ///
    /// # Errors
    ///
    /// Those of the product's `open`.
    fn open(&self) -> Result<Self::Generator, Error>;
}

/// An open generator.
pub trait Issue: Send + Sync {
    /// One ID.
    ///
    /// # Errors
    ///
    /// Those of the product's `next_id`.
    fn next(&self) -> Result<i64, Error>;

    /// That many IDs of one batch.
    ///
    /// # Errors
    ///
    /// Those of the product's `next_batch`.
    fn batch(&self, count: usize) -> Result<Vec<i64>, Error>;

    /// Fills the array; with an error, how many IDs at its beginning are valid.
    ///
    /// # Errors
    ///
    /// Those of the product's `fill`.
    fn fill(&self, ids: &mut [i64]) -> Result<(), (usize, Error)>;

    /// The fields of the status as `key=value`, divided by blanks.
    ///
    /// # Errors
    ///
    /// Those of the product's `status`.
    fn status(&self) -> Result<String, Error>;

    /// Closes it.
    ///
    /// # Errors
    ///
    /// Those of the product's `close`.
    fn close(&self) -> Result<(), Error>;
}

/// The fields of statuses as the protocol shows them: `name=value`, without blanks in a value.
pub fn shown(statuses: &[Status]) -> String {
    let fields = statuses.iter().flat_map(Status::fields).map(|(name, value)| {
        let value = match value {
            StatusValue::Text(text) => text.replace(|character: char| character.is_whitespace(), "_"),
            StatusValue::Number(number) => number.to_string(),
            StatusValue::Flag(flag) => flag.to_string(),
            StatusValue::None => String::new(),
        };
        format!("{name}={value}")
    });
    fields.collect::<Vec<String>>().join(" ")
}

/// Speaks the protocol on standard input and output until the input ends or says `exit`.
///
/// # Errors
///
/// The environment lacks what the protocol needs, or the pipes break.
pub fn serve<O: Open>(opener: &O) -> io::Result<()> {
    let output = PathBuf::from(std::env::var_os("FLEET_OUT").ok_or_else(|| io::Error::other("FLEET_OUT is not set"))?);
    let seconds = std::env::var("FLEET_SECONDS").ok().and_then(|seconds| seconds.parse().ok());
    let life = Duration::from_secs(seconds.ok_or_else(|| io::Error::other("FLEET_SECONDS is not a number"))?);
    // SAFETY: children that end are not kept; no handler is installed.
    unsafe { libc::signal(libc::SIGCHLD, libc::SIG_IGN) };
    let ends = Instant::now() + life;
    thread::spawn(move || {
        thread::sleep(life);
        // Whatever hangs: the driver is gone, and nobody waits for a clean end.
        // SAFETY: ends this process at once.
        unsafe { libc::_exit(3) };
    });
    let mut member =
        Member { opener, output, ends, generator: None, foreground: None, background: None, pace: None, forks: 0 };
    answer(&format!("ready {}", O::CAPABILITIES))?;
    for line in io::stdin().lock().lines() {
        let line = line?;
        let words: Vec<&str> = line.split_whitespace().collect();
        if words == ["exit"] {
            answer("ok")?;
            break;
        }
        match member.perform(&words)? {
            Ok(fields) => answer(format!("ok {fields}").trim_end())?,
            Err(error) => {
                let message = error.message().replace(['\n', '\r'], " ");
                answer(&format!("error {} {} {message}", error.code().code(), error.name()))?;
            }
        }
    }
    if let Some(generator) = member.generator.take() {
        // It ends either way, and an expired lease frees the worker ID as well.
        let _ = generator.close();
    }
    Ok(())
}

fn answer(line: &str) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    writeln!(stdout, "{line}")?;
    stdout.flush()
}

struct Member<'a, O: Open> {
    opener: &'a O,
    output: PathBuf,
    ends: Instant,
    generator: Option<Arc<O::Generator>>,
    foreground: Option<Output>,
    background: Option<Background>,
    pace: Option<Pace>,
    forks: u32,
}

/// What a command answers; the outer error ends the program.
type Answer = io::Result<Result<String, Error>>;

impl<O: Open> Member<'_, O> {
    fn perform(&mut self, words: &[&str]) -> Answer {
        let numbers: Option<Vec<u64>> = words.iter().skip(1).map(|word| word.parse().ok()).collect();
        match (words.first().copied().unwrap_or_default(), numbers.as_deref()) {
            ("open", Some([])) => {
                if self.generator.is_none() {
                    match self.opener.open() {
                        Ok(generator) => self.generator = Some(Arc::new(generator)),
                        Err(error) => return Ok(Err(error)),
                    }
                }
                Ok(Ok(String::new()))
            }
            ("issue", Some(&[count])) => self.issue(count, 1, |generator, _| generator.next().map(|id| vec![id])),
            ("batch", Some(&[size, count])) => {
                self.issue(count, size as usize, |generator, size| generator.batch(size))
            }
            ("fill", Some(&[count])) => self.fill(count),
            ("run", Some(&[rate, threads @ 1..=64])) => self.run(Pace { rate, threads: threads as usize }),
            ("stop", Some([])) => Ok(Ok(self.background.take().map_or(0, Background::stop).to_string())),
            ("progress", Some([])) => {
                Ok(Ok(self.background.as_ref().map_or("issued=0".to_owned(), Background::progress)))
            }
            ("fork", Some([])) => self.fork(),
            ("status", Some([])) => Ok(self.open_one().and_then(|generator| generator.status())),
            ("close", Some([])) => Ok(match self.generator.take() {
                Some(generator) => generator.close().map(|()| String::new()),
                None => Ok(String::new()),
            }),
            _ => Ok(Err(Error::invalid("command", words.join(" "), "a line of the fleet's protocol"))),
        }
    }

    fn open_one(&self) -> Result<Arc<O::Generator>, Error> {
        self.generator.clone().ok_or_else(|| Error::new(ErrorCode::Closed, "no generator is open; say `open` first"))
    }

    /// Calls `count` times; what was issued before an error is written all the same.
    fn issue(
        &mut self,
        count: u64,
        size: usize,
        call: impl Fn(&O::Generator, usize) -> Result<Vec<i64>, Error>,
    ) -> Answer {
        let generator = match self.open_one() {
            Ok(generator) => generator,
            Err(error) => return Ok(Err(error)),
        };
        let mut issued = Issued::default();
        for _ in 0..count {
            match call(&generator, size) {
                Ok(ids) => issued.add(self.foreground()?, &ids)?,
                Err(error) => return Ok(Err(error)),
            }
        }
        Ok(Ok(issued.fields()))
    }

    fn fill(&mut self, count: u64) -> Answer {
        let generator = match self.open_one() {
            Ok(generator) => generator,
            Err(error) => return Ok(Err(error)),
        };
        if count == 0 || count > BLOCK as u64 {
            return Ok(Err(Error::invalid("fill", count, format_args!("1..={BLOCK}"))));
        }
        let mut ids = vec![0; count as usize];
        let filled = generator.fill(&mut ids);
        let written = filled.as_ref().map_or_else(|(written, _)| *written, |()| ids.len());
        let mut issued = Issued::default();
        issued.add(self.foreground()?, &ids[..written])?;
        Ok(filled.map(|()| issued.fields()).map_err(|(_, error)| error))
    }

    fn foreground(&mut self) -> io::Result<&mut Output> {
        if self.foreground.is_none() {
            self.foreground = Some(Output::create(&self.output, "", 0)?);
        }
        self.foreground.as_mut().ok_or_else(|| io::Error::other("no stream"))
    }

    fn run(&mut self, pace: Pace) -> Answer {
        let generator = match self.open_one() {
            Ok(generator) => generator,
            Err(error) => return Ok(Err(error)),
        };
        if self.background.is_some() {
            return Ok(Err(Error::invalid("run", "again", "one `run` in the life of a program")));
        }
        self.pace = Some(pace);
        self.background = Some(Background::start(&generator, &self.output, pace)?);
        Ok(Ok(String::new()))
    }

    fn fork(&mut self) -> Answer {
        let generator = match self.open_one() {
            Ok(generator) => generator,
            Err(error) => return Ok(Err(error)),
        };
        self.forks += 1;
        // SAFETY: the child goes on in this thread alone, with what it made itself and with the
        // generator, whose very promise is to survive this, and never returns from here.
        match unsafe { libc::fork() } {
            -1 => Err(io::Error::last_os_error()),
            0 => {
                let rate = self.pace.map_or(CHILD_RATE, |pace| pace.rate);
                background::live_as_child(&*generator, &self.output, self.forks, rate, self.ends)
            }
            child => Ok(Ok(child.to_string())),
        }
    }
}

/// What one command has issued.
#[derive(Default)]
struct Issued {
    count: usize,
    first: i64,
    last: i64,
}

impl Issued {
    fn add(&mut self, stream: &mut Output, ids: &[i64]) -> io::Result<()> {
        stream.append(ids)?;
        if let (Some(&first), Some(&last)) = (ids.first(), ids.last()) {
            if self.count == 0 {
                self.first = first;
            }
            self.last = last;
            self.count += ids.len();
        }
        Ok(())
    }

    fn fields(&self) -> String {
        format!("{} {} {}", self.count, self.first, self.last)
    }
}
