//! Gathers the data of a report from the tables, the model, the layers and the addresses.
//!
//! A report costs one valuation, six lookups of sales by identifier, two searches by parcel and building, and three
//! market reports, which are cached by place. Without anything cached, most of the time goes to the market of the
//! department.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow::array::{Array, AsArray, RecordBatch};
use arrow::datatypes::{Float64Type, Int64Type};
use bytes::Bytes;
use chrono::{Days, Months, NaiveDate};
use serde::Deserialize;

use crate::model::{
    BuildingDiagnostics, HomeReport, LayerNearby, ParcelSales, PlaceMarket, PricePath,
    QuarterPrice, ReportSource, ReportedDiagnostic, ReportedEstimate, ReportedHome, ReportedSale,
    SalePosition, Surroundings, ValuePart,
};
use crate::request::HomeReportRequest;
use toise_contract::fault::Fault;
use toise_contract::filter::{Clause, ClauseTest, Filter};
use toise_engine::cancellation::Interrupt;
use toise_estimate::live::LiveModel;
use toise_estimate::valuer::Valuer;
use toise_estimate::{Detail, Estimate, EstimateWarning, Home, HomeClass, model};
use toise_geo::departments;
use toise_geo::distance::planar_distance_m;
use toise_geo::places::{DIVIDED_CITIES, Places};
use toise_geocode::Geocoder;
use toise_geocode::parcels::Parcels;
use toise_geocode::resolve::Precision;
use toise_geocode::reverse::Near;
use toise_geocode::table as addresses;
use toise_lake::schema::TableSchema;
use toise_layers::Layers;
use toise_market::period::Division;
use toise_market::place::Level;
use toise_market::{Market, MarketRequest};
use toise_opendata::dpe::BUILDING;
use toise_opendata::dvf::place::{PARCELS, parcel_today};
use toise_opendata::{Dataset, DatasetSearchRequest, OpenData, SearchAnswer};

/// Comparables of a report.
const COMPARABLES: usize = 5;
/// Diagnostics whose classes are counted.
const DIAGNOSTICS_COUNTED: usize = 100;
const DIAGNOSTICS_LISTED: usize = 5;
/// Sales of the parcels listed.
const PARCEL_SALES: usize = 6;
/// Layers listed: those that contain the home first, then the nearest ones.
const LAYERS: usize = 6;
/// Maximum distance of a feature that a report mentions, metres.
const LAYER_REACH_M: f64 = 5_000.0;
/// Maximum distance from a given position to the address that represents it, metres.
const ADDRESS_REACH_M: f64 = 50.0;
/// Maximum addresses on the map. If there are more, it shows none, because only those nearest to the home would be
/// found.
const ADDRESSES_MAX: usize = 5_000;
/// Smallest half side of the map, metres.
pub(crate) const MAP_M_MIN: f64 = 80.0;
/// Length of the price path, years.
const PATH_YEARS: u32 = 8;
/// Quarters that the market of a commune is computed from.
const MARKET_QUARTERS: u32 = 4;
const QUARTER_MONTHS: u32 = 3;
/// Column with the address of a diagnostic.
const ADDRESS_OF_DIAGNOSTIC: &str = "identifiant_ban";

/// Why there is no report.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The request cannot be answered.
    #[error(transparent)]
    Invalid(#[from] Fault),
    /// No model was trained.
    #[error("no model is trained yet; train one: toise train")]
    NoModel,
    /// The model is damaged.
    #[error(transparent)]
    Model(model::Error),
    /// A table cannot be read, or the query was cancelled.
    #[error(transparent)]
    Engine(#[from] toise_engine::Error),
    /// Market indicators cannot be computed.
    #[error(transparent)]
    Market(#[from] toise_market::Error),
    /// A layer cannot be read.
    #[error(transparent)]
    Layers(#[from] toise_layers::Error),
    /// The table of addresses cannot be read.
    #[error(transparent)]
    Lake(#[from] toise_lake::Error),
    /// A page cannot be written.
    #[error("the report cannot be written: {0}")]
    Page(String),
}

/// Writes reports from the data of a folder. Cheap to clone.
#[derive(Clone)]
pub struct Reporter {
    open_data: OpenData,
    market: Market,
    models: LiveModel,
    layers: Layers,
    parcels: Arc<Parcels>,
}

/// The address of a home whose house number is known.
struct HomeAddress {
    id: String,
    label: String,
}

/// A sale, as the table stores it.
#[derive(Deserialize)]
struct SaleRecord {
    id: String,
    transaction_date: String,
    price_eur: Option<f64>,
    price_per_m2_living_eur: Option<f64>,
    surface_m2: Option<f64>,
    main_rooms: Option<f64>,
    land_surface_m2: Option<f64>,
    property_type: Option<String>,
    address: Option<String>,
    location: Option<SalePosition>,
    #[serde(default)]
    is_sold_together: bool,
    insee_code: Option<String>,
}

/// A diagnostic, as the table stores it.
#[derive(Deserialize)]
struct DiagnosticRecord {
    numero_dpe: String,
    date_etablissement_dpe: Option<String>,
    etiquette_dpe: Option<String>,
    etiquette_ges: Option<String>,
    surface_habitable_logement: Option<f64>,
    numero_etage_appartement: Option<f64>,
    conso_5_usages_par_m2_ep: Option<f64>,
    id_rnb: Option<String>,
}

impl Reporter {
    /// Creates a reporter over a data folder. The engine of `open_data` must have the tables of sales and diagnostics.
    pub fn new(
        data: &Path,
        open_data: OpenData,
        market: Market,
        models: LiveModel,
        layers: Layers,
    ) -> Self {
        Self {
            open_data,
            market,
            models,
            layers,
            parcels: Arc::new(Parcels::new(data)),
        }
    }

    /// Returns the report of a home. Uses CPU on the calling thread and its rayon pool, and reads files. `today` is the
    /// day of the report.
    ///
    /// # Errors
    /// There is no model, the model does not know homes of the class, or data cannot be read.
    pub fn report(
        &self,
        request: &HomeReportRequest,
        geocoder: &Geocoder,
        today: NaiveDate,
        interrupt: &Interrupt,
    ) -> Result<HomeReport, Error> {
        let valuer = self.models.valuer().ok_or(Error::NoModel)?;
        let open_data = self.open_data.interruptible(interrupt);
        let home = &request.home;
        let detail = Detail {
            comparables: COMPARABLES,
            has_contributions: true,
        };
        let estimate = valuer.value(home, detail).map_err(of_model)?;
        let estimate = estimate.located_by(request.located.as_ref());
        let comparables = comparables(&open_data, &estimate)?;
        let place = Self::place(request, geocoder, &comparables);
        let parcels = match &place.address {
            Some(address) => self.parcels.of(&address.id)?,
            None => Vec::new(),
        };
        let market = self.market(&place.home, home.class, today, interrupt)?;
        let layers = self.layers_near(home)?;
        let mut sources = tables(&open_data)?;
        sources.extend(self.sources_of(&layers)?);
        let half_m = map_half_m(&comparables);
        Ok(HomeReport {
            date: today,
            estimate: reported(&estimate, home, &valuer),
            diagnostics: diagnostics(&open_data, place.address.as_ref())?,
            parcel: sales_of(&open_data, parcels)?,
            price_path: market.0,
            market: market.1,
            layers,
            sources,
            surroundings: Surroundings {
                addresses: addresses_around(geocoder, home, half_m),
            },
            home: place.home,
            comparables,
        })
    }

    /// Finds the address and the commune of a home. The arrondissement of a position in Paris, Lyon or Marseille without a
    /// known address is that of the nearest comparable.
    fn place(
        request: &HomeReportRequest,
        geocoder: &Geocoder,
        comparables: &[ReportedSale],
    ) -> HomePlace {
        let home = &request.home;
        let (lat, lon) = (home.latitude, home.longitude);
        let near = geocoder.reverse(lat, lon, 1, ADDRESS_REACH_M);
        let near = near.first().map(|near| {
            let address = geocoder.address_near(near, lat, lon).properties;
            (
                matches!(near, Near::Address(..)) && address.house_number.is_some(),
                address,
            )
        });
        let precision = match request.located.as_ref().map(|located| located.precision) {
            None => "POSITION",
            Some(precision) => precision.name(),
        };
        let is_certain = precision == "POSITION" || precision == Precision::Address.name();
        let address = near
            .as_ref()
            .filter(|(is_address, _)| *is_address && is_certain);
        let address = address.map(|(_, address)| HomeAddress {
            id: address.id.to_string(),
            label: address.label.clone(),
        });
        let located = request.located.as_ref();
        let candidates = [
            located.map(|located| located.insee_code.clone()),
            near.as_ref().map(|(_, near)| near.insee_code.to_string()),
            comparables.first().and_then(|sale| sale.insee_code.clone()),
        ];
        let mut known = candidates.into_iter().flatten();
        let code = known.next().unwrap_or_default();
        let code = if DIVIDED_CITIES.contains(&code.as_str()) {
            let mut known = known.filter(|other| !DIVIDED_CITIES.contains(&other.as_str()));
            known.next().unwrap_or(code)
        } else {
            code
        };
        let places = Places::get();
        let known = places.find(&code).and_then(|index| places.place(index));
        let label = located.map(|located| located.label.clone());
        let label = label.or_else(|| address.as_ref().map(|address| address.label.clone()));
        let home = ReportedHome {
            address: label,
            address_id: address.as_ref().map(|address| address.id.clone()),
            precision,
            latitude: lat,
            longitude: lon,
            commune: known.map_or(String::new(), |place| place.name.to_owned()),
            department: departments::for_commune(&code)
                .unwrap_or_default()
                .to_owned(),
            insee_code: code,
            class: match home.class {
                HomeClass::Flat => "CLASS_FLAT",
                HomeClass::House => "CLASS_HOUSE",
            },
            surface_m2: home.surface_m2,
            room_count: home.rooms,
            bedroom_count: home.bedrooms,
            land_surface_m2: home.land_m2,
            construction_year: home.construction_year,
            floor: home.floor,
            energy: home.energy.map(toise_estimate::Grade::letter),
        };
        HomePlace { home, address }
    }

    /// Returns the price paths of the commune and the department of a home, and the market of the commune.
    fn market(
        &self,
        home: &ReportedHome,
        class: HomeClass,
        today: NaiveDate,
        interrupt: &Interrupt,
    ) -> Result<(Vec<PricePath>, Option<PlaceMarket>), Error> {
        if home.insee_code.is_empty() {
            return Ok((Vec::new(), None));
        }
        let from = today.checked_sub_months(Months::new(12 * PATH_YEARS));
        let by_quarter = |level| MarketRequest {
            class: Some(class),
            has_rent: false,
            by: Division::Quarter,
            from: from.map(model::days),
            ..MarketRequest::of_level(level)
        };
        let commune = MarketRequest {
            communes: vec![home.insee_code.clone()],
            ..by_quarter(Level::Commune)
        };
        let department = MarketRequest {
            departments: vec![home.department.clone()],
            ..by_quarter(Level::Department)
        };
        let of_commune = self.market.report(&commune, interrupt)?;
        let of_department = self.market.report(&department, interrupt)?;
        let mut paths = Vec::new();
        for (level, name, report) in [
            ("commune", home.commune.as_str(), &of_commune),
            (
                "department",
                departments::name(&home.department).unwrap_or_default(),
                &of_department,
            ),
        ] {
            let quarters = quarters(&report.rows);
            if !quarters.is_empty() {
                paths.push(PricePath {
                    level,
                    name: name.to_owned(),
                    quarters,
                });
            }
        }
        let (from, to) = last_year(&of_department.rows);
        let whole = MarketRequest {
            communes: vec![home.insee_code.clone()],
            class: Some(class),
            from: from.map(model::days),
            ..MarketRequest::of_level(Level::Commune)
        };
        let whole = self.market.report(&whole, interrupt)?;
        let rows = &whole.rows;
        if rows.num_rows() == 0 {
            return Ok((paths, None));
        }
        let number = |name: &str| number(rows, name, 0);
        let market = PlaceMarket {
            name: home.commune.clone(),
            from,
            to,
            sales: number("sales"),
            price_per_m2_q1: number("price_per_m2_q1"),
            price_per_m2_median: number("price_per_m2_median"),
            price_per_m2_q3: number("price_per_m2_q3"),
            stock: number("stock"),
            asking_price_per_m2: number("asking_price_per_m2"),
            days_on_market: number("days_on_market"),
            rent_per_m2: number("rent_per_m2"),
            gross_yield: number("gross_yield"),
        };
        Ok((paths, Some(market)))
    }

    /// Returns what the layers say about the position of a home.
    fn layers_near(&self, home: &Home) -> Result<Vec<LayerNearby>, Error> {
        let (lat, lon) = (home.latitude, home.longitude);
        let mut found = Vec::new();
        for layer in self.layers.list()? {
            let [west, south, east, north] = layer.bbox;
            let nearest_in_box = (lat.clamp(south, north), lon.clamp(west, east));
            let box_m = planar_distance_m(lat, lon, nearest_in_box.0, nearest_in_box.1);
            if box_m > LAYER_REACH_M {
                continue;
            }
            let index = self.layers.index(layer.name.as_str())?;
            let nearest = index.nearest(lat, lon);
            if let Some(nearest) = nearest.filter(|nearest| nearest.distance_m <= LAYER_REACH_M) {
                found.push((layer, index.contains(lat, lon), nearest));
            }
        }
        found.sort_by(|(one, _, near), (other, _, far)| {
            let by_distance = near.distance_m.total_cmp(&far.distance_m);
            by_distance.then(one.name.cmp(&other.name))
        });
        found.truncate(LAYERS);
        let with_attributes = found.into_iter().map(|(layer, is_inside, nearest)| {
            Ok(LayerNearby {
                attributes: self.layers.attributes(&layer, nearest.feature)?,
                name: layer.name.to_string(),
                is_inside,
                distance_m: nearest.distance_m,
            })
        });
        with_attributes.collect()
    }

    /// Returns the sources of the layers that a report mentions.
    fn sources_of(&self, mentioned: &[LayerNearby]) -> Result<Vec<ReportSource>, Error> {
        let layers = self.layers.list()?.into_iter();
        let mentioned = layers.filter(|layer| {
            let name = layer.name.as_str();
            mentioned.iter().any(|nearby| nearby.name == name)
        });
        let sources = mentioned.map(|layer| ReportSource {
            dataset: layer.name.to_string(),
            name: file_name(&layer.provenance.name),
            licence: layer.provenance.licence,
            imported_at: layer.provenance.read_at,
        });
        Ok(sources.collect())
    }
}

/// The location of a home: its address and areas.
struct HomePlace {
    home: ReportedHome,
    address: Option<HomeAddress>,
}

fn of_model(error: model::Error) -> Error {
    match error {
        model::Error::NothingOfClass { class } | model::Error::NothingBefore { class, .. } => {
            let message = format!("the model knows no sale of a {class}, so none can be valued");
            Error::Invalid(Fault::new("type", message))
        }
        other => Error::Model(other),
    }
}

fn reported(estimate: &Estimate, home: &Home, valuer: &Valuer) -> ReportedEstimate {
    let metadata = valuer.model().metadata();
    ReportedEstimate {
        price: estimate.price,
        lower: estimate.lower,
        upper: estimate.upper,
        price_per_m2: (estimate.price / home.surface_m2).round(),
        confidence: estimate.confidence.as_str(),
        fallback: estimate.fallback.as_str(),
        warning: estimate.warning.map(EstimateWarning::as_str),
        contributions: estimate
            .contributions
            .iter()
            .map(|part| ValuePart {
                feature: part.feature,
                eur: part.eur,
            })
            .collect(),
        model: metadata.version.clone(),
        data_through: metadata.data_through.to_string(),
        model_sales: metadata.sales,
    }
}

/// Returns the comparables of an estimate with their records in the table.
fn comparables(open_data: &OpenData, estimate: &Estimate) -> Result<Vec<ReportedSale>, Error> {
    let mut sales = Vec::new();
    for comparable in &estimate.comparables {
        let filter = vec![one_of(
            Dataset::Dvf.schema().id,
            vec![comparable.id.clone()],
        )];
        let found = search(open_data, Dataset::Dvf, filter, 1)?;
        // The model may know a sale that a later import removed.
        let stored = found.records.first().map(sale).transpose()?;
        let known = stored.unwrap_or_default();
        sales.push(ReportedSale {
            id: comparable.id.clone(),
            date: comparable.date,
            price: Some(comparable.price),
            price_per_m2: Some((comparable.price / comparable.surface_m2).round()),
            surface_m2: Some(comparable.surface_m2),
            distance_m: Some(comparable.distance_m.round()),
            ..known
        });
    }
    Ok(sales)
}

/// Returns the diagnostics of an address and of its building.
fn diagnostics(
    open_data: &OpenData,
    address: Option<&HomeAddress>,
) -> Result<BuildingDiagnostics, Error> {
    let Some(address) = address else {
        return Ok(BuildingDiagnostics::default());
    };
    let at_address = one_of(ADDRESS_OF_DIAGNOSTIC, vec![address.id.clone()]);
    let found = search(
        open_data,
        Dataset::Dpe,
        vec![at_address.clone()],
        DIAGNOSTICS_COUNTED,
    )?;
    let records = diagnostics_in(&found)?;
    let mut buildings: BTreeMap<&str, usize> = BTreeMap::new();
    for building in records.iter().filter_map(|record| record.id_rnb.as_deref()) {
        *buildings.entry(building).or_default() += 1;
    }
    let building = buildings.into_iter().max_by_key(|(_, count)| *count);
    let (total, records) = match building {
        Some((building, _)) => {
            let of_building = one_of(BUILDING, vec![building.to_owned()]);
            let filter = Clause::any(vec![vec![at_address], vec![of_building]]);
            let found = search(open_data, Dataset::Dpe, filter, DIAGNOSTICS_COUNTED)?;
            (found.total, diagnostics_in(&found)?)
        }
        None => (found.total, records),
    };
    let mut classes = BTreeMap::new();
    for class in records
        .iter()
        .filter_map(|one| letter(one.etiquette_dpe.as_deref()))
    {
        *classes.entry(class).or_default() += 1;
    }
    let latest = records
        .into_iter()
        .take(DIAGNOSTICS_LISTED)
        .map(|record| ReportedDiagnostic {
            date: record.date_etablissement_dpe.as_deref().and_then(day),
            energy: letter(record.etiquette_dpe.as_deref()),
            climate: letter(record.etiquette_ges.as_deref()),
            surface_m2: record.surface_habitable_logement,
            floor: record.numero_etage_appartement,
            energy_kwh_m2: record.conso_5_usages_par_m2_ep,
            numero_dpe: record.numero_dpe,
        });
    Ok(BuildingDiagnostics {
        total,
        classes,
        latest: latest.collect(),
    })
}

/// Returns the sales of parcels, latest first.
fn sales_of(open_data: &OpenData, parcels: Vec<String>) -> Result<ParcelSales, Error> {
    if parcels.is_empty() {
        return Ok(ParcelSales::default());
    }
    let today = parcels
        .iter()
        .map(|id| parcel_today(id.as_str().into()).into_owned());
    let filter = vec![one_of(PARCELS, today.collect())];
    let found = search(open_data, Dataset::Dvf, filter, PARCEL_SALES)?;
    Ok(ParcelSales {
        ids: parcels,
        total: found.total,
        latest: found.records.iter().map(sale).collect::<Result<_, _>>()?,
    })
}

/// Returns the latest records that a filter selects.
fn search(
    open_data: &OpenData,
    dataset: Dataset,
    filter: Filter,
    size: usize,
) -> Result<SearchAnswer, Error> {
    let request = DatasetSearchRequest {
        filter,
        sort_by: dataset.schema().date,
        descending: true,
        size,
        after: None,
    };
    Ok(open_data.search(dataset, &request)?)
}

fn one_of(column: &'static str, texts: Vec<String>) -> Clause {
    Clause::new(column, ClauseTest::OneOf(texts))
}

fn damaged(dataset: Dataset) -> impl Fn(serde_json::Error) -> Error {
    move |error| {
        let path = PathBuf::from(dataset.name());
        Error::Lake(toise_lake::Error::damaged(&path, error))
    }
}

fn sale(record: &Bytes) -> Result<ReportedSale, Error> {
    let record: SaleRecord = serde_json::from_slice(record).map_err(damaged(Dataset::Dvf))?;
    Ok(ReportedSale {
        id: record.id,
        date: day(&record.transaction_date).unwrap_or_default(),
        price: record.price_eur,
        price_per_m2: record.price_per_m2_living_eur,
        class: record.property_type,
        surface_m2: record.surface_m2,
        room_count: record.main_rooms,
        land_surface_m2: record.land_surface_m2,
        address: record.address,
        insee_code: record.insee_code,
        is_sold_together: record.is_sold_together,
        distance_m: None,
        location: record.location,
    })
}

fn diagnostics_in(found: &SearchAnswer) -> Result<Vec<DiagnosticRecord>, Error> {
    let records = found.records.iter();
    let records = records.map(|record| serde_json::from_slice(record));
    records
        .collect::<Result<_, _>>()
        .map_err(damaged(Dataset::Dpe))
}

/// Returns the day at the start of a date text.
fn day(text: &str) -> Option<NaiveDate> {
    text.get(..10)?.parse().ok()
}

/// Returns a class of a diagnostic, A to G.
fn letter(text: Option<&str>) -> Option<char> {
    let letter = text?.chars().next()?;
    ('A'..='G').contains(&letter).then_some(letter)
}

/// Returns the latest source of each table.
fn tables(open_data: &OpenData) -> Result<Vec<ReportSource>, Error> {
    let mut sources = Vec::new();
    let known: [(&str, &'static TableSchema); 3] = [
        ("sales", Dataset::Dvf.schema()),
        ("diagnostics", Dataset::Dpe.schema()),
        ("addresses", addresses::schema()),
    ];
    for (dataset, schema) in known {
        let engine = open_data.engine();
        if !engine.schemas().any(|table| table.name == schema.name) {
            continue;
        }
        let view = engine.view(schema)?;
        if let Some(last) = view.snapshot().sources.last() {
            sources.push(ReportSource {
                dataset: dataset.to_owned(),
                name: match &last.edition {
                    Some(edition) => edition.clone(),
                    None => file_name(&last.name),
                },
                licence: last.licence.clone(),
                imported_at: last.read_at.clone(),
            });
        }
    }
    Ok(sources)
}

/// Returns the last part of the path or the address that a source was read from.
fn file_name(source: &str) -> String {
    let trimmed = source.trim_end_matches('/');
    let name = trimmed.rsplit(['/', '\\']).next();
    name.unwrap_or(trimmed).to_owned()
}

/// Returns the quarters of a market report that have a median.
fn quarters(rows: &RecordBatch) -> Vec<QuarterPrice> {
    let Some(periods) = rows.column_by_name("period") else {
        return Vec::new();
    };
    let periods = periods.as_string::<i32>();
    let with_median = (0..rows.num_rows()).filter_map(|row| {
        Some(QuarterPrice {
            period: periods
                .is_valid(row)
                .then(|| periods.value(row).to_owned())?,
            median: number(rows, "price_per_m2_median", row)?,
            sales: number(rows, "priced_sales", row)? as u64,
        })
    });
    let mut quarters: Vec<QuarterPrice> = with_median.collect();
    quarters.sort_by(|one, other| one.period.cmp(&other.period));
    quarters
}

/// Returns the first and the last day of the last four quarters that have recorded sales.
fn last_year(rows: &RecordBatch) -> (Option<NaiveDate>, Option<NaiveDate>) {
    let Some(periods) = rows.column_by_name("period") else {
        return (None, None);
    };
    let periods = periods.as_string::<i32>();
    let sold = (0..rows.num_rows()).filter(|row| {
        periods.is_valid(*row) && number(rows, "sales", *row).is_some_and(|sales| sales > 0.0)
    });
    let Some(start) = sold.map(|row| periods.value(row)).max().and_then(first_day) else {
        return (None, None);
    };
    let before = Months::new(QUARTER_MONTHS * (MARKET_QUARTERS - 1));
    let end = start.checked_add_months(Months::new(QUARTER_MONTHS));
    (
        start.checked_sub_months(before),
        end.and_then(|end| end.checked_sub_days(Days::new(1))),
    )
}

/// Returns the first day of a quarter such as `2024-Q2`.
pub(crate) fn first_day(quarter: &str) -> Option<NaiveDate> {
    let (year, quarter) = quarter.split_once("-Q")?;
    let month = (quarter.parse::<u32>().ok()?.checked_sub(1)?) * QUARTER_MONTHS + 1;
    NaiveDate::from_ymd_opt(year.parse().ok()?, month, 1)
}

/// Returns a figure of a market report.
fn number(rows: &RecordBatch, column: &str, row: usize) -> Option<f64> {
    let column = rows.column_by_name(column)?;
    if column.is_null(row) {
        return None;
    }
    let counts = column.as_primitive_opt::<Int64Type>();
    let counted = counts.map(|counts| counts.value(row) as f64);
    let numbers = column.as_primitive_opt::<Float64Type>();
    counted.or_else(|| numbers.map(|numbers| numbers.value(row)))
}

/// Returns half the side of the map that shows the comparables, metres.
pub(crate) fn map_half_m(comparables: &[ReportedSale]) -> f64 {
    const MARGIN: f64 = 1.15;
    let distances = comparables.iter().filter_map(|sale| sale.distance_m);
    distances.fold(MAP_M_MIN, |half, metres| half.max(metres * MARGIN))
}

/// Returns the positions of the addresses on the map; none if there are too many.
fn addresses_around(geocoder: &Geocoder, home: &Home, half_m: f64) -> Vec<(f64, f64)> {
    // Reaches the corners of a map that is twice as wide as high.
    let reach_m = half_m * 5.0_f64.sqrt();
    let near = geocoder.reverse(home.latitude, home.longitude, ADDRESSES_MAX, reach_m);
    if near.len() >= ADDRESSES_MAX {
        return Vec::new();
    }
    let houses = near.into_iter().filter_map(|near| match near {
        Near::Address(_, neighbour) => neighbour.number,
        Near::Commune(_) => None,
    });
    houses.map(|house| (house.lat, house.lon)).collect()
}
