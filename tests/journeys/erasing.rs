//! Erasure of a person's contacts through the executable: before it the contacts are in the files of the data folder,
//! after it in none, and they do not come back.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant, SystemTime};

use arrow::array::{Array, AsArray};
use arrow::datatypes::DataType;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use reqwest::Method;
use serde_json::{Value, json};
use toise::contract::listings::filters::{ListingKind, ListingSearch};
use toise::engine::cancellation::Interrupt;
use toise::listings::search::texts::TextSearch;
use toise::store::document;

use crate::support::alerts::{body, with};
use crate::support::assertions::{assert_has, assert_refused, pick};
use crate::support::client::{Client, answer};
use crate::support::files::files_in;
use crate::support::portal::{Act, Portal, query};
use crate::support::process::{Server, new_key, run, toise, try_run};
use crate::support::receiver::{Act as Answer, Receiver};

const PHONE: &str = "06 12 34 56 78";
const EMAIL: &str = "Jean.Dupont@Example.fr";
const NAME: &str = "Jean Dupont";
/// Spellings of the three that must be in no file.
const SPELLINGS: [&str; 6] = [
    "06 12 34 56 78",
    "0612345678",
    "+33 6 12 34 56 78",
    "jean.dupont@example.fr",
    "jean dupont",
    "\"dupont\"",
];
/// Flags of a server that delivers to loopback, collects from it and stores pages.
const FLAGS: [&str; 8] = [
    "--allow-webhook-hosts",
    "127.0.0.1",
    "--allow-collect-hosts",
    "127.0.0.1",
    "--set",
    "collect.keep_pages_days=30",
    "--set",
    "collect.host_delay_ms=0",
];
/// First bytes of a zstd frame, and the bytes in front of it in a stored record.
const FRAME: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];
const RECORD_HEAD: usize = 13;

fn has(bytes: &[u8]) -> Option<&'static str> {
    let text = String::from_utf8_lossy(bytes).to_lowercase();
    SPELLINGS
        .into_iter()
        .find(|spelling| text.contains(spelling))
}

/// Every record in the bytes of a file of the store, in use or not.
fn records(bytes: &[u8]) -> Vec<Vec<u8>> {
    let mut found = Vec::new();
    for at in RECORD_HEAD..bytes.len().saturating_sub(FRAME.len()) {
        if bytes[at..at + FRAME.len()] != FRAME {
            continue;
        }
        if let Ok(length) = zstd::zstd_safe::find_frame_compressed_size(&bytes[at..]) {
            found.extend(document::decode(&bytes[at - RECORD_HEAD..at + length]));
        }
    }
    found
}

/// Every text of a Parquet file.
fn texts(path: &Path) -> String {
    fn gather(column: &dyn Array, to: &mut String) {
        match column.data_type() {
            DataType::Utf8 => {
                for text in column.as_string::<i32>().iter().flatten() {
                    to.push_str(text);
                    to.push('\n');
                }
            }
            DataType::List(_) => gather(column.as_list::<i32>().values(), to),
            DataType::Struct(_) => {
                column
                    .as_struct()
                    .columns()
                    .iter()
                    .for_each(|part| gather(part, to));
            }
            DataType::Dictionary(..) => gather(column.as_any_dictionary().values(), to),
            _ => {}
        }
    }
    let file = std::fs::File::open(path).unwrap();
    let reader = ParquetRecordBatchReaderBuilder::try_new(file)
        .unwrap()
        .build()
        .unwrap();
    let mut all = String::new();
    for batch in reader {
        batch
            .unwrap()
            .columns()
            .iter()
            .for_each(|column| gather(column, &mut all));
    }
    all
}

/// The files of a data folder that hold a spelling of the contacts, also compressed.
fn files_with(folder: &Path) -> Vec<(PathBuf, &'static str)> {
    let mut found = Vec::new();
    for path in files_in(folder) {
        // A store that was just closed deletes its logs.
        let Ok(bytes) = std::fs::read(&path) else {
            continue;
        };
        let name = path.file_name().unwrap().to_str().unwrap();
        let mut contents = vec![bytes];
        if name.contains(".sqlite") {
            let records = records(&contents[0]);
            contents.extend(records);
        } else if name.ends_with(".parquet") || name.ends_with(".pq") {
            contents.push(texts(&path).into_bytes());
        } else if name.ends_with(".zst") {
            contents.push(zstd::decode_all(&contents[0][..]).unwrap());
        }
        let spelling = contents.iter().find_map(|content| has(content));
        found.extend(spelling.map(|spelling| (path, spelling)));
    }
    found
}

fn names(found: &[(PathBuf, &str)]) -> String {
    let names: Vec<String> = found
        .iter()
        .map(|(path, _)| path.display().to_string())
        .collect();
    names.join("\n")
}

/// Adverts of the person on two portals, and one of another person.
fn adverts(price: u64) -> Vec<Value> {
    let advert = |site: &str, number: u64, more: Value| {
        let advert = json!({
            "url": format!("https://{site}/{number}"), "source": site, "type": "CLASS_FLAT",
            "offer": {"type": "OFFER_BUY"}, "currentPrice": {"value": price + number},
            "location": {"postalCode": "83000", "inseeCode": "83137"},
            "habitation": {"roomCount": 3, "surface": {"total": 60 + 9 * number}},
        });
        with(advert, more)
    };
    vec![
        advert(
            "un.example",
            1,
            json!({
                "isPro": false, "seller": {"name": NAME}, "title": "T3 vue mer, 0612345678",
                "description": "Beau T3. Appelez Jean Dupont au +33 6 12 34 56 78 ou jean.dupont@example.fr. Garage.",
                "contactInCharge": {"firstName": "Jean", "lastName": "Dupont", "phoneNumber": PHONE, "email": EMAIL},
            }),
        ),
        advert(
            "deux.example",
            2,
            json!({
                "isPro": true, "seller": {"name": "Agence du Port"}, "title": "Autre T3",
                "contactInCharge": {"pseudonym": "JD", "phoneNumber": "+33612345678"},
            }),
        ),
        advert(
            "trois.example",
            3,
            json!({
                "isPro": false, "seller": {"name": "Anne Martin"}, "title": "Encore un T3",
                "description": "Tél. 04 94 00 00 00", "contactInCharge": {"phoneNumber": "04 94 00 00 00"},
            }),
        ),
    ]
}

fn write_lines(path: &Path, adverts: &[Value]) {
    let lines: String = adverts.iter().map(|advert| format!("{advert}\n")).collect();
    std::fs::write(path, lines).unwrap();
}

impl Client {
    /// The `data` of a call. A POST has a name, so that its answer is stored.
    async fn named_call(&self, method: Method, path: &str, body: Value) -> Value {
        let mut request = self.request(method.clone(), path);
        if method == Method::POST {
            let name = format!("{path}{}", body.to_string().len());
            request = request.header("idempotency-key", name);
        }
        if !body.is_null() {
            request = request.json(&body);
        }
        let (status, mut answer) = answer(request).await;
        assert!((200..300).contains(&status), "{path}: {status} {answer}");
        answer["data"].take()
    }

    async fn advert(&self, id: &Value) -> Value {
        let path = format!("adverts/{}", id.as_str().unwrap());
        self.get(&path).await["data"].take()
    }
}

async fn until(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    let started = Instant::now();
    while !holds().await {
        assert!(started.elapsed() < Duration::from_secs(20), "{what}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

fn serve(data: &Path, key: &str) -> (Server, Client) {
    let server = Server::start_with(data, "serve", &FLAGS, Stdio::null());
    let client = Client::new(&server, key);
    (server, client)
}

fn place<'r>(report: &'r Value, name: &str) -> &'r Value {
    let places = report["places"].as_array().unwrap();
    places.iter().find(|place| place["place"] == name).unwrap()
}

/// A page of a listing whose seller is the person.
fn page() -> Act {
    let node = json!({
        "@type": "RealEstateListing", "name": "Appartement à vendre",
        "about": {"@type": "Apartment", "floorSize": {"value": 41, "unitCode": "MTK"}, "numberOfRooms": 2,
                  "address": {"postalCode": "83000", "addressLocality": "Toulon"}},
        "offers": {"price": 150_000, "priceCurrency": "EUR",
                   "offeredBy": {"@type": "Person", "name": NAME, "telephone": PHONE}},
    });
    let script = format!("<script type=\"application/ld+json\">{node}</script>");
    Act::Page(format!("{script}<h1>Appartement</h1>"))
}

#[tokio::test(flavor = "multi_thread")]
async fn erased_contacts_are_in_no_file_and_stay_out() {
    let folder = tempfile::tempdir().unwrap();
    let (data, file) = (
        folder.path().join("data"),
        folder.path().join("adverts.ndjson"),
    );
    std::fs::create_dir(&data).unwrap();
    let data = data.as_path();
    let receiver = Receiver::always(Answer::Status(200)).await;
    let portal = Portal::start().await;
    portal.set("/1", page());
    let key = new_key(data, &["--scopes", "search,alerts,refetch,admin"]);
    let (server, client) = serve(data, &key);
    let alert = body(
        ListingKind::Advert,
        &json!({"type": ["CLASS_FLAT"]}),
        &["ALERT_MATCH_CREATED"],
    );
    let alert = with(alert, json!({"webhook_url": receiver.url()}));
    client
        .named_call(Method::PUT, "adverts/search/alerts", alert)
        .await;

    let taken = client
        .named_call(
            Method::POST,
            "admin/adverts",
            json!({"adverts": adverts(200_000)}),
        )
        .await;
    let ids: Vec<&Value> = (0..3).map(|index| &taken[index]["flxId"]).collect();
    let url = portal.url("/1");
    let collected = client
        .named_call(
            Method::GET,
            &format!("adverts/url?{}", query(&url)),
            Value::Null,
        )
        .await;
    assert_eq!(
        collected["contactInCharge"]["phoneNumber"], PHONE,
        "{collected}"
    );
    until("deliveries arrive", async || receiver.count() >= 2).await;
    let many = json!([ids[0]]);
    let property = &client
        .named_call(Method::POST, "properties/_many", many)
        .await[0];
    assert_eq!(
        property["adverts"][0]["contactInCharge"]["email"], EMAIL,
        "{property}"
    );
    let comment = json!({"reason": "OTHER", "comment": "M. Dupont Jean, 0612345678, ne vend plus"});
    let report = format!("adverts/{}/report", ids[0].as_str().unwrap());
    client.named_call(Method::POST, &report, comment).await;
    // Two versions of each table: the former one too has the contacts.
    run(data, &["compact"]);
    write_lines(&file, &adverts(210_000));
    run(data, &["ingest", file.to_str().unwrap()]);
    run(data, &["compact"]);

    let everything = files_with(data);
    for part in [
        "store.sqlite",
        "lake/_adverts/",
        "lake/_properties/",
        "lake/adverts/",
        "pages/",
    ] {
        assert!(
            names(&everything).contains(part),
            "{part} is not among\n{}",
            names(&everything)
        );
    }
    let arguments = [
        "erase",
        "--phone",
        "+33 (0)6.12.34.56.78",
        "--email",
        "JEAN.DUPONT@example.fr",
        "--name",
        "dupont JEAN",
    ];
    let dry = run(data, &[&arguments[..], &["--dry-run"]].concat());
    assert_eq!(pick(&dry, ["dryRun", "damaged"]), json!([true, 0]));
    for (name, count) in [
        ("adverts", 3),
        ("pages", 1),
        ("responses", 1),
        ("listing_reports", 1),
    ] {
        let place = place(&dry, name);
        assert_eq!(
            pick(place, ["found", "removed"]),
            json!([count, 0]),
            "{name}: {dry}"
        );
    }
    assert!(
        place(&dry, "deliveries")["found"].as_u64().unwrap() >= 2,
        "{dry}"
    );
    assert!(
        place(&dry, "data_files")["found"].as_u64().unwrap() >= 3,
        "{dry}"
    );
    assert_eq!(files_with(data).len(), everything.len());

    let request = json!({"phone": PHONE, "email": EMAIL, "name": NAME});
    let erased = client
        .named_call(Method::POST, "admin/erasures", request)
        .await;
    for of_dry in dry["places"].as_array().unwrap() {
        let found = place(&erased, of_dry["place"].as_str().unwrap());
        assert_eq!(found["found"], of_dry["found"], "{found}");
        assert_eq!(found["removed"], found["found"]);
    }
    let check = async |when: &str| {
        let (first, second, other) = (
            client.advert(ids[0]).await,
            client.advert(ids[1]).await,
            client.advert(ids[2]).await,
        );
        assert_eq!(first.get("contactInCharge"), None, "{when}: {first}");
        assert_eq!(first["seller"].get("name"), None, "{when}: {first}");
        assert_eq!(first["title"], "T3 vue mer, […]", "{when}");
        assert_eq!(
            first["description"], "Beau T3. Appelez […] au […] ou […]. Garage.",
            "{when}"
        );
        assert_eq!(first["habitation"]["roomCount"], 3, "{when}");
        assert_eq!(second.get("contactInCharge"), None, "{when}: {second}");
        assert_eq!(second["seller"]["name"], "Agence du Port", "{when}");
        assert_eq!(
            other["contactInCharge"]["phoneNumber"], "04 94 00 00 00",
            "{when}"
        );
        assert_eq!(other["seller"]["name"], "Anne Martin", "{when}");
    };
    check("after the erasure").await;

    // The same file again, and the same page.
    write_lines(&file, &adverts(220_000));
    run(data, &["ingest", file.to_str().unwrap()]);
    check("after another ingestion").await;
    let first = client.advert(ids[0]).await;
    assert_eq!(first["currentPrice"]["value"], 220_001.0);
    portal.set("/2", page());
    let again = portal.url("/2");
    let again = client
        .named_call(
            Method::GET,
            &format!("adverts/url?{}", query(&again)),
            Value::Null,
        )
        .await;
    assert_eq!(again.get("contactInCharge"), None, "{again}");

    let log = run(data, &["audit", "--json"]);
    let entries = log["entries"].as_array().or(log.as_array()).unwrap();
    let acts: Vec<&Value> = entries
        .iter()
        .filter(|entry| entry["action"].as_str().unwrap().contains("erasures"))
        .collect();
    let ended = acts.iter().find(|act| act["outcome"] == "200").unwrap();
    let subject = ended["subject"].as_str().unwrap();
    assert_has(subject, erased["erasureId"].as_str().unwrap());
    assert!(subject.contains("of 3 contacts: 3 adverts"), "{subject}");

    server.terminate();
    assert_eq!(files_with(data), []);
    run(data, &["check"]);
}

/// Adverts that all have the telephone number of the person.
const MANY: u64 = 400;
/// The number as one word of the text index.
const WORD: &str = "0612345678";
/// Number of erasures that are killed.
const KILLS: u32 = 6;
/// By how much longer each erasure runs before it is killed than the one before it.
const KILL_STEP: Duration = Duration::from_millis(90);
/// How often a test looks whether an erasure has begun.
const LOOK_EVERY: Duration = Duration::from_millis(1);

fn with_many_adverts(folder: &Path) -> PathBuf {
    let (data, file) = (folder.join("data"), folder.join("many.ndjson"));
    let many: Vec<Value> = (0..MANY)
        .map(|number| {
            json!({
                "url": format!("https://un.example/{number}"), "source": "un.example", "type": "CLASS_HOUSE",
                "offer": {"type": "OFFER_BUY"}, "currentPrice": {"value": 100_000 + 7_000 * number},
                "title": format!("Maison {number}"), "description": format!("Maison {number}. Tél. {PHONE} ou {WORD}"),
                "location": {"postalCode": "83000"}, "habitation": {"surface": {"total": 50 + number}},
                "isPro": false, "contactInCharge": {"phoneNumber": PHONE},
            })
        })
        .collect();
    std::fs::create_dir(&data).unwrap();
    write_lines(&file, &many);
    run(&data, &["ingest", file.to_str().unwrap()]);
    run(&data, &["compact", "--rebuild"]);
    assert!(!files_with(&data).is_empty());
    assert!(is_indexed(&data));
    data
}

/// Whether the text index finds a property by the number.
fn is_indexed(data: &Path) -> bool {
    let search = ListingSearch {
        filter: Vec::new(),
        keywords: vec![WORD.to_owned()],
        full_texts: Vec::new(),
    };
    let found = TextSearch::open(data).found().unwrap();
    let matches = found.find(&search, false, &Interrupt::default());
    let matches = matches.unwrap().unwrap();
    (0..=MANY.cast_signed()).any(|number| matches.score(number).is_some())
}

fn unfinished(data: &Path) -> i64 {
    let store = toise::store::Store::open(data).unwrap();
    let sql = "SELECT count(*) FROM erasures WHERE ended_at_ms IS NULL";
    store
        .read(|connection| connection.query_row(sql, [], |row| row.get(0)))
        .unwrap()
}

/// When the list of erased contacts was last written, which every erasure does once it is recorded in the store.
fn list_written_at(data: &Path) -> Option<SystemTime> {
    let list = std::fs::metadata(data.join("erased-contacts.json"));
    list.and_then(|list| list.modified()).ok()
}

/// Starts an erasure and kills it some time after it is recorded: an erasure that is killed earlier has not begun, so
/// a server does not complete it. Returns whether it was killed before it ended.
fn kill_erasure(data: &Path, after: Duration) -> bool {
    let former = list_written_at(data);
    let mut erasing = toise(data, &["erase", "--phone", PHONE])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    while list_written_at(data) == former && erasing.try_wait().unwrap().is_none() {
        std::thread::sleep(LOOK_EVERY);
    }
    std::thread::sleep(after);
    erasing.kill().unwrap();
    !erasing.wait().unwrap().success()
}

#[test]
fn a_killed_erasure_is_completed_by_the_next_one_or_by_a_server() {
    for is_server in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        let data = with_many_adverts(folder.path());
        let mut killed = 0;
        for number in 0..KILLS {
            killed += u32::from(kill_erasure(&data, KILL_STEP * number));
            if unfinished(&data) > 0 && is_server {
                break;
            }
        }
        assert!(killed > 0, "every erasure ended before it was killed");
        if is_server {
            assert!(unfinished(&data) > 0, "no erasure is left to the server");
            let server = Server::start(&data, "serve");
            assert_eq!(unfinished(&data), 0);
            server.terminate();
        } else {
            run(&data, &["erase", "--phone", PHONE]);
        }
        assert_eq!(unfinished(&data), 0);
        assert_eq!(files_with(&data), []);
        assert!(!is_indexed(&data));
        let found = run(&data, &["erase", "--phone", PHONE, "--dry-run"]);
        assert_eq!(place(&found, "adverts")["found"], 0, "{found}");
        run(&data, &["check"]);
        let table = "select count(*) from adverts";
        assert_eq!(
            crate::support::process::sql_number(&data, table),
            MANY.cast_signed()
        );
    }
}

#[test]
fn a_backup_from_before_an_erasure_is_restored_without_the_contacts() {
    let folder = tempfile::tempdir().unwrap();
    let (data, file) = (
        folder.path().join("data"),
        folder.path().join("adverts.ndjson"),
    );
    std::fs::create_dir(&data).unwrap();
    write_lines(&file, &adverts(200_000));
    run(&data, &["ingest", file.to_str().unwrap()]);
    run(&data, &["compact", "--rebuild"]);
    let backup = folder.path().join("backup.tar");
    let backup = backup.to_str().unwrap();
    run(&data, &["backup", backup]);
    run(
        &data,
        &["erase", "--phone", PHONE, "--email", EMAIL, "--name", NAME],
    );
    assert_eq!(files_with(&data), []);
    let list = data.join("erased-contacts.json");
    let list_path = list.to_str().unwrap();

    let restored = folder.path().join("restored");
    run(&restored, &["restore", backup, "--erased", list_path]);
    assert_eq!(files_with(&restored), []);
    run(&restored, &["ingest", file.to_str().unwrap()]);
    run(&restored, &["compact"]);
    assert_eq!(files_with(&restored), []);

    // Without the list, the contacts are back until a server finds it.
    let later = folder.path().join("later");
    run(&later, &["restore", backup]);
    assert!(!files_with(&later).is_empty());
    std::fs::copy(&list, later.join("erased-contacts.json")).unwrap();
    Server::start(&later, "serve").terminate();
    assert_eq!(files_with(&later), []);
    let acts = run(&later, &["audit"]);
    assert!(acts.to_string().contains("erasure.resume"), "{acts}");

    // The list of another store is refused, because its digests mean nothing here.
    let (other, other_file) = (folder.path().join("other"), folder.path().join("other.tar"));
    std::fs::create_dir(&other).unwrap();
    run(&other, &["ingest", file.to_str().unwrap()]);
    run(&other, &["backup", other_file.to_str().unwrap()]);
    let target = folder.path().join("refused");
    let refused = try_run(
        &target,
        &[
            "restore",
            other_file.to_str().unwrap(),
            "--erased",
            list_path,
        ],
    );
    assert_refused(&refused, "made with another store");
}
