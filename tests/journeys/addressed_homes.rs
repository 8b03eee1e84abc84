//! Homes with an address instead of a position: a tiny base is imported, then portfolios, calls, imports and adverts
//! have addresses.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::support::assertions::{assert_begins, assert_has, pick};
use crate::support::client::Client;
use crate::support::files::json_lines;
use crate::support::homes::{IN_PARIS, body};
use crate::support::process::{errors, new_key, run, try_run, write_file};

/// An address of the base, at [`IN_PARIS`].
const ADDRESS: &str = "12 Rue des Ateliers Inventés";
const LABEL: &str = "12 Rue des Ateliers Inventés 75011 Paris";

/// Imports a base of two house numbers in Paris.
fn import_addresses(data: &Path) {
    let [lon, lat] = IN_PARIS;
    let far = lon + 0.002;
    let text = format!(
        "id;numero;rep;nom_voie;code_postal;code_insee;nom_commune;lon;lat\n\
         75111_0100_00012;12;;Rue des Ateliers Inventés;75011;75111;Paris 11e Arrondissement;{lon};{lat}\n\
         75111_0100_00080;80;;Rue des Ateliers Inventés;75011;75111;Paris 11e Arrondissement;{far};{lat}\n"
    );
    let file = write_file(data, "adresses-75.csv", text);
    run(data, &["import", "ban", &file]);
}

fn rows(path: &Path) -> Vec<Value> {
    json_lines(&fs::read_to_string(path).unwrap())
}

#[test]
fn portfolios_of_addresses_are_valued_and_matched() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path();
    run(data, &["synth", "--lake", "--dvf", "2000"]);
    run(data, &["train"]);
    import_addresses(data);
    let [longitude, latitude] = IN_PARIS;
    let (input, output) = (data.join("homes.csv"), data.join("valued.ndjson"));
    let text = format!(
        "id,longitude,latitude,adresse,postal_code,city,type,surface_m2,room_count,bedroom_count\n\
         at,{longitude},{latitude},,,,flat,45,3,2\n\
         address,,,{ADDRESS},75011,Paris,flat,45,3,2\n\
         again,,,{ADDRESS},75011,Paris,flat,45,3,2\n\
         both,{longitude},{latitude},1 rue Xqzzy,13001,Marseille,flat,45,3,2\n\
         town,,,,75011,Paris,flat,45,3,2\n\
         unknown,,,1 rue Xqzzy,,,flat,45,3,2\n\
         nowhere,,,,,,flat,45,3,2\n"
    );
    fs::write(&input, text).unwrap();
    let (from, to) = (input.to_str().unwrap(), output.to_str().unwrap());
    let arguments = [
        "estimate",
        "--input",
        from,
        "--output",
        to,
        "--map",
        "address=adresse",
    ];
    let report = run(data, &arguments);
    assert_eq!(report["located"], json!({"ADDRESS": 2, "TOWN": 1}));
    assert_eq!(pick(&report, ["valued", "errors"]), json!([5, 2]));
    let valued = rows(&output);
    for row in [1, 2] {
        assert_eq!(valued[row]["price"], valued[0]["price"], "{valued:?}");
        assert_eq!(valued[row]["address_label"], LABEL);
        assert_eq!(valued[row]["address_confidence"], "HIGH");
        assert_eq!(valued[row]["address_precision"], "ADDRESS");
        assert!(valued[row]["address_score"].as_f64().unwrap() > 0.9);
    }
    // A position takes precedence, and there is no message about the address.
    assert_eq!(valued[3]["price"], valued[0]["price"]);
    assert!(valued[3].get("address_label").is_none(), "{}", valued[3]);
    assert_eq!(
        pick(&valued[4], ["address_precision", "confidence"]),
        json!(["TOWN", "LOW"])
    );
    let error = |row: usize| valued[row]["error"].as_str().unwrap();
    assert!(error(5).starts_with("address: not "), "{}", error(5));
    assert_eq!(
        error(6),
        "longitude: is required; `toise geocode` finds the positions of addresses"
    );

    // Without a column of addresses the output has none, and a position is required.
    fs::write(&input, "type,surface_m2\nflat,45\n").unwrap();
    let refused = try_run(data, &["estimate", "--input", from, "--output", to]);
    assert_has(&errors(&refused), "an address, postcode or city instead");
    match_by_address(data);
    place_sales(data);
}

/// Matches a portfolio of addresses against the sales.
fn match_by_address(data: &Path) {
    let (input, output) = (data.join("wanted.csv"), data.join("matched.ndjson"));
    let text = format!(
        "ref,address,postcode,city,lat,lon,distance,surface_m2_min\n\
         a,{ADDRESS},75011,Paris,,,,\n\
         b,,,,48.8631,2.3795,50m,\n\
         c,1 rue Xqzzy,,,,,,\n\
         d,,75011,Paris 11e,,,,\n"
    );
    fs::write(&input, text).unwrap();
    let (from, to) = (input.to_str().unwrap(), output.to_str().unwrap());
    let arguments = ["--input", from, "--output", to, "--key", "ref"];
    let report = run(data, &[&["match", "dvf"][..], &arguments].concat());
    assert_eq!(report["located"], json!({"ADDRESS": 1, "TOWN": 1}));
    assert_eq!(report["errors"], 1);
    let matched = rows(&output);
    let of =
        |key: &str| -> Vec<&Value> { matched.iter().filter(|row| row["ref"] == key).collect() };
    assert_eq!(of("a")[0]["address_label"], LABEL);
    // The address is replaced by the circle around it.
    assert_eq!(of("a")[0]["total"], of("b")[0]["total"]);
    assert!(of("b")[0].get("address_label").is_none());
    assert!(
        of("c")[0]["error"]
            .as_str()
            .unwrap()
            .starts_with("address: ")
    );
    assert!(of("d")[0]["total"].as_u64().unwrap() > 0);
    for row in of("d") {
        assert_eq!(
            pick(row, ["insee_code", "address_precision"]),
            json!(["75111", "TOWN"])
        );
    }
}

#[test]
fn diagnostics_are_placed_when_addresses_arrive_later() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path();
    let file = data.join("dpe.csv");
    let text = format!(
        "numero_dpe,date_etablissement_dpe,etiquette_dpe,code_departement_ban,adresse_ban,code_postal_ban,nom_commune_ban\n\
         A,2024-01-01,C,75,{ADDRESS},75011,Paris\n\
         B,2024-01-01,D,75,3 rue Xqzzy,75011,Paris\n\
         C,2024-01-01,E,48,{ADDRESS},75011,Paris\n"
    );
    fs::write(&file, text).unwrap();
    let import = || {
        run(
            data,
            &["import", "dpe", file.to_str().unwrap(), "--allow-partial"],
        )
    };
    assert_eq!(import()["records"], 3);
    import_addresses(data);
    let sql = "SELECT numero_dpe AS n, lat, etiquette_dpe AS class FROM dpe ORDER BY numero_dpe";
    let placed = run(data, &["sql", sql]);
    let [_, latitude] = IN_PARIS;
    assert!(
        (placed[0]["lat"].as_f64().unwrap() - latitude).abs() < 1e-4,
        "{placed}"
    );
    assert_eq!(placed[0]["class"], "C");
    for row in [1, 2] {
        assert_eq!(placed[row]["lat"], Value::Null, "{placed}");
    }
    // Importing the diagnostics again gives the same; that of another department is placed then.
    assert_eq!(import()["outcome"]["unchanged"], 2);
}

/// Imports sales without a position, of which one has an address of the base.
fn place_sales(data: &Path) {
    let text = "id_mutation,date_mutation,nature_mutation,valeur_fonciere,adresse_numero,adresse_nom_voie,code_postal,\
        code_commune,nom_commune,id_parcelle,type_local,surface_reelle_bati,longitude,latitude\n\
        1,2024-01-01,Vente,300000,12,RUE DES ATELIERS INVENTES,75011,75111,Paris 11e Arrondissement,751110000A0001,Appartement,40,,\n\
        2,2024-01-01,Vente,300000,3,RUE XQZZY,75011,75111,Paris 11e Arrondissement,751110000A0002,Appartement,40,,\n";
    let file = write_file(data, "sales.csv", text);
    let report = run(data, &["import", "dvf", &file]);
    assert_eq!(pick(&report, ["placed", "records"]), json!([1, 2]));
    let sql =
        "SELECT lat, lon FROM dvf WHERE parcel_ids[1] LIKE '751110000A000_' ORDER BY parcel_ids[1]";
    let placed = run(data, &["sql", sql]);
    let [longitude, latitude] = IN_PARIS;
    assert!((placed[0]["lat"].as_f64().unwrap() - latitude).abs() < 1e-4);
    assert!((placed[0]["lon"].as_f64().unwrap() - longitude).abs() < 1e-4);
    assert!(placed[1]["lat"].is_null(), "{placed}");
}

#[tokio::test]
async fn calls_give_an_address_and_are_told_how_it_was_understood() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path();
    run(data, &["synth", "--lake", "--dvf", "2000"]);
    run(data, &["train"]);
    import_addresses(data);
    let key = new_key(data, &[]);
    let (server, asked) = Client::start(data, &key);
    let path = "estimate/property/lite";
    let by_position = body(IN_PARIS, "CLASS_FLAT", 45.0);
    let with = |location: Value| {
        let mut body = by_position.clone();
        body["location"] = location;
        body
    };
    let (_, expected) = asked.post(path, &by_position).await;
    assert!(expected["data"]["metadata"].get("address").is_none());

    let by_address = with(json!({"address": format!("{ADDRESS}, 75011 Paris")}));
    let (status, answer) = asked.post(path, &by_address).await;
    assert_eq!(status, 200, "{answer}");
    assert_eq!(answer["data"]["price"], expected["data"]["price"]);
    let metadata = &answer["data"]["metadata"];
    let address = &metadata["address"];
    assert_eq!(
        (
            &address["label"],
            &address["precision"],
            &metadata["position_from"]
        ),
        (&json!(LABEL), &json!("ADDRESS"), &json!("address"))
    );
    assert_eq!(address["confidence"], "HIGH");

    let mut both = by_position.clone();
    both["location"]["address"] = json!("1 rue Xqzzy");
    let (status, answer) = asked.post(path, &both).await;
    let metadata = &answer["data"]["metadata"];
    assert_eq!(
        (status, &metadata["position_from"]),
        (200, &json!("locationCoordinate"))
    );
    assert!(metadata.get("address").is_none());

    let (status, answer) = asked
        .post(path, &with(json!({"address": "Paris 11e"})))
        .await;
    let metadata = &answer["data"]["metadata"];
    assert_eq!(status, 200, "{answer}");
    assert_eq!(
        (&metadata["address"]["precision"], &metadata["confidence"]),
        (&json!("TOWN"), &json!("LOW"))
    );

    let unknown = with(json!({"address": "1 rue Xqzzy"}));
    let (status, answer) = asked.post(path, &unknown).await;
    let message = answer["error"]["message"].as_str().unwrap();
    assert!(
        status == 422 && message.starts_with("location.address: not "),
        "{answer}"
    );
    let items = json!({"items": [by_address, unknown]});
    let (status, answer) = asked.post(&format!("{path}/_many"), &items).await;
    assert_eq!(status, 200, "{answer}");
    assert_eq!(answer["data"][0]["price"], expected["data"]["price"]);
    let message = answer["data"][1]["error"]["message"].as_str().unwrap();
    assert_begins(message, "items[1].location.address: ");
    matches_by_address(&asked).await;
    assert_eq!(server.terminate(), Some(0));
}

async fn matches_by_address(asked: &Client) {
    let path = "opendata/dvf/match";
    let by = |filters: Value| json!({"filters": filters, "size": 3});
    let [lon, lat] = IN_PARIS;
    let circle = by(json!({"location": {"lat": lat, "lon": lon, "distance": "50m"}}));
    let (_, expected) = asked.post(path, &circle).await;
    let here = by(json!({"address": format!("{ADDRESS} 75011 Paris")}));
    let (status, answer) = asked.post(path, &here).await;
    assert_eq!(status, 200, "{answer}");
    assert_eq!(answer["data"], expected["data"]);
    assert_eq!(answer["meta"]["address"]["label"], LABEL);
    assert!(expected["meta"].get("address").is_none());

    let (_, town) = asked.post(path, &by(json!({"address": "Paris 11e"}))).await;
    assert_eq!(town["meta"]["address"]["precision"], "TOWN");
    let code = by(json!({"insee_code": "75111"}));
    let (_, expected) = asked.post(path, &code).await;
    assert_eq!(town["meta"]["total"], expected["meta"]["total"]);

    let unknown = by(json!({"address": "1 rue Xqzzy"}));
    let (status, answer) = asked.post(path, &unknown).await;
    let message = answer["error"]["message"].as_str().unwrap();
    assert!(
        status == 422 && message.starts_with("filters.address: not "),
        "{answer}"
    );
    let many = json!({"items": [here, unknown]});
    let (status, answer) = asked.post(&format!("{path}/_many"), &many).await;
    let message = answer["error"]["message"].as_str().unwrap();
    assert!(
        status == 422 && message.starts_with("items[1].filters.address: "),
        "{answer}"
    );
}

#[tokio::test]
async fn an_advert_with_an_address_gets_its_position_and_says_how_precise_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path();
    import_addresses(data);
    let advert = |number: u32, location: Value| {
        json!({
            "url": format!("https://portal.example/annonce/{number}"), "source": "portal.example",
            "type": "CLASS_FLAT", "offer": {"type": "OFFER_BUY"}, "currentPrice": {"value": 98_000 + number * 9_000},
            "location": location, "habitation": {"surface": {"total": 40 + number * 10}},
        })
    };
    let city = |address: &str| json!({"address": address, "postalCode": "75011", "city": "Paris"});
    let lines = [
        advert(1, city(ADDRESS)),
        advert(2, city("rue des Ateliers Inventés")),
        advert(3, json!({"postalCode": "75011", "city": "Paris"})),
        advert(4, json!({"locationCoordinate": {"location": [2.4, 48.85]}})),
        advert(5, json!({"address": format!("{ADDRESS} 75011 Paris")})),
    ];
    let file = write_file(
        data,
        "adverts.ndjson",
        lines.map(|line| line.to_string()).join("\n"),
    );
    let report = run(data, &["ingest", &file]);
    assert_eq!(report["created"], 5, "{report}");
    let places = stored_places(data).await;
    let precision = |row: usize| &places[row]["precision"];
    let position = |row: usize| &places[row]["locationCoordinate"]["location"];
    for row in [0, 4] {
        assert_eq!(precision(row), "ADDRESS", "{places:?}");
        let found = position(row).as_array().unwrap();
        assert!((found[0].as_f64().unwrap() - IN_PARIS[0]).abs() < 1e-4);
        assert_eq!(
            (&places[row]["inseeCode"], &places[row]["postalCode"]),
            (&json!("75111"), &json!("75011"))
        );
    }
    assert_eq!(precision(1), "STREET");
    assert_ne!(position(1), &places[1]["cityCoordinate"]["location"]);
    assert_eq!(precision(2), "TOWN");
    assert_eq!(position(2), &places[2]["cityCoordinate"]["location"]);
    // Values from the sender remain, without a message.
    assert_eq!(
        (position(3), precision(3)),
        (&json!([2.4, 48.85]), &Value::Null)
    );
}

/// The places of the stored adverts, in the order they were ingested.
async fn stored_places(data: &Path) -> Vec<Value> {
    let ids = toise::store::Store::open(data).unwrap().read(|connection| {
        let sql = "SELECT lower(hex(advert_id)) FROM adverts ORDER BY advert";
        connection
            .prepare(sql)?
            .query_map([], |row| row.get(0))?
            .collect::<rusqlite::Result<Vec<String>>>()
    });
    let key = new_key(data, &[]);
    let (server, client) = Client::start(data, &key);
    let mut places = Vec::new();
    for hex in ids.unwrap() {
        let id = uuid::Uuid::try_parse(&hex).unwrap();
        let mut answer = client.get(&format!("adverts/{id}")).await;
        places.push(answer["data"]["location"].take());
    }
    assert_eq!(server.terminate(), Some(0));
    places
}
