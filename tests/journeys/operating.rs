//! Operation of the process: configuration, log, certificate renewal, shutdown.

use std::fs::File;
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustls::pki_types::ServerName;
use rustls::{ClientConnection, StreamOwned};
use serde_json::Value;

use crate::support::files::json_lines;
use crate::support::process::{Server, errors, new_key, run, try_run};
use crate::support::{certificate, trusting};

const ASK: &str = "GET /version HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";

fn version_over(mut stream: impl Read + Write) -> std::io::Result<String> {
    stream.write_all(ASK.as_bytes())?;
    let mut answer = String::new();
    match stream.read_to_string(&mut answer) {
        // A server may close without a TLS close notification.
        Err(error) if error.kind() == ErrorKind::UnexpectedEof => Ok(answer),
        outcome => outcome.map(|_| answer),
    }
}

fn over_tls(host: &str, trusted: &str) -> std::io::Result<String> {
    let config = Arc::new(trusting(&certificate(trusted)));
    let name = ServerName::try_from("localhost").unwrap();
    let client = ClientConnection::new(config, name).unwrap();
    version_over(StreamOwned::new(client, TcpStream::connect(host)?))
}

#[test]
fn a_stopped_server_finishes_running_requests_and_exits_successfully() {
    let folder = tempfile::tempdir().unwrap();
    let key = new_key(folder.path(), &[]);
    let server = Server::start(folder.path(), "serve");
    let host = server.host().to_owned();
    let mut running = TcpStream::connect(&host).unwrap();
    let head = format!(
        "POST /v2/protected/opendata/dvf/search HTTP/1.1\r\nhost: x\r\nx-api-key: {key}\r\n\
         content-length: 2\r\n\r\n{{"
    );
    running.write_all(head.as_bytes()).unwrap();
    std::thread::sleep(Duration::from_millis(300));
    server.signal("-TERM");
    let told = Instant::now();
    while TcpStream::connect(&host).is_ok() {
        assert!(
            told.elapsed() < Duration::from_secs(3),
            "still taking connections"
        );
        std::thread::sleep(Duration::from_millis(20));
    }
    running.write_all(b"}").unwrap();
    let mut answer = String::new();
    running.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    assert!(answer.contains(r#""total":0"#), "{answer}");
    assert_eq!(server.ended(), Some(0));
}

#[test]
fn a_request_that_does_not_end_is_aborted_at_the_drain_timeout_and_the_exit_is_successful() {
    let folder = tempfile::tempdir().unwrap();
    let more = ["--set", "server.drain_timeout_s=1"];
    let server = Server::start_with(folder.path(), "serve", &more, Stdio::null());
    let mut running = TcpStream::connect(server.host()).unwrap();
    running
        .write_all(b"POST /version HTTP/1.1\r\nhost: x\r\ncontent-length: 9\r\n\r\n{")
        .unwrap();
    std::thread::sleep(Duration::from_millis(200));
    assert_eq!(server.terminate(), Some(0));
}

#[test]
fn the_configuration_of_the_data_folder_applies_and_a_mistake_in_it_prevents_the_start() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("toise.toml");
    let default = try_run(folder.path(), &["config", "--default"]);
    assert!(default.status.success());
    std::fs::write(
        &file,
        "[server]\nconnections_max = 7\n[prices]\nAPI_ANALYTICS = 2\n",
    )
    .unwrap();
    let shown = run(folder.path(), &["config", "--price", "API_ANALYTICS=9"]);
    let from = format!("{}:2", file.display());
    assert_eq!(shown["server"]["connections_max"]["value"], 7);
    assert_eq!(
        shown["server"]["connections_max"]["from"],
        Value::from(from)
    );
    assert_eq!(shown["prices"]["API_ANALYTICS"]["value"], 9);
    assert_eq!(shown["prices"]["API_ANALYTICS"]["from"], "flag --price");
    std::fs::write(&file, "[server]\nconections_max = 7\n").unwrap();
    for command in ["serve", "demo", "config"] {
        let output = try_run(folder.path(), &[command]);
        assert_eq!(
            (output.status.code(), output.stdout.len()),
            (Some(1), 0),
            "{command}"
        );
        let expected = format!(
            "error: {}:2: unknown key server.conections_max; the nearest known one is \
             server.connections_max\n",
            file.display()
        );
        assert_eq!(errors(&output), expected);
    }
}

fn log_of(data: &Path, format: &str) -> String {
    let path = data.join(format!("{format}.log"));
    let key = new_key(data, &[]);
    let more = ["--set", &format!("log.format={format}")];
    let stderr = File::create(&path).unwrap().into();
    let server = Server::start_with(data, "serve", &more, stderr);
    let key_header = format!("x-api-key: {key}\r\n");
    for (head, body) in [
        ("POST /v2/protected/opendata/dvf/search", "{}"),
        ("GET /version?note=whisper", ""),
    ] {
        let mut stream = TcpStream::connect(server.host()).unwrap();
        let length = body.len();
        let request = format!(
            "{head} HTTP/1.1\r\nhost: x\r\n{key_header}connection: close\r\ncontent-length: {length}\r\n\r\n{body}"
        );
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    }
    assert_eq!(server.terminate(), Some(0));
    let log = std::fs::read_to_string(path).unwrap();
    for secret in [key.as_str(), "whisper"] {
        assert!(!log.contains(secret), "{log}");
    }
    log
}

#[test]
fn every_request_logs_one_line_without_secrets_as_text_or_json() {
    let folder = tempfile::tempdir().unwrap();
    let text = log_of(folder.path(), "text");
    let lines: Vec<&str> = text
        .lines()
        .filter(|line| line.contains("answered"))
        .collect();
    assert_eq!(lines.len(), 2, "{text}");
    assert!(
        lines[0].contains("status=200") && lines[0].contains("dvf/search"),
        "{text}"
    );

    let json = log_of(folder.path(), "json");
    let lines: Vec<Value> = json_lines(&json);
    let answered: Vec<&Value> = lines
        .iter()
        .filter(|line| line["message"] == "answered")
        .collect();
    assert_eq!(answered.len(), 2, "{json}");
    assert_eq!(answered[0]["status"], 200);
    assert_eq!(answered[0]["path"], "/v2/protected/opendata/dvf/search");
    assert!(answered[0]["request_id"].is_string() && answered[0]["duration_us"].is_number());
}

#[test]
fn sighup_reloads_a_renewed_certificate() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name);
    let put = |name: &str| {
        std::fs::copy(certificate(name), file("certificate.pem")).unwrap();
        std::fs::copy(certificate(&format!("{name}.key")), file("key.pem")).unwrap();
    };
    put("one");
    let set = |key: &str, name: &str| format!("server.{key}={}", file(name).display());
    let (certificate_flag, key_flag) = (
        set("tls_certificate", "certificate.pem"),
        set("tls_key", "key.pem"),
    );
    let more = ["--set", &certificate_flag, "--set", &key_flag];
    let server = Server::start_with(&file("data"), "serve", &more, Stdio::null());
    assert!(server.address.starts_with("https://"), "{}", server.address);
    assert!(
        over_tls(server.host(), "one")
            .unwrap()
            .starts_with("HTTP/1.1 200")
    );
    assert!(over_tls(server.host(), "two").is_err());
    put("two");
    server.signal("-HUP");
    let told = Instant::now();
    while over_tls(server.host(), "two").is_err() {
        assert!(
            told.elapsed() < Duration::from_secs(3),
            "the new certificate is not used"
        );
        std::thread::sleep(Duration::from_millis(50));
    }
    assert_eq!(server.terminate(), Some(0));
}

#[test]
fn pages_and_completions_name_every_command() {
    let folder = tempfile::tempdir().unwrap();
    let pages = folder.path().join("share/man1");
    run(folder.path(), &["man", pages.to_str().unwrap()]);
    for page in ["toise.1", "toise-serve.1", "toise-keys-create.1"] {
        let text = std::fs::read_to_string(pages.join(page)).unwrap();
        assert!(text.contains(".TH toise"), "{page}");
    }
    let completed = try_run(folder.path(), &["completions", "bash"]);
    let script = String::from_utf8(completed.stdout).unwrap();
    assert!(script.contains("complete -F _toise"), "{script}");
    assert!(script.contains("dead-letters"));

    File::create(folder.path().join("file")).unwrap();
    let inside = folder.path().join("file/man1");
    let refused = try_run(folder.path(), &["man", inside.to_str().unwrap()]);
    assert!(errors(&refused).contains("file/man1"));
    let unknown = try_run(folder.path(), &["completions", "tcsh"]);
    assert!(!unknown.status.success());
}

/// The answer to a request, as text.
fn answered(host: &str, request: &str) -> String {
    let mut stream = TcpStream::connect(host).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

#[cfg(target_os = "linux")]
#[test]
fn a_log_that_cannot_be_written_fails_no_request() {
    let folder = tempfile::tempdir().unwrap();
    let key = new_key(folder.path(), &[]);
    let full = File::options().write(true).open("/dev/full").unwrap();
    let server = Server::start_with(folder.path(), "serve", &[], Stdio::from(full));
    let body = r#"{"search": {"filterProperty": {}}}"#;
    let request = format!(
        "POST /v2/protected/properties/search/count HTTP/1.1\r\nhost: a\r\nx-api-key: {key}\r\n\
         content-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
        body.len()
    );
    for _ in 0..20 {
        let answer = answered(server.host(), &request);
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    }
    assert!(answered(server.host(), ASK).starts_with("HTTP/1.1 200"));
    assert_eq!(server.terminate(), Some(0));
}

#[test]
fn long_paths_of_strangers_are_cut_in_the_log_and_name_their_address() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log");
    let file = File::create(&log).unwrap();
    let server = Server::start_with(folder.path(), "serve", &[], Stdio::from(file));
    let path = format!("/{}", "x".repeat(6_000));
    let request = format!("GET {path} HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n");
    for _ in 0..10 {
        assert!(answered(server.host(), &request).starts_with("HTTP/1.1 404"));
    }
    assert_eq!(server.terminate(), Some(0));
    let log = std::fs::read_to_string(log).unwrap();
    let lines: Vec<&str> = log.lines().filter(|line| line.contains("/xxx")).collect();
    assert_eq!(lines.len(), 10, "{log}");
    assert!(lines.iter().all(|line| line.len() < 700), "{log}");
    assert!(
        lines.iter().all(|line| line.contains("client=127.0.0.1")),
        "{log}"
    );
}

#[test]
fn operators_have_a_listener_of_their_own() {
    let folder = tempfile::tempdir().unwrap();
    let key = new_key(folder.path(), &["--scopes", "admin"]);
    let more = ["--set", "admin.listen=127.0.0.1:0"];
    let server = Server::start_with(folder.path(), "serve", &more, Stdio::null());
    let operators = server.ready["admin"].as_str().unwrap();
    let operators = operators.split("//").nth(1).unwrap();
    let status = |host: &str, path: &str| {
        let head = format!("GET {path} HTTP/1.1\r\nhost: a\r\nx-api-key: {key}\r\n");
        let answer = answered(host, &format!("{head}connection: close\r\n\r\n"));
        answer[9..12].parse::<u16>().unwrap()
    };
    for path in ["/metrics", "/v2/protected/admin/keys"] {
        assert_eq!(status(operators, path), 200, "{path}");
        assert_eq!(status(server.host(), path), 404, "{path}");
    }
    assert_eq!(status(operators, "/healthz"), 200);
    assert_eq!(status(server.host(), "/healthz"), 200);
    assert_eq!(status(operators, "/portals"), 404);
    assert_eq!(server.terminate(), Some(0));
}
