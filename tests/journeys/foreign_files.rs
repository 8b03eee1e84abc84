//! Files of other programs, through every command that reads them: the same data gives the same results, whatever
//! program wrote the file.

use std::fs;
use std::path::{Path, PathBuf};

use crate::support::process::run;

/// Sales of geo-dvf; `~` stands for an empty cell.
const SALES: &str = "id_mutation,date_mutation,numero_disposition,nature_mutation,valeur_fonciere,adresse_numero,\
adresse_suffixe,adresse_nom_voie,code_postal,code_commune,nom_commune,code_departement,id_parcelle,lot1_numero,nombre_lots,\
type_local,surface_reelle_bati,nombre_pieces_principales,nature_culture,surface_terrain,longitude,latitude
2024-1,2024-03-14,000001,Vente,101000.5,1,~,RUE DES LICES,01000,01053,Bourg-en-Bresse,01,01053000NA0001,7,1,Appartement,50,2,~,~,5.22,46.2
2024-2,2024-03-15,000001,Vente,250000,~,~,RUE DES LICES,01000,01053,Bourg-en-Bresse,01,01053000NA0002,~,0,Maison,110,5,sols,400,5.23,46.21
2024-3,2024-03-16,000001,Vente,90000,3,B,RUE NADAUD,01000,01053,Bourg-en-Bresse,01,01053000NA0003,~,0,Maison,70,3,sols,~,5.24,46.22
";

fn utf16(text: &str) -> Vec<u8> {
    let mut bytes = b"\xff\xfe".to_vec();
    bytes.extend(text.encode_utf16().flat_map(u16::to_le_bytes));
    bytes
}

fn windows_1252(text: &str) -> Vec<u8> {
    text.chars().map(|sign| sign as u8).collect()
}

fn write(folder: &Path, name: &str, bytes: &[u8]) -> PathBuf {
    let path = folder.join(name);
    fs::write(&path, bytes).unwrap();
    path
}

#[test]
fn sales_that_went_through_other_programs_are_unchanged() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let with = |text: &str| SALES.replace('~', text);
    let clean = write(folder.path(), "clean.csv", with("").as_bytes());
    run(&data, &["import", "dvf", clean.to_str().unwrap()]);
    let french: Vec<String> = with("")
        .lines()
        .map(|line| {
            line.replace(',', ";")
                .replace("101000.5", "101000,5")
                .replace("5.2", "5,2")
                .replace("46.2", "46,2")
        })
        .collect();
    let french = french.join("\r\n") + "\r\n";
    for (name, bytes) in [
        ("r.csv", with("NA").into_bytes()),
        ("pandas.csv", with("nan").into_bytes()),
        ("sql.csv", with("NULL").into_bytes()),
        ("python.csv", with("None").into_bytes()),
        ("french.csv", windows_1252(&french)),
        ("unicode.txt", utf16(&with("").replace(',', "\t"))),
        ("mac.csv", with("").replace('\n', "\r").into_bytes()),
    ] {
        let path = write(folder.path(), name, &bytes);
        let report = run(&data, &["import", "dvf", path.to_str().unwrap()]);
        let outcome = &report["outcome"];
        assert_eq!(
            (
                &outcome["added"],
                &outcome["replaced"],
                &outcome["unchanged"]
            ),
            (&0.into(), &0.into(), &3.into()),
            "{name}: {report}"
        );
    }
}

#[test]
fn adverts_have_the_amounts_and_areas_that_a_person_reads() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let prices = [
        ("245 000 €", Some(245_000.0)),
        ("245.000 €", Some(245_000.0)),
        ("0,245 M€", Some(245_000.0)),
        ("245k", Some(245_000.0)),
        ("€245,000", Some(245_000.0)),
        ("245 000 € FAI (dont 4,5 % TTC)", Some(245_000.0)),
        ("1 875 000 € 1 650 000 €", None),
        ("Bouquet 45 000 € + rente 650 €/mois", None),
    ];
    let lands = [
        ("1 ha 20 a 35 ca", Some(12_035.0)),
        ("1,2 ha", Some(12_000.0)),
        ("3 ares", Some(300.0)),
        ("1200 m2", Some(1_200.0)),
        ("1.200 m²", None),
        ("65,5 m²", Some(65.5)),
        ("NA", None),
        ("n.c.", None),
    ];
    let mut csv = "url;titre;prix;surface;surface_terrain;localisation\n".to_owned();
    for (row, ((price, _), (land, _))) in prices.iter().zip(&lands).enumerate() {
        csv += &format!("https://a.example/{row};Maison T5;{price};120;{land};Mende (48000)\n");
    }
    let path = write(folder.path(), "adverts.csv", csv.as_bytes());
    let mapping = ["--mapping", "french-csv"];
    run(
        &data,
        &[&["ingest", path.to_str().unwrap()][..], &mapping].concat(),
    );
    let query =
        "select current_price_value as price, land_surface as land from adverts order by url";
    let rows = run(&data, &["sql", query]);
    let rows = rows.as_array().unwrap();
    for (row, ((price, expected), (land, area))) in rows.iter().zip(prices.iter().zip(&lands)) {
        assert_eq!(row["price"].as_f64(), *expected, "{price}");
        assert_eq!(row["land"].as_f64(), *area, "{land}");
    }
    assert_eq!(rows.len(), prices.len());
}

#[test]
fn adverts_are_read_from_xml() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let xml = "<?xml version='1.0'?><client><annonce id='1'><lien>https://a.example/1</lien><prix>210000</prix>\
        <type>CLASS_FLAT</type></annonce><annonce id='2'><lien>https://a.example/2</lien><prix>310000</prix>\
        <type>CLASS_HOUSE</type></annonce></client>";
    let path = write(folder.path(), "flux.xml", xml.as_bytes());
    let maps = [
        "--map",
        "url=lien",
        "--map",
        "currentPrice.value=prix",
        "--map",
        "type=type",
    ];
    let sets = [
        "--set",
        "offer.type=OFFER_BUY",
        "--set",
        "source=a.example",
        "--set",
        "location.postalCode=48000",
    ];
    let report = run(
        &data,
        &[&["ingest", path.to_str().unwrap()][..], &maps, &sets].concat(),
    );
    assert_eq!(report["created"], 2, "{report}");
}

#[test]
fn further_texts_stand_for_empty_cells_in_every_command() {
    // `sans objet` and `XX` count as missing only if the user says so.
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let further = ["--missing", "sans objet,xx"];
    let asked = |arguments: &[&str]| run(&data, &[arguments, &further].concat());
    let sales = SALES.replace('~', "XX");
    let sales = write(folder.path(), "sales.csv", sales.as_bytes());
    let sales = sales.to_str().unwrap();
    let report = asked(&["import", "dvf", sales]);
    assert_eq!(report["missing_texts"]["xx"], 8, "{report}");
    let clean = write(
        folder.path(),
        "clean.csv",
        SALES.replace('~', "").as_bytes(),
    );
    let report = run(&data, &["import", "dvf", clean.to_str().unwrap()]);
    assert_eq!(report["outcome"]["unchanged"], 3, "{report}");

    let advert = "url;titre;prix;surface;surface_terrain;localisation\n\
                  https://a.example/1;Maison T5;250000;120;Sans objet;Mende (48000)\n";
    let advert = write(folder.path(), "adverts.csv", advert.as_bytes());
    let report = asked(&[
        "ingest",
        advert.to_str().unwrap(),
        "--mapping",
        "french-csv",
    ]);
    assert_eq!(
        (&report["created"], &report["incomplete"]),
        (&1.into(), &0.into())
    );

    let homes =
        "insee_code,price_eur,surface_m2_min,surface_m2_max\n01053,101000.5,XX,Sans objet\n";
    let homes = write(folder.path(), "homes.csv", homes.as_bytes());
    let homes = homes.to_str().unwrap();
    let output = folder.path().join("output.csv");
    let output = output.to_str().unwrap();
    let report = asked(&["match", "dvf", "--input", homes, "--output", output]);
    assert_eq!(
        (&report["matched"], &report["errors"]),
        (&1.into(), &0.into())
    );
    let table = format!("homes={homes}");
    let rows = asked(&[
        "sql",
        "--file",
        &table,
        "select surface_m2_max as most from homes",
    ]);
    assert_eq!(rows[0]["most"], serde_json::Value::Null);
    let places = "rue;cp;ville\nSans objet;XX;Mende\nXX;XX;NA\n";
    let places = write(folder.path(), "places.csv", places.as_bytes());
    let columns = ["--columns", "rue,ville", "--postcode", "cp", "-o", output];
    let report = asked(&[&["geocode", places.to_str().unwrap()][..], &columns].concat());
    assert_eq!((&report["ok"], &report["skipped"]), (&1.into(), &1.into()));
}
