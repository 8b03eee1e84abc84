//! Writes rows as a table, as text in a format, or to a file.

use std::fs::File;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::{Path, PathBuf};

use arrow::array::RecordBatch;
use arrow::ipc::writer::FileWriter;
use arrow::util::display::{ArrayFormatter, FormatOptions};
use futures::StreamExt;

use super::source::Rows;
use super::{Failure, SqlFormat};
use crate::table;
use toise_base::formula::Formulas;
use toise_engine::spatial::{PositionColumns, SpatialFormat, SpatialWriter};
use toise_sql::encode::{RowFormat, RowWriter};

/// Maximum rows in a printed table.
const TABLE_ROWS_MAX: usize = 1_000;
/// Default maximum characters of a printed column on a terminal.
const TERMINAL_WIDTH: usize = 60;

/// Settings of how rows are shown.
#[derive(Clone, Debug)]
pub(super) struct Display {
    /// The format on standard output.
    pub format: SqlFormat,
    /// Maximum characters of a printed column; `None` for no maximum.
    pub width_max: Option<usize>,
    output: Option<OutputFile>,
    formulas: Formulas,
}

/// A file that rows are written to.
#[derive(Clone, Debug)]
pub(super) struct OutputFile {
    path: PathBuf,
    /// Whether to write GeoParquet, with the position of each row.
    geo: bool,
}

impl OutputFile {
    pub fn new(path: PathBuf, geo: bool) -> Self {
        Self { path, geo }
    }
}

impl Display {
    pub fn new(
        format: SqlFormat,
        width: Option<usize>,
        output: Option<OutputFile>,
        formulas: Formulas,
    ) -> Self {
        let default = if io::stdout().is_terminal() {
            TERMINAL_WIDTH
        } else {
            0
        };
        Self {
            format,
            width_max: Some(width.unwrap_or(default)).filter(|width| *width > 0),
            output,
            formulas,
        }
    }

    /// Shows rows and returns their number.
    pub async fn show(&self, rows: Rows) -> Result<usize, Failure> {
        match (&self.output, self.format.rows(self.formulas)) {
            (Some(output), _) => to_file(rows, output, self.formulas).await,
            (None, Some(format)) => {
                let out = BufWriter::new(Pipe(io::stdout()));
                let (count, mut out) = written(rows, out, format).await?;
                if format == RowFormat::Json {
                    out.write_all(b"\n")?;
                }
                out.flush()?;
                Ok(count)
            }
            (None, None) => self.print_table(rows).await,
        }
    }

    async fn print_table(&self, rows: Rows) -> Result<usize, Failure> {
        let Rows {
            schema,
            mut batches,
        } = rows;
        let mut printed = table();
        printed.set_header(schema.fields().iter().map(|field| field.name()));
        for (place, field) in schema.fields().iter().enumerate() {
            if field.data_type().is_numeric() {
                printed.align_right(place..=place);
            }
        }
        let (mut count, mut kept) = (0, 0);
        while let Some(batch) = batches.next().await {
            let batch = batch?;
            count += batch.num_rows();
            let part = batch.slice(0, batch.num_rows().min(TABLE_ROWS_MAX - kept));
            kept += part.num_rows();
            for row in self.cells(&part)? {
                printed.add_row(row);
            }
        }
        writeln!(Pipe(io::stdout()), "{printed}")?;
        if count > kept {
            eprintln!(
                "the first {kept} rows of {count}; use --output FILE or --format csv for all rows"
            );
        }
        Ok(count)
    }

    /// Formats the cells of each row.
    fn cells(&self, batch: &RecordBatch) -> Result<Vec<Vec<String>>, Failure> {
        let options = FormatOptions::default();
        let columns: Vec<ArrayFormatter<'_>> = batch
            .columns()
            .iter()
            .map(|column| ArrayFormatter::try_new(column, &options))
            .collect::<Result<_, _>>()?;
        let cells = (0..batch.num_rows()).map(|row| {
            let cells = columns.iter().map(|column| {
                let cell = column.value(row).try_to_string()?;
                Ok::<_, Failure>(self.cut(cell))
            });
            cells.collect()
        });
        cells.collect()
    }

    fn cut(&self, cell: String) -> String {
        let Some(width) = self.width_max else {
            return cell;
        };
        let line = cell.replace(['\n', '\r', '\t'], " ");
        match line.char_indices().nth(width) {
            None => line,
            Some(_) => {
                let kept: String = line.chars().take(width.saturating_sub(1)).collect();
                format!("{kept}…")
            }
        }
    }
}

async fn to_file(rows: Rows, output: &OutputFile, formulas: Formulas) -> Result<usize, Failure> {
    let path = output.path.as_path();
    if let Some(format) = SpatialFormat::of_path(path, output.geo) {
        return to_geodata(rows, path, format).await;
    }
    if output.geo {
        return Err("--geo writes GeoParquet: name the output .parquet".into());
    }
    let extension = path.extension().and_then(|extension| extension.to_str());
    let format = match extension.unwrap_or_default() {
        "parquet" => RowFormat::Parquet,
        "arrow" | "feather" => return to_arrow_file(rows, path).await,
        "arrows" => RowFormat::Arrow,
        "csv" => RowFormat::csv(formulas),
        "ndjson" | "jsonl" => RowFormat::Ndjson,
        "json" => RowFormat::Json,
        _ => {
            let path = path.display();
            let names = ".parquet, .arrow, .arrows, .csv, .json, .ndjson, .geojson or .fgb";
            return Err(format!("{path}: name it {names}").into());
        }
    };
    let file = File::create(path).map_err(|error| format!("{}: {error}", path.display()))?;
    let out = BufWriter::with_capacity(1 << 20, file);
    let (count, mut out) = written(rows, out, format).await?;
    out.flush()?;
    Ok(count)
}

/// Writes the file format of Arrow, whose footer readers of `.arrow` look for; `.arrows` is the stream.
async fn to_arrow_file(rows: Rows, path: &Path) -> Result<usize, Failure> {
    let Rows {
        schema,
        mut batches,
    } = rows;
    let file = File::create(path).map_err(|error| format!("{}: {error}", path.display()))?;
    let mut writer = FileWriter::try_new_buffered(file, &schema)?;
    let mut count = 0;
    while let Some(batch) = batches.next().await {
        let batch = batch?;
        count += batch.num_rows();
        writer.write(&batch)?;
    }
    writer.finish()?;
    Ok(count)
}

async fn to_geodata(rows: Rows, path: &Path, format: SpatialFormat) -> Result<usize, Failure> {
    let Rows {
        schema,
        mut batches,
    } = rows;
    // Checked before the file is created, so that rows without a position leave no file.
    PositionColumns::of(&schema)?;
    let file = File::create(path).map_err(|error| format!("{}: {error}", path.display()))?;
    let mut writer = SpatialWriter::start(BufWriter::new(file), &schema, format)?;
    let mut count = 0;
    while let Some(batch) = batches.next().await {
        let batch = batch?;
        count += batch.num_rows();
        writer.write(&batch)?;
    }
    writer.finish()?;
    Ok(count)
}

/// Writes all rows. Returns their number and `out`.
async fn written<W: Write + Send>(
    rows: Rows,
    out: W,
    format: RowFormat,
) -> Result<(usize, W), Failure> {
    let Rows {
        schema,
        mut batches,
    } = rows;
    let mut writer = RowWriter::new(out, format, &schema, false)?;
    let mut count = 0;
    while let Some(batch) = batches.next().await {
        let batch = batch?;
        count += batch.num_rows();
        writer.write(&batch)?;
    }
    Ok((count, writer.finish()?))
}

/// Standard output that ends the process, with exit code 0, once its reader, such as a pager or `head`, has closed it.
struct Pipe(io::Stdout);

impl Write for Pipe {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes).map_err(end_if_closed)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush().map_err(end_if_closed)
    }
}

fn end_if_closed(error: io::Error) -> io::Error {
    if error.kind() == io::ErrorKind::BrokenPipe {
        std::process::exit(0);
    }
    error
}
