//! Who we are: what the registry shows to people.

use crate::options::Config;
use crate::random::{KernelRandom, Random};

/// `instance_id` and `ip_address` of our items.
pub(crate) struct Identity {
    pub(crate) instance_id: String,
    pub(crate) ip_address: String,
}

/// The options' word, else what can be discovered.
pub(crate) fn identify(config: &Config) -> Identity {
    Identity {
        instance_id: config.instance_id.clone().unwrap_or_else(host_process_random),
        ip_address: config.ip_address.clone().unwrap_or_default(),
    }
}

fn host_process_random() -> String {
    let random = KernelRandom.renewal_id();
    format!("{}-{}-{}", host_name(), std::process::id(), &random[..8])
}

#[cfg(unix)]
fn host_name() -> String {
    let mut name = [0u8; 256];
    // SAFETY: the buffer and its length; the last byte stays zero.
    let done = unsafe { libc::gethostname(name.as_mut_ptr().cast(), name.len() - 1) };
    let end = name.iter().position(|byte| *byte == 0).unwrap_or(0);
    if done == 0 && end > 0 { String::from_utf8_lossy(&name[..end]).into_owned() } else { "localhost".to_owned() }
}

#[cfg(not(unix))]
fn host_name() -> String {
    std::env::var("COMPUTERNAME").unwrap_or_else(|_| "localhost".to_owned())
}
