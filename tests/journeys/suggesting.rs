//! A mapping that is suggested for a file, saved and used; and files that no mapping can read.

use serde_json::{Value, json};

use crate::support::assertions::{assert_has, pick};
use crate::support::process::{errors, run, toise, try_run, write_file};

/// Forty flats of a portal whose scraper stored the number of rooms as the storey.
fn english_export() -> String {
    let header = "Page;Type;Price;City;PostalCode;Rooms;Floor;Surface_m2;Energy_Class;URL\n";
    let row = |place: u32| {
        let rooms = place % 4 + 1;
        format!(
            "1;Appartement;{} 000 €;Toulon;83000;{rooms} pièce(s);{rooms};{},5 m²;E;https://www.bienici.com/annonce/{place}\n",
            150 + place,
            18 * rooms + place % 7
        )
    };
    let rows: String = (0..40).map(row).collect();
    format!("{header}{rows}")
}

#[test]
fn a_suggested_mapping_is_saved_and_reads_the_file_it_was_made_for() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path();
    let file = data.join("export.csv");
    std::fs::write(&file, english_export()).unwrap();
    let file = file.to_str().unwrap();
    let output = try_run(data, &["ingest", file, "--suggest"]);
    assert!(output.status.success(), "{}", errors(&output));
    let suggested: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(pick(&suggested, ["adverts", "rows"]), json!([40, 40]));
    let text = suggested["mapping"].as_str().unwrap();
    assert!(
        text.contains("#path = \"habitation.floor\""),
        "a copied column: {text}"
    );
    let saved = write_file(data, "saved.toml", text);
    let report = run(data, &["ingest", file, "--mapping", &saved]);
    assert_eq!(pick(&report, ["created", "rejected"]), json!([40, 0]));
    assert_eq!(
        report["files"][0]["columns_unused"],
        json!(["Page", "Floor"])
    );
    assert_eq!(report["copied"], json!([]));

    // The built-in mapping for French headers reads it too, and accepts the storey.
    let report = run(
        data,
        &["ingest", file, "--mapping", "french-csv", "--dry-run"],
    );
    let (report, first) = (&report["report"], &report["dry_run"]["rows"][0]["advert"]);
    assert_eq!(report["created"], 40);
    assert_eq!(
        first["habitation"]["climate"]["epcEnergy"],
        "ENERGY_CLASSIFICATION_E"
    );
    assert_eq!(first["location"]["postalCode"], "83000");
    let copied = report["copied"][0].as_str().unwrap();
    assert_has(
        copied,
        "habitation.floor equals habitation.roomCount in 40 of 40 rows",
    );

    let map = [
        "--map",
        "url=url",
        "--map",
        "habitation.climate.epcEnergy=Energy_Class",
        "--map",
        "location.postalCode=postal code",
        "--map",
        "currentPrice.value=price",
        "--set",
        "source=bienici.com",
        "--set",
        "type=CLASS_FLAT",
        "--set",
        "offer.type=OFFER_BUY",
    ];
    let report = run(data, &[&["ingest", file, "--dry-run"], &map[..]].concat());
    let first = &report["dry_run"]["rows"][0]["advert"];
    assert_eq!(
        first["habitation"]["climate"]["epcEnergy"],
        "ENERGY_CLASSIFICATION_E"
    );
}

#[test]
fn a_suggestion_that_gives_no_advert_says_what_to_add() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path();
    let file = write_file(data, "plain.csv", "ref,price\nA1,320000\nA2,340000\n");
    let output = try_run(data, &["ingest", &file, "--suggest"]);
    let said = errors(&output);
    assert!(output.status.success(), "{said}");
    for message in ["warning: ", "type: ", "--set type=CLASS_FLAT", "location: "] {
        assert!(said.contains(message), "{said}");
    }
}

#[test]
fn a_file_that_a_mapping_or_a_suggestion_cannot_read_says_what_is_wrong() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path();
    for (name, content, arguments, messages) in [
        (
            "other.json",
            "{\"ads\": [{\"title\": \"T3\"}]}",
            &["--mapping", "listings-json"][..],
            &["records = \"listings\"", "the keys ads"][..],
        ),
        (
            "no_header.csv",
            "apimo-85473173,Appartement,1,75001 Paris 1er,29,364 000 €\n",
            &["--suggest"],
            &["looks like an advert", "add a first line of names"],
        ),
        (
            "cut.json",
            "[{\"title\": \"T3\"},\n {\"title\"",
            &["--suggest"],
            &["before its closing ]; it looks cut off"],
        ),
        (
            "empty.csv",
            "a,b\n",
            &["--suggest"],
            &["no rows to suggest"],
        ),
    ] {
        let file = data.join(name);
        std::fs::write(&file, content).unwrap();
        let file = file.to_str().unwrap();
        let output = toise(data, &[&["ingest", file], arguments].concat()).output();
        let output = output.unwrap();
        assert_eq!(output.status.code(), Some(1), "{name}");
        let said = errors(&output);
        assert!(
            messages.iter().all(|message| said.contains(message)) && said.contains(name),
            "{said}"
        );
    }
}
