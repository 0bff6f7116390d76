//! Options, from the texts that the package makes of an object.

use leaseflake::Options;

use crate::edge::Env;
use crate::fault::Fault;
use crate::value::{Value, camel_case};

/// Options from an array of names (in camelCase) and texts in turn.
pub(crate) fn read(env: Env, array: Value) -> Result<Options, Fault> {
    let mut options = Options::new();
    for pair in env.texts_of(array)?.chunks_exact(2) {
        let known = leaseflake::OPTION_NAMES.into_iter().find(|known| camel_case(known) == pair[0]);
        options.set(known.unwrap_or(&pair[0]), &pair[1])?;
    }
    Ok(options)
}
