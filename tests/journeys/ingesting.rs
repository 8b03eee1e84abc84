//! Ingestion at the command line: files and standard input while the server is running, and a wrong merge undone.

use std::io::Write;
use std::path::Path;
use std::process::{Output, Stdio};

use flate2::Compression;
use flate2::write::GzEncoder;
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::assertions::{assert_has, assert_refused, pick, texts_of};
use crate::support::cases::fails;
use crate::support::client::Client;
use crate::support::process::{errors, new_key, run, sql_number, toise, try_run, write_file};

/// A flat in Mende as a portal shows it.
fn flat(portal: &str) -> Value {
    json!({
        "url": format!("https://www.{portal}.example/annonce/1?utm_source=flux"), "source": format!("{portal}.example"),
        "type": "CLASS_FLAT", "offer": {"type": "OFFER_BUY"}, "currentPrice": {"value": 98_000},
        "title": "T3 au centre", "description": "Au coeur de la ville haute, trois pieces traversant refait a neuf, \
            cuisine ouverte, deux chambres sur jardin, cave voutee et grenier. Reference AB1234.",
        "location": {"postalCode": "48000", "city": "Mende", "locationCoordinate": {"location": [3.49871, 44.51823]}},
        "habitation": {"roomCount": 3, "bedroomCount": 2, "floor": 2, "surface": {"total": 67.4}},
        "seller": {"name": "Agence de la Tour", "siren": "123456780"}, "lastSeenAt": "2026-03-01T08:00:00Z",
    })
}

/// Feeds a command's standard input.
fn feed(data: &Path, arguments: &[&str], input: &[u8]) -> Output {
    let mut command = toise(data, arguments);
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(input).unwrap();
    child.wait_with_output().unwrap()
}

#[tokio::test]
async fn a_running_server_returns_what_a_command_ingested_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path();
    let key = new_key(data, &[]);
    let (server, client) = Client::start(data, &key);
    let file = data.join("adverts.ndjson");
    std::fs::write(
        &file,
        format!("{}\n{}\nnot json\n{{}}\n", flat("un"), flat("deux")),
    )
    .unwrap();
    let report = run(data, &["ingest", file.to_str().unwrap()]);
    assert_eq!(
        pick(&report, ["created", "rejected", "adverts"]),
        json!([2, 2, 4])
    );
    assert_eq!(
        report["rejections"]["url: is required"]["examples"][0]["line"],
        4
    );

    let ids = toise::store::Store::open(data).unwrap().read(|connection| {
        let sql = "SELECT lower(hex(advert_id)) FROM adverts ORDER BY advert";
        connection
            .prepare(sql)?
            .query_map([], |row| row.get(0))?
            .collect::<rusqlite::Result<Vec<String>>>()
    });
    let id = |hex: &String| uuid::Uuid::try_parse(hex).unwrap().to_string();
    let ids: Vec<String> = ids.unwrap().iter().map(id).collect();
    let path = format!("properties/{}", ids[0]);
    let read = || async { client.get(&path).await["data"].take() };
    let property = read().await;
    // Both were first seen at the same instant, so either may come first.
    let mut urls = texts_of(&property["adverts"], "url");
    urls.sort_unstable();
    assert_eq!(
        urls,
        [
            "https://www.deux.example/annonce/1",
            "https://www.un.example/annonce/1"
        ],
        "one asset on two portals"
    );
    assert_eq!(property["location"]["inseeCode"], "48095");

    let explained = run(
        data,
        &[
            "explain",
            "https://www.un.example/annonce/1",
            "http://deux.example/annonce/1/",
        ],
    );
    assert_eq!(
        pick(&explained, ["together", "verdict"]),
        json!([true, "same"])
    );
    let [address, same_address] = [
        "http://deux.example/annonce/1/",
        "https://www.deux.example/annonce/1",
    ];
    let itself = toise(data, &["explain", address, same_address]).output();
    let refused = errors(&itself.unwrap());
    assert_has(&refused, "both arguments are the advert");
    let parted = run(data, &["properties", "split", &ids[0], &ids[1]]);
    assert_eq!(parted["propertyFlxId"], json!(ids[1]));
    assert_eq!(read().await["adverts"].as_array().unwrap().len(), 1);
    let shown = run(data, &["properties", "show", &ids[1]]);
    assert_eq!(shown["adverts"][0]["flxId"], json!(ids[1]));

    let sighting = "link;prix;vu\nhttp://un.example/annonce/1;95 500;2026-03-02\n";
    let maps = [
        "--map",
        "url=link",
        "--map",
        "currentPrice.value=prix",
        "--map",
        "lastSeenAt=vu",
    ];
    let arguments = [&["ingest", "-", "--format", "csv"], &maps[..]].concat();
    let output = feed(data, &arguments, sighting.as_bytes());
    assert!(output.status.success(), "{}", errors(&output));
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(
        pick(&report, ["updated", "events"]),
        json!([1, {"PRICE": 1}])
    );
    assert_eq!(read().await["price"]["latest"]["value"], 95_500);

    let report = async || {
        let reason = json!({"reason": "DUPLICATE"});
        let path = format!("{path}/report");
        client.ask(Method::POST, &path, reason).await;
        let open = run(data, &["reports", "list"]);
        open[0]["report_id"].as_str().unwrap().to_owned()
    };
    let noted = report().await;
    run(data, &["reports", "resolve", &noted, "--note", "it is one"]);
    let merged = report().await;
    run(data, &["reports", "resolve", &merged, "--merge", &ids[1]]);
    let again = toise(data, &["reports", "resolve", &noted, "--note", "again"]).output();
    assert_eq!(again.unwrap().status.code(), Some(1));
    let told = run(data, &["audit", "--take", "1000"]);
    let acts: Vec<String> = told["entries"]
        .as_array()
        .unwrap()
        .iter()
        .rev()
        .map(|entry| {
            ["action", "subject", "outcome"]
                .map(|field| entry[field].as_str().unwrap_or_default())
                .join(" | ")
        })
        .filter(|act| act.starts_with("properties") || act.starts_with("reports"))
        .collect();
    let (one, other) = (&ids[0], &ids[1]);
    let already = format!("report {noted} is already resolved: it is one");
    assert_eq!(
        acts,
        [
            format!("properties split | property {one} | begun"),
            format!(
                "properties split | property {one}; adverts {other} moved to property {other} | done"
            ),
            format!("reports resolve | report {noted} | begun"),
            format!("reports resolve | report {noted}: it is one | done"),
            format!("reports resolve | report {merged} | begun"),
            format!("reports resolve | report {merged}: merged into property {one} | done"),
            format!("reports resolve | report {noted} | begun"),
            format!("reports resolve | report {noted} | failed: {already}"),
        ]
    );
    assert_eq!(server.terminate(), Some(0));
}

/// A compressed file of a beginning and 256 times a piece of a mebibyte.
fn unfolding(begin: &str, piece: &str) -> Vec<u8> {
    let packed = |text: &str| {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(text.as_bytes()).unwrap();
        encoder.finish().unwrap()
    };
    let piece = piece.repeat((1 << 20) / piece.len());
    [packed(begin), packed(&piece).repeat(256)].concat()
}

#[test]
fn every_command_names_a_compressed_file_that_would_become_endless_and_the_bound() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path();
    run(data, &["synth", "--lake", "--dpe", "50"]);
    let empty_lines = [&" ".repeat((64 << 10) - 1), "\n"].concat();
    let output = data.join("candidates.csv");
    let ratio = "expands to more than 150 times its size";
    let row = "a row is longer than 16777216 bytes";
    let cases = [
        (
            &["ingest"][..],
            "adverts.ndjson.gz",
            r#"{"url": 1}"#,
            empty_lines.as_str(),
            ratio,
        ),
        (
            &["import", "dvf"],
            "sales.ndjson.gz",
            r#"{"id_mutation": "1"}"#,
            &empty_lines,
            ratio,
        ),
        (&["import", "dpe"], "homes.csv.gz", "numero_dpe", "a", row),
        (
            &[
                "match",
                "dpe",
                "--output",
                output.to_str().unwrap(),
                "--input",
            ],
            "homes.ndjson.gz",
            r#"{"id": "1", "type_batiment": "maison"}"#,
            &empty_lines,
            ratio,
        ),
    ];
    // At once: decompressing takes a while without optimisation.
    let running = cases.map(|(command, name, begin, piece, bound)| {
        let file = data.join(name);
        let bytes = unfolding(begin, piece);
        assert!(bytes.len() < 1 << 20);
        std::fs::write(&file, bytes).unwrap();
        let file = file.to_str().unwrap().to_owned();
        let mut command = toise(data, &[command, &[&file]].concat());
        let command = command.stdout(Stdio::null()).stderr(Stdio::piped());
        (command.spawn().unwrap(), file, bound)
    });
    for (child, file, bound) in running {
        let output = child.wait_with_output().unwrap();
        let said = errors(&output);
        assert_eq!(output.status.code(), Some(1), "{file}: {said}");
        assert!(said.contains(&file) && said.contains(bound), "{said}");
    }
}

#[test]
fn errors_say_what_is_allowed() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path();
    let nobody = "019bb126-cee2-7a45-a98c-3cba58e89b2d";
    for (arguments, message) in [
        (&["ingest", "none.ndjson"][..], "no such file"),
        (
            &["ingest", "-", "--map", "prix=price"],
            "--map: prix: unknown field; must be one of: currency,",
        ),
        (
            &["ingest", "-", "--format", "csv"],
            "no column is mapped to url; map one with --map url=COLUMN",
        ),
        (&["explain", nobody, nobody], "no advert 019bb126"),
        (
            &["explain", "x", nobody],
            "must be the identifier or the URL of an advert",
        ),
        (&["properties", "show", nobody], "no property 019bb126"),
        (
            &["properties", "split", nobody, nobody],
            "no property 019bb126",
        ),
    ] {
        let output = feed(data, arguments, b"a;b\n");
        assert!(!output.status.success(), "{arguments:?}");
        let said = errors(&output);
        assert!(
            said.starts_with("error: ") && said.contains(message),
            "{arguments:?}: {said}"
        );
    }
}

/// A portal's CSV in Latin-1, with its own columns and addresses that carry a search.
const EXPORT: &str = "lien;genre;prix;surface;lieu;vu;étage\n\
    https://www.bienici.com/annonce/1?q=lyon&page=2;Appartement rénové;250 000 €;61,35;Toulon;09/03/2026;2\n\
    https://www.bienici.com/annonce/2?q=lyon;Maison;410 000 €;112;Toulon;09/03/2026;dernier\n\
    ;;;;;;\n\
    https://www.bienici.com/annonce/3;Yourte;1 €;20;Toulon;09/03/2026;\n";

const MAPPING: &str = r#"
[[field]]
path = "url"
from = "lien"

[[field]]
path = "type"
from = "genre"
map = { "Appartement" = "CLASS_FLAT", "Maison" = "CLASS_HOUSE" }

[[field]]
path = "offer.type"
value = "OFFER_BUY"

[[field]]
path = "currentPrice.value"
from = "prix"

[[field]]
path = "habitation.surface.total"
from = "surface"

[[field]]
path = "habitation.floor"
from = "étage"

[[field]]
path = "location.city"
from = "lieu"

[[field]]
path = "lastSeenAt"
from = "vu"
"#;

#[test]
fn a_mapping_reads_a_portals_file_and_a_snapshot_takes_offline_what_it_shows_no_more() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let path = |name: &str, content: &[u8]| write_file(folder.path(), name, content);
    let latin: Vec<u8> = EXPORT
        .chars()
        .map(|sign| if sign == '€' { 0x80 } else { sign as u8 })
        .collect();
    let (export, mapping) = (
        path("export.csv", &latin),
        path("portal.toml", MAPPING.as_bytes()),
    );
    let shown = run(
        &data,
        &["ingest", &export, "--mapping", &mapping, "--dry-run"],
    );
    assert!(!data.exists(), "nothing was written");
    let rows = shown["dry_run"]["rows"].as_array().unwrap();
    assert_eq!(
        rows[0]["advert"]["url"],
        "https://www.bienici.com/annonce/1"
    );
    assert_eq!(rows[0]["advert"]["location"]["inseeCode"], "83137");
    assert_eq!(
        rows[2]["refused"],
        "type: cannot be read from column genre; got \"Yourte\""
    );

    let report = run(&data, &["ingest", &export, "--mapping", &mapping]);
    let counts = ["created", "rejected", "blank", "incomplete"].map(|name| report[name].as_u64());
    assert_eq!(counts, [Some(2), Some(1), Some(1), Some(1)], "{report}");
    let rejection = &report["rejections"]["type: cannot be read from column genre"];
    assert_eq!(rejection["examples"][0]["value"], "\"Yourte\"");
    assert_eq!(rejection["examples"][0]["line"], 5);
    let left_out =
        &report["files"][0]["left_out"]["habitation.floor: cannot be read from column étage"];
    assert_eq!(left_out["examples"][0]["value"], "\"dernier\"");
    let strict = ["ingest", &export, "--mapping", &mapping, "--strict"];
    let output = try_run(&data, &strict);
    assert_refused(&output, "1 of 3 rows gave no advert");

    // Later only the house is listed, in a JSON document from another search.
    let shown = json!({"ads": [{"lien": "https://www.bienici.com/annonce/2?q=paris", "genre": "Maison", "prix": 400_000,
        "lieu": "Toulon", "vu": "2026-03-16"}]});
    let (later, listed) = (
        path("later.json", shown.to_string().as_bytes()),
        path(
            "listed.toml",
            format!("records = \"ads\"\n{MAPPING}").as_bytes(),
        ),
    );
    let report = run(
        &data,
        &["ingest", &later, "--mapping", &listed, "--snapshot"],
    );
    let counts = ["created", "updated", "gone"].map(|name| report[name].as_u64());
    assert_eq!(counts, [Some(0), Some(1), Some(1)], "{report}");
    assert_eq!(report["events"], json!({"PRICE": 1, "UNPUBLISHED": 1}));
    let again = run(
        &data,
        &["ingest", &later, "--mapping", &listed, "--snapshot"],
    );
    assert_eq!(pick(&again, ["unchanged", "gone"]), json!([1, 0]));
}

#[test]
fn a_bad_value_of_an_optional_field_is_left_out_and_the_advert_stays() {
    let folder = tempfile::tempdir().unwrap();
    let mut bad = flat("un");
    bad["habitation"]["floor"] = json!("deuxième");
    let report = feed(
        folder.path(),
        &["ingest", "-"],
        format!("[{bad}]").as_bytes(),
    );
    assert!(report.status.success(), "{}", errors(&report));
    let report: Value = serde_json::from_slice(&report.stdout).unwrap();
    assert_eq!(pick(&report, ["created", "incomplete"]), json!([1, 1]));
    let (reason, tally) = report["files"][0]["left_out"]
        .as_object()
        .unwrap()
        .iter()
        .next()
        .unwrap();
    assert!(reason.starts_with("habitation.floor: must be "), "{reason}");
    assert_eq!(tally["examples"][0]["value"], "\"deuxième\"");
    let output = feed(folder.path(), &["ingest", "-"], b"{}\n");
    assert_refused(&output, "1 of 1 rows gave no advert");
}

#[tokio::test]
async fn the_pictures_of_a_portals_file_are_those_of_the_advert_over_http() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path();
    let pictures = "https://img.example.fr/a.jpg, https://img.example.fr/b.jpg?w=800|photo-3.jpg";
    let rows = format!("url;prix;photos\nhttps://un.example/1;250000;\"{pictures}\"\n");
    let file = write_file(data, "adverts.csv", rows);
    let mut arguments = vec!["ingest", &file];
    arguments.extend(["--map", "url=url", "--map", "currentPrice.value=prix"]);
    arguments.extend(["--map", "medias.images=photos", "--set", "source=un"]);
    arguments.extend(["--set", "type=CLASS_FLAT", "--set", "offer.type=OFFER_BUY"]);
    arguments.extend(["--set", "location.postalCode=48000"]);
    let report = run(data, &arguments);
    assert_eq!(report["created"], 1, "{report}");
    let left_out = report.to_string();
    assert!(
        left_out.contains("medias.images") && left_out.contains("photo-3.jpg"),
        "{report}"
    );

    let key = new_key(data, &[]);
    let sql = "select property_flx_id as id from adverts";
    let property = run(data, &["sql", sql])[0]["id"]
        .as_str()
        .unwrap()
        .to_owned();
    let (_server, client) = Client::start(data, &key);
    let answer = client.get(&format!("properties/{property}")).await;
    let images = answer["data"]["adverts"][0]["medias"]["images"]
        .as_array()
        .unwrap()
        .clone();
    let addresses: Vec<&str> = images
        .iter()
        .map(|image| image["url"].as_str().unwrap())
        .collect();
    assert_eq!(
        addresses,
        [
            "https://img.example.fr/a.jpg",
            "https://img.example.fr/b.jpg?w=800"
        ]
    );
}

/// An answer of Apimo's API, after public descriptions of its fields.
fn apimo() -> Value {
    let property = |id: u64, category: u64, kind: u64, price: u64| {
        json!({"id": id, "reference": format!("R{id}"), "agency": 77, "step": 1, "category": category, "type": kind,
            "subtype": 4, "city": {"id": 9, "name": "Toulon", "zipcode": "83000"}, "country": "FR",
            "latitude": 43.1242, "longitude": 5.928, "area": {"unit": 1, "value": 65.5, "total": 70},
            "rooms": "3", "bedrooms": 2, "price": {"value": price, "currency": "EUR", "hide": false, "deposit": 900},
            "floor": {"type": 1, "value": 2, "floors": 5}, "construction": {"construction_year": 1975},
            "areas": [{"type": 1, "number": 2, "area": 20}, {"type": 51, "number": 1, "area": 412.5}],
            "pictures": [{"id": 1, "rank": 1, "url": "https://media.example/1.jpg"},
                         {"id": 2, "rank": 2, "url": "https://media.example/2.jpg"}],
            "comments": [{"language": "en", "title": "Three rooms", "comment": "In the middle"},
                         {"language": "fr", "title": "T3 au centre", "comment": "Au <b>centre</b>"}]})
    };
    json!({"total_items": 3, "timestamp": 1_772_000_000,
        "properties": [property(1, 1, 1, 245_000), property(2, 2, 1, 950), property(3, 1, 2, 420_000)]})
}

#[test]
fn the_properties_of_an_agency_in_apimo_are_ingested_as_a_snapshot() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path();
    let file = data.join("apimo.json");
    let ingest = |document: &Value| {
        std::fs::write(&file, document.to_string()).unwrap();
        let arguments = [
            "ingest",
            file.to_str().unwrap(),
            "--mapping",
            "apimo",
            "--snapshot",
        ];
        run(data, &arguments)
    };
    let mut document = apimo();
    let report = ingest(&document);
    assert_eq!(
        pick(&report, ["created", "incomplete"]),
        json!([3, 0]),
        "{report}"
    );
    let sql = "SELECT source, type, offer_type, current_price_value AS price, habitation_surface_total AS area, \
        habitation_room_count AS rooms, habitation_floor AS floor, land_surface AS land, title, location_insee_code AS code \
        FROM adverts ORDER BY url";
    let rows = run(data, &["sql", sql]);
    assert_eq!(
        rows[0],
        json!({"source": "apimo-77", "type": "CLASS_FLAT", "offer_type": "OFFER_BUY",
        "price": 245_000.0, "area": 65.5, "rooms": 3, "floor": 2, "land": 412.5, "title": "T3 au centre", "code": "83137"})
    );
    assert_eq!(
        pick(&rows[1], ["offer_type", "price"]),
        json!(["OFFER_RENT", 950.0])
    );
    assert_eq!(rows[2]["type"], "CLASS_HOUSE");
    document["properties"].as_array_mut().unwrap().remove(2);
    assert_eq!(ingest(&document)["gone"], 1);
}

#[test]
fn a_feed_whose_download_ended_early_takes_nothing_offline() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let line = |reference: &str| {
        let mut cells = vec![String::new(); 180];
        let known = [(1, "ag"), (2, reference), (3, "Vente"), (4, "Appartement")];
        let others = [
            (5, "83000"),
            (6, "Toulon"),
            (11, "250000"),
            (20, "T3"),
            (21, "Vue mer"),
        ];
        for (rank, text) in known.into_iter().chain(others) {
            cells[rank - 1] = text.to_owned();
        }
        format!("\"{}\"\r\n", cells.join("\"!#\""))
    };
    let feed = ["A1", "A2", "A3"].map(line).concat();
    let path = folder.path().join("Annonces.csv");
    let arguments = ["--mapping", "poliris", "--snapshot"];
    let arguments = [&["ingest", path.to_str().unwrap()][..], &arguments].concat();
    std::fs::write(&path, &feed).unwrap();
    run(&data, &arguments);
    let online = "select count(*) from adverts where is_online";
    assert_eq!(sql_number(&data, online), 3);
    let second = feed.rfind("A3").unwrap();
    for end in [second, second + 30, feed.len() - 3] {
        std::fs::write(&path, &feed[..end]).unwrap();
        let said = errors(&fails(&data, &arguments));
        assert!(said.contains("the file ends early"), "{said}");
        assert_eq!(sql_number(&data, online), 3);
    }
}

#[test]
fn a_table_that_is_cut_off_fails_and_a_last_line_without_a_line_end_does_not() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let path = folder.path().join("adverts.csv");
    let arguments = ["ingest", path.to_str().unwrap(), "--mapping", "french-csv"];
    let snapshot = [&arguments[..], &["--snapshot"]].concat();
    let row = |number: u32| {
        format!("https://un.example/{number};Appartement T3;vente;250000;65;48000;Mende")
    };
    let header = "url;titre;type_transaction;prix;surface;code_postal;ville";
    let whole = [header.to_owned(), row(1), row(2)].join("\n");
    std::fs::write(&path, &whole).unwrap();
    assert_eq!(run(&data, &snapshot)["created"], 2);
    let online = "select count(*) from adverts where is_online";
    std::fs::write(&path, whole.trim_end_matches(";48000;Mende")).unwrap();
    for arguments in [&arguments[..], &snapshot[..]] {
        let said = errors(&fails(&data, arguments));
        assert_has(&said, "line 3: the file ends within this row");
        assert_eq!(sql_number(&data, online), 2);
    }
    std::fs::write(&path, [header.to_owned(), row(1)].join("\n")).unwrap();
    assert_eq!(run(&data, &snapshot)["gone"], 1);
}

#[test]
fn a_person_decides_pairs_that_are_perhaps_one_home() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path();
    let thin = |number: u32, price: u32| {
        json!({
            "url": format!("https://thin.example/annonce/{number}"), "source": "thin.example", "type": "CLASS_FLAT",
            "offer": {"type": "OFFER_BUY"}, "currentPrice": {"value": price}, "lastSeenAt": "2026-03-01T08:00:00Z",
            "location": {"city": "Paris", "postalCode": "75011"},
            "habitation": {"surface": {"total": 31}, "roomCount": 2},
        })
    };
    let adverts = [(1, 310_000), (2, 310_000), (3, 280_000), (4, 280_000)];
    let lines = adverts.map(|(number, price)| thin(number, price).to_string());
    let output = feed(data, &["ingest", "-"], lines.join("\n").as_bytes());
    assert!(output.status.success(), "{}", errors(&output));
    let properties = |pair: &Value| {
        let id = |side: usize| {
            pair["adverts"][side]["propertyFlxId"]
                .as_str()
                .unwrap()
                .to_owned()
        };
        [id(0), id(1)]
    };
    let candidates = || {
        let listed = run(data, &["properties", "candidates"]);
        listed.as_array().unwrap().clone()
    };
    let pairs = candidates();
    assert_eq!(pairs.len(), 2);
    assert_eq!(pairs[0]["verdict"], "possible");
    assert!(pairs[0]["comparison"]["evidence"].as_array().unwrap().len() > 2);
    let [one, other] = properties(&pairs[0]);
    let kept = run(data, &["properties", "merge", &one, &other])["propertyFlxId"].clone();
    assert!(kept == json!(one) || kept == json!(other), "{kept}");
    let [one, other] = properties(&pairs[1]);
    run(data, &["properties", "keep-apart", &one, &other]);
    assert_eq!(candidates(), Vec::<Value>::new());
    let again = try_run(data, &["properties", "merge", &one, &one]);
    assert_eq!(again.status.code(), Some(1));
    assert_has(&errors(&again), "already one property");
}

#[test]
fn merges_are_measured_and_decided_again() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path();
    let advert = |portal: &str, home: u32, surface: f64| {
        json!({
            "url": format!("https://{portal}.example/annonce/{home}"), "source": format!("{portal}.example"),
            "type": "CLASS_FLAT", "offer": {"type": "OFFER_BUY"}, "currentPrice": {"value": 187_430 + 41_210 * home},
            "lastSeenAt": "2026-03-01T08:00:00Z", "location": {"city": "Paris", "postalCode": "75011"},
            "habitation": {"surface": {"total": surface}, "roomCount": 2},
        })
    };
    let adverts = [
        advert("a", 1, 41.37),
        advert("b", 1, 41.37),
        advert("a", 2, 52.91),
    ];
    let lines = adverts.map(|advert| advert.to_string()).join("\n");
    assert!(
        feed(data, &["ingest", "-"], lines.as_bytes())
            .status
            .success()
    );
    let measured = run(data, &["evaluate", "dedup"]);
    assert_eq!(measured["adverts"], 3);
    assert_eq!(measured["properties"], 2);
    assert_eq!(measured["mergedPairs"], 1);
    assert_eq!(measured["contradictingPairs"], 0);
    assert_eq!(measured["sample"].as_array().unwrap().len(), 1);

    // Properties merged by a person stay merged, and are counted if they contradict each other.
    let property = |portal: &str, home: u32| {
        let url = format!("https://{portal}.example/annonce/{home}");
        let explained = run(data, &["explain", &url, "https://b.example/annonce/1"]);
        explained["adverts"][0]["propertyFlxId"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    let kept = run(
        data,
        &["properties", "merge", &property("a", 1), &property("a", 2)],
    );
    let measured = run(data, &["evaluate", "dedup"]);
    assert_eq!(measured["contradictingPairs"], 2);
    let rebuilt = run(data, &["properties", "rebuild", "--dry-run"]);
    assert_eq!(rebuilt["propertiesSplit"], 0);
    let rebuilt = run(data, &["properties", "rebuild"]);
    assert_eq!(rebuilt["changes"], json!([]));
    assert!(Path::new(rebuilt["report"].as_str().unwrap()).is_file());
    assert_eq!(json!(property("a", 2)), kept["propertyFlxId"]);
    let audit = run(data, &["audit"]);
    assert!(audit.to_string().contains("properties rebuild"), "{audit}");
}
