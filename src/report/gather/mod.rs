//! Gathers the data of a report from the tables, the model, the layers and the addresses.
//!
//! A report costs one valuation, six lookups of sales by identifier, two searches by parcel and building, and three
//! market reports, which are cached by place. Without anything cached, most of the time goes to the market of the
//! department.

mod market;
mod records;

use std::path::Path;
use std::sync::Arc;

use chrono::NaiveDate;

pub(crate) use self::market::first_day;
use self::records::{comparables, diagnostics, parcel_sales};
use crate::model::{
    HomeReport, LayerNearby, ReportSource, ReportedEstimate, ReportedHome, ReportedSale,
    Surroundings, ValuePart,
};
use crate::request::HomeReportRequest;
use toise_contract::fault::Fault;
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
use toise_market::Market;
use toise_opendata::{Dataset, OpenData};

/// Number of comparables in a report.
const COMPARABLES: usize = 5;
/// Maximum layers in a report: those that contain the home first, then the nearest ones.
const LAYERS: usize = 6;
/// Maximum distance of a feature that a report mentions, metres.
const LAYER_REACH_M: f64 = 5_000.0;
/// Maximum distance from a given position to the address that represents it, metres.
const ADDRESS_REACH_M: f64 = 50.0;
/// Maximum addresses on the map. If there are more, the map shows none, because it could only show those nearest to the
/// home.
const ADDRESSES_MAX: usize = 5_000;
/// Smallest half side of the map, metres.
const MAP_M_MIN: f64 = 80.0;

/// The reason why there is no report.
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
        let estimate = valuer.value(home, detail).map_err(model_error)?;
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
        sources.extend(self.list_sources(&layers)?);
        let half_m = map_half_m(&comparables);
        Ok(HomeReport {
            date: today,
            estimate: reported(&estimate, home, &valuer),
            diagnostics: diagnostics(&open_data, place.address.as_ref())?,
            parcel: parcel_sales(&open_data, parcels)?,
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

    /// Finds the address and the commune of a home. If a position in Paris, Lyon or Marseille has no known address, its
    /// arrondissement is taken from the nearest comparable.
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
    fn list_sources(&self, mentioned: &[LayerNearby]) -> Result<Vec<ReportSource>, Error> {
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

fn model_error(error: model::Error) -> Error {
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

/// Returns the last part of the path or URL of a source.
fn file_name(source: &str) -> String {
    let trimmed = source.trim_end_matches('/');
    let name = trimmed.rsplit(['/', '\\']).next();
    name.unwrap_or(trimmed).to_owned()
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
