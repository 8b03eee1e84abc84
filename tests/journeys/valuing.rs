//! From sales to prices with the executable: train, serve, ask, value a portfolio, train again beside the server.

use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::homes::{IN_PARIS, body};
use crate::support::process::{Server, errors, run, toise};

/// Longest a server may take to answer with a model that was just trained.
const TAKEN_UP_WITHIN: Duration = Duration::from_secs(10);

async fn ask(server: &Server, key: &str) -> (u16, Value) {
    let response = reqwest::Client::new()
        .post(format!(
            "{}/v2/protected/estimate/property/lite",
            server.address
        ))
        .header("x-api-key", key)
        .json(&body(IN_PARIS, "CLASS_FLAT", 45.0))
        .send()
        .await
        .unwrap();
    (response.status().as_u16(), response.json().await.unwrap())
}

fn version(answer: &Value) -> &Value {
    &answer["data"]["metadata"]["model"]["version"]
}

#[tokio::test]
async fn a_server_takes_up_a_model_as_soon_as_it_is_trained() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path();
    run(data, &["synth", "--lake", "--dvf", "2000"]);
    let server = Server::start(data, "serve");
    let key = run(data, &["keys", "create"])["key"]
        .as_str()
        .unwrap()
        .to_owned();
    let (status, answer) = ask(&server, &key).await;
    assert_eq!(status, 503);
    assert!(
        answer["error"]["message"]
            .as_str()
            .unwrap()
            .contains("toise train"),
        "{answer}"
    );
    for arguments in [
        &["estimate", "--input", "x.csv", "--output", "y.csv"][..],
        &["sql", "select estimate_price(2.38, 48.86, 'flat', 45)"],
    ] {
        let refused = toise(data, arguments).output().unwrap();
        assert!(
            !refused.status.success() && errors(&refused).contains("toise train"),
            "{}",
            errors(&refused)
        );
    }

    run(data, &["train"]);
    let first = taken_up(&server, &key, |status, _| status == 200).await;

    // The same home in SQL and in a portfolio, today.
    let price = &first["data"]["price"];
    let [longitude, latitude] = IN_PARIS;
    let arguments = format!("{longitude}, {latitude}, 'flat', 45, 3, 2");
    let sql = run(
        data,
        &[
            "sql",
            &format!("select cast(estimate_price({arguments}) as bigint) as price"),
        ],
    );
    assert_eq!(sql[0]["price"], *price);
    assert_eq!(portfolio_price(data), *price);

    run(data, &["train", "--until", "2024-06-30"]);
    let second = taken_up(&server, &key, |status, answer| {
        assert_eq!(status, 200, "{answer}");
        version(answer) != version(&first)
    });
    let second = second.await;

    // A model that cannot be opened leaves the former one in use; who needs it is told which file it is.
    std::fs::write(data.join("models/current.json"), "{").unwrap();
    tokio::time::sleep(Duration::from_secs(2)).await;
    let (status, answer) = ask(&server, &key).await;
    assert_eq!((status, version(&answer)), (200, version(&second)));
    let refused = toise(
        data,
        &["sql", "select estimate_price(2.38, 48.86, 'flat', 45)"],
    )
    .output()
    .unwrap();
    assert!(
        errors(&refused).contains("current.json: damaged"),
        "{}",
        errors(&refused)
    );
    assert_eq!(server.terminate(), Some(0));
}

/// Asks until the answer is the one waited for.
async fn taken_up(server: &Server, key: &str, is_it: impl Fn(u16, &Value) -> bool) -> Value {
    let asked = Instant::now();
    loop {
        let (status, answer) = ask(server, key).await;
        if is_it(status, &answer) {
            return answer;
        }
        assert!(asked.elapsed() < TAKEN_UP_WITHIN, "{answer}");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

/// The price of the same home as the one row of a portfolio with columns of other names.
fn portfolio_price(data: &Path) -> Value {
    let (input, output) = (data.join("homes.csv"), data.join("valued.ndjson"));
    let [longitude, latitude] = IN_PARIS;
    let text = format!(
        "lng,latitude,type,area,room_count,bedroom_count\n{longitude},{latitude},flat,45,3,2\n"
    );
    std::fs::write(&input, text).unwrap();
    let (input, output) = (input.to_str().unwrap(), output.to_str().unwrap());
    let maps = ["--map", "lng=longitude", "--map", "area=surface_m2"];
    let report = run(
        data,
        &[
            &["estimate", "--input", input, "--output", output][..],
            &maps,
        ]
        .concat(),
    );
    assert_eq!((&report["rows"], &report["valued"]), (&json!(1), &json!(1)));
    let row: Value = serde_json::from_str(&std::fs::read_to_string(output).unwrap()).unwrap();
    row["price"].clone()
}
