//! Who we are: what the registry shows to people. No rule of safety reads it.

#[cfg(feature = "dynamodb")]
mod metadata;
#[cfg(feature = "dynamodb")]
mod places;

use crate::options::Config;
use crate::random::{KernelRandom, Random};

/// Longer than an ARN of a task; what is longer is cut.
const LONGEST: usize = 256;

/// `instance_id` and `ip_address` of our items.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Identity {
    pub(crate) instance_id: String,
    pub(crate) ip_address: String,
}

/// The options' word, else what can be discovered. May ask a metadata service: for the keeper's
/// thread. A registry of one machine asks nobody.
pub(crate) fn identify(config: &Config) -> Identity {
    let given = (config.instance_id.clone(), config.ip_address.clone());
    let place = match given {
        (Some(_), Some(_)) => Identity::default(),
        _ if config.store.is_of_a_fleet() => fleet_place(),
        _ => Identity::default(),
    };
    Identity {
        instance_id: given.0.unwrap_or_else(|| unique(place.instance_id)),
        ip_address: given.1.unwrap_or(place.ip_address),
    }
}

/// A name that no other process has: several of them may share a task, a pod or an instance, and
/// a forked child its parent's everything.
fn unique(place: String) -> String {
    let place = if place.is_empty() { host_name() } else { place };
    let clean: String = place.chars().filter(|c| !c.is_control()).take(LONGEST).collect();
    let random = KernelRandom.renewal_id();
    format!("{clean}-{}-{}", std::process::id(), &random[..8])
}

/// The `instance_id` and `ip_address` of a process with these variables, on EC2 or not: for tests of what metadata
/// services may answer.
#[cfg(feature = "dynamodb")]
#[doc(hidden)]
pub fn discovered(variable: &dyn Fn(&str) -> Option<String>, on_ec2: bool) -> (String, String) {
    let place = places::discover(&places::Surroundings { variable, on_ec2 });
    (unique(place.instance_id), place.ip_address)
}

#[cfg(feature = "dynamodb")]
fn fleet_place() -> Identity {
    places::discover(&places::Surroundings::of_this_process())
}

#[cfg(not(feature = "dynamodb"))]
fn fleet_place() -> Identity {
    Identity::default()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_processes_of_one_place_never_share_a_name() {
        let (one, two) = (unique("pod-7".to_owned()), unique("pod-7".to_owned()));
        assert!(one.starts_with("pod-7-") && two.starts_with("pod-7-"), "{one} {two}");
        assert_ne!(one, two, "a forked child may even share the process ID, in another namespace");
        assert!(unique(String::new()).starts_with(&host_name()), "without a place it is the host");
    }

    #[test]
    fn a_hostile_name_is_cut_and_cannot_steer_a_terminal() {
        let name = unique("\u{1b}[2J\n".repeat(1000));
        assert!(name.len() < LONGEST + 40 && !name.contains(|c: char| c.is_control()), "{name:?}");
    }
}
