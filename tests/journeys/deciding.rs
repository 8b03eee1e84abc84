//! A person decides over HTTP whether two properties are one home, and the thresholds of the settings decide without a
//! person.

use std::path::Path;
use std::process::Stdio;

use reqwest::Method;
use serde_json::{Value, json};

use crate::support::assertions::assert_has;
use crate::support::process::{Server, errors, new_key, run, sql_number, toise, write_file};

const ADMIN: &str = "/v2/protected/admin";
const NOTHING: &str = "019bb126-cee2-7a45-a98c-3cba58e89b2d";

/// A thin advert: nothing but a round price, whole square metres and rooms.
fn thin(number: u32, price: u32, surface: u32) -> Value {
    json!({
        "url": format!("https://thin.example/annonce/{number}"), "source": "thin.example", "type": "CLASS_FLAT",
        "offer": {"type": "OFFER_BUY"}, "currentPrice": {"value": price}, "lastSeenAt": "2026-11-01T08:00:00Z",
        "location": {"city": "Paris", "postalCode": "75011", "inseeCode": "75111"},
        "habitation": {"surface": {"total": surface}, "roomCount": 2},
    })
}

struct Desk<'s> {
    server: &'s Server,
    key: String,
}

impl Desk<'_> {
    async fn call(&self, method: Method, path: &str, body: Option<Value>) -> (u16, Value) {
        self.repeated(method, path, body, None).await
    }

    async fn repeated(
        &self,
        method: Method,
        path: &str,
        body: Option<Value>,
        call: Option<&str>,
    ) -> (u16, Value) {
        let url = format!("{}{path}", self.server.address);
        let request = crate::support::http_client().request(method, url);
        let mut request = request.header("x-api-key", &self.key);
        if let Some(body) = body {
            request = request.json(&body);
        }
        if let Some(call) = call {
            request = request.header("idempotency-key", call);
        }
        let response = request.send().await.unwrap();
        let status = response.status().as_u16();
        (status, response.json().await.unwrap_or(Value::Null))
    }

    /// Ingests adverts and returns their outcomes.
    async fn ingest(&self, adverts: &[Value]) -> Vec<Value> {
        let path = format!("{ADMIN}/adverts");
        let body = json!({ "adverts": adverts });
        let (status, taken) = self.call(Method::POST, &path, Some(body)).await;
        assert_eq!(status, 200, "{taken}");
        taken["data"].as_array().unwrap().clone()
    }

    async fn candidates(&self) -> Value {
        let path = format!("{ADMIN}/properties/candidates?limit=10");
        let (status, mut listed) = self.call(Method::GET, &path, None).await;
        assert_eq!(status, 200, "{listed}");
        listed["data"].take()
    }

    async fn decide(&self, property: &str, act: &str, body: Value) -> (u16, Value) {
        let path = format!("{ADMIN}/properties/{property}/{act}");
        self.call(Method::POST, &path, Some(body)).await
    }
}

fn key(data: &Path, scopes: &str) -> String {
    new_key(data, &["--scopes", scopes])
}

fn property(outcome: &Value) -> &str {
    outcome["propertyFlxId"].as_str().unwrap()
}

#[tokio::test]
async fn pairs_are_listed_merged_kept_apart_and_split_by_operators_alone() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path();
    let (admin, ordinary) = (key(data, "admin,search"), key(data, "search"));
    let server = Server::start(data, "serve");
    let desk = Desk {
        server: &server,
        key: admin,
    };
    let alike = [thin(1, 310_000, 31), thin(2, 310_000, 31)];
    let others = [thin(3, 500_000, 50), thin(4, 500_000, 50)];
    let taken = desk.ingest(&[alike, others].concat()).await;
    let [one, other, third, fourth] = [0, 1, 2, 3].map(|nth| property(&taken[nth]));

    let listed = desk.candidates().await;
    assert_eq!(listed["waiting"], 2);
    let pairs = listed["pairs"].as_array().unwrap();
    assert_eq!(pairs.len(), 2);
    for pair in pairs {
        let probability = pair["comparison"]["probability"].as_f64().unwrap();
        assert!((0.5..0.98).contains(&probability), "{probability}");
        assert_eq!(pair["verdict"], "possible");
        assert_eq!(pair["adverts"][0]["place"], "75011 Paris");
        assert_eq!(pair["adverts"][0]["price"], pair["adverts"][1]["price"]);
        assert!(pair["comparison"]["evidence"].as_array().unwrap().len() > 2);
    }

    // An invalid decision is refused before anything changes.
    let with = |id: &str| json!({ "propertyFlxId": id });
    for (property, act, body, status) in [
        (NOTHING, "merge", with(one), 404),
        ("nonsense", "keep-apart", with(one), 404),
        (one, "merge", with(NOTHING), 422),
        (one, "merge", with(one), 409),
        (one, "keep-apart", with(one), 409),
        (one, "merge", with("nonsense"), 422),
        (one, "merge", json!({}), 422),
        (one, "keep-apart", json!([]), 422),
        (one, "split", json!({"advertFlxIds": []}), 422),
        (one, "split", json!({"advertFlxIds": [NOTHING]}), 422),
        (
            one,
            "split",
            json!({"advertFlxIds": [taken[0]["flxId"]]}),
            422,
        ),
    ] {
        let (found, answer) = desk.decide(property, act, body.clone()).await;
        assert_eq!(found, status, "{act} {body}: {answer}");
        assert!(answer["error"]["message"].is_string(), "{answer}");
    }
    for limit in ["0", "101", "many"] {
        let path = format!("{ADMIN}/properties/candidates?limit={limit}");
        assert_eq!(desk.call(Method::GET, &path, None).await.0, 422, "{limit}");
    }
    let stranger = Desk {
        server: &server,
        key: ordinary,
    };
    let list = format!("{ADMIN}/properties/candidates");
    assert_eq!(stranger.call(Method::GET, &list, None).await.0, 403);
    for act in ["merge", "keep-apart", "split"] {
        assert_eq!(stranger.decide(one, act, with(other)).await.0, 403, "{act}");
    }
    assert_eq!(desk.candidates().await["waiting"], 2);

    // One pair is one home; the call may be repeated.
    let merge = format!("{ADMIN}/properties/{other}/merge");
    for _ in 0..2 {
        let body = Some(with(one));
        let (status, merged) = desk
            .repeated(Method::POST, &merge, body, Some("merge-1"))
            .await;
        assert_eq!((status, property(&merged["data"])), (200, one));
    }
    assert_eq!(desk.decide(one, "merge", with(other)).await.0, 409);
    let path = format!("/v2/protected/properties/{other}");
    let (_, read) = desk.call(Method::GET, &path, None).await;
    assert_eq!(read["data"]["flxId"], one);
    assert_eq!(read["data"]["adverts"].as_array().unwrap().len(), 2);

    // The other pair is two homes.
    let (status, apart) = desk.decide(third, "keep-apart", with(fourth)).await;
    assert_eq!(
        (status, &apart["data"]["keptApart"]),
        (200, &json!([third, fourth]))
    );
    assert_eq!(desk.candidates().await, json!({"pairs": [], "waiting": 0}));
    let again = desk.ingest(&[thin(4, 500_000, 50)]).await;
    assert_eq!(property(&again[0]), fourth);

    // A merge is taken back by a split, which lasts.
    let moved = json!({"advertFlxIds": [taken[1]["flxId"]]});
    let (status, split) = desk.decide(one, "split", moved).await;
    assert_eq!(status, 200, "{split}");
    assert_ne!(property(&split["data"]), one);
    assert_eq!(desk.candidates().await["waiting"], 0);

    let (_, log) = desk
        .call(Method::GET, &format!("{ADMIN}/audit?take=50"), None)
        .await;
    let log = log["data"].as_array().unwrap();
    let about = |end: &str| {
        let done = log.iter().find(|entry| {
            entry["action"].as_str().unwrap().ends_with(end) && entry["outcome"] == "200"
        });
        done.unwrap()["subject"].as_str().unwrap().to_owned()
    };
    assert_eq!(
        about("/merge"),
        format!("properties {other} and {one} are {one}")
    );
    assert_eq!(
        about("/keep-apart"),
        format!("properties {third} and {fourth}")
    );
    assert!(about("/split").contains(taken[1]["flxId"].as_str().unwrap()));
    let metrics = reqwest::get(format!("{}/metrics", server.address))
        .await
        .unwrap();
    let metrics = metrics.text().await.unwrap();
    assert_has(&metrics, "\ntoise_candidate_pairs_waiting 0");
}

#[tokio::test]
async fn a_lower_threshold_merges_a_pair_by_itself() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path();
    let admin = key(data, "admin");
    let lower = ["--set", "dedup.same_probability=0.8"];
    let server = Server::start_with(data, "serve", &lower, Stdio::null());
    let desk = Desk {
        server: &server,
        key: admin,
    };
    let taken = desk
        .ingest(&[thin(1, 310_000, 31), thin(2, 310_000, 31)])
        .await;
    assert_eq!(property(&taken[0]), property(&taken[1]));
    assert_eq!(desk.candidates().await["waiting"], 0);
}

#[test]
fn commands_decide_by_the_thresholds_of_the_settings_and_refuse_those_out_of_order() {
    let file = |data: &Path| {
        let lines = [thin(1, 310_000, 31), thin(2, 310_000, 31)].map(|advert| advert.to_string());
        write_file(data, "adverts.ndjson", lines.join("\n"))
    };
    let ingested = |settings: &str| {
        let folder = tempfile::tempdir().unwrap();
        let data = folder.path();
        std::fs::write(data.join("toise.toml"), settings).unwrap();
        run(data, &["ingest", &file(data)]);
        run(data, &["properties", "candidates"])
            .as_array()
            .unwrap()
            .len()
    };
    assert_eq!(ingested(""), 1);
    assert_eq!(ingested("[dedup]\nsame_probability = 0.8\n"), 0, "merged");
    assert_eq!(
        ingested("[dedup]\npossible_probability = 0.97\n"),
        0,
        "neither merged nor listed"
    );

    let folder = tempfile::tempdir().unwrap();
    let data = folder.path();
    let mut command = toise(data, &["ingest", &file(data)]);
    let output = command
        .env("TOISE_DEDUP__SAME_PROBABILITY", "0.4")
        .output()
        .unwrap();
    assert!(!output.status.success());
    let message = errors(&output);
    assert_has(&message, "dedup.possible_probability must not exceed");
}

#[test]
fn only_a_person_merges_an_unsure_pair_and_a_merge_undoes_a_split() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path();
    let file = data.join("adverts.ndjson");
    let seen = |day: u32| {
        let lines = [1, 2].map(|number| {
            let mut advert = thin(number, 310_000, 31);
            advert["lastSeenAt"] = json!(format!("2026-11-{day:02}T08:00:00Z"));
            advert.to_string()
        });
        std::fs::write(&file, lines.join("\n")).unwrap();
        run(data, &["ingest", file.to_str().unwrap()]);
        sql_number(data, "select count(*) from properties")
    };
    let rebuilt = || {
        run(data, &["properties", "rebuild"]);
        sql_number(data, "select count(*) from properties")
    };
    for day in 1..4 {
        assert_eq!(
            (seen(day), rebuilt()),
            (2, 2),
            "nothing is added to what is known"
        );
    }
    let ids = run(data, &["sql", "select flx_id from properties order by 1"]);
    let [one, other] = [0, 1].map(|nth| ids[nth]["flx_id"].as_str().unwrap().to_owned());
    let merged = run(data, &["properties", "merge", &one, &other]);
    // The first one stays. Both were found at once, and identifiers need not be in that order.
    let is_first = merged["propertyFlxId"] == one;
    let (one, other) = if is_first { (one, other) } else { (other, one) };
    assert_eq!(merged["propertyFlxId"], one);
    assert_eq!((seen(4), rebuilt()), (1, 1));

    let parted = run(data, &["properties", "split", &one, &other]);
    let parted = parted["propertyFlxId"].as_str().unwrap();
    assert_eq!((seen(5), rebuilt()), (2, 2));
    let merged = run(data, &["properties", "merge", parted, &one]);
    assert_eq!(merged["propertyFlxId"], one);
    assert_eq!((seen(6), rebuilt()), (1, 1));
    assert_eq!(run(data, &["properties", "candidates"]), json!([]));
}
