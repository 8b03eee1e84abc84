//! Tests of what a recorded sale is (`docs/sales.md`): dispositions, order of rows, and one identifier in every form of the
//! register. Small literal files, and the sales of Toulon if `TOISE_REAL_DATA` names a folder.

use std::collections::BTreeSet;
use std::io::Read;
use std::path::Path;

use serde_json::Value;

use super::Dataset;
use super::collecting_sink::CollectingSink;
use super::import::{ImportInput, ImportOptions, import_files};
use super::report::ImportReport;
use super::skip::skipped;
use toise_lake::{ImportOutcome, Lake};

const GEO: &str = "id_mutation,date_mutation,numero_disposition,nature_mutation,valeur_fonciere,adresse_numero,\
    adresse_nom_voie,code_postal,code_commune,nom_commune,ancien_code_commune,id_parcelle,ancien_id_parcelle,\
    lot1_numero,lot1_surface_carrez,nombre_lots,code_type_local,surface_reelle_bati,nombre_pieces_principales,\
    code_nature_culture,surface_terrain,longitude,latitude";
const RAW: &str = "No disposition|Date mutation|Nature mutation|Valeur fonciere|No voie|Type de voie|Voie|Code postal|\
    Commune|Code departement|Code commune|Prefixe de section|Section|No plan|1er lot|Surface Carrez du 1er lot|\
    Nombre de lots|Code type local|Surface reelle bati|Nombre pieces principales|Nature culture|Surface terrain";

fn file_of(header: &str, rows: &[impl AsRef<str>]) -> String {
    let rows: Vec<&str> = rows.iter().map(AsRef::as_ref).collect();
    format!("{header}\n{}\n", rows.join("\n"))
}

fn geo(rows: &[impl AsRef<str>]) -> String {
    file_of(GEO, rows)
}

fn raw(rows: &[impl AsRef<str>]) -> String {
    file_of(RAW, rows)
}

fn read(text: &str) -> (Vec<Value>, ImportReport) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sales.csv");
    std::fs::write(&path, text).unwrap();
    let inputs = [ImportInput::local(path)];
    let (begin, options) = (|| Ok(CollectingSink::default()), ImportOptions::default());
    let mut report = ImportReport::default();
    let imported = import_files(Dataset::Dvf, &inputs, begin, &options, &mut report);
    let mut records = imported.unwrap().0.records();
    records.sort_by_key(|record| record["id"].to_string());
    (records, report)
}

/// Imports a file of sales into a lake. The folder gets the file.
fn imported(lake: &Lake, folder: &Path, text: &str) -> (ImportOutcome, ImportReport) {
    let path = folder.join("sales.csv");
    std::fs::write(&path, text).unwrap();
    let inputs = [ImportInput::local(path)];
    let begin = || lake.import(Dataset::Dvf.schema());
    let mut report = ImportReport::default();
    let options = ImportOptions::default();
    let read = import_files(Dataset::Dvf, &inputs, begin, &options, &mut report);
    let (table, sources) = read.unwrap();
    let sources = sources.into_iter().map(|one| one.source).collect();
    (table.publish(sources, Vec::new()).unwrap(), report)
}

/// Records added, replaced, unchanged and in the table, after each of several imports.
fn outcomes(texts: &[&str]) -> Vec<[u64; 4]> {
    let folder = tempfile::tempdir().unwrap();
    let lake = Lake::open(folder.path()).unwrap();
    let counts = texts.iter().map(|text| {
        let (outcome, _) = imported(&lake, folder.path(), text);
        [
            outcome.added,
            outcome.replaced,
            outcome.unchanged,
            outcome.total,
        ]
    });
    counts.collect()
}

fn ids(records: &[Value]) -> BTreeSet<String> {
    records
        .iter()
        .map(|record| record["id"].to_string())
        .collect()
}

/// Shuffles by a fixed generator.
fn shuffled<T: Clone>(items: &[T], seed: u64) -> Vec<T> {
    let (mut items, mut state) = (items.to_vec(), seed | 1);
    for last in (1..items.len()).rev() {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        items.swap(last, (state >> 33) as usize % (last + 1));
    }
    items
}

fn sold<'r>(records: &'r [Value], kind: &str) -> Vec<&'r Value> {
    let of_kind = records
        .iter()
        .filter(|record| record["property_type"] == kind);
    of_kind.collect()
}

#[test]
fn each_disposition_is_a_sale_at_its_own_price() {
    let rows = [
        "m1,2023-09-08,1,Vente,154000,2,RUE A,83000,83137,Toulon,,83137000DE0059,,,,0,1,67,4,,,,",
        "m1,2023-09-08,2,Vente,154000,39,RUE B,83000,83137,Toulon,,83137000DE0060,,,,0,1,48,3,,,,",
        "m2,2023-10-08,1,Vente,15000,11,RUE C,83000,83137,Toulon,,83137000CM0777,,44,,1,3,0,,,,,",
        "m2,2023-10-08,2,Vente,200000,11,RUE C,83000,83137,Toulon,,83137000CM0777,,3,,1,2,45,2,,,,",
    ];
    let (records, _) = read(&geo(&rows));
    let houses = sold(&records, "Maison");
    assert_eq!(houses.len(), 2);
    for house in houses {
        assert_eq!(house["price_eur"], 154_000);
        assert_eq!(house["mutation_share"], 1);
        assert_eq!(house["is_sold_together"], false);
        let surface = house["surface_m2"].as_f64().unwrap();
        let price = house["price_per_m2_living_eur"].as_f64().unwrap();
        assert!((price * surface - 154_000.0).abs() < 1.0);
    }
    let flat = sold(&records, "Appartement")[0];
    assert_eq!(
        (&flat["price_eur"], &flat["price_per_m2_living_eur"]),
        (&200_000.into(), &4444.44.into())
    );
    assert_eq!(sold(&records, "Dépendance")[0]["price_eur"], 15_000);
    for seed in 0..20 {
        assert_eq!(read(&geo(&shuffled(&rows, seed))).0, records, "{seed}");
    }
}

#[test]
fn raw_rows_give_the_same_sales_in_any_order() {
    let rows = [
        "000001|09/01/2024|Vente|251500,00|532|RTE|DE M|1310|POLLIAT|01|301||AH|260|||0|1|147|5|S|1501",
        "000001|09/01/2024|Vente|251500,00|532|RTE|DE M|1310|POLLIAT|01|301||AH|260|||0|3|0|0|S|1501",
        "000001|09/01/2024|Vente|174500,00|22|BD|MAL L|1000|BOURG-EN-BRESSE|01|53||AE|111|49|94,22|2|2|80|2||",
        "000001|09/01/2024|Vente|174500,00|22|BD|MAL L|1000|BOURG-EN-BRESSE|01|53||AE|111|36||1|3|0|0||",
        "000001|02/01/2024|Vente|157500,00|1389|RTE|DE S|1440|VIRIAT|01|451||ZO|157|||0|1|147|5|S|1501",
        // Day, price and commune of the flat, another section.
        "000001|09/01/2024|Vente|174500,00|3|RUE|X|1000|BOURG-EN-BRESSE|01|53||BC|7|2||1|2|60|3||",
        // Day and price of the flat, another commune.
        "000001|09/01/2024|Vente|174500,00|3|RUE|Y|1440|VIRIAT|01|451||ZO|9|||0|1|90|4|S|300",
    ];
    let (records, report) = read(&raw(&rows));
    assert_eq!(records.len(), 5);
    assert_eq!(report.unclear_sales.len(), 1, "{:?}", report.unclear_sales);
    let flats = sold(&records, "Appartement");
    let surfaces: BTreeSet<String> = flats
        .iter()
        .map(|flat| flat["surface_m2"].to_string())
        .collect();
    assert_eq!(surfaces, BTreeSet::from(["60".into(), "80".into()]));
    for seed in 0..50 {
        let (again, _) = read(&raw(&shuffled(&rows, seed)));
        assert_eq!(again, records, "{seed}");
    }
}

#[test]
fn a_raw_file_with_the_rows_of_one_commune_gets_a_note() {
    let row = |commune: u16, plan: u16| {
        format!(
            "1|09/01/2024|Vente|6500|||LE PRE|01310|POLLIAT|1|{commune}||AH|{plan}|||0||||P|800"
        )
    };
    let (_, report) = read(&raw(&[row(301, 1), row(301, 2)]));
    assert_eq!(report.notes.len(), 1, "{:?}", report.notes);
    for part in ["of the commune 01301", "--departments 01"] {
        assert!(report.notes[0].contains(part), "{:?}", report.notes);
    }
    let (_, report) = read(&raw(&[row(301, 1), row(53, 2)]));
    assert_eq!(report.notes, [""; 0]);
}

#[test]
fn land_in_several_sections_is_one_sale_and_two_dispositions_are_two() {
    let rows = [
        "1|09/01/2024|Vente|6500|||LE PRE|01310|POLLIAT|1|301||AH|1|||0||||P|800",
        "1|09/01/2024|Vente|6500|||LE BOIS|01310|POLLIAT|1|301||ZB|2|||0||||BT|1200",
        "2|09/01/2024|Vente|6500|||LE BOIS|01310|POLLIAT|1|301||ZB|3|||0||||BT|90",
    ];
    let (records, report) = read(&raw(&rows));
    let surfaces: BTreeSet<i64> = records
        .iter()
        .map(|one| one["land_surface_m2"].as_i64().unwrap())
        .collect();
    assert_eq!(surfaces, BTreeSet::from([90, 2_000]));
    assert_eq!(
        report
            .unclear_sales
            .values()
            .map(|one| one.count)
            .sum::<u64>(),
        1
    );
}

#[test]
fn a_sale_in_a_merged_commune_is_one_sale_before_and_after_the_merger() {
    let from_geo = geo(&[
        "2022-1,2022-05-10,000001,Vente,189000,4,AV DE LA PLAGE,85460,85001,L'Aiguillon-la-Presqu'île,85307,85001307AB0012,85307000AB0012,,,0,1,70,3,S,300,-1.33,46.33",
    ]);
    let before = raw(&[
        "000001|10/05/2022|Vente|189000,00|4|AV|DE LA PLAGE|85460|LA FAUTE-SUR-MER|85|307||AB|12|||0|1|70|3|S|300",
    ]);
    let after = raw(&[
        "000001|10/05/2022|Vente|189000,00|4|AV|DE LA PLAGE|85460|L'AIGUILLON-LA-PRESQU'ILE|85|1|307|AB|12|||0|1|70|3|S|300",
    ]);
    let (records, _) = read(&before);
    let record = &records[0];
    assert_eq!(
        (&record["insee_code"], &record["former_insee_code"]),
        (&"85001".into(), &"85307".into())
    );
    assert_eq!(record["city"], "L'Aiguillon-la-Presqu'île");
    assert_eq!(record["parcel_ids"][0], "85001307AB0012");
    assert_eq!(records, read(&after).0);
    assert_eq!(ids(&records), ids(&read(&from_geo).0));
    assert_eq!(
        outcomes(&[&from_geo, &before, &after]),
        [[1, 0, 0, 1], [0, 0, 1, 1], [0, 0, 1, 1]]
    );
    // geo-dvf has a position, which completes the sale.
    assert_eq!(
        outcomes(&[&before, &after, &from_geo]),
        [[1, 0, 0, 1], [0, 0, 1, 1], [0, 1, 0, 1]]
    );
    // The same parcel number in the former commune that kept its code is another parcel.
    let (other, _) = read(&before.replace("|307||AB", "|1||AB"));
    assert_ne!(ids(&other), ids(&records));
}

#[test]
fn saint_martin_has_one_code() {
    let row = |commune: &str, parcel: &str| {
        geo(&[format!(
            "1,2024-05-10,1,Vente,250000,4,RUE A,97150,{commune},Saint-Martin,,{parcel},,3,,1,2,40,2,,,-63.05,18.07"
        )])
    };
    let (records, _) = read(&row("97127", "97127000AB0012"));
    assert_eq!(records[0]["insee_code"], "97801");
    assert_eq!(records[0]["departement_code"], "971");
    let (later, _) = read(&row("97801", "97801000AB0012"));
    assert_eq!(ids(&later), ids(&records));
}

#[test]
fn values_in_single_precision_and_other_numbers_change_nothing() {
    let prices = ["174500.55", "1234567.89", "397000", "110549713"];
    let singles = ["174500.546875", "1234567.875", "397000.0", "110549712.0"];
    let row = |number: usize, lot: usize, price: &str, carrez: &str| {
        format!(
            "2024-{number},2024-03-14,000001,Vente,{price},11,RUE A,83000,83137,Toulon,,83137000CM0123,,{lot},{carrez},1,2,45,2,,,5.93,43.125"
        )
    };
    let rows = |prices: [&str; 4], first: usize, carrez: &str| {
        let rows = prices.iter().enumerate();
        let rows: Vec<String> = rows
            .map(|(lot, price)| row(first + lot, lot + 1, price, carrez))
            .collect();
        geo(&rows)
    };
    let edition = rows(prices, 1, "75.83");
    let single = rows(singles, 1, "75.83000183105469").replace(",5.93,", ",5.929999828338623,");
    let renumbered = rows(prices, 900, "75.83");
    let unchanged = [0, 0, 4, 4];
    assert_eq!(
        outcomes(&[&edition, &single, &renumbered]),
        [[4, 0, 0, 4], unchanged, unchanged]
    );
    // R writes the numbers of a factor's levels.
    let coded = edition.replace(",Vente,", ",4,");
    assert_eq!(outcomes(&[&edition, &coded]), [[4, 0, 0, 4], unchanged]);
}

#[test]
fn repeated_lines_are_counted_and_change_nothing() {
    let row = "000001|09/01/2024|Vente|174500,00|22|BD|MAL L|1000|BOURG|01|53||AE|111|49|94,22|2|2|80|2||";
    let other =
        "000001|09/01/2024|Vente|99000,00|22|BD|MAL L|1000|BOURG|01|53||AE|111|50|20,22|2|2|20|1||";
    let (_, report) = read(&raw(&[row, other, row, row]));
    assert_eq!((report.rows_repeated, report.records), (2, 2));
    assert!(report.to_text().contains("rows repeated"));
    let twice = raw(&[row, other, row, row]);
    assert_eq!(
        outcomes(&[&raw(&[row, other]), &twice]),
        [[2, 0, 0, 2], [0, 0, 2, 2]]
    );
}

#[test]
fn examples_of_unclear_sales_show_the_price_where_no_parcel_is_known() {
    let row = "m1,2023-01-05,1,Vente,310000,4,RUE B,83200,83137,Toulon,,83137000CY0617,,,,0,1,90,4,S,300,5.9,43.1";
    let without_parcel = row.replace("83137000CY0617", "");
    for (row, column, value) in [
        (row, "id_parcelle", "83137000CY0617"),
        (without_parcel.as_str(), "valeur_fonciere", "310000"),
    ] {
        let (_, report) = read(&geo(&[row, row]));
        let examples = report.unclear_sales.values().flat_map(|one| &one.examples);
        let shown: Vec<(&str, &str)> = examples
            .map(|one| (one.column.as_str(), one.value.as_str()))
            .collect();
        assert_eq!(shown, [(column, value)]);
    }
}

#[test]
fn a_sale_made_from_fewer_rows_never_replaces_the_complete_one() {
    let house = "m1,2023-01-05,1,Vente,310000,4,RUE B,83200,83137,Toulon,,83137000CY0617,,,,0,1,90,4,S,300,5.9,43.1";
    let shop = house.replace(",0,1,90,4,", ",0,4,60,0,");
    // Alone, the house has a price per square metre, which is one value more.
    let (complete, filtered) = (geo(&[house, shop.as_str()]), geo(&[house]));
    let (added, replaced, unchanged) = ([1, 0, 0, 1], [0, 1, 0, 1], [0, 0, 1, 1]);
    assert_eq!(outcomes(&[&complete, &filtered]), [added, unchanged]);
    assert_eq!(
        outcomes(&[&filtered, &complete, &filtered]),
        [added, replaced, unchanged]
    );
    let renumbered = house.replace("m1,", "m2,");
    for both in [
        geo(&[house, shop.as_str(), renumbered.as_str()]),
        geo(&[renumbered.as_str(), house, shop.as_str()]),
    ] {
        assert_eq!(outcomes(&[&both, &complete]), [added, unchanged]);
    }
    // More rows do not replace values that they lack.
    let without_position = house.replace(",5.9,43.1", ",,");
    let repeated = geo(&[&without_position, &without_position]);
    assert_eq!(outcomes(&[&filtered, &repeated]), [added, unchanged]);
}

#[test]
fn a_file_without_some_rows_of_stored_sales_gets_a_note() {
    let rows = [
        "m1,2023-01-05,1,Vente,208000,30,RUE A,83200,83137,Toulon,,83137000CY0616,,152,,1,3,0,,,,5.9,43.1",
        "m1,2023-01-05,1,Vente,208000,30,RUE A,83200,83137,Toulon,,83137000CY0616,,404,78.46,1,2,81,4,,,5.9,43.1",
        "m2,2023-01-06,1,Vente,310000,4,RUE B,83200,83137,Toulon,,83137000CY0617,,,,0,1,90,4,S,300,5.9,43.1",
        "m2,2023-01-06,1,Vente,310000,4,RUE B,83200,83137,Toulon,,83137000CY0617,,,,0,1,90,4,S,150,5.9,43.1",
    ];
    let complete = geo(&rows);
    let folder = tempfile::tempdir().unwrap();
    let lake = Lake::open(folder.path()).unwrap();
    let import = |text: &str| imported(&lake, folder.path(), text).1.notes;
    let renumbered = complete.replace("m1,", "n1,").replace("m2,", "n2,");
    for text in [&complete, &complete, &renumbered] {
        assert_eq!(import(text), [""; 0]);
    }
    let notes = import(&geo(&rows[1..3]));
    assert_eq!(notes.len(), 1);
    assert!(notes[0].contains("twice: 1 (mutations m1)"), "{notes:?}");
    assert!(notes[0].contains("fewer rows than stored: 1"), "{notes:?}");
    assert!(notes[0].contains("--edition"), "{notes:?}");
}

#[test]
fn a_file_without_the_repeated_rows_of_stored_sales_gets_no_note() {
    let house = "m1,2023-01-05,1,Vente,310000,4,RUE B,83200,83137,Toulon,,83137000CY0617,,,,0,1,90,4,S,300,5.9,43.1";
    let folder = tempfile::tempdir().unwrap();
    let lake = Lake::open(folder.path()).unwrap();
    for rows in [&[house, house][..], &[house]] {
        let (_, report) = imported(&lake, folder.path(), &geo(rows));
        assert_eq!(report.notes, [""; 0]);
    }
}

/// Rows of a geo-dvf file, by column.
struct GeoRows {
    names: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl GeoRows {
    fn open(path: &Path) -> Self {
        let mut text = String::new();
        let file = std::fs::File::open(path).unwrap();
        flate2::read::GzDecoder::new(file)
            .read_to_string(&mut text)
            .unwrap();
        let mut rows = csv::Reader::from_reader(text.as_bytes());
        let names = rows.headers().unwrap().iter().map(str::to_owned).collect();
        let cells = |row: csv::StringRecord| row.iter().map(str::to_owned).collect();
        let rows = rows.records().map(|row| cells(row.unwrap())).collect();
        Self { names, rows }
    }

    fn at(&self, name: &str) -> usize {
        self.names.iter().position(|known| known == name).unwrap()
    }

    fn text(&self) -> String {
        let mut out = csv::Writer::from_writer(Vec::new());
        out.write_record(&self.names).unwrap();
        self.rows
            .iter()
            .for_each(|row| out.write_record(row).unwrap());
        String::from_utf8(out.into_inner().unwrap()).unwrap()
    }

    /// The rows as the tax office publishes them.
    fn raw(&self) -> String {
        let lots = ["1er", "2eme", "3eme", "4eme", "5eme"];
        let mut header = "No disposition|Date mutation|Nature mutation|Valeur fonciere|No voie|B/T/Q|Type de voie|Voie|\
            Code postal|Commune|Code departement|Code commune|Prefixe de section|Section|No plan|No Volume"
            .to_owned();
        for lot in lots {
            header.push_str(&format!("|{lot} lot|Surface Carrez du {lot} lot"));
        }
        header.push_str(
            "|Nombre de lots|Code type local|Type local|Surface reelle bati|Nombre pieces principales|Nature culture|\
             Nature culture speciale|Surface terrain",
        );
        let rows: Vec<String> = self.rows.iter().map(|row| self.raw_row(row)).collect();
        file_of(&header, &rows)
    }

    fn raw_row(&self, row: &[String]) -> String {
        let cell = |name: &str| row[self.at(name)].as_str();
        let comma = |name: &str| cell(name).replace('.', ",");
        let date: Vec<&str> = cell("date_mutation").split('-').collect();
        let street = cell("adresse_nom_voie");
        let (kind, street) = street.split_once(' ').unwrap_or(("", street));
        let parcel = cell("id_parcelle");
        let mut cells: Vec<String> = vec![
            cell("numero_disposition").into(),
            format!("{}/{}/{}", date[2], date[1], date[0]),
            cell("nature_mutation").into(),
            comma("valeur_fonciere"),
            cell("adresse_numero").into(),
            cell("adresse_suffixe").into(),
            kind.into(),
            street.into(),
            cell("code_postal").into(),
            cell("nom_commune").to_uppercase(),
            parcel[..2].into(),
            parcel[2..5].trim_start_matches('0').into(),
            parcel[5..8].replace("000", ""),
            parcel[8..10].trim_start_matches('0').into(),
            parcel[10..].trim_start_matches('0').into(),
            cell("numero_volume").into(),
        ];
        for lot in 1..=5 {
            cells.push(cell(&format!("lot{lot}_numero")).into());
            cells.push(comma(&format!("lot{lot}_surface_carrez")));
        }
        for name in [
            "nombre_lots",
            "code_type_local",
            "type_local",
            "surface_reelle_bati",
            "nombre_pieces_principales",
            "code_nature_culture",
            "code_nature_culture_speciale",
            "surface_terrain",
        ] {
            cells.push(cell(name).into());
        }
        cells.join("|")
    }

    fn map(&self, name: &str, change: impl Fn(&str) -> String) -> Self {
        let at = self.at(name);
        let mut rows = self.rows.clone();
        rows.iter_mut().for_each(|row| row[at] = change(&row[at]));
        Self {
            names: self.names.clone(),
            rows,
        }
    }

    /// The rows as the editions since 2026 number them: by day and price.
    fn numbered_by_day_and_price(&self) -> Self {
        let (day, price) = (self.at("date_mutation"), self.at("valeur_fonciere"));
        let key = |row: &[String]| {
            (
                row[day].clone(),
                row[price].parse::<f64>().unwrap_or(f64::MAX).to_bits(),
            )
        };
        let mut rows = shuffled(&self.rows, 5);
        rows.sort_by_key(|row| key(row));
        let (mut number, mut last) = (0, None);
        let at = self.at("id_mutation");
        for row in &mut rows {
            let key = key(row);
            if last.as_ref() != Some(&key) {
                number += 1;
                last = Some(key);
            }
            row[at] = format!("2023-{number}");
        }
        Self {
            names: self.names.clone(),
            rows,
        }
    }
}

#[test]
fn sorted_raw_rows_are_grouped_by_their_values() {
    // 500 flats have the day, price and section of another one; sorting puts those next to each other.
    let lines: Vec<String> = (1..=1_500)
        .map(|flat| {
            let sale = flat % 1_000;
            let day = format!("{:02}/{:02}/2023", sale * 11 % 28 + 1, sale * 5 % 12 + 1);
            let price = 50_000 + sale * 37 % 1_000 * 1_250;
            format!(
                "000001|{day}|Vente|{price},00|4|RUE|A|83000|TOULON|83|137||AB|{flat}|1||1|2|45|2||"
            )
        })
        .collect();
    let lines = shuffled(&lines, 11);
    let sorted = |key: &dyn Fn(&str) -> String| {
        let mut lines = lines.clone();
        lines.sort_by_cached_key(|line| key(line));
        lines
    };
    let cell = |line: &str, at: usize| line.split('|').nth(at).unwrap().to_owned();
    let day = |line: &str| {
        let day = cell(line, 1);
        format!("{}{}", &day[3..5], &day[..2])
    };
    let price = |line: &str| cell(line, 3);
    let mut by_day_falling = sorted(&day);
    by_day_falling.reverse();
    let grouped = |lines: &[String]| {
        let (records, report) = read(&raw(lines));
        let unclear: u64 = report.unclear_sales.values().map(|one| one.count).sum();
        (ids(&records), unclear)
    };
    let in_any_order = grouped(&lines);
    assert_eq!((in_any_order.0.len(), in_any_order.1), (1_000, 500));
    for (order, lines) in [
        ("price as text", sorted(&price)),
        ("price", sorted(&|line| format!("{:0>12}", price(line)))),
        ("day", sorted(&day)),
        ("day, falling", by_day_falling),
        ("day as text", sorted(&|line| cell(line, 1))),
        (
            "day, then price as text",
            sorted(&|line| day(line) + &price(line)),
        ),
        ("line", sorted(&str::to_owned)),
    ] {
        assert_eq!(grouped(&lines), in_any_order, "{order}");
    }
}

#[test]
fn rows_in_different_sections_and_streets_are_one_sale_if_the_file_was_sorted() {
    // A house and a field in another section, at one price.
    let sales: Vec<[String; 2]> = (1..=600)
        .map(|sale| {
            let day = format!("{:02}/{:02}/2023", sale * 11 % 28 + 1, sale * 5 % 12 + 1);
            let price = 100_000 + sale * 37 % 600 * 500;
            let start = format!("000001|{day}|Vente|{price},00");
            let section = ["AB", "AC", "BD", "BE", "CH", "CI", "CK"][sale % 7];
            let (built, soil, field) = (60 + sale * 7 % 90, 300 + sale * 3 % 50, 1_200 + sale % 70);
            [
                format!(
                    "{start}|4|RUE|R{sale:04}|83000|TOULON|83|137||{section}|{sale}|||0|1|{built}|4|S|{soil}"
                ),
                format!("{start}|||LE PRE {sale:04}|83000|TOULON|83|137||ZC|{}|||0||||BT|{field}", sale + 600),
            ]
        })
        .collect();
    let lines: Vec<String> = shuffled(&sales, 11).into_iter().flatten().collect();
    let grouped = |lines: &[String]| {
        let (records, report) = read(&raw(lines));
        let unclear: u64 = report.unclear_sales.values().map(|one| one.count).sum();
        (ids(&records), unclear)
    };
    let (known, unclear) = grouped(&lines);
    assert_eq!((known.len(), unclear), (600, 0));
    for (column, at) in [
        ("Voie", 6),
        ("Section", 12),
        ("No plan", 13),
        ("Surface reelle bati", 18),
        ("Surface terrain", 21),
    ] {
        let mut lines = lines.clone();
        lines.sort_by_cached_key(|line| line.split('|').nth(at).unwrap().to_owned());
        assert_eq!(grouped(&lines), (known.clone(), 600), "{column}");
    }
}

#[test]
fn a_file_with_one_row_per_home_gets_a_note_with_the_share_of_sales_that_lack_rows() {
    let home = |sale: usize, kind: u8| {
        format!(
            "m{sale},2023-01-05,1,Vente,{},30,RUE A,83200,83137,Toulon,,83137000CY{sale:04},,1,,1,{kind},45,2,,,5.9,43.1",
            100_000 + sale
        )
    };
    let cellar = |sale: usize| home(sale, 3).replace(",45,2,", ",0,0,");
    let flats = |homes: usize| (0..homes).map(|sale| home(sale, 2)).collect::<Vec<_>>();
    let notes = |rows: &[String]| read(&geo(rows)).1.notes;
    assert_eq!(notes(&flats(199)), [""; 0]);
    let found = notes(&flats(200));
    assert_eq!(found.len(), 1, "{found:?}");
    for part in [
        "of 200 sales of flats and houses, 200 have a single row (100 %; about 26 % in complete files)",
        "other rows of about 74 % of these sales seem to be missing",
    ] {
        assert!(found[0].contains(part), "{found:?}");
    }
    // (150 × 26 % + 50 × 45 %) / 200 = 30.75 %
    let houses = (200..250).map(|sale| home(sale, 1));
    let mixed: Vec<String> = flats(150).into_iter().chain(houses).collect();
    let found = notes(&mixed);
    assert!(found[0].contains("about 69 % of these sales"), "{found:?}");
    let sold = |sale| {
        [home(sale, 2), cellar(sale)]
            .into_iter()
            .take(if sale < 150 { 2 } else { 1 })
    };
    let complete: Vec<String> = (0..200).flat_map(sold).collect();
    assert_eq!(notes(&complete), [""; 0]);
}

#[test]
fn the_sales_of_toulon_have_one_set_of_identifiers_in_every_form() {
    let Some(root) = std::env::var_os("TOISE_REAL_DATA") else {
        skipped("TOISE_REAL_DATA is not set");
        return;
    };
    let rows = GeoRows::open(&Path::new(&root).join("dvf/geodvf_toulon_2023.csv.gz"));
    let published = rows.text();
    let (records, _) = read(&published);
    let known = ids(&records);
    assert_eq!(known.len(), records.len());
    let single = |cell: &str| {
        cell.parse::<f32>()
            .map_or(String::new(), |price| format!("{:?}", f64::from(price)))
    };
    let in_any_order = GeoRows {
        names: rows.names.clone(),
        rows: shuffled(&rows.rows, 7),
    };
    // R and pandas write the numbers of a column with gaps in this way.
    let comma = |cell: &str| {
        let is_number = !cell.is_empty() && cell.bytes().all(|byte| byte.is_ascii_digit());
        if is_number {
            format!("{cell},0")
        } else {
            cell.to_owned()
        }
    };
    let columns = [
        "adresse_numero",
        "lot1_numero",
        "lot2_numero",
        "code_type_local",
        "nombre_lots",
    ];
    let with_commas = columns
        .iter()
        .fold(rows.map("surface_terrain", comma), |rows, name| {
            rows.map(name, comma)
        });
    for (form, text) in [
        ("float32", rows.map("valeur_fonciere", single).text()),
        (
            "renumbered",
            rows.map("id_mutation", |id| format!("x{}", id.len()) + id)
                .text(),
        ),
        ("shuffled", in_any_order.text()),
        ("decimal commas", with_commas.text()),
    ] {
        assert_eq!(read(&text).0.len(), records.len(), "{form}");
        assert_eq!(ids(&read(&text).0), known, "{form}");
        let unchanged = [0, 0, records.len() as u64, records.len() as u64];
        assert_eq!(outcomes(&[&published, &text])[1], unchanged, "{form}");
    }
    let raw_in_any_order = in_any_order.raw();
    let (header, lines) = raw_in_any_order.split_once('\n').unwrap();
    let mut lines: Vec<&str> = lines.lines().collect();
    lines.sort_unstable();
    let raw_by_line = file_of(header, &lines);
    let sorted_by = |name: &str| {
        let at = rows.at(name);
        let mut sorted = rows.rows.clone();
        sorted.sort_by(|one, other| one[at].cmp(&other[at]));
        let names = rows.names.clone();
        GeoRows {
            names,
            rows: sorted,
        }
        .raw()
    };
    // Without numbers, only the order of rows separates sales. Without numbers and order, sales with equal values cannot
    // be separated.
    for (form, text, missing_max) in [
        ("raw", rows.raw(), 10),
        ("raw shuffled", raw_in_any_order, 40),
        ("raw sorted by line", raw_by_line, 40),
        ("raw sorted by street", sorted_by("adresse_nom_voie"), 40),
        ("raw sorted by parcel", sorted_by("id_parcelle"), 40),
        (
            "raw sorted by surface",
            sorted_by("surface_reelle_bati"),
            40,
        ),
        (
            "by day and price",
            rows.numbered_by_day_and_price().text(),
            40,
        ),
    ] {
        let (again, report) = read(&text);
        let missing = known.difference(&ids(&again)).count();
        let further = ids(&again).difference(&known).count();
        let unclear: u64 = report.unclear_sales.values().map(|tally| tally.count).sum();
        println!(
            "{form}: {missing} of {} sales missing, {further} others, {unclear} unclear",
            known.len()
        );
        println!("{}", report.to_text());
        assert!(missing <= missing_max, "{form}: {missing}");
        assert!(
            missing as u64 <= 2 * unclear,
            "{form}: {missing} missing, {unclear} reported"
        );
    }
}
