//! `toise import layer`, and `toise layers`: lists layers and removes one. Works while the server is running.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use indicatif::HumanCount;
use serde_json::json;

use super::common::MissingArgs;
use super::{CommandResult, Common, table_of};
use toise_base::clock::Clock;
use toise_layers::folder;
use toise_layers::import::{ImportOptions, InvalidFeatures, import as import_layer};
use toise_layers::{LayerMetadata, LayerName};

/// Text after the options of `import layer`.
pub(super) const LAYER_HELP: &str = "\
Reads GeoJSON, GeoParquet, FlatGeobuf, and tables (CSV, XLSX, Parquet) with a column of WKT or GeoJSON, or with longitude
and latitude. Coordinates are degrees, Lambert-93 or the official projection of an overseas department. A layer of the
same name is replaced. In SQL, its attributes are the table layer_NAME.

Examples:
  toise import layer flood zones.geojson --licence 'Licence Ouverte 2.0' --source https://www.georisques.gouv.fr
  toise import layer schools fr-en-annuaire-education.csv
  toise sql \"select count(*) from dvf where within(lon, lat, 'flood')\"
  toise sql \"select nearest(lon, lat, 'schools') from dvf limit 5\"";

/// Arguments of `import layer`.
#[derive(Args, Debug)]
pub(super) struct LayerArgs {
    /// Name of the layer: lower-case letters, digits and _
    name: LayerName,
    /// File to read; gzip, zip and zstd are unpacked
    file: PathBuf,
    /// Licence of the file, shown wherever the layer is listed
    #[arg(long, value_name = "TEXT")]
    licence: Option<String>,
    /// Address where the file was published
    #[arg(long, value_name = "URL")]
    source: Option<String>,
    /// Repair invalid polygons, and leave out features that cannot be repaired, instead of refusing the file
    #[arg(long)]
    mend: bool,
    #[command(flatten)]
    pub(super) missing: MissingArgs,
}

/// Arguments of `layers`.
#[derive(Args, Debug)]
pub struct LayersArgs {
    #[command(subcommand)]
    action: LayersAction,
}

#[derive(Subcommand, Debug)]
enum LayersAction {
    /// List layers with their size, licence and source
    #[command(after_help = "Example:\n\n  toise layers list")]
    List,
    /// Remove a layer
    #[command(after_help = "Example:\n\n  toise layers remove flood")]
    Remove {
        /// Name of the layer
        name: LayerName,
    },
}

/// Runs `import layer`.
pub(super) fn import(common: &Common, arguments: &LayerArgs, clock: &Clock) -> CommandResult {
    let options = ImportOptions {
        licence: arguments.licence.clone(),
        source: arguments.source.clone(),
        invalid: if arguments.mend {
            InvalidFeatures::Mended
        } else {
            InvalidFeatures::Refused
        },
    };
    let layer = import_layer(
        &common.data, &arguments.name, &arguments.file, &options, clock,
    )?;
    if common.json {
        println!("{}", serde_json::to_string(&layer)?);
        return Ok(());
    }
    println!(
        "layer {}: {} features ({}) from {}, {}",
        layer.name,
        HumanCount(layer.features),
        layer.geometry_types.join(", "),
        layer.format,
        layer.reference_system
    );
    if layer.mended > 0 {
        println!("repaired: {} features", HumanCount(layer.mended));
    }
    for (count, what) in [
        (layer.without_geometry, "without a geometry"),
        (layer.invalid, "with a geometry that is not valid"),
    ] {
        if count > 0 {
            println!("left out: {} features {what}", HumanCount(count));
        }
    }
    println!("table {}: {}", layer.name.table(), columns(&layer));
    println!("licence: {}", layer.provenance.licence);
    Ok(())
}

fn columns(layer: &LayerMetadata) -> String {
    let names: Vec<&str> = layer.columns.iter().map(|column| &*column.name).collect();
    match names[..] {
        [] => "no attributes".to_owned(),
        _ => names.join(", "),
    }
}

/// Runs `layers`.
pub fn run(common: &Common, arguments: &LayersArgs) -> CommandResult {
    match &arguments.action {
        LayersAction::List => list(common),
        LayersAction::Remove { name } => {
            if !folder::remove(&common.data, name)? {
                return Err(
                    format!("no layer {name}; to list the layers: toise layers list").into(),
                );
            }
            common.print_result(
                json!({"removed": name}),
                format!("removed the layer {name}"),
            );
            Ok(())
        }
    }
}

fn list(common: &Common) -> CommandResult {
    let layers = folder::list(&common.data)?;
    if common.json {
        println!("{}", serde_json::to_string(&layers)?);
        return Ok(());
    }
    if layers.is_empty() {
        println!("no layers; to import one: toise import layer NAME FILE");
        return Ok(());
    }
    let mut shown = table_of("layer|features|types|imported|licence|source");
    for layer in &layers {
        shown.add_row([
            layer.name.to_string(),
            HumanCount(layer.features).to_string(),
            layer.geometry_types.join(", "),
            layer.provenance.read_at.chars().take(10).collect(),
            layer.provenance.licence.clone(),
            layer.provenance.name.clone(),
        ]);
    }
    shown.align_right(1..=1);
    println!("{shown}");
    Ok(())
}
