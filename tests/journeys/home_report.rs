//! The report of a home: the same over HTTP and on the command line, in every form, with the letterhead of an account.

use std::fs;
use std::path::Path;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};

use crate::support::assertions::{assert_has, pick, texts_of};
use crate::support::homes::IN_PARIS;
use crate::support::http_client;
use crate::support::process::{Server, errors, new_key, run, try_run, write_file};

const ADDRESS: &str = "12 Rue des Ateliers Inventés 75011 Paris";
const PARCEL: &str = "75111000AB0012";

const DIAGNOSTICS: &str = "numero_dpe,date_etablissement_dpe,etiquette_dpe,etiquette_ges,surface_habitable_logement,\
code_departement_ban,code_insee_ban,identifiant_ban,id_rnb\n\
A,2022-06-01,F,B,45.5,75,75111,75111_0100_00012,8XBEW7VVWG47\n\
B,2024-01-01,C,A,45.5,75,75111,75111_0100_00012,8XBEW7VVWG47\n\
C,2023-01-01,D,C,30,75,75111,75111_0100_00014,8XBEW7VVWG47\n\
D,2023-02-10,E,E,60,75,75111,75111_0100_00080,8XBEW7VVWG48\n";

/// Imports sales, addresses, diagnostics and a layer around a home, and trains a model.
fn prepare(data: &Path, folder: &Path) {
    let [lon, lat] = IN_PARIS;
    let write = |name: &str, text: String| write_file(folder, name, text);
    run(data, &["synth", "--lake", "--dvf", "2000"]);
    let sales = format!(
        "id_mutation,date_mutation,nature_mutation,valeur_fonciere,code_postal,code_commune,nom_commune,\
         code_departement,id_parcelle,type_local,surface_reelle_bati,nombre_pieces_principales,longitude,latitude\n\
         2021-1,2021-05-03,Vente,450000,75011,75111,Paris 11e Arrondissement,75,{PARCEL},Appartement,45,2,{lon},{lat}\n\
         2022-7,2022-03-01,Vente,300000,75011,75111,Paris 11e Arrondissement,75,{PARCEL},Appartement,30,1,{lon},{lat}\n"
    );
    run(data, &["import", "dvf", &write("sales.csv", sales)]);
    run(data, &["train"]);
    let (far, farther) = (lon + 0.002, lon + 0.004);
    let addresses = format!(
        "id;numero;rep;nom_voie;code_postal;code_insee;nom_commune;lon;lat;cad_parcelles\n\
         75111_0100_00012;12;;Rue des Ateliers Inventés;75011;75111;Paris 11e Arrondissement;{lon};{lat};{PARCEL}\n\
         75111_0100_00080;80;;Rue des Ateliers Inventés;75011;75111;Paris 11e Arrondissement;{far};{lat};\n\
         75111_0100_00016;16;;Rue des Ateliers Inventés;75011;75111;Paris 11e Arrondissement;{farther};{lat};\n"
    );
    run(
        data,
        &["import", "ban", &write("adresses-75.csv", addresses)],
    );
    let register = format!(
        "rnb_id;point;shape;status;ext_ids;addresses;plots;validated_by\n\
         8XBEW7VVWG47;POINT({lon} {lat});;constructed;[];\"[{{\"\"cle_interop_ban\"\": \"\"75111_0100_00012\"\"}}, \
         {{\"\"cle_interop_ban\"\": \"\"75111_0100_00016\"\"}}]\";;[]\n"
    );
    run(data, &["import", "rnb", &write("RNB_75.csv", register)]);
    let diagnostics = write("dpe.csv", DIAGNOSTICS.to_owned());
    run(data, &["import", "dpe", &diagnostics, "--allow-partial"]);
    let (west, east, south, north) = (lon - 0.01, lon + 0.01, lat - 0.01, lat + 0.01);
    let zone = json!({
        "type": "Feature",
        "properties": {"nom": "Zone inondable", "niveau": 2},
        "geometry": {"type": "Polygon", "coordinates": [
            [[west, south], [east, south], [east, north], [west, north], [west, south]],
        ]},
    });
    let layer = write("zone.geojson", zone.to_string());
    run(
        data,
        &[
            "import",
            "layer",
            "flood",
            &layer,
            "--licence",
            "Licence Ouverte 2.0",
        ],
    );
}

/// Returns a PNG file of one pixel.
fn logo() -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, 1, 1);
    encoder.set_color(png::ColorType::Rgb);
    let mut writer = encoder.write_header().unwrap();
    writer.write_image_data(&[24, 86, 148]).unwrap();
    writer.finish().unwrap();
    bytes
}

#[tokio::test]
async fn a_home_is_reported_over_http_and_on_the_command_line() {
    let folder = tempfile::tempdir().unwrap();
    let data = &folder.path().join("data");
    prepare(data, folder.path());
    let key = &new_key(data, &[]);
    let server = Server::start(data, "serve");
    let client = http_client();
    let url = |path: &str| format!("{}/v2/protected/reports/{path}", server.address);
    let get = async |parameters: &[(&str, &str)]| {
        let url = url::Url::parse_with_params(&url("home"), parameters).unwrap();
        let request = client.get(url).header("x-api-key", key);
        request.send().await.unwrap()
    };
    let home = [
        ("address", ADDRESS),
        ("type", "flat"),
        ("surface_m2", "45"),
        ("room_count", "2"),
    ];
    let answer = get(&home).await;
    assert_eq!(answer.status(), 200);
    assert_eq!(answer.headers()["x-credits"], "1");
    let report = answer.json::<Value>().await.unwrap()["data"].take();

    // What is known of the address, its building, its parcel and the place.
    assert_eq!(report["home"]["address"], ADDRESS);
    assert_eq!(report["home"]["addressId"], "75111_0100_00012");
    assert_eq!(report["home"]["precision"], "ADDRESS");
    assert_eq!(report["home"]["inseeCode"], "75111");
    let diagnostics = &report["diagnostics"];
    assert_eq!(diagnostics["total"], 3, "{diagnostics}");
    assert_eq!(diagnostics["classes"], json!({"C": 1, "D": 1, "F": 1}));
    assert_eq!(diagnostics["latest"][0]["numeroDpe"], "B");
    assert_eq!(diagnostics["latest"][0]["surfaceM2"], 45.5);
    assert_eq!(report["parcel"]["ids"], json!([PARCEL]));
    assert_eq!(report["parcel"]["total"], 2);
    assert_eq!(report["parcel"]["latest"][0]["price"], 300_000.0);
    let layer = &report["layers"][0];
    assert_eq!(pick(layer, ["name", "isInside"]), json!(["flood", true]));
    assert_eq!(
        layer["attributes"],
        json!({"nom": "Zone inondable", "niveau": 2})
    );
    let datasets = texts_of(&report["sources"], "dataset");
    assert_eq!(datasets, ["sales", "diagnostics", "addresses", "flood"]);

    // No diagnostic is at this address, but the register has the building there.
    let mut entrance = home;
    entrance[0].1 = "16 Rue des Ateliers Inventés 75011 Paris";
    let answer = get(&entrance).await.json::<Value>().await.unwrap();
    assert_eq!(answer["data"]["diagnostics"]["total"], 3, "{answer}");

    // The value is that of the endpoint of estimates, and its parts sum to it.
    let [lon, lat] = IN_PARIS;
    let body = json!({
        "type": "CLASS_FLAT", "offer": {"type": "OFFER_BUY"},
        "habitation": {"surface": {"total": 45}, "roomCount": 2, "bedroomCount": 0},
        "location": {"locationCoordinate": {"location": [lon, lat]}},
    });
    let estimate = client
        .post(format!(
            "{}/v2/protected/estimate/property/lite",
            server.address
        ))
        .header("x-api-key", key)
        .json(&body);
    let estimate: Value = estimate.send().await.unwrap().json().await.unwrap();
    let price = report["estimate"]["price"].as_f64().unwrap();
    assert_eq!(
        estimate["data"]["price"].as_f64(),
        Some(price),
        "{estimate}"
    );
    let parts = report["estimate"]["contributions"].as_array().unwrap();
    let sum: f64 = parts.iter().map(|part| part["eur"].as_f64().unwrap()).sum();
    assert_eq!(sum, price);
    let ids = |sales: &Value| -> Vec<Value> {
        let sales = sales.as_array().unwrap().iter();
        sales.map(|sale| sale["id"].clone()).collect()
    };
    let named = ids(&estimate["data"]["metadata"]["comparables"]);
    assert_eq!(ids(&report["comparables"]), named);
    assert!(
        report["comparables"][0]["location"]["lat"].is_number(),
        "{report}"
    );

    // The command line says the same.
    let own = run(
        data,
        &[
            "report", "--address", ADDRESS, "--type", "flat", "--surface", "45", "--rooms", "2",
        ],
    );
    assert_eq!(own, report);

    // The letterhead is on the web page and in the PDF.
    let put = async |body: Value| {
        let request = client
            .put(url("letterhead"))
            .header("x-api-key", key)
            .json(&body);
        let answer = request.send().await.unwrap();
        let status = answer.status().as_u16();
        (status, answer.json::<Value>().await.unwrap())
    };
    let with_format = |format| -> Vec<(&str, &str)> {
        home.iter().copied().chain([("format", format)]).collect()
    };
    let plain = get(&with_format("pdf")).await.bytes().await.unwrap();
    let logo = BASE64_STANDARD.encode(logo());
    let (status, stored) = put(json!({"text": "Agence <du> Port", "logo": logo})).await;
    assert_eq!(
        (status, &stored["data"]["text"]),
        (200, &json!("Agence <du> Port"))
    );
    let (status, refused) = put(json!({"logo": BASE64_STANDARD.encode("no picture")})).await;
    assert_eq!(status, 422);
    assert_eq!(
        refused["error"]["message"],
        "logo: must be a PNG or JPEG file"
    );
    let page = get(&with_format("html")).await;
    assert_eq!(page.headers()["content-type"], "text/html; charset=utf-8");
    let page = page.text().await.unwrap();
    assert!(page.contains("Agence &lt;du&gt; Port") && page.contains("data:image/png;base64,"));
    assert!(page.contains("Zone inondable") && page.contains("<svg"));
    let pdf = get(&with_format("pdf")).await;
    assert_eq!(pdf.headers()["content-type"], "application/pdf");
    let pdf = pdf.bytes().await.unwrap();
    assert!(pdf.starts_with(b"%PDF-") && pdf.len() > plain.len());
    let deleted = client.delete(url("letterhead")).header("x-api-key", key);
    assert_eq!(deleted.send().await.unwrap().status(), 200);
    let gone = client.get(url("letterhead")).header("x-api-key", key);
    assert_eq!(gone.send().await.unwrap().status(), 404);
    assert_eq!(get(&with_format("pdf")).await.bytes().await.unwrap(), plain);

    // Faults name the parameter.
    for (parameters, fault) in [
        (
            vec![("type", "flat"), ("surface_m2", "45")],
            "address: is required, or longitude and latitude",
        ),
        (
            vec![("address", ADDRESS), ("type", "flat")],
            "surface_m2: is required",
        ),
        (
            vec![("address", ADDRESS), ("rooms", "2")],
            "rooms: unknown parameter; must be one of: address,",
        ),
        (
            vec![("address", "1 rue Xqzzy 13001 Marseille"), ("type", "flat")],
            "address: not ",
        ),
        (
            with_format("docx"),
            "format: must be one of: json, html, pdf",
        ),
        (
            vec![
                ("address", ADDRESS),
                ("type", "flat"),
                ("surface_m2", "45"),
                ("epc_energy", "H"),
            ],
            "epc_energy: must be a class from A to G",
        ),
    ] {
        let answer = get(&parameters).await;
        assert_eq!(answer.status(), 422, "{parameters:?}");
        let answer: Value = answer.json().await.unwrap();
        let message = answer["error"]["message"].as_str().unwrap();
        assert!(message.starts_with(fault), "{message}");
    }
}

#[test]
fn a_report_is_written_into_files() {
    let folder = tempfile::tempdir().unwrap();
    let data = &folder.path().join("data");
    run(data, &["synth", "--lake", "--dvf", "2000"]);
    let [lon, lat] = IN_PARIS;
    let at = format!("{lat},{lon}");
    let home = ["report", "--at", &at, "--type", "house", "--surface", "90"];
    let refused = try_run(data, &home);
    assert_has(&errors(&refused), "toise train");
    run(data, &["train"]);
    for (name, begin) in [
        ("a.pdf", "%PDF-"),
        ("a.html", "<!doctype html>"),
        ("a.json", "{"),
    ] {
        let file = folder.path().join(name);
        let mut arguments = home.to_vec();
        arguments.extend(["--output", file.to_str().unwrap(), "--lang", "en"]);
        run(data, &arguments);
        let bytes = fs::read(&file).unwrap();
        assert!(bytes.starts_with(begin.as_bytes()), "{name}");
    }
    // Without addresses, the report says what it cannot know.
    let page = fs::read_to_string(folder.path().join("a.html")).unwrap();
    assert!(page.contains("The exact address is not known"), "{page}");
    let mut arguments = home.to_vec();
    arguments.extend(["--output", "a.docx"]);
    let refused = try_run(data, &arguments);
    assert_has(&errors(&refused), ".pdf, .html or .json");
}
