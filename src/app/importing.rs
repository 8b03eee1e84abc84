//! Imports of downloaded or local files into the lake, for the commands `import`, `refresh` and `start`.

use std::path::{Path, PathBuf};
use std::time::Instant;

use crate::{Failure, contours};
use toise_base::clock::iso;
use toise_geocode::resolve::LazyGeocoder;
use toise_lake::Lake;
use toise_lake::import::TableImport;
use toise_opendata::dvf::record::PlaceSources;
use toise_opendata::import::{ImportOptions, group_by_columns, import_files};
use toise_opendata::placing::PlacedCounts;
use toise_opendata::report::ImportReport;
use toise_opendata::{Dataset, ImportTable, dpe, dvf};
use toise_sources::FetchedSources;

/// Imports files and publishes them in the lake of a data folder, which keeps `keep_versions` versions of the table.
/// Returns the report and where it was written. Deletes the temporary folder of the files afterwards.
///
/// # Errors
/// A file cannot be read or is malformed, or the lake cannot be written. The table is then unchanged.
pub fn import(
    data: &Path,
    keep_versions: usize,
    table: impl Into<ImportTable>,
    fetched: &FetchedSources,
    options: &ImportOptions,
) -> Result<(ImportReport, PathBuf), Failure> {
    let table = table.into();
    let started = Instant::now();
    let lake = Lake::open(data)?.keeping(keep_versions);
    let mut report = ImportReport {
        table: table.name(),
        started_at: iso(options.clock.now()),
        edition: options.edition.clone(),
        notes: fetched.notes.clone(),
        skipped_files: fetched.skipped.clone(),
        ..ImportReport::default()
    };
    let groups = if fetched.inputs.is_empty() {
        Vec::new()
    } else {
        group_by_columns(table, fetched.inputs.clone())?
    };
    for group in groups {
        let begin = || lake.import(table.schema());
        let (mut filled, imported) = import_files(table, &group, begin, options, &mut report)?;
        if options.refuses_shrunk {
            filled.refuse_shrunk_slices();
        }
        let (sources, slices): (Vec<_>, Vec<_>) = imported
            .into_iter()
            .map(|imported| (imported.source, imported.slices))
            .unzip();
        let mut slices: Vec<_> = slices.into_iter().flatten().collect();
        slices.sort();
        slices.dedup();
        report.replaced_slices.clone_from(&slices);
        let outcome = filled.publish(sources, slices)?;
        report.outcome.get_or_insert_default().add(&outcome);
    }
    report.seconds = started.elapsed().as_secs_f64();
    let path = report.write(data)?;
    if let Some(folder) = &fetched.temporary {
        std::fs::remove_dir_all(folder)?;
    }
    Ok((report, path))
}

/// How many stored records were given a position by their address.
#[derive(Clone, Copy, Debug, Default)]
pub struct PlacedRecords {
    /// Sales.
    pub sales: PlacedCounts,
    /// Energy diagnostics.
    pub diagnostics: PlacedCounts,
}

/// Gives positions to the stored sales and diagnostics of departments that have none, after addresses were imported.
///
/// # Errors
/// A table or the index of addresses cannot be read, or a table cannot be written.
pub fn place_records(
    data: &Path,
    keep_versions: usize,
    departments: &[String],
) -> Result<PlacedRecords, Failure> {
    let lake = Lake::open(data)?.keeping(keep_versions);
    let geocoder = LazyGeocoder::new(data.to_owned());
    Ok(PlacedRecords {
        sales: place_stored(&lake, Dataset::Dvf, |sales| {
            let iris = contours::open_or_keep(data, None)?;
            let sources = PlaceSources {
                iris: iris.as_deref(),
                geocoder: &geocoder,
            };
            Ok(dvf::stored::place_stored(sales, departments, sources)?)
        })?,
        diagnostics: place_stored(&lake, Dataset::Dpe, |diagnostics| {
            Ok(dpe::placing::place_stored(
                diagnostics, departments, &geocoder,
            )?)
        })?,
    })
}

/// Gives positions to the stored records of a table; `place` does it in an open import.
///
/// # Errors
/// The table cannot be read or written, or `place` fails.
fn place_stored(
    lake: &Lake,
    dataset: Dataset,
    place: impl FnOnce(&mut TableImport) -> Result<PlacedCounts, Failure>,
) -> Result<PlacedCounts, Failure> {
    let table = dataset.schema();
    if lake.snapshot(table)?.rows() == 0 {
        return Ok(PlacedCounts::default());
    }
    let mut records = lake.import(table)?;
    let counts = place(&mut records)?;
    if counts.placed > 0 {
        records.publish(Vec::new(), Vec::new())?;
    }
    Ok(counts)
}
