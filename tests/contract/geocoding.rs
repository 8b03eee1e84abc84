//! Geocoding through a real socket: parameters, batches, files and projects. No addresses are imported here, so only
//! communes are found; `journeys::geocoding` tests addresses.

use std::io::{Cursor, Write};

use reqwest::{Method, Response};
use serde_json::{Value, json};

use crate::support::assertions::{assert_begins, pick};
use crate::support::{Service, error_of, workbooks};
use toise::accounts::key::KeyKind;

async fn found(service: &Service, path: &str) -> Value {
    let response = service.get(path).await;
    assert_eq!(response.status(), 200, "{path}");
    response.json().await.unwrap()
}

fn form(parts: &[(&str, &[u8])]) -> (String, Vec<u8>) {
    let mut body = Vec::new();
    for (name, value) in parts {
        let file = if *name == "data" {
            "; filename=\"../é list.csv\""
        } else {
            ""
        };
        let head =
            format!("--frontier\r\nContent-Disposition: form-data; name=\"{name}\"{file}\r\n\r\n");
        body.extend_from_slice(head.as_bytes());
        body.extend_from_slice(value);
        body.extend_from_slice(b"\r\n");
    }
    body.extend_from_slice(b"--frontier--\r\n");
    ("multipart/form-data; boundary=frontier".to_owned(), body)
}

async fn send_file(service: &Service, path: &str, parts: &[(&str, &str)]) -> Response {
    let parts: Vec<(&str, &[u8])> = parts
        .iter()
        .map(|(name, value)| (*name, value.as_bytes()))
        .collect();
    send_bytes(service, path, &parts).await
}

async fn send_bytes(service: &Service, path: &str, parts: &[(&str, &[u8])]) -> Response {
    let (media_type, body) = form(parts);
    let request = service.keyed(Method::POST, path, &service.key).body(body);
    request
        .header("content-type", media_type)
        .send()
        .await
        .unwrap()
}

#[tokio::test]
async fn communes_are_found_before_anything_is_imported() {
    let service = Service::start().await;
    let answer = found(&service, "/geocoding/search?q=Mende&limit=1&explain=1").await;
    let feature = &answer["features"][0];
    assert_eq!(answer["type"], "FeatureCollection");
    assert_eq!(feature["geometry"]["type"], "Point");
    let properties = &feature["properties"];
    for (name, value) in [
        ("label", "Mende"),
        ("type", "municipality"),
        ("citycode", "48095"),
        ("postcode", "48000"),
        ("context", "48, Lozère, Occitanie"),
        ("source", "ban"),
    ] {
        assert_eq!(properties[name], value, "{name}");
    }
    assert_eq!(properties["matched"]["city"], "exact");
    assert_eq!(answer["explain"]["words"][0]["read_as"], "city");
    let by_city = found(
        &service,
        "/geocoding/search?city=Saint-Etienne&postcode=42000",
    )
    .await;
    assert_eq!(by_city["features"][0]["properties"]["citycode"], "42218");
    // Inside France the answer is never empty.
    let near = found(&service, "/geocoding/reverse?lat=44.52&lon=3.5").await;
    let near = &near["features"][0]["properties"];
    assert_eq!(
        pick(near, ["citycode", "confidence"]),
        json!(["48095", "LOW"])
    );
    let abroad = found(&service, "/geocoding/reverse?lat=52.5&lon=13.4").await;
    assert_eq!(abroad["features"], json!([]));
}

#[tokio::test]
async fn hostile_queries_are_answered_or_refused_by_name() {
    let service = Service::start().await;
    let long = "x".repeat(10_000);
    let deep = "%CC%81".repeat(150);
    for (query, status) in [
        (format!("q={long}"), 422),
        (format!("q=e{deep}"), 200),
        ("q=123456789012345".into(), 200),
        ("q=%F0%9F%98%80%F0%9F%98%80%F0%9F%98%80".into(), 422),
        ("q=%D8%A7%D9%84%D8%B4%D8%A7%D8%B1%D8%B9".into(), 200),
        (format!("q={}", "rue+".repeat(49)), 200),
        (format!("q={}", "a+".repeat(99)), 200),
        ("q=%zz".into(), 400),
        ("q=Mende&lat=44".into(), 422),
        ("limit=5".into(), 422),
    ] {
        let response = service.get(&format!("/geocoding/search?{query}")).await;
        assert_eq!(response.status(), status, "{query}");
    }
    let refused = service.get("/geocoding/search?q=Mende&limit=99").await;
    let (status, code, message) = error_of(refused).await;
    assert_eq!((status, code), (422, 10002));
    assert_eq!(message, "limit: must be a whole number from 1 to 50");
}

#[tokio::test]
async fn a_null_in_a_batch_is_an_absent_parameter() {
    let service = Service::start().await;
    let nulls = json!({
        "operation": "search", "q": "lyon", "limit": null, "autocomplete": null, "lat": null, "lon": null,
        "postcode": null, "citycode": null, "type": null, "street": null, "housenumber": null, "city": null,
        "explain": null, "with": null,
    });
    let plain = json!({"operation": "search", "q": "lyon"});
    let body = json!({"requests": [nulls, plain, {"operation": "search", "q": null}]});
    let answer = service.post("/geocoding/batch", body.to_string()).await;
    let answer: Value = answer.json().await.unwrap();
    assert!(answer["data"][0]["features"].is_array(), "{answer}");
    assert_eq!(answer["data"][0], answer["data"][1]);
    let missing = answer["data"][2]["error"]["message"].as_str().unwrap();
    assert_begins(missing, "requests[2].q: is required");
}

#[tokio::test]
async fn a_whole_number_in_a_batch_may_have_a_fraction_of_zero() {
    let service = Service::start().await;
    let plain = json!({"operation": "search", "q": "Mende", "limit": 3, "autocomplete": 1, "postcode": 48000});
    let written = json!({"operation": "search", "q": "Mende", "limit": 3.0, "autocomplete": 1.0, "postcode": 48000.0});
    let half = json!({"operation": "search", "q": "Mende", "limit": 2.5});
    let body = json!({"requests": [plain, written, half]});
    let answer = service.post("/geocoding/batch", body.to_string()).await;
    let answer: Value = answer.json().await.unwrap();
    assert!(answer["data"][0]["features"].is_array(), "{answer}");
    assert_eq!(answer["data"][0], answer["data"][1]);
    let refused = answer["data"][2]["error"]["message"].as_str().unwrap();
    assert!(refused.starts_with("requests[2].limit: "), "{refused}");
}

#[tokio::test]
async fn a_key_without_the_scope_is_refused_and_calls_are_counted() {
    let service = Service::start().await;
    let other = service.key_with("search");
    let request = service.keyed(Method::GET, "/geocoding/search?q=Mende", &other);
    let refused = request.send().await.unwrap();
    assert_eq!(error_of(refused).await.0, 403);
    let refused = service
        .ask(Method::GET, "/geocoding/nowhere")
        .send()
        .await
        .unwrap();
    assert!(refused.headers().contains_key("x-credits"));
    found(&service, "/geocoding/search?q=Mende").await;
    let count = "SELECT count(*) FROM ledger WHERE type = 'API_GEOCODING_SEARCH'";
    assert_eq!(service.charged(count), [1]);
}

#[tokio::test]
async fn a_batch_answers_in_order_with_errors_in_their_place() {
    let service = Service::start().await;
    let body = json!({"requests": [
        {"operation": "search", "q": "Marvejols", "limit": 1},
        {"operation": "search", "q": "x"},
        {"operation": "reverse", "lat": 44.52, "lon": 3.5},
        {"q": "Mende"},
        5,
        {"operation": "search", "q": "Mende", "limit": [1]},
    ]});
    let response = service.post("/geocoding/batch", body.to_string()).await;
    let answer: Value = response.json().await.unwrap();
    let answers = answer["data"].as_array().unwrap();
    assert_eq!(answers[0]["features"][0]["properties"]["citycode"], "48092");
    let message = answers[1]["error"]["message"].as_str().unwrap();
    assert!(message.starts_with("requests[1].q: "), "{message}");
    assert_eq!(answers[2]["features"][0]["properties"]["city"], "Mende");
    for (place, fault) in [
        (3, "requests[3].operation: "),
        (4, "requests[4]: "),
        (5, "requests[5].limit: "),
    ] {
        let message = answers[place]["error"]["message"].as_str().unwrap();
        assert!(message.starts_with(fault), "{message}");
    }
    for body in [
        json!({"requests": []}),
        json!({"requests": [], "more": 1}),
        json!([]),
    ] {
        let refused = service.post("/geocoding/batch", body.to_string()).await;
        assert_eq!(error_of(refused).await.0, 422, "{body}");
    }
}

#[tokio::test]
async fn a_file_comes_back_with_its_bytes_and_results() {
    let service = Service::start().await;
    let file = "id;town\r\n1;\"Mende\"\r\n2;\r\n";
    let parts = [
        ("data", file),
        ("columns", "town"),
        ("result_columns", "result_citycode"),
        ("result_columns", "result_status"),
    ];
    let response = send_file(&service, "/geocoding/search/csv", &parts).await;
    assert_eq!(response.status(), 200);
    let header = |name: &str| response.headers()[name].to_str().unwrap().to_owned();
    assert_eq!(header("x-rows-count"), "2");
    assert_eq!(header("content-type"), "text/csv; charset=UTF-8");
    assert_eq!(
        header("content-disposition"),
        "attachment; filename=\"list-geocoded.csv\""
    );
    assert_eq!(
        response.text().await.unwrap(),
        "id;town;result_citycode;result_status\r\n1;\"Mende\";48095;ok\r\n2;;;skipped\r\n"
    );
    let parts = [("lat", "y"), ("lon", "x"), ("data", "y,x\n44.52,3.5\n")];
    let reversed = send_file(&service, "/geocoding/reverse/csv", &parts).await;
    let reversed = reversed.text().await.unwrap();
    assert!(
        reversed.starts_with("y,x,result_latitude,result_longitude,result_distance,result_label,")
    );
    for (parts, named) in [
        (&[("columns", "town")][..], "data"),
        (&[("data", file), ("columns", "city")], "columns[0]"),
        (&[("data", file), ("colums", "town")], "colums"),
        (&[("data", file), ("delimiter", "ab")], "delimiter"),
        (&[("data", "")], "data"),
        (&[("data", file), ("data", file)], "data"),
    ] {
        let refused = send_file(&service, "/geocoding/search/csv", parts).await;
        let (status, _, message) = error_of(refused).await;
        assert!(
            status == 422 && message.starts_with(&format!("{named}: ")),
            "{message}"
        );
    }
    let rows = "Mende\n".repeat(200_001);
    let long = format!("town\n{rows}");
    let refused = send_file(&service, "/geocoding/search/csv", &[("data", &long)]).await;
    let (status, _, message) = error_of(refused).await;
    assert!(
        status == 422 && message.contains("has 200001 rows"),
        "{message}"
    );
}

/// A file of towns in the forms in which people have it, and how the first cells of its rows come back.
fn dressed_files() -> Vec<(&'static str, Vec<u8>)> {
    let rows: [&[&str]; 3] = [&["réf", "ville"], &["1", "Mende"], &["2", "Sète"]];
    let plain = "réf;ville\r\n1;Mende\r\n2;Sète\r\n";
    let utf16 = plain.encode_utf16().flat_map(u16::to_le_bytes);
    let windows = encoding_rs::WINDOWS_1252.encode(plain).0.into_owned();
    let mac = encoding_rs::MACINTOSH.encode(plain).0.into_owned();
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(&windows).unwrap();
    let mut zip = zip::ZipWriter::new(Cursor::new(Vec::new()));
    zip.start_file("villes.csv", zip::write::SimpleFileOptions::default())
        .unwrap();
    zip.write_all(plain.as_bytes()).unwrap();
    vec![
        ("utf-8", plain.as_bytes().to_vec()),
        ("tabs", plain.replace(';', "\t").into_bytes()),
        ("bars", plain.replace(';', "|").into_bytes()),
        ("windows-1252", windows),
        ("mac", mac),
        ("utf-16", [b"\xff\xfe".to_vec(), utf16.collect()].concat()),
        ("gzip", gzip.finish().unwrap()),
        ("zip", zip.finish().unwrap().into_inner()),
        ("xlsx", workbooks::xlsx(&rows, |place| place == 0)),
        ("ods", workbooks::ods(&rows)),
    ]
}

/// Returns the cells of an answer: reference, town, INSEE code and status.
fn cells_of(charset: &str, answer: &[u8]) -> Vec<Vec<String>> {
    let encoding = encoding_rs::Encoding::for_label(charset.as_bytes()).unwrap();
    let text = encoding.decode(answer).0;
    let lines = text.lines().skip(1);
    lines
        .map(|line| {
            line.split([';', ',', '\t', '|'])
                .map(str::to_owned)
                .collect()
        })
        .collect()
}

const DRESSED_ANSWER: [[&str; 4]; 2] =
    [["1", "Mende", "48095", "ok"], ["2", "Sète", "34301", "ok"]];

#[tokio::test]
async fn a_file_is_read_in_every_form_that_people_have() {
    let service = Service::start().await;
    for (form, file) in dressed_files() {
        let parts: [(&str, &[u8]); 4] = [
            ("data", &file),
            ("columns", b"ville"),
            ("result_columns", b"result_citycode"),
            ("result_columns", b"result_status"),
        ];
        let response = send_bytes(&service, "/geocoding/search/csv", &parts).await;
        assert_eq!(response.status(), 200, "{form}");
        let media_type = response.headers()["content-type"].to_str().unwrap();
        let charset = media_type.split("charset=").nth(1).unwrap().to_owned();
        let answer = response.bytes().await.unwrap();
        assert_eq!(
            cells_of(&charset, &answer),
            DRESSED_ANSWER,
            "{form}: {charset}"
        );
    }
    let bomb = {
        let zeros = vec![b'0'; 60 << 20];
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gzip.write_all(&zeros).unwrap();
        gzip.finish().unwrap()
    };
    for (file, reason) in [
        (b"%PDF-1.7".to_vec(), "this is a PDF"),
        (b"PAR1".to_vec(), "send CSV, XLSX or ODS"),
        (b"\x1f\x8b\x08 cut off".to_vec(), "data: "),
        (bomb, "expands to more than"),
    ] {
        let refused = send_bytes(&service, "/geocoding/search/csv", &[("data", &file)]).await;
        let (status, _, message) = error_of(refused).await;
        assert!(status == 422 && message.contains(reason), "{message}");
    }
}

#[tokio::test]
async fn a_project_takes_a_file_in_every_form_that_people_have() {
    let service = Service::start().await;
    for (form, file) in dressed_files() {
        let created = service.post("/geocoding/async/projects", "").await;
        let created: Value = created.json().await.unwrap();
        let id = created["data"]["id"].as_str().unwrap().to_owned();
        let path = format!("/geocoding/async/projects/{id}");
        let ask = async |method: Method, rest: &str, body: Vec<u8>| {
            let request = service.keyed(method, &format!("{path}{rest}"), &service.key);
            let response = request.body(body).send().await.unwrap();
            assert_eq!(response.status(), 200, "{form}: {rest}");
            response.json::<Value>().await.unwrap()
        };
        ask(Method::PUT, "/input-file", file).await;
        let pipeline = r#"{"operation": "search", "columns": ["ville"], "encoding": null}"#;
        ask(Method::PUT, "/pipeline", pipeline.into()).await;
        let started = ask(Method::POST, "/start", Vec::new()).await;
        assert_eq!(started["data"]["rows"], 2, "{form}");
        ask(Method::DELETE, "", Vec::new()).await;
    }
}

#[tokio::test]
async fn a_project_belongs_to_its_account_and_follows_its_states() {
    let service = Service::start().await;
    let created = service.post("/geocoding/async/projects", "").await;
    let created: Value = created.json().await.unwrap();
    let (id, token) = (
        created["data"]["id"].as_str().unwrap().to_owned(),
        created["data"]["token"].as_str().unwrap().to_owned(),
    );
    let path = format!("/geocoding/async/projects/{id}");
    let ask = async |method: Method, rest: &str, body: &str| {
        let request = service.keyed(method, &format!("{path}{rest}"), &service.key);
        request.body(body.to_owned()).send().await.unwrap()
    };
    let refused = ask(Method::POST, "/start", "").await;
    assert_eq!(error_of(refused).await.0, 409);
    let refused = ask(
        Method::PUT,
        "/pipeline",
        r#"{"operation": "search", "column": []}"#,
    )
    .await;
    let (status, _, message) = error_of(refused).await;
    assert!(
        status == 422 && message.starts_with("column: "),
        "{message}"
    );
    let nulls = r#", "result_columns": null, "postcode": null, "citycode": null, "type": null, "lat": null,
        "lon": null, "encoding": null, "delimiter": null}"#;
    for columns in ["null", r#"["town"]"#] {
        for rest in [nulls, "}"] {
            let pipeline = format!(r#"{{"operation": "search", "columns": {columns}{rest}"#);
            let set = ask(Method::PUT, "/pipeline", &pipeline).await;
            assert_eq!(set.status(), 200, "{pipeline}");
        }
    }
    let nothing = ask(Method::PUT, "/pipeline", r#"{"operation": null}"#).await;
    assert_eq!(error_of(nothing).await.0, 422);
    assert_eq!(
        ask(Method::PUT, "/input-file", "city\nMende\n")
            .await
            .status(),
        200
    );
    let (status, _, message) = error_of(ask(Method::POST, "/start", "").await).await;
    assert!(
        status == 422 && message.starts_with("columns[0]: "),
        "{message}"
    );
    assert_eq!(
        ask(Method::PUT, "/input-file", "town\nMende\n")
            .await
            .status(),
        200
    );
    // No runner is active here, so the project waits.
    let started: Value = ask(Method::POST, "/start", "").await.json().await.unwrap();
    assert_eq!(started["data"]["status"], "waiting");
    assert_eq!(started["data"]["rows"], 1);
    for (method, rest) in [(Method::POST, "/start"), (Method::PUT, "/input-file")] {
        assert_eq!(error_of(ask(method, rest, "x").await).await.0, 409);
    }
    let output = format!("/output-file/{token}");
    assert_eq!(error_of(ask(Method::GET, &output, "").await).await.0, 409);
    assert_eq!(
        error_of(ask(Method::GET, "/output-file/x", "").await)
            .await
            .0,
        404
    );
    let stranger = service
        .new_key(KeyKind::Production, "geocoding", "other")
        .key;
    let request = service.keyed(Method::GET, &path, &stranger);
    assert_eq!(error_of(request.send().await.unwrap()).await.0, 404);
    assert_eq!(ask(Method::DELETE, "", "").await.status(), 200);
    assert_eq!(error_of(ask(Method::GET, "", "").await).await.0, 404);
}
