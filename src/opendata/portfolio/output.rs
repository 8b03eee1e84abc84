//! Writes the output file under a temporary name and renames it at the end, so that a file of the final name is always
//! complete.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::WriterProperties;

use super::Error;
use toise_base::formula::Formulas;
use toise_engine::csv_rows::CsvWriter;

const WRITE_BUFFER_BYTES: usize = 1 << 20;

enum OutputWriter {
    Parquet(Box<ArrowWriter<BufWriter<File>>>),
    Csv(Box<CsvWriter<BufWriter<File>>>),
    NdJson(Box<arrow::json::LineDelimitedWriter<BufWriter<File>>>),
}

/// An output file being written. Dropping it unfinished leaves no file under the final name.
pub struct PortfolioOutput {
    writer: Option<OutputWriter>,
    path: PathBuf,
    partial: PathBuf,
}

impl PortfolioOutput {
    /// Creates an output file in the format of its extension; `formulas` applies to CSV.
    ///
    /// # Errors
    /// The extension is unknown, or the file cannot be created.
    pub fn create(path: &Path, schema: &SchemaRef, formulas: Formulas) -> Result<Self, Error> {
        let extension = path.extension().and_then(|extension| extension.to_str());
        let mut partial = path.as_os_str().to_owned();
        partial.push(".part");
        let partial = PathBuf::from(partial);
        let open = || {
            let file = File::create(&partial).map_err(Error::io(partial.display()))?;
            Ok::<_, Error>(BufWriter::with_capacity(WRITE_BUFFER_BYTES, file))
        };
        let writer = match extension {
            Some("parquet") => {
                let zstd = Compression::ZSTD(ZstdLevel::default());
                let properties = WriterProperties::builder().set_compression(zstd).build();
                OutputWriter::Parquet(Box::new(ArrowWriter::try_new(
                    open()?,
                    schema.clone(),
                    Some(properties),
                )?))
            }
            Some("csv") => OutputWriter::Csv(Box::new(CsvWriter::new(open()?, schema, formulas)?)),
            Some("ndjson" | "jsonl") => {
                OutputWriter::NdJson(Box::new(arrow::json::LineDelimitedWriter::new(open()?)))
            }
            _ => {
                return Err(Error::Option(format!(
                    "{}: the extension must be .parquet, .csv or .ndjson",
                    path.display()
                )));
            }
        };
        Ok(Self {
            writer: Some(writer),
            path: path.to_owned(),
            partial,
        })
    }

    /// Adds rows.
    ///
    /// # Errors
    /// The rows cannot be encoded or written.
    pub fn write(&mut self, batch: &RecordBatch) -> Result<(), Error> {
        match &mut self.writer {
            Some(OutputWriter::Parquet(writer)) => writer.write(batch)?,
            Some(OutputWriter::Csv(writer)) => writer.write(batch)?,
            Some(OutputWriter::NdJson(writer)) => writer.write(batch)?,
            None => {}
        }
        Ok(())
    }

    /// Completes the output; returns once it is on disk under its final name.
    ///
    /// # Errors
    /// The file cannot be completed; no file of the final name is left in that case.
    pub fn finish(mut self) -> Result<(), Error> {
        let Some(writer) = self.writer.take() else {
            return Ok(());
        };
        let mut file = match writer {
            OutputWriter::Parquet(writer) => writer.into_inner()?,
            OutputWriter::Csv(writer) => writer.into_inner(),
            OutputWriter::NdJson(mut writer) => {
                writer.finish()?;
                writer.into_inner()
            }
        };
        file.flush().map_err(Error::io(self.partial.display()))?;
        file.get_ref()
            .sync_all()
            .map_err(Error::io(self.partial.display()))?;
        fs::rename(&self.partial, &self.path).map_err(Error::io(self.path.display()))
    }
}

impl Drop for PortfolioOutput {
    fn drop(&mut self) {
        if self.writer.take().is_some() {
            // The error that ended the run is reported; a leftover file has a temporary name.
            let _ = fs::remove_file(&self.partial);
        }
    }
}
