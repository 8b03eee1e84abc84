//! Sources of tiles: the rows of a table, and the figure that colours each row.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::datatypes::{Float64Type, Int32Type};

use toise_contract::filter::Filter;
use toise_engine::cancellation::Interrupt;
use toise_engine::decoded::DecodedColumn;
use toise_engine::predicate::Predicate;
use toise_engine::scan::Selection;
use toise_engine::view::TableView;
use toise_engine::{Engine, Error};
use toise_geo::communes::today_of_code;
use toise_lake::schema::TableSchema;
use toise_listings::columns::properties;
use toise_listings::search::projection::view::ProjectionView;
use toise_opendata::{Dataset, dpe, dvf};

/// Energy classes, best first; the number of a class is its position, from 1.
const CLASSES: [&str; 7] = ["A", "B", "C", "D", "E", "F", "G"];
/// Number of the first poor class, F.
const POOR: f32 = 6.0;

/// Source of the rows that tiles show.
#[derive(Clone)]
pub enum TileSource {
    /// Recorded sales or diagnostics.
    OpenData(Dataset),
    /// Properties as of a view.
    Properties(Arc<ProjectionView>),
}

/// The figure that colours rows and hexagons.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Figure {
    /// Name of the figure of a row.
    pub of_row: &'static str,
    /// Name of the figure of a hexagon.
    pub of_hexagon: &'static str,
    aggregate: Aggregate,
}

#[derive(Clone, Copy, Debug)]
enum Aggregate {
    /// The median, a whole number.
    Median,
    /// The share of poor energy classes, percent.
    PoorShare,
}

impl Figure {
    /// Returns the figure of a group of rows with these values; `None` if there are no values.
    pub fn aggregated(self, values: &mut [f32]) -> Option<f64> {
        if values.is_empty() {
            return None;
        }
        let figure = match self.aggregate {
            Aggregate::Median => {
                let middle = values.len() / 2;
                let (_, median, _) = values.select_nth_unstable_by(middle, f32::total_cmp);
                f64::from(*median)
            }
            Aggregate::PoorShare => {
                let poor = values.iter().filter(|class| **class >= POOR).count();
                100.0 * poor as f64 / values.len() as f64
            }
        };
        Some(figure.round())
    }
}

/// A row on the map.
#[derive(Clone, Debug)]
pub(crate) struct MapPoint {
    pub lat: f64,
    pub lon: f64,
    /// Its figure.
    pub figure: Option<f64>,
    /// Chunk of the view, and row in it.
    pub row: (usize, usize),
}

/// A source at one version.
pub(crate) enum SourceView {
    Table(Arc<TableView>),
    Listings(Arc<ProjectionView>),
}

impl TileSource {
    /// Returns the name of the table.
    pub fn name(&self) -> &'static str {
        self.schema().name
    }

    fn schema(&self) -> &'static TableSchema {
        match self {
            Self::OpenData(Dataset::Dvf) => dvf::schema(),
            Self::OpenData(Dataset::Dpe) => dpe::schema(),
            Self::Properties(_) => properties(),
        }
    }

    /// Returns the names of the figures of a row and of a hexagon.
    pub fn figures(&self) -> (&'static str, &'static str) {
        let figure = self.figure();
        (figure.of_row, figure.of_hexagon)
    }

    pub(crate) fn figure(&self) -> Figure {
        match self {
            Self::OpenData(Dataset::Dpe) => Figure {
                of_row: "energy",
                of_hexagon: "poor_share",
                aggregate: Aggregate::PoorShare,
            },
            Self::OpenData(Dataset::Dvf) | Self::Properties(_) => Figure {
                of_row: "price_per_m2",
                of_hexagon: "price_per_m2",
                aggregate: Aggregate::Median,
            },
        }
    }

    pub(crate) fn view(&self, engine: &Engine) -> Result<SourceView, Error> {
        Ok(match self {
            Self::OpenData(_) => SourceView::Table(engine.view(self.schema())?),
            Self::Properties(view) => SourceView::Listings(Arc::clone(view)),
        })
    }
}

impl SourceView {
    /// Returns the version, which changes whenever a row does.
    pub fn version(&self) -> i64 {
        match self {
            Self::Table(view) => view.snapshot().sequence as i64,
            Self::Listings(view) => view.through(),
        }
    }

    /// Visits the rows with a position that a filter selects; see [`Engine::scan`].
    pub fn scan<S: Send>(
        &self,
        source: &TileSource,
        engine: &Engine,
        filter: &Filter,
        interrupt: &Interrupt,
        start: impl Fn() -> S + Sync,
        visit: impl Fn(&mut S, MapPoint) + Sync,
    ) -> Result<Vec<S>, Error> {
        let schema = source.schema();
        let predicate = Predicate::compile(schema, filter)?;
        let columns = PointColumns::of(source)?;
        match self {
            Self::Table(view) => engine.scan(view, &predicate, interrupt, start, |state, chunk| {
                let read = |column| chunk.column(column);
                columns.each(chunk.index, chunk.selected, read, |spot| visit(state, spot))
            }),
            Self::Listings(view) => {
                view.scan(engine, &predicate, interrupt, start, |state, rows| {
                    let read = |column| rows.column(column);
                    columns.each(rows.index, &rows.selected, read, |spot| visit(state, spot))
                })
            }
        }
    }

    /// Visits the rows that a filter selects, with their current commune and their figure; see [`Engine::scan`].
    pub fn scan_areas<S: Send>(
        &self,
        source: &TileSource,
        engine: &Engine,
        filter: &Filter,
        interrupt: &Interrupt,
        start: impl Fn() -> S + Sync,
        visit: impl Fn(&mut S, &'static str, Option<f64>) + Sync,
    ) -> Result<Vec<S>, Error> {
        let predicate = Predicate::compile(source.schema(), filter)?;
        let columns = AreaColumns::of(source)?;
        match self {
            Self::Table(view) => engine.scan(view, &predicate, interrupt, start, |state, chunk| {
                let read = |column| chunk.column(column);
                columns.each(chunk.selected, read, |commune, figure| {
                    visit(state, commune, figure)
                })
            }),
            Self::Listings(view) => {
                view.scan(engine, &predicate, interrupt, start, |state, rows| {
                    let read = |column| rows.column(column);
                    columns.each(&rows.selected, read, |commune, figure| {
                        visit(state, commune, figure)
                    })
                })
            }
        }
    }

    /// Returns the identifiers of rows.
    pub fn ids(
        &self,
        source: &TileSource,
        engine: &Engine,
        spots: &[MapPoint],
    ) -> Result<Vec<String>, Error> {
        let schema = source.schema();
        let column = index_of(schema, schema.id)?;
        let mut read: Option<(usize, Arc<DecodedColumn>)> = None;
        let mut ids = Vec::with_capacity(spots.len());
        for MapPoint {
            row: (chunk, row), ..
        } in spots
        {
            let values = match &read {
                Some((known, values)) if known == chunk => Arc::clone(values),
                _ => match self {
                    Self::Table(view) => {
                        let group = view.chunks().get(*chunk);
                        let group = group.ok_or_else(|| unknown(&format!("chunk {chunk}")))?;
                        view.column(engine.cache(), group, column)?
                    }
                    Self::Listings(view) => view.column(engine, *chunk, column)?,
                },
            };
            let texts = values.values.as_string_opt::<i32>();
            let id = texts
                .filter(|texts| *row < texts.len())
                .map(|texts| texts.value(*row));
            ids.push(id.unwrap_or_default().to_owned());
            read = Some((*chunk, values));
        }
        Ok(ids)
    }
}

fn unknown(name: &str) -> Error {
    Error::UnknownTable(name.to_owned())
}

fn index_of(schema: &TableSchema, name: &str) -> Result<usize, Error> {
    let found = schema.column(name).map(|(index, _)| index);
    found.ok_or_else(|| unknown(&format!("{}.{name}", schema.name)))
}

/// The column that figures are read from.
struct FigureColumn {
    number: usize,
    is_class: bool,
}

impl FigureColumn {
    fn of(source: &TileSource) -> Result<Self, Error> {
        let (name, is_class) = match source {
            TileSource::OpenData(Dataset::Dvf) => ("price_per_m2_living_eur", false),
            TileSource::OpenData(Dataset::Dpe) => ("etiquette_dpe", true),
            TileSource::Properties(_) => ("price_latest_value_per_area", false),
        };
        let number = index_of(source.schema(), name)?;
        Ok(Self { number, is_class })
    }

    /// Returns a function that reads the figure of a row.
    fn reader(&self, values: ArrayRef) -> impl Fn(usize) -> Option<f64> {
        let classes = self.is_class.then(|| class_numbers(&values)).flatten();
        move |row| match &classes {
            Some(classes) => class(&values, classes, row),
            None => number(&values, row),
        }
    }
}

/// The columns that areas are read from, by index.
struct AreaColumns {
    commune: usize,
    figure: FigureColumn,
}

impl AreaColumns {
    fn of(source: &TileSource) -> Result<Self, Error> {
        let commune = match source {
            TileSource::OpenData(Dataset::Dvf) => "insee_code",
            TileSource::OpenData(Dataset::Dpe) => "code_insee_ban",
            TileSource::Properties(_) => "location_insee_code",
        };
        Ok(Self {
            commune: index_of(source.schema(), commune)?,
            figure: FigureColumn::of(source)?,
        })
    }

    fn each(
        &self,
        selected: &Selection,
        read: impl Fn(usize) -> Result<Arc<DecodedColumn>, Error>,
        mut visit: impl FnMut(&'static str, Option<f64>),
    ) -> Result<(), Error> {
        let communes = read(self.commune)?;
        let figure = self.figure.reader(read(self.figure.number)?.values.clone());
        // Each distinct code of the column is looked up once.
        let codes = communes.values.as_dictionary_opt::<Int32Type>();
        let texts = codes.and_then(|codes| codes.values().as_string_opt::<i32>());
        let (Some(codes), Some(texts)) = (codes, texts) else {
            return Ok(());
        };
        let known: Vec<Option<&'static str>> = texts
            .iter()
            .map(|code| today_of_code(code?).map(|commune| commune.code))
            .collect();
        selected.for_each(|row| {
            let commune = codes.key(row).and_then(|key| *known.get(key)?);
            if let Some(commune) = commune {
                visit(commune, figure(row));
            }
        });
        Ok(())
    }
}

/// The columns that points are read from, by index.
struct PointColumns {
    lat: usize,
    lon: usize,
    figure: FigureColumn,
}

impl PointColumns {
    fn of(source: &TileSource) -> Result<Self, Error> {
        let schema = source.schema();
        Ok(Self {
            lat: index_of(schema, "lat")?,
            lon: index_of(schema, "lon")?,
            figure: FigureColumn::of(source)?,
        })
    }

    fn each(
        &self,
        chunk: usize,
        selected: &Selection,
        read: impl Fn(usize) -> Result<Arc<DecodedColumn>, Error>,
        mut visit: impl FnMut(MapPoint),
    ) -> Result<(), Error> {
        let [lat, lon] = [read(self.lat)?, read(self.lon)?];
        let figure = self.figure.reader(read(self.figure.number)?.values.clone());
        selected.for_each(|row| {
            let (Some(lat), Some(lon)) = (number(&lat.values, row), number(&lon.values, row))
            else {
                return;
            };
            visit(MapPoint {
                lat,
                lon,
                figure: figure(row),
                row: (chunk, row),
            });
        });
        Ok(())
    }
}

fn number(values: &ArrayRef, row: usize) -> Option<f64> {
    let values = values.as_primitive_opt::<Float64Type>()?;
    values.is_valid(row).then(|| values.value(row))
}

/// Returns the number of the class for each key of a dictionary column.
fn class_numbers(values: &ArrayRef) -> Option<Vec<Option<f64>>> {
    let categories = values.as_dictionary_opt::<Int32Type>()?.values();
    let numbers = categories.as_string_opt::<i32>()?.iter().map(|name| {
        let place = CLASSES.iter().position(|class| Some(*class) == name)?;
        Some(place as f64 + 1.0)
    });
    Some(numbers.collect())
}

fn class(values: &ArrayRef, classes: &[Option<f64>], row: usize) -> Option<f64> {
    let key = values.as_dictionary_opt::<Int32Type>()?.key(row)?;
    *classes.get(key)?
}
