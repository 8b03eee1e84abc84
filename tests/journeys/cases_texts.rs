//! Delimited files of public bug reports: quotes, line ends, encodings, texts for missing values, codes and French numbers.

use std::fs;

use serde_json::{Value, json};

use crate::support::assertions::pick;
use crate::support::cases::{
    case, column, csv_rows, fails, import, import_addresses, import_counts,
};
use crate::support::process::{errors, run, sql_number};

#[test]
fn apostrophes_in_addresses_are_no_quotes() {
    // Words in single quotes made a reader take the space as delimiter, and the file came back without results.
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path();
    import_addresses(data);
    let (input, output) = (
        case("01-geocode-csv-apostrophes/addresses.csv"),
        data.join("output.csv"),
    );
    let arguments = ["geocode", &input, "--columns", "adresse", "-o"];
    let report = run(
        data,
        &[&arguments[..], &[output.to_str().unwrap()]].concat(),
    );
    assert_eq!(pick(&report, ["rows", "ok"]), json!([4, 4]));
    let (before, after) = (
        fs::read_to_string(&input).unwrap(),
        fs::read_to_string(&output).unwrap(),
    );
    assert_eq!(before.lines().count(), after.lines().count());
    for (line, written) in before.lines().zip(after.lines()) {
        assert!(written.starts_with(&format!("{line},")), "{written}");
    }
    assert_eq!(
        column(&csv_rows(&output, b','), "result_label"),
        [
            "3 Place du Foirail 48000 Mende",
            "7 Rue des Tilleuls 48130 Peyre en Aubrac",
            "Mende",
            "4 Allée des Soupirs 48000 Mende",
        ]
    );
}

#[test]
fn lines_that_end_in_a_carriage_return_alone_are_lines() {
    // Excel for Mac ends lines in a lone carriage return, and the file was read as one line.
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path();
    import_addresses(data);
    let output = data.join("output.csv");
    let written = output.to_str().unwrap();
    let input = case("02-csv-cr-only/addresses-cr.csv");
    let columns = ["--columns", "adresse", "--postcode", "cp", "-o", written];
    let report = run(data, &[&["geocode", &input][..], &columns].concat());
    assert_eq!(report["ok"], 3, "{report}");
    let text = fs::read_to_string(&output).unwrap();
    assert_eq!(
        (text.matches('\r').count(), text.matches('\n').count()),
        (4, 0)
    );
    let labels = column(&csv_rows(&output, b';'), "result_label");
    assert_eq!(labels[0], "12 Avenue Foch 48000 Mende");
    assert_eq!(
        import_counts(data, "dvf", "02-csv-cr-only/dvf-cr.csv"),
        [2, 0, 0]
    );
    let adverts = case("02-csv-cr-only/adverts-cr.csv");
    let report = run(data, &["ingest", &adverts, "--mapping", "french-csv"]);
    assert_eq!(report["created"], 2, "{report}");
}

#[test]
fn a_file_of_one_quoted_column_gets_columns_of_its_own() {
    // A file without any delimiter came back with the new columns glued to the old one.
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().join("output.csv");
    let input = case("03-geocode-csv-one-quoted-column/towns.csv");
    run(
        folder.path(),
        &["geocode", &input, "-o", output.to_str().unwrap()],
    );
    let text = fs::read_to_string(&output).unwrap();
    assert!(text.starts_with("\"ville\",latitude,longitude,"), "{text}");
    let rows = csv_rows(&output, b',');
    let towns = ["Mende", "Marvejols", "Florac Trois Rivières"];
    assert_eq!(column(&rows, "ville"), towns);
    assert_eq!(column(&rows, "result_city"), towns);
    assert_eq!(
        column(&rows, "result_citycode"),
        ["48095", "48092", "48061"]
    );
    assert_eq!(column(&rows, "result_status"), ["ok"; 3]);
}

#[test]
fn an_empty_file_is_an_error_and_takes_nothing_offline() {
    // A broken export leaves an empty file, and a nightly job did not notice it.
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path();
    let empty = |name: &str| case(&format!("04-empty-csv/{name}.csv"));
    let mapping = ["--mapping", "french-csv"];
    run(
        data,
        &[&["ingest", &empty("monday")][..], &mapping].concat(),
    );
    for name in ["empty", "bom-only", "blank-lines", "header-only"] {
        fails(data, &[&["ingest", &empty(name)][..], &mapping].concat());
    }
    let snapshot = ["ingest", &empty("tuesday-empty"), "--snapshot"];
    fails(data, &[&snapshot[..], &mapping].concat());
    let online = "select count(*) from adverts where is_online";
    assert_eq!(sql_number(data, online), 2);
    let output = data.join("output.csv").display().to_string();
    for name in ["empty", "bom-only", "blank-lines"] {
        let path = empty(name);
        let table = format!("t={path}");
        for arguments in [
            &["geocode", &path, "-o", &output][..],
            &["import", "dvf", &path],
            &["sql", "--file", &table, "select count(*) from t"],
        ] {
            let said = errors(&fails(data, arguments));
            let is_told = said.contains("empty") || said.contains("no rows");
            assert!(is_told && said.contains(&path), "{arguments:?}: {said}");
        }
    }
}

#[test]
fn unicode_text_of_excel_is_read_by_every_command() {
    // Excel writes UTF-16 as "Texte Unicode", and readers saw letters with zero bytes between them.
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path();
    import_addresses(data);
    let file = |name: &str| case(&format!("06-utf16-excel-text/{name}"));
    let mapping = ["--mapping", "french-csv"];
    for (name, created, unchanged) in [
        ("adverts-utf16le.txt", 2, 0),
        ("adverts-utf16le-nobom.csv", 0, 2),
    ] {
        let report = run(data, &[&["ingest", &file(name)][..], &mapping].concat());
        let counts = (&report["created"], &report["unchanged"]);
        assert_eq!(counts, (&json!(created), &json!(unchanged)), "{name}");
        assert_eq!(report["files"][0]["form"]["encoding"], "UTF-16LE", "{name}");
    }
    let query = "select title, current_price_value as price from adverts order by url";
    let expected = json!([
        {"title": "Appartement T3 près de l'église", "price": 210_000.0},
        {"title": "Maison T5", "price": 310_000.0},
    ]);
    assert_eq!(run(data, &["sql", query]), expected);
    assert_eq!(
        import_counts(data, "dvf", "06-utf16-excel-text/dvf-utf16le.csv"),
        [1, 0, 0]
    );
    let output = data.join("output.csv").display().to_string();
    let homes = file("homes-utf16le.csv");
    let matching = ["match", "dvf", "--input", &homes, "--output", &output];
    let maps = [
        "--map",
        "property_type=type",
        "--map",
        "surface_m2_max=surface_m2",
    ];
    let report = run(data, &[&matching[..], &maps].concat());
    assert_eq!(report["matched"], 1, "{report}");
    let addresses = file("addresses-utf16le.csv");
    let query = [
        "sql",
        "--file",
        &format!("t={addresses}"),
        "select * from t",
    ];
    let expected = json!([{"ref": 1, "adresse": "12 avenue Foch 48000 Mende"}]);
    assert_eq!(run(data, &query), expected);
    run(
        data,
        &["geocode", &addresses, "--columns", "adresse", "-o", &output],
    );
    let labels = column(&csv_rows(output.as_ref(), b'\t'), "result_label");
    assert_eq!(labels, ["12 Avenue Foch 48000 Mende"]);
}

#[test]
fn texts_of_r_and_pandas_for_missing_values_are_no_values() {
    // R writes NA and pandas nan for an empty cell: an import took them for a house number, a volume and five lots.
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path();
    assert_eq!(
        import_counts(data, "dvf", "17-na-texts/dvf-NA.csv"),
        [6, 0, 0]
    );
    let query = "select address, property_type from dvf order by address";
    let rows = run(data, &["sql", query]);
    let mut expected: Vec<Value> = ["1", "2", "4", "5", "6"]
        .iter()
        .map(|number| {
            let kind = if *number == "4" {
                "Autre"
            } else {
                "Appartement"
            };
            json!({"address": format!("{number} RUE DES LICES"), "property_type": kind})
        })
        .collect();
    expected.push(json!({"address": "RUE DES LICES", "property_type": "Appartement"}));
    assert_eq!(rows, Value::Array(expected));
    for name in [
        "dvf.csv",
        "dvf-nan.csv",
        "dvf-NULL.csv",
        "dvf-None.csv",
        "dvf-pandas-index.csv",
        "dvf-pandas-nan.csv",
        "dvf-pandas.ndjson",
        "dvf-pandas.parquet",
    ] {
        let counts = import_counts(data, "dvf", &format!("17-na-texts/{name}"));
        assert_eq!(counts, [0, 0, 6], "{name}");
    }
    import(data, "ban", "17-na-texts/ban-NA.csv");
    let query = "select number, suffix, name, former_city from ban order by number";
    let expected = json!([
        {"number": 1, "suffix": null, "name": "Rue du Test", "former_city": null},
        {"number": 3, "suffix": "bis", "name": "Rue du Test", "former_city": null},
    ]);
    assert_eq!(run(data, &["sql", query]), expected);
    let report = import(data, "dpe", "17-na-texts/dpe-NA.csv");
    assert_eq!(
        report["files"][0]["missing_texts"],
        json!({"na": 47}),
        "{report}"
    );
    let query = "select nom_residence, etiquette_dpe from dpe";
    let expected = json!([{"nom_residence": null, "etiquette_dpe": "F"}]);
    assert_eq!(run(data, &["sql", query]), expected);
}

#[test]
fn codes_of_a_file_stay_text_in_queries() {
    // Types guessed from the first rows took the zeros from codes, and 2A004 in line 1,201 ended the query.
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path();
    let file = |name: &str| {
        format!(
            "homes={}",
            case(&format!("24-sql-file-code-columns/{name}"))
        )
    };
    let ask = |name: &str, query: &str| run(data, &["sql", "--file", &file(name), query]);
    let rows = ask("homes-small.csv", "select * from homes");
    assert_eq!(
        rows[0],
        json!({"ref": 1, "insee": "01002", "cp": "01000", "parcelle": "01053000AB0001",
            "ident": "20240315000000000001", "prix": 100_001})
    );
    let query = "select count(*) as n from homes";
    assert_eq!(ask("homes.csv", query), json!([{"n": 1202}]));
    let query = "select insee from homes where insee like '2A%' limit 1";
    assert_eq!(ask("homes.csv", query), json!([{"insee": "2A004"}]));
    let sale = data.join("sale.csv");
    fs::write(
        &sale,
        "id_mutation,date_mutation,nature_mutation,valeur_fonciere,code_commune,nom_commune,code_departement,\
         id_parcelle,type_local,surface_reelle_bati,longitude,latitude\n\
         2024-1,2024-03-14,Vente,150000,01002,L'Abergement-de-Varey,01,01002000AB0001,Maison,90,5.4,46.0\n",
    )
    .unwrap();
    run(data, &["import", "dvf", sale.to_str().unwrap()]);
    let query = "select h.ref, d.price_eur from homes h join dvf d on d.insee_code = h.insee";
    let expected = json!([{"ref": 1, "price_eur": 150_000.0}]);
    assert_eq!(ask("homes-small.csv", query), expected);
    let query = "select * from homes";
    let expected = json!([
        {"réf": 1, "commune": "Sète", "prix": 210_000},
        {"réf": 2, "commune": "Bœuf", "prix": 1},
    ]);
    assert_eq!(ask("homes-accents.csv", query), expected);
    let rows = ask("homes-excel.csv", query);
    let first = json!({"ref": 1, "insee": "01053", "prix": 210_000.5, "surface": 65.5});
    assert_eq!((&rows[0], &rows[1]["insee"]), (&first, &json!("2A004")));
}

#[test]
fn portfolios_with_decimal_commas_are_valued_and_matched() {
    // `import` and `geocode` read 5,93, but `estimate` and `match` refused the same file.
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path();
    import(data, "dvf", "06-utf16-excel-text/dvf-utf16le.csv");
    let output = data.join("output.csv");
    let written = output.to_str().unwrap();
    let homes = case("31-estimate-excel-portfolio/match-excel.csv");
    let matching = ["match", "dvf", "--input", &homes, "--output", written];
    let maps = [
        "insee_code=insee",
        "price_eur=prix",
        "surface_m2_min=surface_min",
        "surface_m2_max=surface_max",
    ];
    let maps = maps.map(|map| ["--map", map]).concat();
    let report = run(data, &[&matching[..], &maps].concat());
    assert_eq!(report["matched"], 1, "{report}");
    assert_eq!(
        report["files"][0]["columns_unused"],
        json!(["réf"]),
        "{report}"
    );
    let rows = csv_rows(&output, b',');
    assert_eq!(column(&rows, "price_eur"), ["150000.0"]);
    assert_eq!(column(&rows, "confidence"), ["HIGH"]);
    run(data, &["synth", "--lake", "--dvf", "300", "--seed", "1"]);
    run(data, &["train"]);
    let values = ["dots", "excel-utf8bom", "excel-1252"].map(|form| {
        let homes = case(&format!("31-estimate-excel-portfolio/portfolio-{form}.csv"));
        let report = run(data, &["estimate", "--input", &homes, "--output", written]);
        assert_eq!(pick(&report, ["valued", "errors"]), json!([5, 0]));
        csv_rows(&output, b',')
    });
    assert!(
        column(&values[0], "price")
            .iter()
            .all(|price| price.len() >= 5)
    );
    assert_eq!(values[0], values[1]);
    assert_eq!(values[0], values[2]);
}
