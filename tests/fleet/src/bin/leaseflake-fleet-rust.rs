//! `leaseflake-fleet-rust`: the Rust API as a member of the fleet.

use std::process::ExitCode;

use leaseflake::{Error, Id, IdGenerator, Options};
use leaseflake_fleet::member::{Issue, Open, serve, shown};

struct Product;

struct Generator(IdGenerator);

impl Open for Product {
    type Generator = Generator;

    fn open(&self) -> Result<Generator, Error> {
        IdGenerator::open(Options::new()).map(Generator)
    }
}

impl Issue for Generator {
    fn next(&self) -> Result<i64, Error> {
        self.0.next_id().map(Id::as_i64)
    }

    fn batch(&self, count: usize) -> Result<Vec<i64>, Error> {
        Ok(self.0.next_batch(count)?.into_iter().map(Id::as_i64).collect())
    }

    fn fill(&self, ids: &mut [i64]) -> Result<(), (usize, Error)> {
        let placeholder = Id::from_i64(1).map_err(|error| (0, error))?;
        let mut filled = vec![placeholder; ids.len()];
        let result = self.0.fill(&mut filled);
        let written = result.as_ref().map_or_else(|(written, _)| *written, |()| filled.len());
        for (to, from) in ids.iter_mut().zip(&filled[..written]) {
            *to = from.as_i64();
        }
        result
    }

    fn status(&self) -> Result<String, Error> {
        Ok(shown(&[self.0.status()]))
    }

    fn close(&self) -> Result<(), Error> {
        self.0.close();
        Ok(())
    }
}

fn main() -> ExitCode {
    match serve(&Product) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("leaseflake-fleet-rust: {error}");
            ExitCode::FAILURE
        }
    }
}
