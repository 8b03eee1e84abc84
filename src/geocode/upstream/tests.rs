//! Tests with a local server that behaves like the public service, its failures included.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::time::Instant;

use super::breaker::{FAILURES_TO_OPEN, PAUSE_FIRST};
use super::*;
use crate::address::Confidence;
use crate::request::{parse_reverse, parse_search};

/// Server that answers each request with the bytes of its script, then closes the connection.
struct Server {
    base: String,
    paths: Arc<Mutex<Vec<String>>>,
    script: Arc<Mutex<Vec<u8>>>,
}

impl Server {
    async fn start(answer: Vec<u8>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base = format!("http://{}/geocodage/", listener.local_addr().unwrap());
        let paths = Arc::<Mutex<Vec<String>>>::default();
        let script = Arc::new(Mutex::new(answer));
        let (seen, answers) = (Arc::clone(&paths), Arc::clone(&script));
        tokio::spawn(async move {
            loop {
                let (mut stream, _) = listener.accept().await.unwrap();
                let (seen, answers) = (Arc::clone(&seen), Arc::clone(&answers));
                tokio::spawn(async move {
                    let mut head = Vec::new();
                    while !head.ends_with(b"\r\n\r\n") {
                        let Ok(byte) = stream.read_u8().await else {
                            break;
                        };
                        head.push(byte);
                    }
                    let head = String::from_utf8(head).unwrap();
                    assert!(head.to_lowercase().contains("user-agent: toise/"), "{head}");
                    let path = head.split(' ').nth(1).unwrap().to_owned();
                    Mutex::lock(&seen).push(path);
                    let answer = answers.lock().clone();
                    if answer.is_empty() {
                        // Stays silent until the client gives up.
                        let _ = stream.read_u8().await;
                    }
                    let _ = stream.write_all(&answer).await;
                    let _ = stream.shutdown().await;
                });
            }
        });
        Self {
            base,
            paths,
            script,
        }
    }

    fn answer(&self, answer: Vec<u8>) {
        *self.script.lock() = answer;
    }

    fn asked(&self) -> usize {
        self.paths.lock().len()
    }
}

fn response(status: &str, headers: &str, body: &str) -> Vec<u8> {
    let length = body.len();
    format!(
        "HTTP/1.1 {status}\r\nconnection: close\r\ncontent-length: {length}\r\n{headers}\r\n{body}"
    )
    .into_bytes()
}

fn collection(features: &[Value]) -> Vec<u8> {
    let body = json!({"type": "FeatureCollection", "features": features, "query": "…"});
    let headers = "content-type: application/json\r\n";
    response("200 OK", headers, &body.to_string())
}

/// Returns an address as the public service answers it.
fn mende() -> Value {
    json!({
        "type": "Feature",
        "geometry": {"type": "Point", "coordinates": [3.499_47, 44.518_34]},
        "properties": {
            "label": "12 Rue de la République 48000 Mende", "score": 0.97, "housenumber": "12",
            "id": "48095_0100_00012", "name": "12 Rue de la République", "postcode": "48000",
            "citycode": "48095", "x": 739_690.2, "y": 6_379_998.1, "city": "Mende",
            "context": "48, Lozère, Occitanie", "type": "housenumber", "importance": 0.57,
            "street": "Rue de la République", "_type": "address", "banId": "some"
        }
    })
}

fn with(mut feature: Value, name: &str, value: Value) -> Value {
    feature["properties"][name] = value;
    feature
}

struct Fixture {
    upstream: Upstream,
    clock: Clock,
    _folder: tempfile::TempDir,
}

impl Fixture {
    fn new(base: &str, change: impl FnOnce(&mut GeocodingSettings)) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let clock = Clock::steered("2026-04-07T10:00:00Z".parse().unwrap());
        let mut settings = GeocodingSettings {
            upstream: base.to_owned(),
            // The clock stands still: at a low rate each further request would wait for its slot.
            upstream_rate_per_s: 1_000_000,
            ..GeocodingSettings::default()
        };
        change(&mut settings);
        let store = Store::open(folder.path()).unwrap();
        let upstream = Upstream::new(&settings, store, clock.clone()).unwrap();
        Self {
            upstream: upstream.unwrap(),
            clock,
            _folder: folder,
        }
    }

    async fn search(&self, text: &str) -> Result<Vec<Address<'static>>, Unavailable> {
        self.search_with(&[("q", text)]).await
    }

    async fn search_with(
        &self,
        pairs: &[(&str, &str)],
    ) -> Result<Vec<Address<'static>>, Unavailable> {
        let call = parse_search(&parameters(pairs)).unwrap();
        self.upstream.search(&call, deadline()).await
    }

    fn count(&self, outcome: &str) -> u64 {
        let questions = self.upstream.health().questions;
        let found = questions.iter().find(|(name, _)| *name == outcome);
        found.unwrap().1
    }

    fn advance(&self, time: Duration) {
        self.clock
            .advance_ms(i64::try_from(time.as_millis()).unwrap());
    }
}

fn parameters(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    let pair = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
    pairs.iter().map(pair).collect()
}

fn deadline() -> Instant {
    Instant::now() + Duration::from_secs(30)
}

const DAY: Duration = Duration::from_secs(86_400);
const TEXT: &str = "12 rue de la République 48000 Mende";

#[tokio::test]
async fn an_answer_keeps_its_score_and_gets_our_confidence() {
    let server = Server::start(collection(&[mende()])).await;
    let fixture = Fixture::new(&server.base, |_| {});
    let found = fixture.search(TEXT).await.unwrap();
    let feature = serde_json::to_value(&found[0]).unwrap();
    let properties = &feature["properties"];
    assert_eq!(
        feature["geometry"]["coordinates"],
        json!([3.49947, 44.51834])
    );
    assert_eq!(properties["score"], 0.97);
    assert_eq!(properties["confidence"], "HIGH");
    assert_eq!(properties["source"], "upstream");
    assert_eq!(properties["id"], "48095_0100_00012");
    assert_eq!(properties["context"], "48, Lozère, Occitanie");
    assert!(properties.get("matched").is_none() && properties.get("distance").is_none());
    assert!(properties.get("_type").is_none() && properties.get("banId").is_none());
    let path = server.paths.lock()[0].clone();
    let asked =
        "/geocodage/search?q=12+rue+de+la+r%C3%A9publique+48000+mende&limit=10&autocomplete=1";
    assert_eq!(path, asked);
}

#[tokio::test]
async fn confidence_is_high_only_where_score_town_and_number_agree() {
    let server = Server::start(Vec::new()).await;
    let fixture = Fixture::new(&server.base, |settings| settings.upstream_cache_days = 0);
    let street = with(mende(), "housenumber", Value::Null);
    let cases = [
        (mende(), TEXT, Confidence::High),
        (mende(), "12 rue de la republique mende", Confidence::High),
        // The town is not named, or another one is.
        (mende(), "12 rue de la republique", Confidence::Medium),
        (mende(), "12 rue de la republique 48100", Confidence::Low),
        // The number was not found.
        (street, TEXT, Confidence::Medium),
        (with(mende(), "score", json!(0.9)), TEXT, Confidence::Medium),
        (with(mende(), "score", json!(0.7)), TEXT, Confidence::Low),
    ];
    for (feature, text, confidence) in cases {
        server.answer(collection(&[feature]));
        let found = fixture.search(text).await.unwrap();
        assert_eq!(found[0].properties.confidence, confidence, "{text}");
    }
}

#[tokio::test]
async fn a_kept_answer_is_not_asked_again_until_it_expires() {
    let server = Server::start(collection(&[mende()])).await;
    let fixture = Fixture::new(&server.base, |settings| settings.upstream_cache_days = 3);
    let first = fixture.search(TEXT).await.unwrap();
    let again = fixture
        .search(" 12 RUE de la république  48000 Mende")
        .await;
    let (first, again) = (
        serde_json::to_value(&first).unwrap(),
        serde_json::to_value(again.unwrap()).unwrap(),
    );
    assert_eq!(first, again);
    assert_eq!((server.asked(), fixture.count("kept")), (1, 1));
    fixture
        .search_with(&[("q", TEXT), ("limit", "2")])
        .await
        .unwrap();
    assert_eq!(server.asked(), 2, "another question");
    fixture.advance(3 * DAY);
    fixture.search(TEXT).await.unwrap();
    assert_eq!(server.asked(), 3);

    // An empty answer is cached for a day.
    server.answer(collection(&[]));
    assert!(
        fixture
            .search("2 rue Neuve Mende")
            .await
            .unwrap()
            .is_empty()
    );
    assert!(
        fixture
            .search("2 rue Neuve Mende")
            .await
            .unwrap()
            .is_empty()
    );
    assert_eq!(server.asked(), 4);
    fixture.advance(DAY);
    fixture.search("2 rue Neuve Mende").await.unwrap();
    assert_eq!(server.asked(), 5);
}

#[tokio::test]
async fn equal_questions_at_the_same_time_are_asked_once() {
    let server = Server::start(collection(&[mende()])).await;
    let fixture = Fixture::new(&server.base, |_| {});
    let (one, two, three) = tokio::join!(
        fixture.search(TEXT),
        fixture.search(TEXT),
        fixture.search(TEXT)
    );
    assert!(
        [one, two, three]
            .iter()
            .all(|found| found.as_ref().unwrap().len() == 1)
    );
    assert_eq!(server.asked(), 1);
}

#[tokio::test]
async fn what_cannot_be_used_of_an_answer_is_left_out() {
    let position = |lon: Value, lat: Value| {
        let mut feature = mende();
        feature["geometry"]["coordinates"] = json!([lon, lat]);
        feature
    };
    let broken = [
        json!(null),
        json!({"type": "Feature"}),
        json!({"type": "Feature", "geometry": null, "properties": {}}),
        position(json!(0), json!(0)),
        position(json!(44.5), json!(3.5)),
        position(json!(3.5), json!(1e300)),
        position(json!("3.5"), json!("44.5")),
        with(mende(), "label", json!("")),
        with(mende(), "label", json!("x".repeat(10_000))),
        with(mende(), "score", json!(null)),
        with(mende(), "score", json!(7)),
        with(mende(), "score", json!(-0.1)),
        with(mende(), "id", json!(17)),
        with(mende(), "citycode", json!("Mende")),
        with(mende(), "citycode", json!("é809")),
        with(mende(), "postcode", json!("48")),
        with(mende(), "type", json!("poi")),
        with(mende(), "city", json!(null)),
    ];
    let server = Server::start(collection(&broken)).await;
    let fixture = Fixture::new(&server.base, |_| {});
    assert!(fixture.search(TEXT).await.unwrap().is_empty());

    // The other features are kept, in our order, and no more than requested.
    let mut features = broken.to_vec();
    features.extend([0.5, 0.9, 0.7].map(|score| with(mende(), "score", json!(score))));
    features.push(with(mende(), "type", json!("street")));
    server.answer(collection(&features));
    let asked = [("q", TEXT), ("limit", "2"), ("type", "housenumber")];
    let found = fixture.search_with(&asked).await.unwrap();
    let scores: Vec<f64> = found.iter().map(|one| one.properties.score).collect();
    assert_eq!(scores, [0.9, 0.7]);
}

#[tokio::test]
async fn distances_of_a_reverse_search_are_measured_here() {
    let mut far = with(mende(), "distance", json!(0));
    far["geometry"]["coordinates"] = json!([3.51, 44.52]);
    let near = with(mende(), "distance", json!(9e9));
    let server = Server::start(collection(&[far, near])).await;
    let fixture = Fixture::new(&server.base, |_| {});
    let asked = [("lat", "44.5184"), ("lon", "3.4995"), ("limit", "5")];
    let call = parse_reverse(&parameters(&asked)).unwrap();
    let found = fixture.upstream.reverse(&call, deadline()).await.unwrap();
    let distances: Vec<u64> = found
        .iter()
        .filter_map(|one| one.properties.distance)
        .collect();
    assert_eq!((distances.len(), distances[0]), (2, 7));
    assert!((800..900).contains(&distances[1]), "{distances:?}");
    let confidence: Vec<Confidence> = found.iter().map(|one| one.properties.confidence).collect();
    assert_eq!(confidence, [Confidence::High, Confidence::Low]);
    let mut pairs = asked.to_vec();
    pairs.push(("maxdistance", "100"));
    let call = parse_reverse(&parameters(&pairs)).unwrap();
    let found = fixture.upstream.reverse(&call, deadline()).await.unwrap();
    assert_eq!(
        (found.len(), server.asked()),
        (1, 1),
        "from the kept answer"
    );
}

#[tokio::test]
async fn failures_open_the_breaker_and_a_probe_closes_it() {
    let server = Server::start(response("500 Internal Server Error", "", "")).await;
    let fixture = Fixture::new(&server.base, |_| {});
    let failures = [
        response("500 Internal Server Error", "", ""),
        response("200 OK", "", "<html>maintenance</html>"),
        response("200 OK", "", r#"{"error": "none"}"#),
        response("404 Not Found", "", ""),
        response("200 OK", "", &" ".repeat(2 << 20)),
    ];
    assert_eq!(failures.len(), FAILURES_TO_OPEN as usize);
    for failure in failures {
        server.answer(failure);
        let failed = fixture.search(TEXT).await.unwrap_err();
        // The requested address is the customer's: it must not get into logs.
        assert!(!failed.to_string().contains("mende"), "{failed}");
    }
    assert_eq!(fixture.upstream.health().breaker, BreakerState::Open);
    let refused = fixture.search(TEXT).await.unwrap_err();
    assert_eq!(refused.retry_after, PAUSE_FIRST);
    assert_eq!((server.asked(), fixture.count("failed")), (5, 5));
    assert_eq!(fixture.count("not_asked"), 1);

    fixture.advance(PAUSE_FIRST);
    assert_eq!(fixture.upstream.health().breaker, BreakerState::HalfOpen);
    fixture.search(TEXT).await.unwrap_err();
    assert_eq!(server.asked(), 6);
    let refused = fixture.search(TEXT).await.unwrap_err();
    assert_eq!(refused.retry_after, PAUSE_FIRST * 2);

    fixture.advance(PAUSE_FIRST * 2);
    server.answer(collection(&[mende()]));
    assert_eq!(fixture.search(TEXT).await.unwrap().len(), 1);
    let health = fixture.upstream.health();
    assert_eq!((health.breaker, health.opened), (BreakerState::Closed, 2));
}

#[tokio::test]
async fn a_service_that_asks_for_a_pause_gets_it() {
    let busy = response("429 Too Many Requests", "retry-after: 40\r\n", "");
    let server = Server::start(busy).await;
    let fixture = Fixture::new(&server.base, |_| {});
    let pause = Duration::from_secs(40);
    assert_eq!(fixture.search(TEXT).await.unwrap_err().retry_after, pause);
    fixture.advance(pause - Duration::from_secs(10));
    let refused = fixture.search(TEXT).await.unwrap_err();
    assert_eq!(refused.retry_after, Duration::from_secs(10));
    assert_eq!(server.asked(), 1);
    fixture.advance(Duration::from_secs(10));
    server.answer(collection(&[mende()]));
    assert_eq!(fixture.search(TEXT).await.unwrap().len(), 1);
}

#[tokio::test]
async fn a_question_the_service_refuses_is_no_failure_of_the_service() {
    let server = Server::start(response("400 Bad Request", "", "{}")).await;
    let fixture = Fixture::new(&server.base, |_| {});
    for _ in 0..=FAILURES_TO_OPEN {
        assert!(fixture.search(TEXT).await.unwrap().is_empty());
    }
    assert_eq!(fixture.upstream.health().breaker, BreakerState::Closed);
    assert_eq!(
        server.asked(),
        FAILURES_TO_OPEN as usize + 1,
        "none is kept"
    );
}

#[tokio::test]
async fn an_unreachable_service_is_a_failure() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let fixture = Fixture::new(&base, |_| {});
    let failed = fixture.search(TEXT).await.unwrap_err();
    assert!(!failed.to_string().contains("q="), "{failed}");
    assert_eq!(fixture.count("failed"), 1);
}

#[tokio::test]
async fn a_silent_service_is_given_up() {
    let server = Server::start(Vec::new()).await;
    let mut fixture = Fixture::new(&server.base, |_| {});
    let shared = Arc::get_mut(&mut fixture.upstream.shared).unwrap();
    shared.request_timeout = Duration::from_millis(20);
    let failed = fixture.search(TEXT).await.unwrap_err();
    assert!(failed.retry_after >= RETRY_AFTER, "{failed}");
    assert_eq!(fixture.count("failed"), 1);
}

#[tokio::test]
async fn a_question_is_given_up_that_would_wait_too_long_for_its_place() {
    let server = Server::start(collection(&[mende()])).await;
    let fixture = Fixture::new(&server.base, |settings| settings.upstream_rate_per_s = 1);
    let ask = async |text: &str| {
        let call = parse_search(&parameters(&[("q", text)])).unwrap();
        fixture.upstream.search(&call, Instant::now()).await
    };
    ask("rue Droite Mende").await.unwrap();
    let refused = ask("rue Basse Mende").await.unwrap_err();
    assert_eq!(refused.retry_after, Duration::from_secs(1));
    assert_eq!((server.asked(), fixture.count("not_asked")), (1, 1));
    ask("rue Droite Mende").await.unwrap();
    fixture.advance(Duration::from_secs(1));
    ask("rue Basse Mende").await.unwrap();
    assert_eq!(server.asked(), 2);
}

#[test]
fn no_address_is_no_service() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path()).unwrap();
    let settings = GeocodingSettings::default();
    assert!(
        Upstream::new(&settings, store, Clock::system())
            .unwrap()
            .is_none()
    );
}
