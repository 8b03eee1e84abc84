//! Rents with the executable: the map imported in its own form, one home on the command line and over HTTP, a map that
//! changes while a server runs, errors of held-out homes, and real adverts if there are any.

use std::fmt::Write;
use std::path::Path;
use std::time::{Duration, Instant};

use reqwest::Method;
use serde_json::{Value, json};
use toise::base::splitmix::SplitMix64;

use crate::support::client::Client;
use crate::support::process::{Server, errors, new_key, run, toise, try_run, write_file};

/// Maximum time for a server to use a new map.
const RELOAD_TIMEOUT: Duration = Duration::from_secs(10);
const HEADER: &str = "\"id_zone\";\"INSEE_C\";\"LIBGEO\";\"EPCI\";\"DEP\";\"REG\";\"loypredm2\";\"lwr.IPm2\";\"upr.IPm2\";\
                      \"TYPPRED\";\"nbobs_com\";\"nbobs_mail\";\"R2_adj\"\n";
/// A row of the official map of 2024, as published: Civray.
const CIVRAY: &str = "\"1\";\"86078\";\"Civray\";\"200070035\";\"86\";\"75\";7,98847434284606;6,21894742514612;\
                      10,2614989263734;\"commune\";273;1044;0,719908446134695\n";

/// Writes a map; the bytes are those of the publisher.
fn map(folder: &Path, name: &str, rows: &str) -> String {
    let text = format!("{HEADER}{rows}");
    write_file(folder, name, encoding_rs::WINDOWS_1252.encode(&text).0)
}

fn row(code: &str, rent: f64, adverts: u32) -> String {
    let [rent, lower, upper] =
        [rent, rent * 0.75, rent / 0.75].map(|eur| format!("{eur:.6}").replace('.', ","));
    format!(
        "\"9\";\"{code}\";\"Saint-\u{c9}tienne\";\"1\";\"1\";\"1\";{rent};{lower};{upper};\"commune\";{adverts};900;0,8\n"
    )
}

const IN_CIVRAY: [&str; 4] = ["rent", "--at", "46.1486,0.2951", "--type"];

fn flat(data: &Path, more: &[&str]) -> Value {
    run(data, &[&IN_CIVRAY[..], &["flat"], more].concat())
}

#[test]
fn the_map_is_imported_in_its_own_form_and_follows_merged_communes() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    std::fs::create_dir(&data).unwrap();
    // 85307 and 85001 became L'Aiguillon-la-Presqu'île, with the code 85001.
    let rows = [
        CIVRAY,
        &row("85307", 8.0, 9),
        &row("85001", 10.0, 29),
        &row("99999", 9.0, 1),
    ];
    let flats = map(folder.path(), "pred-app-mef-dhup.csv", &rows.concat());
    let small = map(
        folder.path(),
        "pred-app12-mef-dhup.csv",
        &row("86078", 10.0, 4),
    );
    let large = map(
        folder.path(),
        "pred-app3-mef-dhup.csv",
        &row("86078", 8.0, 4),
    );
    let imported = run(
        &data,
        &[
            "import", "rents", "--year", "2024", "--licence", "LO 2.0", &flats, &small, &large,
        ],
    );
    let first = &imported[0];
    let counts = ["communes", "merged", "left_out"].map(|name| first[name].as_u64().unwrap());
    assert_eq!(counts, [2, 1, 1], "{imported}");
    assert_eq!(
        (&first["kind"], &first["year"], &imported[2]["kind"]),
        (&json!("flats"), &json!(2024), &json!("large_flats"))
    );

    let unknown = flat(&data, &["--surface", "52"]);
    assert_eq!(unknown["rent"], 415, "{unknown}");
    let small = flat(&data, &["--surface", "37", "--rooms", "2"]);
    assert_eq!(small["metadata"]["rent_map"]["kind"], "small_flats");
    assert_eq!(small["rent"], 370, "{small}");
    // Between both kinds, the rent falls as it does on the map.
    let larger = flat(&data, &["--surface", "50", "--rooms", "2"]);
    let expected = 10.0 * (50.0_f64 / 37.0).powf((0.8_f64).ln() / (72.0_f64 / 37.0).ln());
    let per_m2 = larger["rentPerArea"].as_f64().unwrap();
    assert!((per_m2 - expected).abs() < 0.01, "{larger}");
    let joined = run(
        &data,
        &[
            "rent",
            "--address",
            "85460 L'Aiguillon-la-Presqu'île",
            "--type",
            "flat",
            "--surface",
            "52",
        ],
    );
    let on_map = &joined["metadata"]["rent_map"];
    assert_eq!(on_map["rent_per_m2"], 9.5, "ten and thirty parts: {joined}");
    assert_eq!(joined["metadata"]["address"]["precision"], "TOWN");

    let shown = std::process::Command::new(crate::support::process::executable())
        .args(["--data", data.to_str().unwrap()])
        .args(IN_CIVRAY)
        .args(["flat", "--surface", "52", "--price", "60000"])
        .output()
        .unwrap();
    let shown = String::from_utf8(shown.stdout).unwrap();
    for part in [
        "Civray (86078)",
        "415 EUR per month",
        "8.31 %",
        "flats of 2024",
    ] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    for (arguments, message) in [
        (
            &["import", "rents", "--year", "2024", &flats, &flats][..],
            "both the map of flats",
        ),
        (
            &["import", "rents", "--year", "2024", "nothing.csv"],
            "add --kind",
        ),
        (
            &[
                "import", "rents", "--year", "2024", "--kind", "houses", "nothing.csv",
            ],
            "nothing.csv",
        ),
        (
            &[
                "rent", "--at", "44.5,3.5", "--type", "flat", "--surface", "40",
            ],
            "no rents",
        ),
        (&["evaluate", "rent"], "30 are needed"),
    ] {
        let refused = try_run(&data, arguments);
        let said = errors(&refused);
        assert!(
            !refused.status.success() && said.contains(message),
            "{arguments:?}: {said}"
        );
    }
    let other = write_file(
        folder.path(),
        "pred-mai-mef-dhup.csv",
        "commune;loyer\n48095;9\n",
    );
    let mut refused = toise(&data, &["import", "rents", "--year", "2024", &other]);
    let said = errors(&refused.output().unwrap());
    assert!(said.contains("no column INSEE_C, loypredm2"), "{said}");
    assert_eq!(run(&data, &["check"])["damaged"], 0);
}

/// Adverts of flats and houses to rent in four communes of Lozère, as lines; rents vary by 20 % up and down.
fn adverts(homes: usize) -> String {
    let mut draws = SplitMix64::new(11);
    let mut unit = move || draws.unit();
    let communes = [
        ("48095", 44.518, 3.501, 10.0),
        ("48080", 44.725, 3.854, 7.5),
        ("48092", 44.553, 3.287, 8.0),
        ("48061", 44.325, 3.594, 7.0),
    ];
    let mut lines = String::new();
    for nth in 0..homes {
        let (code, lat, lon, per_m2) = communes[nth % communes.len()];
        let (class, cheaper) = match nth % 3 {
            0 => ("CLASS_HOUSE", 0.85),
            _ => ("CLASS_FLAT", 1.0),
        };
        let surface = (20.0 + 100.0 * unit()).round();
        let is_furnished = unit() < 0.4;
        let furniture = if is_furnished { 1.15 } else { 1.0 };
        let rent = surface.powf(0.7)
            * 50.0_f64.powf(0.3)
            * per_m2
            * cheaper
            * furniture
            * (0.8 + 0.4 * unit());
        let advert = json!({
            "url": format!("https://portail.example/annonces/{nth}"),
            "source": "portail.example",
            "type": class,
            "offer": {"type": "OFFER_RENT"},
            "currentPrice": {"value": rent.round()},
            "habitation": {"surface": {"total": surface},
                "features": {"furniture": if is_furnished { "FULLY_FURNISHED" } else { "UNFURNISHED" }}},
            "location": {"inseeCode": code, "locationCoordinate":
                {"location": [lon + 0.02 * (unit() - 0.5), lat + 0.015 * (unit() - 0.5)]}},
        });
        writeln!(lines, "{advert}").unwrap();
    }
    lines
}

#[tokio::test]
async fn the_command_line_and_http_agree_and_held_out_rents_are_in_their_range() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let file = write_file(folder.path(), "rentals.ndjson", adverts(600));
    run(&data, &["ingest", &file]);
    let home = [
        "rent", "--at", "44.5181,3.4989", "--type", "flat", "--surface", "45", "--rooms", "2",
    ];
    let typed = run(
        &data,
        &[&home[..], &["--furnished", "true", "--price", "90000"]].concat(),
    );
    let bare = run(&data, &[&home[..], &["--furnished", "false"]].concat());
    let ratio = typed["rent"].as_f64().unwrap() / bare["rent"].as_f64().unwrap();
    assert!((ratio - 1.15).abs() < 0.05, "{ratio}");
    let truth = 45.0_f64.powf(0.7) * 50.0_f64.powf(0.3) * 10.0;
    let rent = bare["rent"].as_f64().unwrap();
    assert!((rent / truth - 1.0).abs() < 0.08, "{rent}, {truth}");

    let report = run(&data, &["evaluate", "rent"]);
    let groups = report["groups"].as_array().unwrap();
    let group = |name: &str| groups.iter().find(|group| group["group"] == name).unwrap();
    let homes = group("all")["homes"].as_u64().unwrap();
    assert!(homes > 500, "{report}");
    assert_eq!(
        homes,
        group("flats")["homes"].as_u64().unwrap() + group("houses")["homes"].as_u64().unwrap()
    );
    for name in ["all", "flats", "houses"] {
        let of = |field: &str| group(name)[field].as_f64().unwrap();
        assert!(
            of("error_percent") < 14.0 && of("bias_percent").abs() < 4.0,
            "{report}"
        );
        assert!((73.0..88.0).contains(&of("coverage_percent")), "{report}");
    }

    let server = Server::start(&data, "serve");
    let client = Client::new(&server, &new_key(&data, &[]));
    let body = json!({
        "location": {"locationCoordinate": {"location": [3.4989, 44.5181]}}, "type": "CLASS_FLAT",
        "habitation": {"surface": {"total": 45}, "roomCount": 2, "features": {"furniture": "FULLY_FURNISHED"}},
        "price": 90_000,
    });
    let served = client.ask(Method::POST, "estimate/rent", &body).await;
    assert_eq!(served["data"], typed);

    // A map that is imported while the server runs.
    let map = map(
        folder.path(),
        "pred-app-mef-dhup.csv",
        &row("48095", 10.0, 50),
    );
    run(&data, &["import", "rents", "--year", "2025", &map]);
    let until = Instant::now() + RELOAD_TIMEOUT;
    loop {
        let served = client.ask(Method::POST, "estimate/rent", &body).await;
        if served["data"]["metadata"]["method"] == "adverts_and_rent_map" {
            break;
        }
        assert!(Instant::now() < until, "{served}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}
