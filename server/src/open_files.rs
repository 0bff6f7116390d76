//! Each connection takes a file descriptor, and so do the registry, the probes and the log: connections must not
//! take them all.

/// Kept for everything but connections.
const FOR_OTHERS: u64 = 128;

/// Raises this process's limit as far as it may, and gives how many connections there is then room for, of so many.
pub(crate) fn allow(connections: u32) -> u32 {
    match rlimit::increase_nofile_limit(u64::MAX) {
        Ok(files) => within(connections, files),
        Err(error) => {
            tracing::warn!("the limit of open files is not known: {error}");
            connections
        }
    }
}

fn within(connections: u32, files: u64) -> u32 {
    let room = u32::try_from(files.saturating_sub(FOR_OTHERS)).unwrap_or(u32::MAX).max(1);
    if room < connections {
        tracing::warn!(
            files,
            max_connections = room,
            "fewer connections than max_connections = {connections}: raise the hard limit of open files (ulimit -Hn)"
        );
    }
    room.min(connections)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_leave_descriptors_for_the_registry_and_the_probes() {
        assert_eq!(within(10_000, 65_536), 10_000);
        assert_eq!(within(10_000, 1_024), 896);
        assert_eq!(within(10, 64), 1);
        assert_eq!(within(10_000, u64::MAX), 10_000);
    }

    #[test]
    fn the_limit_of_this_process_is_raised_as_far_as_it_may() {
        allow(1);
        let (soft, hard) = rlimit::getrlimit(rlimit::Resource::NOFILE).unwrap();
        assert_eq!(soft, hard);
    }
}
