//! Processes that may not work together: other data, another token, no encryption.

use std::path::{Path, PathBuf};

use crate::assertions::{assert_has, assert_refused};
use crate::folders::{data, homes, outcome};
use crate::process::{Server, errors, run, toise, try_run, write_file};

fn worker_with(data: &Path, settings: &[(&str, &str)]) -> Server {
    let mut command = toise(data, &["worker", "--listen", "127.0.0.1:0"]);
    for (name, value) in settings {
        command.env(format!("TOISE_CLUSTER__{name}"), value);
    }
    Server::ready(&mut command)
}

/// The error output of a query with settings, and whether it succeeds.
fn asked(workers: &str, settings: &[(&str, &str)]) -> (bool, String) {
    let query = "select property_type, count(*) from dvf group by 1";
    let mut command = toise(data(), &["sql", query, "--workers", workers]);
    for (name, value) in settings {
        command.env(format!("TOISE_CLUSTER__{name}"), value);
    }
    let output = command.output().unwrap();
    (output.status.success(), errors(&output))
}

fn certificate(name: &str) -> String {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/support/tls");
    folder.join(name).to_str().unwrap().to_owned()
}

#[test]
fn a_worker_with_other_data_is_refused_by_name() {
    let other = tempfile::tempdir().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().to_str().unwrap();
    run(other.path(), &["synth", "--dvf", "100", "--output", output]);
    let sales = folder.path().join("dvf-synth.csv");
    run(other.path(), &["import", "dvf", sales.to_str().unwrap()]);
    let stranger = worker_with(other.path(), &[]);
    let (succeeded, said) = asked(&stranger.address, &[]);
    assert!(!succeeded);
    assert_has(&said, &format!("the worker {}/ refuses", stranger.address));
    let input = write_file(folder.path(), "homes.csv", homes(10));
    let valued = folder.path().join("valued.csv");
    let arguments = [
        "estimate",
        "--input",
        &input,
        "--output",
        valued.to_str().unwrap(),
        "--workers",
        &stranger.address,
    ];
    let refused = outcome(data(), &arguments);
    assert!(!refused.status.success());
    let said = errors(&refused);
    assert!(said.contains("that of the command"), "{said}");
    assert!(!valued.exists());
}

#[test]
fn a_token_must_be_shown_and_certificates_must_be_signed() {
    let guarded = worker_with(data(), &[("TOKEN", "sesame")]);
    assert!(asked(&guarded.address, &[("TOKEN", "sesame")]).0);
    for settings in [&[][..], &[("TOKEN", "sesam")]] {
        let (succeeded, said) = asked(&guarded.address, settings);
        assert!(
            !succeeded && said.contains("the token does not match"),
            "{said}"
        );
    }
    let one = [certificate("one.pem"), certificate("one.key.pem")];
    let own = [
        ("CERTIFICATE", one[0].as_str()),
        ("KEY", &one[1]),
        ("CA", &one[0]),
    ];
    // Certificates of both sides; two workers, which also talk to each other.
    let (mutual, other) = (worker_with(data(), &own), worker_with(data(), &own));
    assert!(mutual.address.starts_with("https://"));
    let both = format!("{},{}", mutual.address, other.address);
    let (succeeded, said) = asked(&both, &own);
    assert!(
        succeeded && said.contains("answered with 2 workers"),
        "{said}"
    );
    let two = [certificate("two.pem"), certificate("two.key.pem")];
    let stranger = [
        ("CERTIFICATE", two[0].as_str()),
        ("KEY", &two[1]),
        ("CA", &one[0]),
    ];
    assert!(!asked(&mutual.address, &stranger).0);
    // A token over TLS: the caller needs no certificate.
    let with_token = [own[0], own[1], own[2], ("TOKEN", "sesame")];
    let worker = worker_with(data(), &with_token);
    let caller = [("CA", one[0].as_str()), ("TOKEN", "sesame")];
    let (succeeded, said) = asked(&worker.address, &caller);
    assert!(succeeded, "{said}");
    assert!(!asked(&worker.address, &caller[..1]).0);
}

#[test]
fn nothing_is_sent_in_clear_text_beyond_loopback() {
    let served = try_run(data(), &["worker", "--listen", "0.0.0.0:0"]);
    assert_refused(&served, "beyond loopback a worker needs TLS");
    let (succeeded, said) = asked("http://192.0.2.1:9101", &[("TOKEN", "sesame")]);
    assert!(!succeeded && said.contains("only over https://"), "{said}");
    let (succeeded, said) = asked("http://127.0.0.1:9", &[]);
    assert!(!succeeded && said.contains("no worker answers"), "{said}");
}
