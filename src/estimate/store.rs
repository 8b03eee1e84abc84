//! Stores models on disk: `<data>/models/<version>/` holds the sales as Parquet, the trees as JSON and the rest as
//! `model.json`. `<data>/models/current.json` names the current model.
//!
//! A model is written to a temporary folder, flushed, renamed, and then made current by renaming `current.json`. If the
//! process stops before that, the previous model stays in use. `model.json` holds the digest of every other file, and
//! `current.json` that of `model.json`.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow::array::{
    ArrayRef, AsArray, Date32Array, Float32Array, Float64Array, Int32Array, PrimitiveArray,
    RecordBatch, StringArray, UInt8Array,
};
use arrow::datatypes::{
    ArrowPrimitiveType, Date32Type, Float32Type, Float64Type, Int32Type, UInt8Type,
};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::WriterProperties;
use serde::{Deserialize, Serialize};

use super::boosting::BoostedTrees;
use super::fit::{FittedEstimator, FittedTrees, typical_surfaces};
use super::grid::GridPosition;
use super::hedonic::{FOLDS, Hedonic};
use super::home::HomeClass;
use super::interval::Interval;
use super::market::{Market, SaleResiduals};
use super::model::{Error, Model, ModelMetadata};
use super::sale::{HomeSale, SaleColumns, id_of, id_text};
use toise_base::durable;
use toise_base::missing::{optional, remove_folder};

/// Folder of the models in a data folder.
pub const FOLDER: &str = "models";
/// File that names the current model.
pub const CURRENT: &str = "current.json";
const DESCRIPTION: &str = "model.json";
const SALES: &str = "sales.parquet";
const OWN: &str = "own.json";
const PLACE: [&str; FOLDS] = ["place-0.json", "place-1.json"];
const RESIDUAL: &str = "gap.json";
const WIDTH: &str = "width.json";
/// Format version that this code writes and reads.
const FORMAT: u32 = 7;
/// Rows written or read per batch.
const BATCH_ROWS: usize = 65_536;
/// Class names in the files, by class number.
const CLASSES: [&str; 2] = ["flat", "house"];

#[derive(Serialize, Deserialize)]
struct CurrentModel {
    version: String,
    /// BLAKE3 of the model's `model.json`, hexadecimal.
    description: String,
}

#[derive(Serialize, Deserialize)]
struct ModelManifest {
    format: u32,
    metadata: ModelMetadata,
    /// First day after the known sales, days since 1970-01-01.
    end: i32,
    interval: Interval,
    /// Name and BLAKE3 digest of each file in the folder.
    files: Vec<(String, String)>,
}

fn io(path: &Path) -> impl Fn(std::io::Error) -> Error + '_ {
    |source| Error::Io {
        path: path.display().to_string(),
        source,
    }
}

fn damaged(path: &Path, reason: impl ToString) -> Error {
    Error::Damaged {
        path: path.display().to_string(),
        reason: reason.to_string(),
    }
}

/// Reads which model in a folder of models is current; `None` if there is none.
fn current(folder: &Path) -> Result<Option<CurrentModel>, Error> {
    let path = folder.join(CURRENT);
    let Some(text) = optional(fs::read(&path)).map_err(io(&path))? else {
        return Ok(None);
    };
    let current = serde_json::from_slice(&text).map_err(|error| damaged(&path, error))?;
    Ok(Some(current))
}

/// Reads the description of a model in a folder of models.
fn describe(folder: &Path, current: &CurrentModel) -> Result<ModelManifest, Error> {
    let path = folder.join(&current.version).join(DESCRIPTION);
    let text = fs::read(&path).map_err(io(&path))?;
    if blake3::hash(&text).to_hex().as_str() != current.description {
        return Err(damaged(&path, "it does not match its digest"));
    }
    let description: ModelManifest =
        serde_json::from_slice(&text).map_err(|error| damaged(&path, error))?;
    if description.format != FORMAT {
        let reason = format!("format {}, this version reads {FORMAT}", description.format);
        return Err(damaged(&path, reason));
    }
    Ok(description)
}

impl Model {
    /// Opens the current model in a folder of models. Reads every sale and verifies its digest: one to two seconds for
    /// three million.
    ///
    /// # Errors
    /// There is no model, or it cannot be read.
    pub fn open(folder: &Path) -> Result<Self, Error> {
        let current = current(folder)?.ok_or_else(|| Error::Missing {
            folder: folder.display().to_string(),
        })?;
        let description = describe(folder, &current)?;
        Self::read(&folder.join(current.version), description)
    }

    /// Reads the description of the current model in a folder of models, which is a small file; sales and trees are not
    /// read. `None` if there is no model.
    ///
    /// # Errors
    /// The description cannot be read.
    pub fn describe(folder: &Path) -> Result<Option<ModelMetadata>, Error> {
        let described = current(folder)?.map(|current| describe(folder, &current));
        Ok(described.transpose()?.map(|model| model.metadata))
    }

    /// Reads the model in a folder, given its description.
    fn read(folder: &Path, description: ModelManifest) -> Result<Self, Error> {
        let path = folder.join(DESCRIPTION);
        let file = |name: &str| -> Result<Option<Vec<u8>>, Error> {
            let path = folder.join(name);
            let Some((_, digest)) = description.files.iter().find(|(file, _)| file == name) else {
                return Ok(None);
            };
            let bytes = fs::read(&path).map_err(io(&path))?;
            if blake3::hash(&bytes).to_hex().as_str() != digest {
                return Err(damaged(&path, "it does not match its digest"));
            }
            Ok(Some(bytes))
        };
        let trees = |name: &str| -> Result<Option<BoostedTrees>, Error> {
            file(name)?
                .map(|bytes| BoostedTrees::decode(&bytes))
                .transpose()
        };
        let sales = file(SALES)?.ok_or_else(|| damaged(&path, "no sales are listed"))?;
        let (sales, quality) =
            read_sales(sales).map_err(|error| damaged(&folder.join(SALES), error))?;
        let grown = match (trees(OWN)?, PLACE.map(&trees), trees(RESIDUAL)?) {
            (Some(own), [one, other], Some(residual)) => {
                let place = one?.zip(other?).map(|(one, other)| [one, other]);
                let place = place.ok_or_else(|| damaged(&path, "no trees of place are listed"))?;
                let hedonic = Hedonic { own, place };
                Some(FittedTrees { hedonic, residual })
            }
            _ => None,
        };
        Ok(Self {
            metadata: description.metadata,
            spread: trees(WIDTH)?,
            interval: description.interval,
            fitted: FittedEstimator {
                typical: typical_surfaces(&sales),
                market: Market::new(sales, quality),
                trees: grown,
                end: description.end,
            },
        })
    }

    /// Writes the model into a folder of models and makes it current. Returns its folder once it is on disk. Deletes
    /// older models except the previous one.
    ///
    /// # Errors
    /// The folder cannot be written.
    pub fn save(&self, folder: &Path) -> Result<PathBuf, Error> {
        let version = &self.metadata.version;
        let (draft, home) = (folder.join(format!("{version}.new")), folder.join(version));
        let former = fs::read(folder.join(CURRENT)).ok();
        let former: Option<CurrentModel> =
            former.and_then(|text| serde_json::from_slice(&text).ok());
        remove(&draft)?;
        fs::create_dir_all(&draft).map_err(io(&draft))?;
        let mut files = vec![(
            SALES,
            self.sales_file().map_err(|error| damaged(&draft, error))?,
        )];
        if let Some(trees) = &self.fitted.trees {
            files.push((OWN, trees.hedonic.own.encode()?));
            for (name, trees) in PLACE.into_iter().zip(&trees.hedonic.place) {
                files.push((name, trees.encode()?));
            }
            files.push((RESIDUAL, trees.residual.encode()?));
        }
        if let Some(width) = &self.spread {
            files.push((WIDTH, width.encode()?));
        }
        let digests = files.iter().map(|(name, bytes)| {
            let digest = blake3::hash(bytes).to_hex().to_string();
            ((*name).to_owned(), digest)
        });
        let description = ModelManifest {
            format: FORMAT,
            metadata: self.metadata.clone(),
            end: self.fitted.end,
            interval: self.interval.clone(),
            files: digests.collect(),
        };
        for (name, bytes) in &files {
            write(&draft.join(name), bytes)?;
        }
        let text = write_json(&draft.join(DESCRIPTION), &description)?;
        let description = blake3::hash(&text).to_hex().to_string();
        sync(&draft)?;
        // Models of the same version are identical, so overwriting one loses nothing.
        remove(&home)?;
        fs::rename(&draft, &home).map_err(io(&home))?;
        let path = folder.join(CURRENT);
        let current = CurrentModel {
            version: version.clone(),
            description,
        };
        let text = serde_json::to_vec_pretty(&current).map_err(|error| damaged(&path, error))?;
        durable::replace(&path, &text).map_err(io(&path))?;
        self.retire(
            folder,
            former.as_ref().map(|former| former.version.as_str()),
        )?;
        Ok(home)
    }

    /// Deletes all models except this one and the previous one, which a server may still be reading.
    fn retire(&self, folder: &Path, former: Option<&str>) -> Result<(), Error> {
        for entry in fs::read_dir(folder).map_err(io(folder))? {
            let path = entry.map_err(io(folder))?.path();
            let name = path.file_name().and_then(|name| name.to_str());
            let is_kept = name.is_none_or(|name| name == self.metadata.version) || name == former;
            if !is_kept && path.join(DESCRIPTION).exists() {
                remove(&path)?;
            }
        }
        Ok(())
    }

    fn sales_file(&self) -> parquet::errors::Result<Vec<u8>> {
        let market = &self.fitted.market;
        let sales = &market.sales;
        let properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(ZstdLevel::default()))
            .set_max_row_group_row_count(Some(BATCH_ROWS))
            .build();
        let rows: Vec<usize> = (0..sales.len()).collect();
        let mut writer: Option<ArrowWriter<Vec<u8>>> = None;
        for rows in rows.chunks(BATCH_ROWS) {
            let batch = batch(market, rows)?;
            let writer = match &mut writer {
                Some(writer) => writer,
                None => {
                    let schema = batch.schema();
                    let properties = Some(properties.clone());
                    writer.insert(ArrowWriter::try_new(Vec::new(), schema, properties)?)
                }
            };
            writer.write(&batch)?;
        }
        writer.map_or_else(|| Ok(Vec::new()), ArrowWriter::into_inner)
    }
}

/// Converts rows to columns that any tool can read; NaN stands for unknown.
fn batch(market: &Market, rows: &[usize]) -> Result<RecordBatch, arrow::error::ArrowError> {
    let sales = &market.sales;
    let float = |of: &dyn Fn(usize) -> f32| -> ArrayRef {
        Arc::new(Float32Array::from_iter_values(
            rows.iter().map(|row| of(*row)),
        ))
    };
    let position = |of: &dyn Fn(GridPosition) -> i32| -> ArrayRef {
        let values = rows.iter().map(|row| of(sales.position[*row]));
        Arc::new(Int32Array::from_iter_values(values))
    };
    let columns: [(&str, ArrayRef); 12] = [
        ("id", {
            let ids = rows.iter().map(|row| id_text(&sales.id[*row]));
            Arc::new(StringArray::from_iter_values(ids))
        }),
        ("date", {
            let days = rows.iter().map(|row| sales.day[*row]);
            Arc::new(Date32Array::from_iter_values(days))
        }),
        ("class", {
            let classes = rows.iter().map(|row| CLASSES[sales.class(*row) as usize]);
            Arc::new(StringArray::from_iter_values(classes))
        }),
        ("price_eur", {
            let prices = rows.iter().map(|row| sales.price[*row]);
            Arc::new(Float64Array::from_iter_values(prices))
        }),
        ("surface_m2", float(&|row| sales.surface_m2[row])),
        ("rooms", float(&|row| sales.rooms[row])),
        ("land_m2", float(&|row| sales.land_m2[row])),
        ("latitude_e6", position(&|at| at.latitude_e6)),
        ("longitude_e6", position(&|at| at.longitude_e6)),
        ("department_rank", {
            let ranks = rows.iter().map(|row| sales.department[*row]);
            Arc::new(UInt8Array::from_iter_values(ranks))
        }),
        ("energy", float(&|row| sales.energy[row])),
        (
            "construction_year",
            float(&|row| sales.construction_year[row]),
        ),
    ];
    let quality = market.quality();
    let qualities = [
        ("quality", float(&|row| quality.own[row])),
        ("placed_quality", float(&|row| quality.placed[row])),
    ];
    RecordBatch::try_from_iter(columns.into_iter().chain(qualities))
}

/// Returns a column; an error if it is missing.
fn column<'b>(batch: &'b RecordBatch, name: &str) -> Result<&'b ArrayRef, String> {
    batch
        .column_by_name(name)
        .ok_or_else(|| format!("no column {name}"))
}

/// Returns a column of a numeric type; `what` describes the expected content in the error.
fn numbers<'b, T: ArrowPrimitiveType>(
    batch: &'b RecordBatch,
    name: &str,
    what: &str,
) -> Result<&'b PrimitiveArray<T>, String> {
    let column = column(batch, name)?.as_primitive_opt::<T>();
    column.ok_or_else(|| format!("column {name} holds no {what}"))
}

fn read_sales(bytes: Vec<u8>) -> Result<(SaleColumns, SaleResiduals), Box<dyn std::error::Error>> {
    let reader = ParquetRecordBatchReaderBuilder::try_new(bytes::Bytes::from(bytes))?
        .with_batch_size(BATCH_ROWS)
        .build()?;
    let (mut sales, mut quality) = (Vec::new(), SaleResiduals::default());
    for batch in reader {
        let batch = batch?;
        let floats = |name: &str| numbers::<Float32Type>(&batch, name, "numbers");
        let integers = |name: &str| numbers::<Int32Type>(&batch, name, "integers");
        let texts = |name: &str| {
            let column = column(&batch, name)?.as_string_opt::<i32>();
            column.ok_or_else(|| format!("column {name} does not contain strings"))
        };
        let days = numbers::<Date32Type>(&batch, "date", "dates")?;
        let prices = numbers::<Float64Type>(&batch, "price_eur", "numbers")?;
        let departments = numbers::<UInt8Type>(&batch, "department_rank", "ranks")?;
        let (ids, classes) = (texts("id")?, texts("class")?);
        let (surfaces, rooms, lands) =
            (floats("surface_m2")?, floats("rooms")?, floats("land_m2")?);
        let (energies, years) = (floats("energy")?, floats("construction_year")?);
        let (latitudes, longitudes) = (integers("latitude_e6")?, integers("longitude_e6")?);
        for row in 0..batch.num_rows() {
            sales.push(HomeSale {
                id: id_of(ids.value(row)).ok_or("an invalid id")?,
                day: days.value(row),
                class: if classes.value(row) == CLASSES[1] {
                    HomeClass::House
                } else {
                    HomeClass::Flat
                },
                price: prices.value(row),
                surface_m2: surfaces.value(row),
                rooms: rooms.value(row),
                land_m2: lands.value(row),
                position: GridPosition {
                    latitude_e6: latitudes.value(row),
                    longitude_e6: longitudes.value(row),
                },
                department: departments.value(row),
                energy: energies.value(row),
                construction_year: years.value(row),
            });
        }
        let (own, placed) = (floats("quality")?, floats("placed_quality")?);
        quality.own.extend_from_slice(own.values());
        quality.placed.extend_from_slice(placed.values());
    }
    // The file already stores them in the right order.
    Ok((SaleColumns::new(sales), quality))
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    let mut file = File::create(path).map_err(io(path))?;
    file.write_all(bytes)
        .and_then(|()| file.sync_all())
        .map_err(io(path))
}

/// Writes a value as JSON and returns the text.
fn write_json(path: &Path, value: &impl Serialize) -> Result<Vec<u8>, Error> {
    let text = serde_json::to_vec_pretty(value).map_err(|error| damaged(path, error))?;
    write(path, &text)?;
    Ok(text)
}

fn sync(folder: &Path) -> Result<(), Error> {
    durable::sync_folder(folder).map_err(io(folder))
}

fn remove(folder: &Path) -> Result<(), Error> {
    remove_folder(folder).map_err(io(folder))
}
