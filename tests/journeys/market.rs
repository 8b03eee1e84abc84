//! `toise market` over synthetic sales: sales that count, withheld figures, and units sold together.

use std::io::BufReader;

use serde_json::{Value, json};

use crate::support::areas::{self, Judge};
use crate::support::assertions::{assert_has, assert_refused, pick};
use crate::support::draw::Draw;
use crate::support::process::{errors, run, toise, try_run};

const HEADER: &str = "id_mutation,date_mutation,nature_mutation,valeur_fonciere,code_postal,code_commune,nom_commune,\
    code_departement,id_parcelle,type_local,surface_reelle_bati,nombre_pieces_principales,longitude,latitude\n";

/// Sales of Mende: eight flats of 50 m2 alone, two flats of one mutation, a flat with a house, a gift of a price.
fn sales() -> String {
    let mut text = HEADER.to_owned();
    let mut row = |id: &str, date: &str, price: u32, parcel: u32, kind: &str, surface: u32| {
        text += &format!(
            "{id},{date},Vente,{price},48000,48095,Mende,48,48095000AB{parcel:04},{kind},{surface},2,3.4989,44.5181\n"
        );
    };
    for nth in 0..8 {
        let date = if nth < 5 { "2023-02-10" } else { "2023-05-10" };
        let id = format!("2023-{nth}");
        row(&id, date, 100_000 + 10_000 * nth, nth, "Appartement", 50);
    }
    row("2023-100", "2023-03-10", 300_000, 100, "Appartement", 50);
    row("2023-100", "2023-03-10", 300_000, 101, "Appartement", 50);
    row("2023-101", "2023-03-11", 400_000, 102, "Appartement", 60);
    row("2023-101", "2023-03-11", 400_000, 103, "Maison", 140);
    row("2023-102", "2023-03-12", 1_000, 104, "Appartement", 50);
    text
}

#[test]
fn sales_are_counted_once_and_small_samples_withheld() {
    let folder = tempfile::tempdir().unwrap();
    let (data, file) = (folder.path().join("data"), folder.path().join("mende.csv"));
    std::fs::write(&file, sales()).unwrap();
    run(&data, &["import", "dvf", file.to_str().unwrap()]);
    let market = |more: &[&str]| -> Vec<Value> {
        let rows = run(&data, &[&["market"], more].concat());
        rows.as_array().unwrap().clone()
    };
    let rows = market(&["--level", "commune"]);
    let [flats, houses] = rows.as_slice() else {
        panic!("{rows:?}")
    };
    assert_eq!(
        pick(flats, ["place", "name", "type"]),
        json!(["48095", "Mende", "CLASS_FLAT"])
    );
    // Eleven mutations sold flats; eight have the price of a single flat, 2,000 to 3,400 EUR/m2.
    assert_eq!(pick(flats, ["sales", "priced_sales"]), json!([11, 8]));
    let quartiles =
        ["q1", "median", "q3"].map(|part| flats[format!("price_per_m2_{part}")].clone());
    assert_eq!(quartiles, [json!(2350.0), json!(2700.0), json!(3050.0)]);
    assert_eq!(pick(houses, ["sales", "priced_sales"]), json!([1, 0]));
    assert_eq!(houses["price_per_m2_median"], Value::Null);
    // The house takes 140 of 200 m2 of its mutation; all mutations together cost 1,781,000 EUR.
    assert_eq!(houses["volume_eur"], 280_000.0);
    assert_eq!(flats["volume_eur"], 1_781_000.0 - 280_000.0);

    // The second quarter has three sales: too few for a median.
    let quarters = market(&["--level", "department", "--type", "flat", "--by", "quarter"]);
    let shown: Vec<_> = quarters
        .iter()
        .map(|row| {
            (
                row["period"].as_str().unwrap(),
                row["priced_sales"].clone(),
                row["price_per_m2_median"].clone(),
            )
        })
        .collect();
    assert_eq!(
        shown,
        [
            ("2023-Q1", json!(5), json!(2400.0)),
            ("2023-Q2", json!(3), Value::Null),
        ]
    );
    let may = market(&[
        "--level", "department", "--from", "2023-05-01", "--to", "2023-05-31",
    ]);
    assert_eq!((may.len(), &may[0]["sales"]), (1, &json!(3)));
    let cell = market(&[
        "--level",
        "cell",
        "--around",
        "44.5181,3.4989,500",
        "--type",
        "flat",
    ]);
    assert_eq!(cell[0]["place"], "CRS2154RES1000mN6380000E739000");
    assert!(market(&["--level", "cell", "--around", "45,3,500"]).is_empty());

    // Files hold the same rows.
    let written = folder.path().join("mende.parquet");
    run(
        &data,
        &[
            "market",
            "--level",
            "commune",
            "--output",
            written.to_str().unwrap(),
        ],
    );
    let table = format!("report={}", written.display());
    let query = "select sum(sales) as sales, max(price_per_m2_q3) as q3 from report";
    let summed = run(&data, &["sql", "--file", &table, query]);
    assert_eq!(summed, json!([{"sales": 12, "q3": 3050.0}]));

    // A plot is an SVG with a line for the flats; it needs periods.
    let plot = folder.path().join("mende.svg");
    let plot = plot.to_str().unwrap();
    market(&["--level", "commune", "--by", "quarter", "--plot", plot]);
    let drawn = std::fs::read_to_string(plot).unwrap();
    assert!(
        drawn.contains("<circle") && drawn.contains("Mende, flats"),
        "{drawn}"
    );
    let image = folder.path().join("mende.png");
    let image = image.to_str().unwrap();
    market(&["--level", "commune", "--by", "quarter", "--plot", image]);
    let decoder = png::Decoder::new(BufReader::new(std::fs::File::open(image).unwrap()));
    let mut reader = decoder.read_info().unwrap();
    let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
    reader.next_frame(&mut pixels).unwrap();
    // The letters of its title are black, the line of the flats is coloured.
    let dark = |pixel: &&[u8]| pixel.iter().all(|part| *part < 64);
    let coloured = |pixel: &&[u8]| pixel[0].abs_diff(pixel[2]) > 64;
    assert!(pixels.chunks(3).filter(dark).count() > 200);
    assert!(pixels.chunks(3).filter(coloured).count() > 20);
    let whole = toise(&data, &["market", "--level", "commune", "--plot", plot]).output();
    assert!(!whole.unwrap().status.success());

    let arguments = ["market", "--level", "iris", "--department", "99"];
    let refused = try_run(&data, &arguments);
    assert_refused(&refused, "departments[0]");
}

#[test]
fn the_table_of_sql_is_the_report() {
    let folder = tempfile::tempdir().unwrap();
    let (data, file) = (folder.path().join("data"), folder.path().join("mende.csv"));
    std::fs::write(&file, sales()).unwrap();
    run(&data, &["import", "dvf", file.to_str().unwrap()]);
    let sql = |query: &str| run(&data, &["sql", query]);
    for level in ["department", "commune", "iris", "cell"] {
        for period_type in ["all", "month", "quarter"] {
            let by: &[&str] = match period_type {
                "all" => &[],
                _ => &["--by", period_type],
            };
            let report = run(&data, &[&["market", "--level", level], by].concat());
            let query = format!(
                "select * from market where level = '{level}' and period_type in ('{period_type}') \
                 order by place, type, period"
            );
            let mut table = sql(&query);
            for row in table.as_array_mut().unwrap() {
                let row = row.as_object_mut().unwrap();
                let department = row.remove("department").unwrap_or_default();
                assert_eq!(department.is_null(), level == "cell");
                assert_eq!(row.remove("level"), Some(json!(level)));
                assert_eq!(row.remove("period_type"), Some(json!(period_type)));
            }
            assert_eq!(table, report, "{level} {period_type}");
        }
    }
    // Conditions that cannot become a filter still apply, and impossible ones select nothing.
    let counted = |condition: &str| {
        let query = format!("select count(*) as rows from market where {condition}");
        sql(&query)[0]["rows"].as_u64().unwrap()
    };
    let everything = counted("true");
    assert_eq!(
        counted("level like 'comm%'") + counted("level not in ('commune')"),
        everything
    );
    assert_eq!(
        counted("type = 'CLASS_FLAT'") + counted("'CLASS_HOUSE' = type"),
        everything
    );
    assert_eq!(counted("department = '48' or level = 'cell'"), everything);
    assert_eq!(counted("department = '75'"), 0);
    assert_eq!(counted("level = 'commune' and level = 'iris'"), 0);
    assert!(counted("level = 'commune' and place in ('48095', '75101')") > 0);
    assert_eq!(counted("level = 'commune' and place = '75101'"), 0);
}

#[test]
fn the_area_of_a_file_bounds_the_sales() {
    let folder = tempfile::tempdir().unwrap();
    let (data, file) = (folder.path().join("data"), folder.path().join("mende.csv"));
    std::fs::write(&file, sales()).unwrap();
    run(&data, &["import", "dvf", file.to_str().unwrap()]);
    let area = folder.path().join("area.geojson");
    let rows = |geojson: Value| {
        std::fs::write(&area, geojson.to_string()).unwrap();
        let area = area.to_str().unwrap();
        run(&data, &["market", "--level", "commune", "--area", area])
    };
    let square = |lat: f64, lon: f64| {
        let corners = [(0.0, 0.0), (0.0, 0.1), (0.1, 0.1), (0.1, 0.0), (0.0, 0.0)];
        let ring = corners.map(|(north, east)| [lon + east, lat + north]);
        json!({"type": "Polygon", "coordinates": [ring]})
    };
    let everywhere = run(&data, &["market", "--level", "commune"]);
    assert_eq!(rows(square(44.5, 3.4)), everywhere);
    let feature = json!({"type": "Feature", "properties": {}, "geometry": square(44.5, 3.4)});
    let collection = json!({"type": "FeatureCollection", "features": [feature]});
    assert_eq!(rows(feature.clone()), everywhere);
    assert_eq!(rows(collection), everywhere);
    assert_eq!(rows(square(45.5, 3.4)), json!([]));

    let two = json!({"type": "FeatureCollection", "features": [feature, feature]});
    std::fs::write(&area, two.to_string()).unwrap();
    let arguments = [
        "market",
        "--level",
        "commune",
        "--area",
        area.to_str().unwrap(),
    ];
    let refused = try_run(&data, &arguments);
    assert_has(&errors(&refused), "has 2 features; one is expected");
}

#[test]
fn a_drawn_area_counts_the_sales_that_geo_counts() {
    let folder = tempfile::tempdir().unwrap();
    let (data, file) = (folder.path().join("data"), folder.path().join("mende.csv"));
    let mut draw = Draw::new(75);
    let places: Vec<(f64, f64)> = (0..150)
        .map(|_| {
            let mut around = |middle: usize| (middle + draw.below(40)) as f64 / 1_000.0;
            (around(44_498), around(3_479))
        })
        .collect();
    let mut text = HEADER.to_owned();
    for (nth, (lat, lon)) in places.iter().enumerate() {
        text += &format!(
            "2023-{nth},2023-02-10,Vente,100000,48000,48095,Mende,48,48095000AB{nth:04},Appartement,50,2,{lon},{lat}\n"
        );
    }
    std::fs::write(&file, text).unwrap();
    run(&data, &["import", "dvf", file.to_str().unwrap()]);
    let path = folder.path().join("area.geojson");
    let mut counted = 0;
    for _ in 0..10 {
        let (lat, lon) = *draw.one_of(&places);
        let area = areas::area(&mut draw, lat, lon, 0.02);
        std::fs::write(&path, area.to_string()).unwrap();
        let path = path.to_str().unwrap();
        let rows = run(&data, &["market", "--level", "commune", "--area", path]);
        let sales = rows.as_array().unwrap().iter();
        let sales: u64 = sales.map(|row| row["sales"].as_u64().unwrap()).sum();
        let judge = Judge::new(&area);
        let within = places
            .iter()
            .filter(|(lat, lon)| judge.contains(*lat, *lon));
        let within = within.count();
        assert_eq!(sales as usize, within, "{area}");
        counted += within;
    }
    assert!((50..10 * places.len() / 2).contains(&counted), "{counted}");
}
