//! Raises the limit on open files of a server as far as the system allows. Below a minimum, the server does not start.

use crate::Failure;
use toise_telemetry::descriptors::DESCRIPTORS_MIN;

/// The limit that macOS allows a process whose maximum is said to be unlimited (`OPEN_MAX`).
#[cfg(unix)]
const LIMIT_OF_MACOS: u64 = 10_240;

/// Raises the limit on open files to the maximum that the system allows this process.
///
/// # Errors
/// The limit is below [`DESCRIPTORS_MIN`]; with so few files, the service would fail while it runs.
#[cfg(unix)]
pub(crate) fn raise() -> Result<(), Failure> {
    use nix::sys::resource::{Resource, getrlimit, setrlimit};
    let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE)?;
    // macOS refuses its own maximum.
    let wanted = [hard, LIMIT_OF_MACOS.min(hard)].into_iter();
    let raised = wanted
        .filter(|limit| soft < *limit)
        .find(|limit| setrlimit(Resource::RLIMIT_NOFILE, *limit, hard).is_ok());
    refuse_below_minimum(raised.unwrap_or(soft))
}

/// Does nothing: there is no such limit here.
///
/// # Errors
/// None.
#[cfg(not(unix))]
pub(crate) fn raise() -> Result<(), Failure> {
    Ok(())
}

fn refuse_below_minimum(limit: u64) -> Result<(), Failure> {
    if limit >= DESCRIPTORS_MIN {
        return Ok(());
    }
    let message = format!(
        "the limit on open files is {limit}, and a server needs at least {DESCRIPTORS_MIN}: raise it with \
         `ulimit -n 65536` or, for a service of systemd, with LimitNOFILE=65536"
    );
    Err(message.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_below_the_minimum_is_refused_with_what_to_do() {
        refuse_below_minimum(DESCRIPTORS_MIN).unwrap();
        let refused = refuse_below_minimum(DESCRIPTORS_MIN - 1).unwrap_err();
        assert!(refused.to_string().contains("ulimit -n"), "{refused}");
    }
}
