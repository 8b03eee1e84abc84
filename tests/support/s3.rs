//! A server of the S3 protocol that honours conditional writes: `moto[server]`, from the Python of `TOISE_PYTHON`.

use std::io::{BufRead, BufReader};
use std::process::{Child, ChildStdin, Command, Stdio};

use super::skip::skipped;

/// Serves on a free port until its input ends, with a bucket.
const SERVER: &str = "
import sys
from moto.server import ThreadedMotoServer
import boto3
server = ThreadedMotoServer(ip_address='127.0.0.1', port=0, verbose=False)
server.start()
host, port = server.get_host_and_port()
s3 = boto3.client('s3', endpoint_url=f'http://{host}:{port}', region_name='us-east-1',
                  aws_access_key_id='test', aws_secret_access_key='test')
s3.create_bucket(Bucket='toise')
print(port, flush=True)
sys.stdin.read()
";

/// The server; it ends when this is dropped.
pub struct S3Server {
    child: Child,
    input: Option<ChildStdin>,
    port: u16,
}

impl S3Server {
    /// Starts the server; if it is not installed, reports that the test is skipped and returns `None`.
    pub fn start() -> Option<Self> {
        let python = std::env::var("TOISE_PYTHON").unwrap_or_else(|_| "python3".to_owned());
        let server = Self::run(&python);
        if server.is_none() {
            skipped(&format!(
                "{python} has no moto[server] (TOISE_PYTHON names another one)"
            ));
        }
        server
    }

    fn run(python: &str) -> Option<Self> {
        let mut command = Command::new(python);
        command.args(["-c", SERVER]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.stderr(Stdio::null()).spawn().ok()?;
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut()?)
            .read_line(&mut line)
            .ok()?;
        let Ok(port) = line.trim().parse() else {
            let _ = child.wait();
            return None;
        };
        let input = child.stdin.take();
        Some(Self { child, input, port })
    }

    /// Environment variables for a process that uses it.
    pub fn environment(&self) -> Vec<(&'static str, String)> {
        vec![
            (
                "AWS_ENDPOINT_URL",
                format!("http://127.0.0.1:{}", self.port),
            ),
            ("AWS_ACCESS_KEY_ID", "test".into()),
            ("AWS_SECRET_ACCESS_KEY", "test".into()),
            ("AWS_REGION", "us-east-1".into()),
        ]
    }
}

impl Drop for S3Server {
    fn drop(&mut self) {
        drop(self.input.take());
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
