//! Files of other programs, through every command that reads them: the same data gives the same results, whatever
//! program wrote the file.

use std::io::Write;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::support::assertions::{assert_has, pick};
use crate::support::cases::fails;
use crate::support::process::{errors, executable, run, write_file};

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

/// Imports a file of sales and returns the report.
fn import(data: &Path, name: &str, sales: &[u8]) -> Value {
    let path = write_file(data.parent().unwrap(), name, sales);
    run(data, &["import", "dvf", &path])
}

#[test]
fn sales_that_went_through_other_programs_are_unchanged() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let with = |text: &str| SALES.replace('~', text);
    import(&data, "clean.csv", with("").as_bytes());
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
        let report = import(&data, name, &bytes);
        let outcome = &report["outcome"];
        assert_eq!(
            pick(outcome, ["added", "replaced", "unchanged"]),
            json!([0, 0, 3]),
            "{name}: {report}"
        );
    }
}

#[test]
fn a_file_of_the_whole_country_gives_the_sales_of_one_department() {
    let folder = tempfile::tempdir().unwrap();
    let sales = SALES.replace('~', "");
    let of_var = sales
        .replace("01053", "83137")
        .replace(",01,", ",83,")
        .replace("\n2024-", "\n2025-")
        .replace("Bourg-en-Bresse", "Toulon");
    let (header, rows) = of_var.split_once('\n').unwrap();
    let own = write_file(folder.path(), "var.csv", of_var.as_bytes());
    let elsewhere = sales.split_once('\n').unwrap().1.repeat(3);
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(format!("{header}\n{elsewhere}{rows}{elsewhere}").as_bytes())
        .unwrap();
    let country = write_file(folder.path(), "full.csv.gz", gzip.finish().unwrap());
    let data = folder.path().join("data");
    let import = |path: &str| run(&data, &["import", "dvf", path, "--departments", "83"]);
    let report = import(&country);
    assert_eq!(
        pick(&report, ["rows_read", "rows_kept", "rows_not_asked_for"]),
        json!([21, 3, 18]),
        "{report}"
    );
    assert_eq!(
        report["rows_repeated"], 0,
        "rows of others are skipped: {report}"
    );
    assert_eq!(import(&own)["outcome"]["unchanged"], 3);
}

#[test]
fn sales_are_placed_by_columns_of_lambert_93() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    // Bourg-en-Bresse, then degrees, then neither.
    let csv = SALES
        .replace('~', "")
        .replace("longitude,latitude", "x,y")
        .replace("5.22,46.2\n", "871234.5,6570000\n")
        .replace("5.24,46.22", "12,6570000");
    let report = import(&data, "lambert.csv", csv.as_bytes());
    let left_out = &report["files"][0]["left_out"];
    let reason = "position unreadable: neither Lambert-93 nor degrees";
    assert_eq!(left_out[reason]["count"], 1, "{report}");
    assert_eq!(left_out[reason]["examples"][0]["column"], "x", "{report}");
    let query =
        "select round(lat, 1) as lat, round(lon, 1) as lon from dvf order by transaction_date";
    let rows = run(&data, &["sql", query]);
    assert_eq!(rows[0], json!({"lat": 46.2, "lon": 5.2}));
    assert_eq!(rows[1], json!({"lat": 46.2, "lon": 5.2}));
    assert_eq!(rows[2], json!({"lat": null, "lon": null}));
}

#[test]
fn every_command_reports_what_it_understood_in_the_same_way() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let path = |name: &str, text: &str| write_file(folder.path(), name, windows_1252(text));
    let files_of = |report: &Value| report["files"][0].clone();
    let sales = SALES.replace(',', ";").replace("101000.5", "101000,5");
    let sales = path(
        "sales.csv",
        &sales.replace('~', "NA").replace("LICES", "FÊTES"),
    );
    let import = run(&data, &["import", "dvf", &sales]);
    let adverts = path(
        "adverts.csv",
        "url;titre;prix;surface;réf;localisation\nhttps://a.example/1;Maison T5;250000;65,5;NA;Mende (48000)\n",
    );
    let ingest = run(&data, &["ingest", &adverts, "--mapping", "french-csv"]);
    let output = folder.path().join("o.csv");
    let output = output.to_str().unwrap();
    let homes = path(
        "homes.csv",
        "insee_code;price_eur;surface_m2_min;réf\n01053;101000,5;NA;1\n01053;245.000 \u{80};x;2\n",
    );
    let matched = run(
        &data,
        &["match", "dvf", "--input", &homes, "--output", output],
    );
    let places = path("places.csv", "rue;ville;réf\nNA;Mende;1\n");
    let arguments = ["geocode", &places, "--columns", "rue,ville", "-o", output];
    let geocoded = run(&data, &arguments);
    for (name, report) in [
        ("import", &import),
        ("ingest", &ingest),
        ("match", &matched),
        ("geocode", &geocoded),
    ] {
        let file = files_of(report);
        assert_eq!(file["form"]["encoding"], "windows-1252", "{name}: {file}");
        assert_eq!(file["form"]["delimiter"], ";", "{name}: {file}");
        assert!(
            file["missing_texts"]["na"].as_u64() >= Some(1),
            "{name}: {file}"
        );
        assert!(
            !file["columns_used"].as_array().unwrap().is_empty(),
            "{name}: {file}"
        );
        assert!(file["columns_unused"].is_array(), "{name}: {file}");
        assert!(file["left_out"].is_object(), "{name}: {file}");
    }
    for report in [&ingest, &matched] {
        let file = files_of(report);
        assert_eq!(file["form"]["decimal_mark"], ",", "{file}");
        assert_eq!(file["columns_unused"], json!(["réf"]), "{file}");
    }
    let left_out = &matched["files"][0]["left_out"];
    let (reason, found) = left_out.as_object().unwrap().iter().next().unwrap();
    assert!(reason.contains("surface_m2"), "{left_out}");
    assert_eq!(
        (&found["count"], &found["examples"][0]["line"]),
        (&1.into(), &3.into())
    );
    let printed = Command::new(executable())
        .args([
            "match", "dvf", "--input", &homes, "--output", output, "--data",
        ])
        .arg(&data)
        .output()
        .unwrap();
    let printed = String::from_utf8(printed.stdout).unwrap();
    for line in [
        "homes.csv: windows-1252, cells separated by ;, decimals after ,\n",
        "  columns used: insee_code, price_eur, surface_m2_min\n  columns not used: réf\n",
        "  read as missing: \"na\" 1\n",
    ] {
        assert!(printed.contains(line), "{printed}");
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
        ("1.200 m²", Some(1_200.0)),
        ("65,5 m²", Some(65.5)),
        ("NA", None),
        ("n.c.", None),
    ];
    let mut csv = "url;titre;prix;surface;surface_terrain;localisation\n".to_owned();
    for (row, ((price, _), (land, _))) in prices.iter().zip(&lands).enumerate() {
        csv += &format!("https://a.example/{row};Maison T5;{price};120;{land};Mende (48000)\n");
    }
    let path = write_file(folder.path(), "adverts.csv", csv.as_bytes());
    let mapping = ["--mapping", "french-csv"];
    run(&data, &[&["ingest", &path][..], &mapping].concat());
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
fn a_number_with_two_readings_is_read_like_its_column_or_left_out() {
    let folder = tempfile::tempdir().unwrap();
    for (name, surfaces, expected) in [
        (
            "french",
            ["1.200 m²", "65,5 m²"],
            [Some(1_200.0), Some(65.5)],
        ),
        ("plain", ["1.200", "65,5"], [Some(1_200.0), Some(65.5)]),
        (
            "english",
            ["1,200 m2", "65.5 m2"],
            [Some(1_200.0), Some(65.5)],
        ),
        ("either", ["1.200 m²", "65 m²"], [None, Some(65.0)]),
        ("neither", ["1.200", "2.350"], [None, None]),
    ] {
        let data = folder.path().join(name);
        let [first, second] = surfaces;
        let csv = format!(
            "url;titre;prix;surface;localisation\nhttps://a.example/1;Local;250 000;{first};Mende (48000)\n\
             https://a.example/2;Maison T5;150000;{second};Mende (48000)\n"
        );
        let path = write_file(folder.path(), &format!("{name}.csv"), csv.as_bytes());
        let report = run(&data, &["ingest", &path, "--mapping", "french-csv"]);
        let left_out = &report["files"][0]["left_out"];
        let reason = "habitation.surface.total: cannot be read from column surface";
        let count = expected.iter().filter(|area| area.is_none()).count();
        assert_eq!(
            left_out[reason]["count"].as_u64().unwrap_or(0),
            count as u64,
            "{name}: {report}"
        );
        let query = "select habitation_surface_total as area from adverts order by url";
        let rows = run(&data, &["sql", query]);
        let areas: Vec<Option<f64>> = rows
            .as_array()
            .unwrap()
            .iter()
            .map(|row| row["area"].as_f64())
            .collect();
        assert_eq!(areas, expected, "{name}");
    }
}

#[test]
fn adverts_are_read_from_xml() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let xml = "<?xml version='1.0'?><client><annonce id='1'><lien>https://a.example/1</lien><prix>210000</prix>\
        <type>CLASS_FLAT</type></annonce><annonce id='2'><lien>https://a.example/2</lien><prix>310000</prix>\
        <type>CLASS_HOUSE</type></annonce></client>";
    let path = write_file(folder.path(), "flux.xml", xml.as_bytes());
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
    let report = run(&data, &[&["ingest", &path][..], &maps, &sets].concat());
    assert_eq!(report["created"], 2, "{report}");
    let file = &report["files"][0];
    let used = file["columns_used"].as_array().unwrap().iter();
    let used: Vec<&str> = used.filter_map(|one| one["column"].as_str()).collect();
    assert_eq!(used, ["lien", "prix", "type"]);
    assert_eq!(file["columns_unused"], json!(["id"]));
}

#[test]
fn further_texts_stand_for_empty_cells_in_every_command() {
    // `sans objet` and `XX` count as missing only if the user says so.
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let further = ["--missing", "sans objet,xx"];
    let asked = |arguments: &[&str]| run(&data, &[arguments, &further].concat());
    let sales = SALES.replace('~', "XX");
    let sales = write_file(folder.path(), "sales.csv", sales.as_bytes());
    let report = asked(&["import", "dvf", &sales]);
    assert_eq!(report["files"][0]["missing_texts"]["xx"], 8, "{report}");
    let report = import(&data, "clean.csv", SALES.replace('~', "").as_bytes());
    assert_eq!(report["outcome"]["unchanged"], 3, "{report}");

    let advert = "url;titre;prix;surface;surface_terrain;localisation\n\
                  https://a.example/1;Maison T5;250000;120;Sans objet;Mende (48000)\n";
    let advert = write_file(folder.path(), "adverts.csv", advert.as_bytes());
    let report = asked(&["ingest", &advert, "--mapping", "french-csv"]);
    assert_eq!(pick(&report, ["created", "incomplete"]), json!([1, 0]));

    let homes =
        "insee_code,price_eur,surface_m2_min,surface_m2_max\n01053,101000.5,XX,Sans objet\n";
    let homes = write_file(folder.path(), "homes.csv", homes.as_bytes());
    let output = folder.path().join("output.csv");
    let output = output.to_str().unwrap();
    let report = asked(&["match", "dvf", "--input", &homes, "--output", output]);
    assert_eq!(pick(&report, ["matched", "errors"]), json!([1, 0]));
    let table = format!("homes={homes}");
    let rows = asked(&[
        "sql",
        "--file",
        &table,
        "select surface_m2_max as most from homes",
    ]);
    assert_eq!(rows[0]["most"], Value::Null);
    let places = "rue;cp;ville\nSans objet;XX;Mende\nXX;XX;NA\n";
    let places = write_file(folder.path(), "places.csv", places.as_bytes());
    let columns = ["--columns", "rue,ville", "--postcode", "cp", "-o", output];
    let report = asked(&[&["geocode", &places][..], &columns].concat());
    assert_eq!(pick(&report, ["ok", "skipped"]), json!([1, 1]));
}

/// Runs a command that must fail, and returns what it says.
fn refused(data: &Path, arguments: &[&str]) -> String {
    errors(&fails(data, arguments))
}

#[test]
fn days_are_read_alike_everywhere_and_the_american_order_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let sales = SALES.replace('~', "");
    import(&data, "clean.csv", sales.as_bytes());
    let rewritten = |days: [&str; 3]| {
        let mut text = sales.clone();
        for (day, written) in ["2024-03-14", "2024-03-15", "2024-03-16"].iter().zip(days) {
            text = text.replace(day, written);
        }
        text
    };
    for days in [
        ["14/3/2024", "15/3/2024", "16/3/2024"],
        ["14.03.2024", "15.03.2024", "16.03.2024"],
        ["14-mars-2024", "15-mars-2024", "16 mars 2024"],
        ["20240314", "2024/03/15", "16-Mar-2024"],
    ] {
        let report = import(&data, "days.csv", rewritten(days).as_bytes());
        assert_eq!(report["outcome"]["unchanged"], 3, "{days:?}: {report}");
    }
    // 4 March, the 14th and the 15th in the American order: the first one alone could be 3 April.
    let american = rewritten(["03/04/2024", "03/14/2024", "03/15/2024"]);
    let path = write_file(folder.path(), "american.csv", american.as_bytes());
    let text = refused(&data, &["import", "dvf", &path]);
    assert!(
        text.contains("the month before the day") && text.contains("date_mutation"),
        "{text}"
    );
    let homes = "key;insee_code;transaction_date_from\n1;01053;03/04/2024\n2;01053;03/14/2024\n";
    let path = write_file(folder.path(), "homes.csv", homes.as_bytes());
    let output = folder.path().join("matched.csv");
    let output = output.to_str().unwrap();
    let text = refused(
        &data,
        &["match", "dvf", "--input", &path, "--output", output],
    );
    assert!(
        text.contains("line 3") && text.contains("the month before the day"),
        "{text}"
    );
    let adverts = "url;type_bien;prix;code_postal;date_derniere_vue\n\
        https://portal.example/1;Appartement;250000;01000;06/05/2026\n\
        https://portal.example/2;Appartement;260000;01000;06/25/2026\n";
    let path = write_file(folder.path(), "adverts.csv", adverts.as_bytes());
    let map = "lastSeenAt=date_derniere_vue";
    let arguments = ["ingest", &path, "--mapping", "french-csv", "--map", map];
    let text = refused(&data, &arguments);
    assert!(text.contains("the month before the day"), "{text}");
}

#[test]
fn a_quotation_mark_that_is_never_closed_is_named_with_its_line() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    import(&data, "clean.csv", SALES.replace('~', "").as_bytes());
    let sales = SALES.replace('~', "").replace(
        ",Bourg-en-Bresse,01,01053000NA0002",
        ",\"Bourg,01,01053000NA0002",
    );
    let sales = write_file(folder.path(), "sales.csv", sales.as_bytes());
    let adverts = "url;type;prix;cp;ville\r\nhttps://p.example/1;Maison;1;01000;\"Bourg\r\nhttps://p.example/2;Maison;1;01000;B\r\n";
    let adverts = write_file(folder.path(), "adverts.csv", adverts.as_bytes());
    let homes = "key;insee_code;city\n1;01053;Bourg\n2;01053;\"Bourg\n3;01053;Bourg\n";
    let homes = write_file(folder.path(), "homes.csv", homes.as_bytes());
    let output = folder.path().join("matched.csv");
    let output = output.to_str().unwrap();
    for (arguments, line) in [
        (vec!["import", "dvf", &sales], 3),
        (vec!["ingest", &adverts, "--mapping", "french-csv"], 2),
        (
            vec!["match", "dvf", "--input", &homes, "--output", output],
            3,
        ),
    ] {
        let text = refused(&data, &arguments);
        let named = format!("line {line}: a quotation mark");
        assert!(text.contains(&named), "{arguments:?}: {text}");
    }
    let table = format!("t={sales}");
    let text = refused(&data, &["sql", "select count(*) from t", "--file", &table]);
    assert_has(&text, "a quotation mark is opened and never closed");
}

#[test]
fn titles_and_separator_lines_of_spreadsheets_are_skipped_and_lines_keep_their_numbers() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let sales = SALES.replace('~', "");
    import(&data, "clean.csv", sales.as_bytes());
    let french: Vec<String> = sales.lines().map(|line| line.replace(',', ";")).collect();
    let french = french.join("\r\n") + "\r\n";
    for above in [
        "sep=;\r\n",
        "Ventes de Bourg-en-Bresse\r\n\r\n",
        "Ventes;;;\r\nÉdition;avril 2024;;\r\n",
    ] {
        let report = import(&data, "titled.csv", format!("{above}{french}").as_bytes());
        assert_eq!(report["outcome"]["unchanged"], 3, "{above:?}: {report}");
    }
    let wrong = french.replace("2024-03-15", "hier");
    let report = import(&data, "wrong.csv", format!("sep=;\r\n{wrong}").as_bytes());
    assert_eq!(
        report["rejected"]["date unreadable"]["examples"][0]["line"], 4,
        "{report}"
    );
}

#[test]
fn amounts_and_areas_of_sales_may_have_their_units() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let sales = SALES.replace('~', "");
    import(&data, "clean.csv", sales.as_bytes());
    let dressed = sales
        .replace(",250000,", ",\"€250,000.00\",")
        .replace(",90000,", ",90000 EUR,")
        .replace(",Maison,110,", ",Maison,110 m²,");
    let report = import(&data, "dressed.csv", dressed.as_bytes());
    assert_eq!(report["outcome"]["unchanged"], 3, "{report}");
    let wrong = sales
        .replace(",250000,", ",deux,")
        .replace(",90000,", ",trois,");
    let path = write_file(folder.path(), "wrong.csv", wrong.as_bytes());
    let text = refused(&data, &["import", "dvf", &path]);
    assert!(text.contains("2 of 3 rows were rejected"), "{text}");
}
