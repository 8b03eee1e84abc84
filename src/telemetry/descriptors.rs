//! Computes how many connections the limit on open files permits.

use super::process;

/// File descriptors reserved for tables, the store and other sockets.
const DESCRIPTORS_RESERVED: u64 = 256;
/// Connections that are accepted even if the limit on open files is very low.
const CONNECTIONS_MIN: u64 = 16;
/// Minimum of the limit on open files. With less, a server could fail to open its tables and store while it works.
pub const DESCRIPTORS_MIN: u64 = DESCRIPTORS_RESERVED + CONNECTIONS_MIN;

/// Returns the maximum number of connections: `wanted`, or fewer if the limit on open files does not leave enough
/// descriptors. With more, the service could neither accept a connection nor open a file.
pub fn connections_allowed(wanted: usize) -> usize {
    allowed(wanted, process::descriptors_max())
}

fn allowed(wanted: usize, descriptors_max: Option<u64>) -> usize {
    let Some(descriptors_max) = descriptors_max else {
        return wanted;
    };
    let left = descriptors_max.saturating_sub(DESCRIPTORS_RESERVED);
    let left = usize::try_from(left.max(CONNECTIONS_MIN)).unwrap_or(wanted);
    wanted.min(left)
}

/// Logs a warning if fewer connections than wanted are accepted.
pub fn warn_if_few(wanted: usize) {
    let allowed = connections_allowed(wanted);
    if allowed < wanted {
        tracing::warn!(
            allowed,
            wanted,
            "the limit on open files is too low for server.connections_max; raise it (ulimit -n)"
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_leave_descriptors_for_files() {
        assert_eq!(allowed(4_096, Some(1_024)), 768);
        assert_eq!(allowed(100, Some(1_024)), 100);
        assert_eq!(allowed(4_096, Some(64)), 16);
        assert_eq!(allowed(4_096, None), 4_096);
    }
}
