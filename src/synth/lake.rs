//! Generates synthetic data directly into the lake, through the importer for official files.

use std::error::Error;
use std::path::Path;

use super::{Summary, SynthRequest, home_addresses, reader};
use toise_base::progress::Progress;
use toise_lake::{INVENTED_LICENCE, Lake};
use toise_opendata::ImportTable;
use toise_opendata::import::{ImportOptions, import_reader};
use toise_opendata::report::ImportReport;
use toise_opendata::source::SourceFormat;

/// Generates the requested data and imports it; returns once it is published.
///
/// # Errors
///
/// The import fails, or the generator stops early.
pub fn generate_into_lake(
    data: &Path,
    request: SynthRequest,
    progress: Progress,
) -> Result<Summary, Box<dyn Error + Send + Sync>> {
    let name = format!("synth {} seed {}", request.dataset.name(), request.seed);
    let mut import = Lake::open(data)?.import(request.dataset.schema())?;
    let reader = reader(request)?;
    let delivered = reader.delivered();
    let bar = progress.bytes(&name, None);
    let options = ImportOptions {
        progress,
        ..ImportOptions::default()
    };
    let mut report = ImportReport::default();
    let mut imported = import_reader(
        request.dataset,
        bar.wrap_read(reader),
        &name,
        SourceFormat::Detect,
        &mut import,
        &options,
        &mut report,
    )?;
    bar.finish_and_clear();
    imported.source.licence = INVENTED_LICENCE.into();
    import.publish(vec![imported.source], Vec::new())?;
    Ok(delivered.summary())
}

/// Imports the addresses of the items that some requests generate; returns their number once they are published. Their
/// index is not built.
///
/// # Errors
///
/// The import fails.
pub fn import_home_addresses(
    data: &Path,
    requests: &[SynthRequest],
    progress: Progress,
) -> Result<u64, Box<dyn Error + Send + Sync>> {
    let table = ImportTable::Ban;
    let mut import = Lake::open(data)?.import(table.schema())?;
    let options = ImportOptions {
        progress,
        ..ImportOptions::default()
    };
    let text = home_addresses::csv(requests);
    let mut report = ImportReport::default();
    let mut imported = import_reader(
        table,
        text.as_bytes(),
        "synth addresses",
        SourceFormat::Detect,
        &mut import,
        &options,
        &mut report,
    )?;
    imported.source.licence = INVENTED_LICENCE.into();
    Ok(import.publish(vec![imported.source], Vec::new())?.total)
}
