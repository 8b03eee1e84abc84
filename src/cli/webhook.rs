//! `toise webhook listen`: a receiver for trying out alerts, which checks signatures and prints deliveries.
//!
//! It responds with a configurable status, so that retries can be observed too. A delivery with a wrong key or
//! signature gets 401, as the contract requires of receivers.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use chrono::{DateTime, Utc};
use clap::{Args, Subcommand};
use parking_lot::Mutex;
use serde_json::{Value, json};
use subtle::ConstantTimeEq;
use tokio::net::TcpListener;
use tokio::sync::Notify;
use warp::Filter;
use warp::http::{HeaderMap, StatusCode};

use super::result::Failure;
use super::{CommandResult, Common};
use toise_accounts::DEFAULT_ACCOUNT;
use toise_accounts::account;
use toise_accounts::json::moment;
use toise_alerts::signature::{
    ID_HEADER, KEY_HEADER, NEXT_KEY_HEADER, SIGNATURE_HEADER, TIMESTAMP_HEADER, VerifyError,
    read_secret, verify,
};
use toise_base::clock::Clock;
use toise_store::Store;

/// Maximum body length, in bytes.
const BODY_BYTES_MAX: u64 = 16 << 20;
/// Maximum identifiers remembered to recognise repeated deliveries.
const IDS_MAX: usize = 100_000;

/// Time for sending the last response before the command ends.
const ANSWER_GRACE: Duration = Duration::from_millis(200);

/// Arguments of `webhook`.
#[derive(Args, Debug)]
pub struct WebhookArgs {
    #[command(subcommand)]
    action: WebhookAction,
}

#[derive(Subcommand, Debug)]
enum WebhookAction {
    /// Receive deliveries, check their signatures and print them
    #[command(after_help = "\
Examples: receive the deliveries of the demo, then watch it retry

  toise demo
  toise webhook listen --port 9000
  toise webhook listen --port 9000 --answer 500

Use http://127.0.0.1:9000/ as the webhook_url of alerts.")]
    Listen(ListenArgs),
}

#[derive(Args, Debug)]
struct ListenArgs {
    /// Port to listen on; 0 picks a free one
    #[arg(long, default_value_t = 9000)]
    port: u16,
    /// Address to listen on
    #[arg(long, default_value = "127.0.0.1")]
    host: String,
    /// Signing secret to verify with, whsec_…; repeatable [default: the account's secrets in the data folder]
    #[arg(long, value_name = "SECRET", value_parser = secret)]
    secret: Vec<WebhookSecret>,
    /// Webhook key to verify [default: the account's key, if no secret is given]
    #[arg(long, value_name = "KEY")]
    key: Option<String>,
    /// Account of the data folder whose secrets to verify with, by name or id
    #[arg(long, default_value = DEFAULT_ACCOUNT)]
    account: String,
    /// Status to respond with
    #[arg(long, value_name = "STATUS", default_value = "200", value_parser = status)]
    answer: StatusCode,
    /// Delay before each response, in milliseconds
    #[arg(long, value_name = "MS", default_value_t = 0)]
    delay: u64,
    /// Exit after this number of deliveries [default: never]
    #[arg(long, value_name = "NUMBER")]
    count: Option<usize>,
}

/// A signing secret; `Debug` hides it.
#[derive(Clone)]
struct WebhookSecret(Vec<u8>);

impl std::fmt::Debug for WebhookSecret {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Secret(hidden)")
    }
}

fn secret(text: &str) -> Result<WebhookSecret, String> {
    read_secret(text)
        .map(WebhookSecret)
        .ok_or_else(|| "must be whsec_ and base64, as `toise accounts show` prints it".into())
}

fn status(text: &str) -> Result<StatusCode, String> {
    let number = text
        .parse()
        .ok()
        .filter(|number| (200..600).contains(number));
    number
        .and_then(|number| StatusCode::from_u16(number).ok())
        .ok_or_else(|| "must be an HTTP status from 200 to 599".into())
}

/// Runs `webhook`.
pub fn run(common: &Common, arguments: &WebhookArgs) -> CommandResult {
    let WebhookAction::Listen(arguments) = &arguments.action;
    let receiver = WebhookReceiver::new(common, arguments)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(listen(arguments, receiver))
}

async fn listen(arguments: &ListenArgs, receiver: WebhookReceiver) -> CommandResult {
    let wanted = format!("{}:{}", arguments.host, arguments.port);
    let listener = TcpListener::bind(&wanted)
        .await
        .map_err(|error| format!("cannot listen on {wanted}: {error}"))?;
    let address = format!("http://{}/", listener.local_addr()?);
    if receiver.as_json {
        println!("{}", json!({"address": address}))
    } else {
        println!("listening on {address}")
    }
    let receiver = Arc::new(receiver);
    let taking = Arc::clone(&receiver);
    let route = warp::any()
        .and(warp::header::headers_cloned())
        .and(warp::body::content_length_limit(BODY_BYTES_MAX))
        .and(warp::body::bytes())
        .then(move |headers: HeaderMap, body: Bytes| {
            let receiver = Arc::clone(&taking);
            async move { receiver.take(&headers, &body).await }
        });
    let serving = warp::serve(route).incoming(listener).run();
    tokio::select! {
        () = serving => {}
        () = receiver.finished() => {}
    }
    Ok(())
}

/// Checks and prints deliveries.
struct WebhookReceiver {
    secrets: Vec<WebhookSecret>,
    key: Option<String>,
    answer: StatusCode,
    delay: Duration,
    count: Option<usize>,
    as_json: bool,
    seen_ids: Mutex<HashSet<String>>,
    taken: Mutex<usize>,
    finished: Notify,
    clock: Clock,
}

impl WebhookReceiver {
    fn new(common: &Common, arguments: &ListenArgs) -> Result<Self, Failure> {
        let clock = Clock::system();
        let (mut secrets, mut key) = (arguments.secret.clone(), arguments.key.clone());
        if secrets.is_empty() {
            if !Store::exists(&common.data) {
                let folder = common.data.display();
                return Err(format!(
                    "{folder} holds no account; pass --secret with the value that `toise accounts show` prints"
                )
                .into());
            }
            let store = Store::open(&common.data)?;
            let account = account::get_named(&store, &arguments.account)
                .map_err(|error| format!("{}: {error}", arguments.account))?
                .at(clock.now());
            let signing = account::signing_secrets(&store, account.account_id, clock.now())?;
            secrets = signing
                .iter()
                .map(|signing| WebhookSecret(signing.secret.bytes().to_vec()))
                .collect();
            key.get_or_insert_with(|| account.webhook_key.reveal().to_owned());
        }
        Ok(Self {
            secrets,
            key,
            answer: arguments.answer,
            delay: Duration::from_millis(arguments.delay),
            count: arguments.count,
            as_json: common.json,
            seen_ids: Mutex::default(),
            taken: Mutex::default(),
            finished: Notify::new(),
            clock,
        })
    }

    /// Returns when the last of `count` deliveries has been received and its response sent.
    async fn finished(&self) {
        self.finished.notified().await;
        tokio::time::sleep(ANSWER_GRACE).await;
    }

    /// Verifies and prints a delivery; returns the status of the response.
    async fn take(&self, headers: &HeaderMap, body: &[u8]) -> StatusCode {
        let header = |name: &str| {
            headers
                .get(name)
                .and_then(|value| value.to_str().ok())
                .unwrap_or_default()
        };
        let id = header(ID_HEADER);
        let problem = self.problem(header, body);
        let status = match problem {
            Some(_) => StatusCode::UNAUTHORIZED,
            None => self.answer,
        };
        let came = ReceivedDelivery {
            at: self.clock.now(),
            id,
            body,
            problem,
            is_repeated: self.remember(id),
            status,
        };
        println!(
            "{}",
            if self.as_json {
                came.json_line()
            } else {
                came.lines()
            }
        );
        tokio::time::sleep(self.delay).await;
        self.count_down();
        status
    }

    /// Returns what is wrong with the key or signature of a delivery; `None` if both are right.
    fn problem<'h>(&self, header: impl Fn(&'static str) -> &'h str, body: &[u8]) -> Option<String> {
        let carries = |key: &str, name| bool::from(key.as_bytes().ct_eq(header(name).as_bytes()));
        if let Some(key) = &self.key
            && !carries(key, KEY_HEADER)
            && !carries(key, NEXT_KEY_HEADER)
        {
            return Some(format!("{KEY_HEADER} is missing or wrong"));
        }
        let (id, timestamp) = (header(ID_HEADER), header(TIMESTAMP_HEADER));
        let signatures = header(SIGNATURE_HEADER);
        let checked = self
            .secrets
            .iter()
            .map(|secret| verify(&secret.0, id, timestamp, body, signatures, self.clock.now()));
        let mut problem = VerifyError::Forged;
        for outcome in checked {
            match outcome {
                Ok(()) => return None,
                Err(found) => problem = found,
            }
        }
        Some(problem.to_string())
    }

    /// Remembers an identifier. Returns whether it was received before.
    fn remember(&self, id: &str) -> bool {
        let mut seen_ids = self.seen_ids.lock();
        if seen_ids.len() >= IDS_MAX {
            seen_ids.clear();
        }
        !seen_ids.insert(id.to_owned())
    }

    fn count_down(&self) {
        let mut taken = self.taken.lock();
        *taken += 1;
        if Some(*taken) == self.count {
            self.finished.notify_one();
        }
    }
}

/// A received delivery and the result of its verification.
struct ReceivedDelivery<'d> {
    at: DateTime<Utc>,
    id: &'d str,
    body: &'d [u8],
    problem: Option<String>,
    is_repeated: bool,
    status: StatusCode,
}

impl ReceivedDelivery<'_> {
    fn json_line(&self) -> String {
        let body = serde_json::from_slice(self.body)
            .unwrap_or_else(|_| Value::String(String::from_utf8_lossy(self.body).into_owned()));
        let mut line = json!({
            "received_at": moment(self.at),
            "webhook_id": self.id,
            "verified": self.problem.is_none(),
            "repeated": self.is_repeated,
            "answered": self.status.as_u16(),
            "body": body,
        });
        if let Some(problem) = &self.problem {
            line["problem"] = json!(problem);
        }
        line.to_string()
    }

    fn lines(&self) -> String {
        let verified = match &self.problem {
            None => "signature valid".to_owned(),
            Some(problem) => format!("NOT VERIFIED: {problem}"),
        };
        let again = if self.is_repeated { ", repeated" } else { "" };
        let (time, id) = (self.at.format("%H:%M:%S%.3f"), self.id);
        let status = self.status.as_u16();
        let head = format!("{time}  {id}  {verified}{again}, responded {status}");
        // A sender must not be able to send control sequences to the terminal.
        let plain = |line: String| line.replace(char::is_control, " ");
        let lines = std::iter::once(head)
            .chain(item_lines(self.body))
            .map(plain);
        lines.collect::<Vec<_>>().join("\n")
    }
}

/// Formats the items of a delivery, one per line.
fn item_lines(body: &[u8]) -> Vec<String> {
    let Ok(body) = serde_json::from_slice::<Value>(body) else {
        return vec![format!("  not JSON, {} bytes", body.len())];
    };
    let mut lines = Vec::new();
    for branch in ["created", "updated"] {
        for entry in body["data"][branch].as_array().into_iter().flatten() {
            let alert = entry["alert_id"].as_str().unwrap_or("?");
            let items = entry["properties"]
                .as_array()
                .or(entry["adverts"].as_array());
            for item in items.into_iter().flatten() {
                lines.push(format!("  {branch}  alert {alert}  {}", item_line(item)));
            }
        }
    }
    if lines.is_empty() {
        lines.push(format!("  {body}"));
    }
    lines
}

fn item_line(item: &Value) -> String {
    if let Some(property) = item.as_str() {
        return format!("property {property}");
    }
    let mut parts = vec![format!("advert {}", item["flxId"].as_str().unwrap_or("?"))];
    let texts = [
        &item["event"]["type"],
        &item["title"],
        &item["location"]["city"],
        &item["source"],
    ];
    parts.extend(
        texts
            .into_iter()
            .filter_map(Value::as_str)
            .map(str::to_owned),
    );
    if let Some(price) = item["currentPrice"]["value"].as_f64() {
        let before = item["event"]["previous"]["price"].as_f64();
        let before = before.map(|before| format!(" (before: {before} EUR)"));
        parts.push(format!("{price} EUR{}", before.unwrap_or_default()));
    }
    if item["isOnline"] == json!(false) {
        parts.push("offline".into());
    }
    parts.join(", ")
}
