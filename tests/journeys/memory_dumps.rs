//! A server with a master key writes no core file, and other processes of its user cannot read its memory. Without a
//! master key, the defaults of the system apply.

use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::Stdio;

use crate::support::process::{Server, toise, write_file};

const MASTER_KEY: &str = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";

/// The soft and the hard limit of core files, and the owner of the files in `/proc` of a process.
fn of_process(id: u32) -> (Vec<String>, u32) {
    let process = Path::new("/proc").join(id.to_string());
    let limits = std::fs::read_to_string(process.join("limits")).unwrap();
    let line = limits
        .lines()
        .find_map(|line| line.strip_prefix("Max core file size"));
    let limits = line.unwrap().split_whitespace().take(2);
    let owner = std::fs::metadata(process.join("environ")).unwrap().uid();
    (limits.map(str::to_owned).collect(), owner)
}

fn served(data: &Path, environment: &[(&str, &str)]) -> Server {
    let mut command = toise(data, &["serve", "--listen", "127.0.0.1:0"]);
    command
        .envs(environment.iter().copied())
        .stderr(Stdio::null());
    Server::ready(&mut command)
}

#[test]
fn a_master_key_forbids_memory_dumps() {
    let folder = tempfile::tempdir().unwrap();
    let key_file = write_file(folder.path(), "key", MASTER_KEY);
    let own = std::fs::metadata("/proc/self/environ").unwrap().uid();
    let data = folder.path().join("plain");
    let plain = served(&data, &[]);
    assert_eq!(of_process(plain.id()).1, own);
    assert_eq!(plain.terminate(), Some(0));
    for (name, value) in [
        ("TOISE_MASTER_KEY", MASTER_KEY),
        ("TOISE_MASTER_KEY_FILE", key_file.as_str()),
    ] {
        let server = served(&folder.path().join(name), &[(name, value)]);
        let (limits, owner) = of_process(server.id());
        assert_eq!(limits, ["0", "0"], "{name}");
        // The files of a process that may not be dumped belong to root.
        assert_eq!(owner, 0, "{name}");
        assert_eq!(server.terminate(), Some(0));
    }
}
