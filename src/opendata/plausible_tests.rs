//! Tests that real positions of sales, diagnostics and addresses are never refused, if `TOISE_REAL_DATA` names a
//! folder.

use std::io::Read;
use std::path::{Path, PathBuf};

use arrow::array::{AsArray, RecordBatch};
use arrow::datatypes::Float64Type;

use super::import::{ImportInput, ImportOptions, import_file};
use super::report::ImportReport;
use super::skip::skipped;
use super::{Dataset, ImportTable};
use toise_geo::plausible::{PositionFault, check_position};
use toise_lake::{self as lake, RowSink};

/// A sink that collects positions, latitude and longitude.
#[derive(Default)]
struct Positions(Vec<(f64, f64)>);

impl RowSink for Positions {
    fn push(&mut self, batch: RecordBatch) -> Result<(), lake::Error> {
        let column = |name| {
            let column = batch.column_by_name(name).unwrap();
            column.as_primitive::<Float64Type>().clone()
        };
        let (lats, lons) = (column("lat"), column("lon"));
        let positions = lats.iter().zip(&lons);
        self.0
            .extend(positions.filter_map(|(lat, lon)| lat.zip(lon)));
        Ok(())
    }
}

fn imported(table: ImportTable, path: PathBuf) -> Vec<(f64, f64)> {
    let mut positions = Positions::default();
    let options = ImportOptions::default();
    let mut report = ImportReport::default();
    let input = ImportInput::local(path);
    import_file(table, &input, &mut positions, &options, &mut report).unwrap();
    positions.0
}

/// Reads the positions of addresses in the format of BANO: the last two columns of rows without a header.
fn bano(path: &Path) -> Vec<(f64, f64)> {
    let mut text = String::new();
    let file = std::fs::File::open(path).unwrap();
    let mut gzip = flate2::read::GzDecoder::new(file);
    gzip.read_to_string(&mut text).unwrap();
    let positions = text.lines().filter_map(|line| {
        let mut cells = line.rsplit(',');
        let lon = cells.next()?.trim().parse().ok()?;
        Some((cells.next()?.trim().parse().ok()?, lon))
    });
    positions.collect()
}

#[test]
fn real_positions_are_in_france_and_swapped_ones_are_noticed() {
    let Some(root) = std::env::var_os("TOISE_REAL_DATA").map(PathBuf::from) else {
        skipped("TOISE_REAL_DATA is not set");
        return;
    };
    let mut positions = Vec::new();
    for (table, file) in [
        (
            ImportTable::from(Dataset::Dvf),
            "dvf/geodvf_toulon_2023.csv.gz",
        ),
        (Dataset::Dvf.into(), "dvf/geodvf_toulon_2024.csv.gz"),
        (Dataset::Dvf.into(), "dvf/geodvf_paris_2020-2023.csv.gz"),
        (Dataset::Dpe.into(), "dpe/dpe48_lozere_v1names_5224.csv.gz"),
        (
            Dataset::Dpe.into(),
            "dpe/dpe69_existants_v1names_full_1025.csv.gz",
        ),
        (
            Dataset::Dpe.into(),
            "dpe/dpe31_fixture_24rows_183cols_snake_v2.csv",
        ),
        (ImportTable::Ban, "ban/adresses-48.csv.gz"),
    ] {
        let found = imported(table, root.join(file));
        println!("{file}: {} positions", found.len());
        positions.push((file.to_owned(), found));
    }
    for department in ["04", "05", "09", "12", "15", "2A", "2B", "43", "971"] {
        let file = format!("ban/bano-{department}.csv.gz");
        let found = bano(&root.join(&file));
        println!("{file}: {} positions", found.len());
        positions.push((file, found));
    }
    let started = std::time::Instant::now();
    let mut count = 0;
    for (file, positions) in &positions {
        assert!(!positions.is_empty(), "{file}");
        for (lat, lon) in positions {
            assert_eq!(check_position(*lat, *lon), Ok(()), "{file}: {lat}, {lon}");
            let swapped = check_position(*lon, *lat);
            assert_eq!(
                swapped,
                Err(PositionFault::CoordinatesSwapped),
                "{file}: {lon}, {lat}"
            );
            count += 1;
        }
    }
    let micros = started.elapsed().as_secs_f64() * 1e6 / f64::from(count) / 2.0;
    println!("{count} positions, {micros:.1} µs a check");
}
