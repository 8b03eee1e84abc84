//! Tests of imports of small literal sources and, if `TOISE_REAL_DATA` names a folder, of every real file in it.

use std::path::PathBuf;
use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, BinaryArray, Decimal128Array, FixedSizeBinaryArray,
    FixedSizeListArray, Float64Array, RecordBatch, StringArray,
};
use arrow::datatypes::{Date32Type, Float64Type};
use parquet::file::metadata::KeyValue;
use serde_json::Value;

use super::Dataset;
use super::collecting_sink::CollectingSink;
use super::dataset::ImportTable;
use super::import::{ImportInput, ImportOptions, import_files, import_reader};
use super::report::ImportReport;
use super::skip::skipped;
use super::source::{Error, SourceFormat};

fn import(dataset: Dataset, text: &[u8]) -> Result<(CollectingSink, ImportReport), Error> {
    let (mut kept, mut report) = (CollectingSink::default(), ImportReport::default());
    import_reader(
        dataset,
        text,
        "f",
        SourceFormat::Detect,
        &mut kept,
        &ImportOptions::default(),
        &mut report,
    )?;
    Ok((kept, report))
}

fn dvf(text: &[u8]) -> (Vec<Value>, ImportReport) {
    let (kept, report) = import(Dataset::Dvf, text).unwrap();
    (kept.records(), report)
}

const GEO: &str = "id_mutation,date_mutation,numero_disposition,nature_mutation,valeur_fonciere,adresse_numero,\
    adresse_suffixe,adresse_nom_voie,code_postal,code_commune,nom_commune,id_parcelle,numero_volume,lot1_numero,\
    lot1_surface_carrez,nombre_lots,type_local,surface_reelle_bati,nombre_pieces_principales,code_nature_culture,\
    surface_terrain,longitude,latitude\n";

fn geo(rows: &[&str]) -> (Vec<Value>, ImportReport) {
    dvf(format!("{GEO}{}\n", rows.join("\n")).as_bytes())
}

#[test]
fn a_flat_with_its_cellar_is_one_flat() {
    let (records, report) = geo(&[
        "m1,2023-01-05,000001,Vente,208000,30,B,RUE THIERS,83200,83137,Toulon,83137000CY0616,,152,,1,Dépendance,,0,,,5.9,43.1",
        "m1,2023-01-05,000001,Vente,208000,289,,CHE DE PLAISANCE,83200,83137,Toulon,83137000CY0616,,404,78.46,2,Appartement,81,4,,,5.9,43.1",
    ]);
    let record = records[0].as_object().unwrap();
    let id = record["id"].as_str().unwrap();
    assert_eq!(id.len(), 20);
    let expected = format!(
        r#"{{"id":"{id}","transaction_date":"2023-01-05T00:00:00.000Z","transaction_type":"Vente","price_eur":208000,"price_per_m2_living_eur":2567.9,"surface_m2":81,"main_rooms":4,"carrez_surface_m2":78.46,"property_type":"Appartement","is_new_build":false,"is_open_market":true,"address":"289 CHE DE PLAISANCE","postal_code":"83200","insee_code":"83137","city":"Toulon","departement_code":"83","location":{{"lat":43.1,"lon":5.9}},"parcel_ids":["83137000CY0616"],"lots":3,"rows":2,"mutation_id":"m1","mutation_records":1,"mutation_share":1,"is_sold_together":false}}"#
    );
    assert_eq!(serde_json::to_string(record).unwrap(), expected);
    assert_eq!(
        (records.len(), report.rows_kept, report.rows_rejected()),
        (1, 2, 0)
    );
}

#[test]
fn of_two_columns_with_one_name_the_first_is_read_and_the_other_reported() {
    let header = GEO
        .trim_end()
        .replace("id_parcelle,", "id_parcelle,Valeur_Fonciere,");
    let row = "m1,2023-01-05,000001,Vente,208000,30,B,RUE THIERS,83200,83137,Toulon,83137000CY0616,1,,404,78.46,2,\
               Appartement,81,4,,,5.9,43.1";
    let (records, report) = dvf(format!("{header}\n{row}\n").as_bytes());
    assert_eq!(records[0]["price_eur"], 208_000);
    assert_eq!(
        report.files[0].read.reading.columns_unused,
        ["Valeur_Fonciere (2)"]
    );
}

#[test]
fn a_house_repeated_for_each_of_its_lands_is_one_house() {
    let (records, _) = geo(&[
        "m1,2023-01-05,1,Vente,300000,1,,RUE A,01000,01053,Bourg,01053000AB0001,,,,0,Maison,100,5,S,400,5.2,46.2",
        "m1,2023-01-05,1,Vente,300000,1,,RUE A,01000,01053,Bourg,01053000AB0001,,,,0,Maison,100,5,J,150,5.2,46.2",
        "m1,2023-01-05,1,Vente,300000,1,,RUE A,01000,01053,Bourg,01053000AB0001,,,,0,Dépendance,,0,S,400,5.2,46.2",
        "m1,2023-01-05,1,Vente,300000,1,,RUE A,01000,01053,Bourg,01053000AB0002,,,,0,,,,AG,50,5.3,46.3",
    ]);
    let record = &records[0];
    assert_eq!(records.len(), 1);
    assert_eq!(record["surface_m2"], 100);
    assert_eq!(record["land_surface_m2"], 600);
    assert_eq!(record["soil_surface_m2"], 400);
    assert_eq!(record["garden_surface_m2"], 200);
    assert_eq!(record["price_per_m2_living_eur"], 3000);
    assert_eq!(record["parcel_ids"].as_array().unwrap().len(), 2);
    assert_eq!(record["rows"], 4);
}

#[test]
fn a_dwelling_repeated_for_one_use_of_its_parcel_may_be_several() {
    let row = |lot: u8, land: &str| {
        let lot = if lot == 0 {
            String::new()
        } else {
            lot.to_string()
        };
        format!(
            "m1,2023-01-05,1,Vente,500000,1,,RUE A,01000,01053,Bourg,01053000AB0001,,{lot},,0,Appartement,40,2,{land},5.2,46.2"
        )
    };
    let imported = |lands: &[&str], lot: u8| {
        let rows: Vec<String> = lands.iter().map(|land| row(lot, land)).collect();
        let rows: Vec<&str> = rows.iter().map(String::as_str).collect();
        let (records, report) = geo(&rows);
        let unclear: u64 = report.unclear_sales.values().map(|one| one.count).sum();
        let per_m2 = records[0].get("price_per_m2_living_eur").cloned();
        (
            records.len(),
            records[0]["is_sold_together"] == true,
            per_m2,
            unclear,
        )
    };
    let one_flat = (1, false, Some(Value::from(12_500)), 0);
    assert_eq!(imported(&["S,400", "J,150"], 0), one_flat);
    assert_eq!(imported(&["S,400", "S,400"], 7), one_flat);
    for lands in [&["S,400", "S,400", "J,150", "J,150"][..], &[",", ","]] {
        assert_eq!(imported(lands, 0), (1, true, None, 1), "{lands:?}");
    }
}

#[test]
fn several_dwellings_are_summed_and_have_no_price_per_metre() {
    let (records, _) = geo(&[
        "m1,2023-01-05,1,Vente,300000,1,,RUE A,01000,01053,Bourg,01053000AB0001,,1,,1,Appartement,40,2,,,,",
        "m1,2023-01-05,1,Vente,300000,1,,RUE A,01000,01053,Bourg,01053000AB0001,,2,,1,Appartement,60,3,,,,",
        "m1,2023-01-05,1,Vente,300000,1,,RUE A,01000,01053,Bourg,01053000AB0001,,,,0,Maison,80,4,,,,",
    ]);
    assert_eq!(records.len(), 2);
    let flat = &records[0];
    assert_eq!(
        (
            &flat["property_type"],
            &flat["surface_m2"],
            &flat["main_rooms"]
        ),
        (&"Appartement".into(), &100.into(), &5.into())
    );
    assert_eq!(records[1]["property_type"], "Maison");
    assert_eq!(records[1]["price_eur"], 300_000);
    assert!(flat.get("price_per_m2_living_eur").is_none());
    assert_ne!(flat["id"], records[1]["id"]);
    let house = &records[1];
    for record in [flat, house] {
        assert_eq!(record["mutation_id"], "m1");
        assert_eq!(record["mutation_records"], 2);
        assert_eq!(record["is_sold_together"], true);
    }
    // 100 m² of flats and 80 m² of house.
    assert_eq!(
        (&flat["mutation_share"], &house["mutation_share"]),
        (&0.555556.into(), &0.444444.into())
    );
}

#[test]
fn a_dwelling_sold_with_premises_has_no_price_per_metre_and_no_second_record() {
    let (records, _) = geo(&[
        "m1,2023-01-05,1,Vente,300000,1,,RUE A,01000,01053,Bourg,01053000AB0001,,,,0,Maison,80,4,,,,",
        "m1,2023-01-05,1,Vente,300000,1,,RUE A,01000,01053,Bourg,01053000AB0001,,,,0,Local industriel. commercial ou assimilé,50,0,,,,",
    ]);
    assert_eq!(records.len(), 1);
    assert_eq!(records[0]["property_type"], "Maison");
    assert!(records[0].get("price_per_m2_living_eur").is_none());
    assert_eq!(records[0]["is_sold_together"], true);
    assert_eq!(
        (
            &records[0]["mutation_records"],
            &records[0]["mutation_share"]
        ),
        (&1.into(), &1.into())
    );
}

#[test]
fn kinds_follow_their_precedence() {
    let row = |volume: &str, local: &str, built: &str, nature: &str, land: &str| {
        format!(
            "m1,2023-01-05,1,Vente,90000,1,,RUE A,01000,01053,Bourg,01053000AB0001,{volume},,,0,{local},{built},0,{nature},{land},,"
        )
    };
    for (rows, kind, surface, per_land) in [
        (
            vec![
                row(
                    "",
                    "Local industriel. commercial ou assimilé",
                    "50",
                    "S",
                    "100",
                ),
                row("", "Dépendance", "", "S", "100"),
            ],
            "Tertiaire",
            Some(50),
            None,
        ),
        (
            vec![row("7", "Dépendance", "0", "S", "100")],
            "Dépendance",
            None,
            None,
        ),
        (vec![row("7", "", "", "S", "100")], "Volume", None, None),
        (
            vec![row("", "", "", "T", "900")],
            "Terrain",
            None,
            Some(100),
        ),
        (vec![row("", "", "", "", "")], "Autre", None, None),
    ] {
        let rows: Vec<&str> = rows.iter().map(String::as_str).collect();
        let (records, _) = geo(&rows);
        assert_eq!(records.len(), 1, "{kind}");
        assert_eq!(records[0]["property_type"], kind);
        assert_eq!(
            records[0].get("surface_m2").and_then(Value::as_i64),
            surface,
            "{kind}"
        );
        assert_eq!(
            records[0]
                .get("price_per_m2_land_eur")
                .and_then(Value::as_i64),
            per_land,
            "{kind}"
        );
    }
}

#[test]
fn transaction_types_are_natures_without_accents() {
    for (nature, kind, new_build, open) in [
        ("Vente", "Vente", false, true),
        (
            "Vente en l'état futur d'achèvement",
            "Vente en l'etat futur d'achevement",
            true,
            true,
        ),
        (
            "Vente terrain à bâtir",
            "Vente terrain a batir",
            false,
            true,
        ),
        ("Echange", "Echange", false, false),
        ("Adjudication", "Adjudication", false, false),
        ("Expropriation", "Expropriation", false, false),
    ] {
        let (records, _) = geo(&[&format!(
            "m1,2023-01-05,1,{nature},90000,,,,,01053,,,,,,0,Maison,50,3,,,,"
        )]);
        let record = &records[0];
        assert_eq!(record["transaction_type"], kind);
        assert_eq!(record["is_new_build"], new_build, "{nature}");
        assert_eq!(record["is_open_market"], open, "{nature}");
    }
    let (records, _) = geo(&[
        "m1,2023-01-05,1,Vente,1,,,,,01053,,,,,,0,Maison,50,3,,,,",
        "m2,2023-01-05,1,Vente,,,,,,01053,,,,,,0,Maison,50,3,,,,",
    ]);
    assert_eq!(records[0]["is_open_market"], false);
    assert_eq!(records[1]["is_open_market"], false);
    assert!(records[1].get("price_eur").is_none());
}

const RAW: &str = "Identifiant de document|Reference document|1 Articles CGI|2 Articles CGI|3 Articles CGI|4 Articles CGI|5 Articles CGI|No disposition|Date mutation|Nature mutation|Valeur fonciere|No voie|B/T/Q|Type de voie|Code voie|Voie|Code postal|Commune|Code departement|Code commune|Prefixe de section|Section|No plan|No Volume|1er lot|Surface Carrez du 1er lot|2eme lot|Surface Carrez du 2eme lot|3eme lot|Surface Carrez du 3eme lot|4eme lot|Surface Carrez du 4eme lot|5eme lot|Surface Carrez du 5eme lot|Nombre de lots|Code type local|Type local|Identifiant local|Surface reelle bati|Nombre pieces principales|Nature culture|Nature culture speciale|Surface terrain\n";

#[test]
fn both_formats_give_a_sale_the_same_id() {
    let raw = format!(
        "{RAW}|||||||000001|05/01/2023|Vente|208000,00|289||CHE|5845|DE PLAISANCE|83200|TOULON|83|137||CY|616||0152||||||||||1|3|Dépendance||0|0|||\n\
         |||||||000001|05/01/2023|Vente|208000,00|289||CHE|5845|DE PLAISANCE|83200|TOULON|83|137||CY|616||404||405|78,46|||||||2|2|Appartement||81|4|||\n\
         |||||||000001|05/01/2023|Vente|100000,00|1||RUE|1|\"BIS|1000|BOURG|1|53||A|7||||||||||||0|1|Maison||81|4|S||300\n"
    );
    let (from_raw, report) = dvf(raw.as_bytes());
    assert_eq!(
        (
            from_raw.len(),
            report.files[0].read.reading.columns_unused.len()
        ),
        (2, 0)
    );
    let geo = format!(
        "{}m1,2023-01-05,000001,Vente,208000,289,,CHE DE PLAISANCE,83200,83137,Toulon,83137000CY0616,,152,,,,1,Dépendance,,0,,,5.9,43.1\n\
         m1,2023-01-05,000001,Vente,208000,289,,CHE DE PLAISANCE,83200,83137,Toulon,83137000CY0616,,404,,405,78.46,2,Appartement,81,4,,,5.9,43.1\n",
        GEO.replace(
            "lot1_surface_carrez,",
            "lot1_surface_carrez,lot2_numero,lot2_surface_carrez,"
        )
    );
    let (from_geo, _) = dvf(geo.as_bytes());
    for field in [
        "id",
        "price_eur",
        "surface_m2",
        "carrez_surface_m2",
        "address",
        "postal_code",
        "parcel_ids",
        "lots",
    ] {
        assert_eq!(from_raw[0][field], from_geo[0][field], "{field}");
    }
    let house = &from_raw[1];
    assert_eq!(house["insee_code"], "01053");
    assert_eq!(house["postal_code"], "01000");
    assert_eq!(house["address"], "1 RUE \"BIS");
    assert_eq!(house["parcel_ids"][0], "010530000A0007");
}

#[test]
fn a_file_saved_by_a_spreadsheet_gives_the_same_sale() {
    let plain = "m1,2023-01-05,000001,Vente,208000.5,1,,RUE A,01000,01053,Bourg,01053000AB0001,,0007,,1,Maison,100,5,S,400,5.2,46.2";
    let sheet = "m1;05/01/2023;1;Vente;208000,5;1;;RUE A;1000;1053;Bourg;1053000AB0001;;7;;1;Maison;100;5;S;400;5,2;46,2";
    let (first, _) = geo(&[plain]);
    let latin: Vec<u8> = format!(
        "{}{sheet};été\n",
        GEO.trim_end().replace(',', ";") + ";extra\n"
    )
    .chars()
    .map(|character| character as u8)
    .collect();
    let (kept, report) = import(Dataset::Dvf, &latin).unwrap();
    assert_eq!(first, kept.records());
    assert_eq!(report.files[0].read.reading.columns_unused, ["extra"]);
}

#[test]
fn bad_rows_are_counted_and_the_others_imported() {
    let good = "m4,2023-01-05,1,Vente,90000,,,,,01053,,,,,,0,Maison,abc,3,,,,";
    let (records, report) = geo(&[
        "m1,2023-13-05,1,Vente,90000,,,,,01053,,,,,,0,Maison,50,3,,,,",
        "m2,2023-01-05,1,Vente,much,,,,,01053,,,,,,0,Maison,50,3,,,,",
        "m3,2023-01-05,1,Vente,90000,,,,,,,,,,,0,Maison,50,3,,,,",
        good,
    ]);
    assert_eq!(records.len(), 1);
    assert_eq!(
        (report.rows_read, report.rows_kept, report.rows_rejected()),
        (4, 1, 3)
    );
    assert_eq!(report.rejected["date unreadable"].examples[0].line, 2);
    assert_eq!(
        report.rejected["price unreadable"].examples[0].value,
        "much"
    );
    assert_eq!(report.rejected["commune missing"].count, 1);
    assert_eq!(
        report.files[0].read.reading.left_out.0["number unreadable or negative"].examples[0].column,
        "surface_reelle_bati"
    );
}

#[test]
fn a_sale_whose_commune_code_was_lost_is_in_the_commune_of_its_parcel() {
    let row = |commune: &str| {
        format!(
            "m1,2021-06-25,1,Vente,240000,22,,RIBBE ROSSE,20214,{commune},Montegrosso,2B167000ZD0022,,,,0,Maison,60,1,\
             S,40,8.83009,42.547879"
        )
    };
    let (records, report) = geo(&[row("").as_str()]);
    assert_eq!(report.rows_rejected(), 0);
    assert_eq!(records, geo(&[row("2B167").as_str()]).0);
}

#[test]
fn a_parcel_that_a_spreadsheet_rounded_is_left_out_of_the_sale() {
    let row = |parcel: &str| {
        format!("m1;2023-01-05;1;Vente;90000;1;;RUE A;;83137;;{parcel};;;;0;Maison;50;3;;;;")
    };
    let imported = |parcel: &str| {
        let text = format!("{}{}\n", GEO.replace(',', ";"), row(parcel));
        dvf(text.as_bytes())
    };
    let (without, _) = imported("");
    for rounded in ["8,31E+13", "8.3137E+13", "83137000CY06"] {
        let (records, report) = imported(rounded);
        assert_eq!(records, without, "{rounded}");
        let left_out = &report.files[0].read.reading.left_out.0["parcel unreadable"];
        assert_eq!(left_out.examples[0].value, rounded);
        assert_eq!(left_out.examples[0].column, "id_parcelle");
    }
    let (records, _) = imported("83137000cy0616");
    assert_eq!(records[0]["parcel_ids"][0], "83137000CY0616");
}

#[test]
fn a_serial_number_in_place_of_a_day_is_named() {
    let (_, report) = geo(&[
        "m1,44931,1,Vente,90000,,,,,01053,,,,,,0,Maison,50,3,S,,,",
        "m2,soon,1,Vente,90000,,,,,01053,,,,,,0,Maison,50,3,S,,,",
    ]);
    let reasons: Vec<&str> = report.rejected.keys().copied().collect();
    assert_eq!(
        reasons,
        [
            "date unreadable",
            "date unreadable: serial number of a spreadsheet: format the column as a date"
        ]
    );
}

#[test]
fn a_number_is_not_a_nature_or_a_type_of_building() {
    let row = |nature: &str, local: &str| {
        format!("m1,2023-01-05,1,{nature},90000,,,,,01053,,,,,,0,{local},50,3,S,,,")
    };
    let (records, report) = geo(&[&row("4", "Maison")]);
    assert_eq!(records[0].get("transaction_type"), None);
    assert_eq!(records[0]["is_open_market"], false);
    let left_out = &report.files[0].read.reading.left_out.0["number in place of a name"];
    assert_eq!(left_out.examples[0].column, "nature_mutation");
    let text = format!("{GEO}{}\n", row("Vente", "2"));
    let refused = import(Dataset::Dvf, text.as_bytes());
    let refused = refused.map(|_| ()).unwrap_err().to_string();
    assert!(refused.contains("type_local"), "{refused}");
    assert!(refused.contains("export the column as text"), "{refused}");
}

#[test]
fn values_outside_official_lists_of_sales_are_counted() {
    let (records, report) = geo(&[
        "m1,2023-01-05,1,Vente,90000,,,,,01053,,,,,,0,Maison,50,3,S,,,",
        "m2,2023-01-05,1,Donation,90000,,,,,01053,,,,,,0,Château,50,3,QQ,,,",
        "m3,2023-01-05,1,Vente en l’état futur d’achèvement,90000,,,,,01053,,,,,,0,Appartement,50,3,,,,",
    ]);
    assert_eq!(records.len(), 3);
    assert_eq!(records[1]["transaction_type"], "Donation");
    let unlisted = &report.unlisted_values;
    assert_eq!(unlisted["nature_mutation"]["Donation"], 1);
    assert_eq!(unlisted["type_local"]["Château"], 1);
    assert_eq!(unlisted["code_nature_culture"]["QQ"], 1);
    assert_eq!(
        unlisted.values().map(|values| values.len()).sum::<usize>(),
        3
    );
}

#[test]
fn damaged_files_give_one_error_with_its_location() {
    use std::io::Write;
    let row = "m1,2023-01-05,1,Vente,90000,,,,,01053,,,,,,0,Maison,50,3,,,,\n";
    let text = format!("{GEO}{}", row.repeat(5_000));
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(text.as_bytes()).unwrap();
    let gzip = gzip.finish().unwrap();
    let message = |bytes: &[u8]| import(Dataset::Dvf, bytes).err().unwrap().to_string();
    let ragged = format!("{GEO}{row}m1,2023-01-05,1,Vente\n");
    let zero = text.replacen("Maison", "Mai\0on", 1);
    for (bytes, expected) in [
        (&gzip[..gzip.len() / 2], ": the file is cut off"),
        (
            ragged.as_bytes(),
            "f, line 3, column \"valeur_fonciere\": the row has 4 cells",
        ),
        (
            GEO.replace("date_mutation", "day").as_bytes(),
            "f, line 1, column \"date_mutation\"",
        ),
        (
            b"numero_dpe,etiquette_dpe\n1,A\n",
            "f: it holds energy diagnostics (DPE); import it with `toise import dpe`",
        ),
        (b"\x00\x01\x02binary\xff", "f, line 1: binary data"),
        (b"PK\x03\x04", "zip archive, perhaps cut off"),
        (b"", "empty"),
        (zero.as_bytes(), "binary data"),
        (br#"{"results":[{"id_mutation":"1""#, "cut off"),
    ] {
        let message = message(bytes);
        assert!(message.contains(expected), "{expected}: {message}");
    }
    assert_eq!(import(Dataset::Dvf, &gzip).unwrap().1.rows_read, 5_000);
}

#[test]
fn addresses_encoded_twice_get_a_note() {
    let text = "id,numero,nom_voie,code_insee,nom_commune,lon,lat\n\
        a,1,AllÃ©e Racine,93010,Bondy,2.494706,48.896724\n\
        b,2,Allée Racine,93010,Bondy,2.494724,48.896892\n";
    let (mut kept, mut report) = (CollectingSink::default(), ImportReport::default());
    import_reader(
        ImportTable::Ban,
        text.as_bytes(),
        "f",
        SourceFormat::Detect,
        &mut kept,
        &ImportOptions::default(),
        &mut report,
    )
    .unwrap();
    assert_eq!(report.notes.len(), 1, "{:?}", report.notes);
    let note = "f: rows with text that was encoded as UTF-8 twice: 1, such as \"AllÃ©e Racine\" in line 2;";
    assert!(report.notes[0].starts_with(note), "{:?}", report.notes);
}

#[test]
fn scattered_mutations_are_grouped_on_a_second_reading() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.csv");
    let rows = [
        ("m1", 1, "Appartement"),
        ("m2", 3, "Maison"),
        ("m1", 2, "Appartement"),
    ];
    let rows: String = rows
        .iter()
        .map(|(id, lot, kind)| format!("{id},2023-01-05,1,Vente,90000,,,,,01053,,01053000AB0001,,{lot},,1,{kind},50,3,,,,\n"))
        .collect();
    std::fs::write(&path, format!("{GEO}{rows}")).unwrap();
    let mut report = ImportReport::default();
    let (kept, imported) = import_files(
        Dataset::Dvf,
        &[ImportInput::local(path)],
        || Ok(CollectingSink::default()),
        &ImportOptions {
            edition: Some("2026-04".into()),
            ..ImportOptions::default()
        },
        &mut report,
    )
    .unwrap();
    let mut records = kept.records();
    records.sort_by_key(|record| record["mutation_id"].to_string());
    assert_eq!(
        (
            records.len(),
            &records[0]["surface_m2"],
            report.rows_read,
            report.notes.len()
        ),
        (2, &100.into(), 3, 1)
    );
    let slices: Vec<_> = imported[0]
        .slices
        .iter()
        .map(|slice| (&*slice.place, slice.year))
        .collect();
    assert_eq!(slices, [("01053", Some(2023))]);
}

#[test]
fn diagnostics_stay_as_published() {
    let csv = "N°DPE;N°_département_(BAN);Besoin_ECS;Logement_traversant_(0/1);Date_établissement_DPE;Surface_habitable_logement;N°_étage_appartement;_geopoint;Adresse_brute;Code_INSEE_(BAN);what\n\
        2469E1;69.0;848,10;True;2024-08-29;27.0;x;45.77,4.83;\"4 rue\nRES \"\"A\"\"\";69381;1\n;69;;;;;;;;;\n2469E2;1;;;31/02/2024;;;0,0;;1053;\n";
    let (kept, report) = import(Dataset::Dpe, csv.as_bytes()).unwrap();
    let text = kept.0[0]
        .column_by_name("record")
        .unwrap()
        .as_string::<i32>()
        .value(0)
        .to_owned();
    let flx_id = super::dpe::record::flx_id("2469E1");
    assert_eq!(
        text,
        format!(
            r#"{{"numero_dpe":"2469E1","date_etablissement_dpe":"2024-08-29","surface_habitable_logement":27,"logement_traversant":1,"code_insee_ban":"69381","code_departement_ban":"69","adresse_brut":"4 rue\nRES \"A\"","besoin_ecs":848.1,"_geopoint":"45.77,4.83","flx_id":{flx_id},"location":{{"lat":45.77,"lon":4.83}}}}"#
        )
    );
    assert!(flx_id < 1 << 53);
    let second = &kept.records()[1];
    assert_eq!(
        (&second["code_departement_ban"], &second["code_insee_ban"]),
        (&"01".into(), &"01053".into())
    );
    assert!(second.get("location").is_none() && second.get("date_etablissement_dpe").is_none());
    assert_eq!(
        report.rejected["number of the diagnostic missing"].examples[0].line,
        4
    );
    assert_eq!(
        report.files[0].read.reading.left_out.0["number unreadable"].examples[0].column,
        "numero_etage_appartement"
    );
    assert_eq!(
        report.files[0].read.reading.left_out.0["date unreadable"].count,
        1
    );
    assert_eq!(
        report.files[0].read.reading.left_out.0["position unreadable or outside France"].count,
        1
    );
    assert_eq!(report.files[0].read.reading.columns_unused, ["what"]);
    let dates = kept.0[0].column_by_name("date_etablissement_dpe").unwrap();
    assert!(dates.as_primitive::<Date32Type>().is_null(1));
}

#[test]
fn pages_lines_and_parquet_read_like_csv() {
    let page = br#"{"total":2,"next":"x","results":[{"numero_dpe":"A","conso_5_usages_ep":12.50,"adresse_ban":"l\u00e9 \"b\""},{"numero_dpe":"B","etiquette_dpe":"C","isolation_toiture":null}]}"#;
    let lines = b"{\"numero_dpe\":\"A\",\"conso_5_usages_ep\":12.50,\"adresse_ban\":\"l\xc3\xa9 \\\"b\\\"\"}\n{\"numero_dpe\":\"B\",\"etiquette_dpe\":\"C\"}\n";
    let (page, _) = import(Dataset::Dpe, page).unwrap();
    let (lines, _) = import(Dataset::Dpe, lines).unwrap();
    assert_eq!(page.records(), lines.records());
    assert_eq!(page.0, lines.0);
    assert_eq!(page.records()[0]["adresse_ban"], "lé \"b\"");
    let text = page.0[0]
        .column_by_name("record")
        .unwrap()
        .as_string::<i32>()
        .value(0);
    assert!(text.contains("\"conso_5_usages_ep\":12.5,"), "{text}");

    let file = written(&page.0, None);
    let (again, _) = import(Dataset::Dpe, &file).unwrap();
    let consumption = again.0[0]
        .column_by_name("conso_5_usages_ep")
        .unwrap()
        .as_primitive::<Float64Type>()
        .clone();
    assert_eq!(consumption.value(0), 12.5);
    assert_eq!(again.records()[1], page.records()[1]);
}

#[test]
fn a_page_without_rows_is_a_file_without_rows() {
    for dataset in [Dataset::Dvf, Dataset::Dpe] {
        for page in ["[]", r#"{"total":24,"results":[]}"#, "{\"results\":\n[ ]}"] {
            let (kept, report) = import(dataset, page.as_bytes()).unwrap();
            assert_eq!((kept.0.len(), report.rows_read), (0, 0), "{page}");
            assert_eq!(report.files.len(), 1);
        }
    }
}

/// Writes batches as Parquet, with this description of GeoParquet if there is one.
fn written(batches: &[RecordBatch], geo: Option<String>) -> Vec<u8> {
    let mut file = Vec::new();
    let schema = batches[0].schema();
    let mut writer = parquet::arrow::ArrowWriter::try_new(&mut file, schema, None).unwrap();
    for batch in batches {
        writer.write(batch).unwrap();
    }
    if let Some(about) = geo {
        writer.append_key_value_metadata(KeyValue::new("geo".to_owned(), about));
    }
    writer.close().unwrap();
    file
}

/// Converts a CSV file to Parquet, with the types that readers of CSV infer: codes and house numbers become numbers.
fn as_parquet(csv: &[u8], delimiter: u8) -> Vec<u8> {
    use std::io::Seek;
    let format = arrow::csv::reader::Format::default()
        .with_header(true)
        .with_delimiter(delimiter);
    let mut source = std::io::Cursor::new(csv);
    let (schema, _) = format.infer_schema(&mut source, None).unwrap();
    source.rewind().unwrap();
    let rows = arrow::csv::ReaderBuilder::new(Arc::new(schema))
        .with_format(format)
        .build(source)
        .unwrap();
    let batches: Vec<RecordBatch> = rows.map(Result::unwrap).collect();
    written(&batches, None)
}

#[test]
fn the_same_rows_as_csv_and_as_parquet_are_the_same_records() {
    let csv = "numero_dpe,surface_habitable_logement,annee_construction,numero_voie_ban,code_insee_ban,\
        date_etablissement_dpe,logement_traversant\n\
        A,315,1975.0,12,01053,2024-08-29,true\nB,81.50,,,48095,2024-08-30,\n";
    let (kept, _) = import(Dataset::Dpe, csv.as_bytes()).unwrap();
    let file = as_parquet(csv.as_bytes(), b',');
    let (twin, _) = import(Dataset::Dpe, &file).unwrap();
    assert_eq!(kept.0, twin.0);
    let record = &twin.records()[0];
    assert_eq!(record["surface_habitable_logement"].to_string(), "315");
    assert_eq!(record["numero_voie_ban"], "12");
    assert_eq!(record["code_insee_ban"], "01053");
}

/// Writes columns as Parquet.
fn parquet_of(columns: Vec<(&str, ArrayRef)>) -> Vec<u8> {
    written(&[RecordBatch::try_from_iter(columns).unwrap()], None)
}

/// Returns a column with this text in each of two rows.
fn twice(text: &str) -> ArrayRef {
    Arc::new(StringArray::from(vec![text; 2]))
}

/// Returns two sales as columns, with these prices; they lack only positions.
fn two_sales<'n>(prices: ArrayRef) -> Vec<(&'n str, ArrayRef)> {
    let parcels = vec!["83137000CM0101", "83137000CM0102"];
    vec![
        ("date_mutation", twice("2024-01-05")),
        ("nature_mutation", twice("Vente")),
        ("valeur_fonciere", prices),
        ("code_commune", twice("83137")),
        ("type_local", twice("Appartement")),
        ("id_parcelle", Arc::new(StringArray::from(parcels))),
    ]
}

#[test]
fn typed_prices_of_three_decimals_are_not_thousands() {
    let doubles = Float64Array::from(vec![950.0, 245_000.5]);
    let (expected, _) = dvf(&parquet_of(two_sales(Arc::new(doubles))));
    assert_eq!(expected[0]["price_eur"], 950);
    let decimals = Decimal128Array::from(vec![950_000, 245_000_500]);
    let decimals = decimals.with_precision_and_scale(18, 3).unwrap();
    let (records, _) = dvf(&parquet_of(two_sales(Arc::new(decimals))));
    assert_eq!(records, expected);
    let lines = [("950.000", "101"), ("245000.500", "102")].map(|(price, plan)| {
        format!(
            r#"{{"date_mutation":"2024-01-05","nature_mutation":"Vente","valeur_fonciere":{price},"code_commune":83137,"type_local":"Appartement","id_parcelle":"83137000CM0{plan}"}}"#
        )
    });
    assert_eq!(dvf(lines.join("\n").as_bytes()).0, expected);
}

#[test]
fn columns_of_types_without_a_text_are_skipped_and_uuids_are_read() {
    let uuid = b"\x3c\x87\xab\xe4\x88\x7b\x46\xee\x91\x92\x5c\x1b\x35\xa0\x66\x25";
    let uuids = FixedSizeBinaryArray::try_from_iter([uuid, uuid].into_iter()).unwrap();
    let hashes = FixedSizeBinaryArray::try_from_iter([[1_u8; 20], [2; 20]].into_iter()).unwrap();
    let pair = || Some([Some(1.0), Some(2.0)]);
    let vectors = FixedSizeListArray::from_iter_primitive::<Float64Type, _, _>([pair(), pair()], 2);
    let mut columns = two_sales(Arc::new(Float64Array::from(vec![950.0, 245_000.0])));
    columns.push(("id_mutation", Arc::new(uuids)));
    columns.push(("hash", Arc::new(hashes)));
    columns.push(("vector", Arc::new(vectors)));
    let (records, report) = dvf(&parquet_of(columns));
    // Both rows are of one mutation, and of one disposition with two prices.
    assert_eq!(records.len(), 2);
    let mutation = "3c87abe4-887b-46ee-9192-5c1b35a06625";
    assert_eq!(records[0]["mutation_id"], mutation);
    let unused = &report.files[0].read.reading.columns_unused;
    assert_eq!(unused, &["hash", "vector"]);
}

/// Writes two sales as GeoParquet: the name of the column of geometries, these twice as WKB, and further metadata of it.
fn geoparquet(name: &str, wkb: &[u8], about: &str) -> Vec<u8> {
    let mut columns = two_sales(Arc::new(Float64Array::from(vec![950.0, 245_000.0])));
    columns.push((name, Arc::new(BinaryArray::from(vec![wkb; 2]))));
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let about = format!(
        r#"{{"version":"1.1.0","primary_column":"{name}","columns":{{"{name}":{{"encoding":"WKB"{about}}}}}}}"#
    );
    written(&[batch], Some(about))
}

/// Writes the head of a geometry in WKB, and numbers after it.
fn wkb(kind: u32, numbers: &[f64]) -> Vec<u8> {
    let mut bytes = vec![1];
    bytes.extend(kind.to_le_bytes());
    bytes.extend(numbers.iter().flat_map(|number| number.to_le_bytes()));
    bytes
}

#[test]
fn positions_of_geoparquet_are_read_converted_or_counted() {
    const LAMBERT: &str =
        r#","crs":{"name":"RGF93 v1 / Lambert-93","id":{"authority":"EPSG","code":2154}}"#;
    const WEB: &str = r#","crs":{"id":{"authority":"EPSG","code":3857}}"#;
    let toulon = wkb(1, &[5.93, 43.12]);
    let one = [wkb(4, &[]), vec![1, 0, 0, 0], toulon.clone()].concat();
    for (name, wkb) in [("geometry", &toulon), ("geom", &toulon), ("geom", &one)] {
        let (records, report) = dvf(&geoparquet(name, wkb, ""));
        let location = &records[0]["location"];
        assert_eq!(location, &serde_json::json!({"lat": 43.12, "lon": 5.93}));
        let reading = &report.files[0].read.reading;
        assert_eq!(reading.columns_unused, [""; 0]);
    }
    let metres = wkb(1, &[938_578.6, 6_228_953.0]);
    let (records, _) = dvf(&geoparquet("geom", &metres, LAMBERT));
    let lat = records[0]["location"]["lat"].as_f64().unwrap();
    assert!((lat - 43.12).abs() < 0.01, "{lat}");
    for (geometry, reason) in [
        (wkb(3, &[]), "geometry not read: not one point"),
        (wkb(1, &[0.0, 0.0]), "position outside France"),
        (metres, "position unreadable"),
    ] {
        let (records, report) = dvf(&geoparquet("geometry", &geometry, ""));
        assert!(records[0].get("location").is_none());
        let left_out = &report.files[0].read.reading.left_out.0[reason];
        assert_eq!(left_out.count, 2, "{reason}");
        assert_eq!(left_out.examples[0].column, "geometry");
    }
    let file = geoparquet("geom", &wkb(1, &[660_124.0, 5_331_000.0]), WEB);
    let error = import(Dataset::Dvf, &file).err();
    let message = error.unwrap().to_string();
    assert!(message.contains("\"geom\": "), "{message}");
    assert!(message.contains("EPSG:3857"), "{message}");
}

/// Imports real files as they are, and again as Parquet with inferred types.
#[test]
fn real_rows_as_csv_and_as_parquet_are_the_same_records() {
    use std::io::Read;
    let Some(root) = real("") else { return };
    for (dataset, file, delimiter) in [
        (Dataset::Dvf, "dvf/geodvf_toulon_2023.csv.gz", b','),
        (Dataset::Dvf, "dvf/geodvf_toulon_2024.csv.gz", b','),
        (Dataset::Dvf, "dvf/geodvf_paris_2020-2023.csv.gz", b','),
        (Dataset::Dvf, "dvf/geodvf_quoted_comma.csv", b','),
        (Dataset::Dpe, "dpe/dpe48_lozere_v1names_5224.csv.gz", b','),
        (
            Dataset::Dpe,
            "dpe/dpe69_existants_v1names_full_1025.csv.gz",
            b';',
        ),
        (
            Dataset::Dpe,
            "dpe/dpe31_fixture_24rows_183cols_snake_v2.csv",
            b',',
        ),
    ] {
        let mut csv = std::fs::read(root[0].join(file)).unwrap();
        if file.ends_with(".gz") {
            let mut text = Vec::new();
            let mut gzip = flate2::read::GzDecoder::new(&csv[..]);
            gzip.read_to_end(&mut text).unwrap();
            csv = text;
        }
        let (kept, _) = import(dataset, &csv).unwrap();
        let parquet = as_parquet(&csv, delimiter);
        let (twin, _) = import(dataset, &parquet).unwrap();
        let texts = |sink: &CollectingSink| -> Vec<String> {
            let batches = sink.0.iter();
            let texts = batches.map(|batch| {
                let texts = batch.column_by_name("record").unwrap().as_string::<i32>();
                texts
                    .iter()
                    .map(|text| text.unwrap().to_owned())
                    .collect::<Vec<_>>()
            });
            texts.flatten().collect()
        };
        let (kept, twin) = (texts(&kept), texts(&twin));
        assert_eq!(kept.len(), twin.len(), "{file}");
        let differing = kept.iter().zip(&twin).filter(|(one, other)| one != other);
        let differing: Vec<_> = differing.collect();
        println!(
            "{file}: {} of {} records differ",
            differing.len(),
            kept.len()
        );
        assert!(differing.is_empty(), "{file}: {:#?}", &differing[..1]);
    }
}

fn real(folder: &str) -> Option<Vec<PathBuf>> {
    let Some(root) = std::env::var_os("TOISE_REAL_DATA") else {
        skipped("TOISE_REAL_DATA is not set");
        return None;
    };
    Some(vec![PathBuf::from(root).join(folder)])
}

fn import_real(
    dataset: Dataset,
    glob: &str,
    options: &ImportOptions,
) -> Option<(CollectingSink, ImportReport)> {
    let files = super::source::files::expand(&real(glob)?).unwrap();
    let files: Vec<ImportInput> = files.into_iter().map(ImportInput::local).collect();
    let mut report = ImportReport::default();
    let started = std::time::Instant::now();
    let (kept, _) = import_files(
        dataset,
        &files,
        || Ok(CollectingSink::default()),
        options,
        &mut report,
    )
    .unwrap();
    report.seconds = started.elapsed().as_secs_f64();
    println!("{}", report.to_text());
    Some((kept, report))
}

fn distinct_ids(records: &[Value], key: &str) -> usize {
    let ids: std::collections::HashSet<_> = records
        .iter()
        .map(|record| record[key].to_string())
        .collect();
    ids.len()
}

#[test]
fn real_sales_of_toulon_give_every_mutation() {
    let Some((kept, report)) = import_real(
        Dataset::Dvf,
        "dvf/geodvf_toulon_*.csv.gz",
        &ImportOptions::default(),
    ) else {
        return;
    };
    let records = kept.records();
    assert_eq!((report.rows_read, report.rows_kept), (17_252, 17_252));
    // 7,397 mutations in 7,405 dispositions; ten of these sell flats and houses, which gives two records each.
    assert_eq!(
        (records.len(), distinct_ids(&records, "id")),
        (7_415, 7_415)
    );
    assert!(
        report.unlisted_values.is_empty(),
        "{:?}",
        report.unlisted_values
    );
    assert_eq!(report.rows_repeated, 2_562);
    // Each disposition counts once: the shares of a mutation add up to the number of its dispositions.
    let mut shares = std::collections::HashMap::new();
    for record in &records {
        let share = record["mutation_share"].as_f64().unwrap();
        *shares
            .entry(record["mutation_id"].as_str().unwrap())
            .or_insert(0.0) += share;
    }
    assert_eq!(shares.len(), 7_397);
    let several = shares.values().filter(|share| **share > 1.5).count();
    assert_eq!(several, 8, "mutations of several dispositions");
    for (mutation, share) in &shares {
        let share: f64 = *share;
        assert!((share - share.round()).abs() < 1e-9, "{mutation}: {share}");
    }
    let together = |record: &&Value| record["is_sold_together"] == true;
    println!("sold together: {}", records.iter().filter(together).count());
    let longest = records
        .iter()
        .filter_map(|record| record["rows"].as_u64())
        .max();
    println!("longest mutation: {longest:?} rows");
}

#[test]
fn real_sales_of_paris_have_an_iris() {
    let Some(iris) = real("iris/iris_paris_and_adjacent_wgs84.geojson.gz") else {
        return;
    };
    let iris = toise_geo::iris::IrisIndex::open(&iris[0]).unwrap();
    let options = ImportOptions {
        iris: Some(iris.into()),
        ..ImportOptions::default()
    };
    let Some((kept, report)) = import_real(Dataset::Dvf, "dvf/geodvf_paris_*.csv.gz", &options)
    else {
        return;
    };
    let records = kept.records();
    let placed = records
        .iter()
        .filter(|record| record.get("iris_code").is_some())
        .count();
    println!(
        "records {} distinct ids {} with IRIS {placed}",
        records.len(),
        distinct_ids(&records, "id")
    );
    // Eleven pairs agree in every published column except the mutation number, which changes between editions.
    let distinct = distinct_ids(&records, "id");
    assert_eq!(
        (report.rows_kept, records.len(), distinct),
        (90_461, 90_437, 90_426)
    );
    assert!(placed * 1_000 > records.len() * 998);
}

#[test]
fn real_diagnostics_are_all_imported() {
    for (glob, rows) in [
        ("dpe/dpe48*", 5_224),
        ("dpe/dpe69*", 1_000),
        ("dpe/dpe31*", 24),
    ] {
        let Some((kept, report)) = import_real(Dataset::Dpe, glob, &ImportOptions::default())
        else {
            return;
        };
        let records = kept.records();
        println!("{glob} distinct {}", distinct_ids(&records, "numero_dpe"));
        assert_eq!(
            (report.rows_read, report.rows_kept, report.rows_rejected()),
            (rows, rows, 0),
            "{glob}"
        );
    }
}
