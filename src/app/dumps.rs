//! Keeps the secrets of a process that has a master key out of memory dumps: no core file is written, and no other
//! process of the same user can read its memory. Called once, before anything reads the key. The user `root` can still
//! read the memory.

use std::ffi::OsStr;
use std::io;

/// Prefix of all variables that give a master key or its location.
const MASTER_KEY: &str = "TOISE_MASTER_KEY";

/// Returns whether an environment variable gives a master key or its location.
pub(crate) fn is_of_master_key(variable: &OsStr) -> bool {
    variable
        .as_encoded_bytes()
        .starts_with(MASTER_KEY.as_bytes())
}

/// Forbids memory dumps of this process, if its environment names a master key.
///
/// # Errors
/// The system refuses.
#[cfg(unix)]
pub fn forbid_with_master_key() -> io::Result<()> {
    let has_key = std::env::vars_os().any(|(name, _)| is_of_master_key(&name));
    if has_key { forbid() } else { Ok(()) }
}

/// Does nothing: there are no such limits here.
///
/// # Errors
/// None.
#[cfg(not(unix))]
pub fn forbid_with_master_key() -> io::Result<()> {
    Ok(())
}

/// Forbids memory dumps of this process.
///
/// # Errors
/// The system refuses.
#[cfg(unix)]
pub(crate) fn forbid() -> io::Result<()> {
    use nix::sys::resource::{Resource, setrlimit};
    setrlimit(Resource::RLIMIT_CORE, 0, 0)?;
    #[cfg(target_os = "linux")]
    nix::sys::prctl::set_dumpable(false)?;
    Ok(())
}

/// Does nothing: there are no such limits here.
///
/// # Errors
/// None.
#[cfg(not(unix))]
pub(crate) fn forbid() -> io::Result<()> {
    Ok(())
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn a_process_without_dumps_still_reads_its_own_state() {
        forbid().unwrap();
        assert!(!nix::sys::prctl::get_dumpable().unwrap());
        // Process metrics are read from there.
        for path in ["/proc/self/status", "/proc/self/fd"] {
            assert!(std::fs::metadata(path).is_ok(), "{path}");
        }
        assert!(std::fs::read_dir("/proc/self/fd").unwrap().count() > 0);
    }
}
