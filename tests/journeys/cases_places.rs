//! Addresses and positions of public bug reports: decimal commas, INSEE codes, merged communes, files of communes.

use std::path::Path;

use serde_json::{Value, json};

use crate::support::assertions::pick;
use crate::support::cases::{case, column, csv_rows, import, import_addresses};
use crate::support::http_client;
use crate::support::process::{Server, new_key, run};

/// Geocodes a file with these arguments and returns the rows of its output.
fn geocoded(data: &Path, input: &str, arguments: &[&str], delimiter: u8) -> Vec<Vec<String>> {
    let output = data.join("output.csv");
    let to = ["geocode", input, "-o", output.to_str().unwrap()];
    run(data, &[&to[..], arguments].concat());
    csv_rows(&output, delimiter)
}

#[test]
fn a_row_without_a_position_does_not_stop_a_reverse_file() {
    // One impossible position ended the file, and latitude 200 was an internal error.
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path();
    import_addresses(data);
    let arguments = [
        "--reverse",
        "--lat",
        "lat",
        "--lon",
        "lon",
        "--result-columns",
        "result_label,result_status",
    ];
    let rows = geocoded(
        data,
        &case("07-reverse-decimal-comma/points.csv"),
        &arguments,
        b';',
    );
    let status = [
        "ok", "skipped", "ok", "error", "not-found", "error", "error",
    ];
    assert_eq!(column(&rows, "result_status"), status);
    let address = "12 Avenue Foch 48000 Mende";
    let labels = [address, "", address, "", "", "", ""];
    assert_eq!(column(&rows, "result_label"), labels);
}

#[test]
fn an_insee_code_names_its_commune() {
    // A search for the INSEE code of a commune in Corsica found nothing, or a long wrong list.
    let folder = tempfile::tempdir().unwrap();
    let input = case("08-insee-code-search/queries.csv");
    let rows = geocoded(folder.path(), &input, &["--columns", "q"], b',');
    assert_eq!(column(&rows, "result_status"), ["ok"; 5]);
    let codes = column(&rows, "result_citycode");
    assert_eq!(codes[..4], ["2A001", "2B033", "48095", "01053"]);
    let labels = column(&rows, "result_label");
    assert_eq!(labels[..4], ["Afa", "Bastia", "Mende", "Bourg-en-Bresse"]);
    // The last one is the postal code of ten communes, so none of them is certain.
    assert!(codes[4].starts_with("2A"), "{codes:?}");
    let score: f64 = column(&rows, "result_score")[4].parse().unwrap();
    assert!(score < 0.5, "{score}");
}

#[tokio::test]
async fn the_postal_code_tells_streets_of_a_merged_commune_apart() {
    // A merged commune has a street of one name in two former communes, and the query's postal code was ignored.
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path();
    let name = "09-homonym-streets-merged-commune";
    import(data, "ban", &format!("{name}/ban-69149.csv"));
    let rows = geocoded(
        data,
        &case(&format!("{name}/queries.csv")),
        &["--columns", "q"],
        b',',
    );
    let expected = column(&rows, "expected_lat");
    let found = column(&rows, "latitude");
    assert_eq!(expected[..5], found[..5]);
    // The base has no number 4 in Pierre-Bénite; the last query names neither of the two streets.
    assert_eq!(column(&rows, "result_type")[5], "street");
    assert_eq!(column(&rows, "result_oldcity")[5], "Pierre-Bénite");
    let score: f64 = column(&rows, "result_score")[6].parse().unwrap();
    assert!(score < 0.5, "{score}");
    let key = new_key(data, &[]);
    let server = Server::start(data, "serve");
    let text = "2 boulevard de l'Europe 69310 Oullins-Pierre-Bénite";
    let structured = [
        ("housenumber", "2"),
        ("street", "boulevard de l'Europe"),
        ("postcode", "69310"),
        ("city", "Oullins-Pierre-Bénite"),
    ];
    for query in [&[("q", text), ("autocomplete", "0")][..], &structured] {
        let mut url = url::Url::parse(&server.address).unwrap();
        url.set_path("geocoding/search");
        url.query_pairs_mut().extend_pairs(query);
        let request = http_client().get(url).header("x-api-key", &key);
        let answer: Value = request.send().await.unwrap().json().await.unwrap();
        let (first, second) = (&answer["features"][0], &answer["features"][1]);
        assert_eq!(
            first["geometry"]["coordinates"],
            json!([4.8244, 45.7033]),
            "{answer}"
        );
        assert_eq!(first["properties"]["confidence"], "HIGH", "{answer}");
        assert_eq!(
            first["properties"]["matched"]["postcode"], "exact",
            "{answer}"
        );
        assert_eq!(second["properties"]["postcode"], "69600", "{answer}");
        assert_eq!(
            second["properties"]["matched"]["postcode"], "conflict",
            "{answer}"
        );
    }
}

#[test]
fn files_of_communes_have_places_and_several_positions() {
    // Communes number places 99999 and give one address several rows; the last position won, and parcels were lost.
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path();
    let name = "11-bal-99999-multiposition";
    let report = import(data, "ban", &format!("{name}/bal-29128.csv"));
    assert_eq!(report["records"], 3, "{report}");
    let query =
        "select kind, number, name, position_type, lat, lon, parcel_ids from ban order by id";
    let rows = run(data, &["sql", query]);
    assert_eq!(
        rows[0],
        json!({"kind": "address", "number": 1, "name": "Rue du Lavoir", "position_type": "entrée", "lat": 48.4701,
            "lon": -4.0611, "parcel_ids": ["291280000A0001", "291280000A0002"]})
    );
    assert_eq!(
        rows[2],
        json!({"kind": "place", "number": null, "name": "Kerguélen Vihan", "position_type": "segment", "lat": 48.475,
            "lon": -4.07, "parcel_ids": []})
    );
    let report = import(data, "ban", &format!("{name}/bal-29128-v14.csv"));
    let outcome = &report["outcome"];
    assert_eq!(pick(outcome, ["added", "replaced"]), json!([1, 1]));
    for (text, label, kind) in [
        (
            "1 rue du Lavoir Loc-Eguiner",
            "1 Rue du Lavoir 29400 Loc-Eguiner",
            "housenumber",
        ),
        (
            "Kerguélen Vihan",
            "Kerguélen Vihan 29400 Loc-Eguiner",
            "locality",
        ),
        (
            "Ti Gwenn Loc-Eguiner",
            "Ti Gwenn 29400 Loc-Eguiner",
            "locality",
        ),
    ] {
        let rows = run(
            data,
            &["sql", &format!("select geocode('{text}') as found")],
        );
        let found = &rows[0]["found"];
        assert_eq!(pick(found, ["label", "type"]), json!([label, kind]));
        assert_eq!(found["confidence"], "HIGH", "{found}");
    }
}
