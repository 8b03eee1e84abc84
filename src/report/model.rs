//! The data of a report before it is written in a language; also its JSON form.

use std::collections::BTreeMap;

use chrono::NaiveDate;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

/// The report of a home.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct HomeReport {
    /// Day of the report.
    #[schema(value_type = String, format = Date)]
    pub date: NaiveDate,
    /// The home.
    pub home: ReportedHome,
    /// Its value.
    pub estimate: ReportedEstimate,
    /// The recorded sales most like it, nearest first.
    pub comparables: Vec<ReportedSale>,
    /// Median prices of its commune and of its department over time.
    pub price_path: Vec<PricePath>,
    /// Energy diagnostics of its building.
    pub diagnostics: BuildingDiagnostics,
    /// Recorded sales of its parcels.
    pub parcel: ParcelSales,
    /// The market of its commune in the last four quarters with recorded sales; `None` if nothing is known about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub market: Option<PlaceMarket>,
    /// Layers around it.
    pub layers: Vec<LayerNearby>,
    /// The sources of the report.
    pub sources: Vec<ReportSource>,
    /// Positions for the map; not part of the JSON form.
    #[serde(skip)]
    pub surroundings: Surroundings,
}

/// The home of a report.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReportedHome {
    /// Its address in the national address base; the nearest one if a position was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
    /// Identifier of that address.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub address_id: Option<String>,
    /// Precision of the position: `ADDRESS`, `STREET`, `TOWN`, or `POSITION` if a position was given.
    pub precision: &'static str,
    /// Latitude, degrees.
    pub latitude: f64,
    /// Longitude, degrees.
    pub longitude: f64,
    /// INSEE code of its commune or arrondissement.
    pub insee_code: String,
    /// Name of its commune or arrondissement.
    pub commune: String,
    /// Code of its department.
    pub department: String,
    /// Class: `CLASS_FLAT` or `CLASS_HOUSE`.
    #[serde(rename = "type")]
    pub class: &'static str,
    /// Living surface, m².
    pub surface_m2: f64,
    /// Main rooms.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub room_count: Option<f64>,
    /// Bedrooms.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bedroom_count: Option<f64>,
    /// Land, m².
    #[serde(skip_serializing_if = "Option::is_none")]
    pub land_surface_m2: Option<f64>,
    /// Year of construction.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub construction_year: Option<i32>,
    /// Storey; the ground floor is 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub floor: Option<f64>,
    /// Energy class, A to G.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub energy: Option<char>,
}

/// The value of a home.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReportedEstimate {
    /// Value, EUR.
    pub price: f64,
    /// Lower end of the interval that contains the price of four sales in five, EUR.
    pub lower: f64,
    /// Its upper end, EUR.
    pub upper: f64,
    /// Value per square metre, EUR.
    pub price_per_m2: f64,
    /// `HIGH`, `MEDIUM` or `LOW`.
    pub confidence: &'static str,
    /// Level that replaced local sales, or `none`.
    pub fallback: &'static str,
    /// Why it is less certain than usual.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warning: Option<&'static str>,
    /// Contribution of each input, EUR, compared with a typical home; the parts sum to the value.
    pub contributions: Vec<ValuePart>,
    /// Version of the model.
    pub model: String,
    /// Day of the last sale that the model knows.
    pub data_through: String,
    /// Number of sales that the model knows.
    pub model_sales: u64,
}

/// A part of a value.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct ValuePart {
    /// The input.
    pub feature: &'static str,
    /// Its contribution, EUR.
    pub eur: f64,
}

/// A recorded sale.
#[derive(Clone, Debug, Default, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReportedSale {
    /// Identifier.
    pub id: String,
    /// Day.
    #[schema(value_type = String, format = Date)]
    pub date: NaiveDate,
    /// Price, EUR.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub price: Option<f64>,
    /// Price per square metre of living surface, EUR.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub price_per_m2: Option<f64>,
    /// Class of the asset.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub class: Option<String>,
    /// Living surface, m².
    #[serde(skip_serializing_if = "Option::is_none")]
    pub surface_m2: Option<f64>,
    /// Main rooms.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub room_count: Option<f64>,
    /// Land, m².
    #[serde(skip_serializing_if = "Option::is_none")]
    pub land_surface_m2: Option<f64>,
    /// Address.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
    /// INSEE code of the commune.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub insee_code: Option<String>,
    /// Whether the price covers several assets.
    pub is_sold_together: bool,
    /// Distance from the home, metres; for comparables only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub distance_m: Option<f64>,
    /// Position.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub location: Option<SalePosition>,
}

/// The position of a sale.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize, ToSchema)]
pub struct SalePosition {
    /// Latitude, degrees.
    pub lat: f64,
    /// Longitude, degrees.
    pub lon: f64,
}

/// Median prices of a place over time.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct PricePath {
    /// `commune` or `department`.
    pub level: &'static str,
    /// Name of the place.
    pub name: String,
    /// The quarters with enough sales, in order.
    pub quarters: Vec<QuarterPrice>,
}

/// The median price of a quarter.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct QuarterPrice {
    /// The quarter, such as `2024-Q2`.
    pub period: String,
    /// Median, EUR per m².
    pub median: f64,
    /// Sales behind it.
    pub sales: u64,
}

/// Energy diagnostics of a building.
#[derive(Clone, Debug, Default, Serialize, ToSchema)]
pub struct BuildingDiagnostics {
    /// Their number, superseded ones included.
    pub total: u64,
    /// Number of the latest hundred by energy class.
    #[schema(value_type = BTreeMap<String, u64>)]
    pub classes: BTreeMap<char, u64>,
    /// The latest ones, latest first.
    pub latest: Vec<ReportedDiagnostic>,
}

/// An energy diagnostic.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReportedDiagnostic {
    /// Its number.
    pub numero_dpe: String,
    /// Day on which it was established.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = Date)]
    pub date: Option<NaiveDate>,
    /// Energy class.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub energy: Option<char>,
    /// Climate class.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub climate: Option<char>,
    /// Living surface, m².
    #[serde(skip_serializing_if = "Option::is_none")]
    pub surface_m2: Option<f64>,
    /// Storey.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub floor: Option<f64>,
    /// Primary energy, kWh per m² and year.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub energy_kwh_m2: Option<f64>,
}

/// Recorded sales of the parcels of a home.
#[derive(Clone, Debug, Default, Serialize, ToSchema)]
pub struct ParcelSales {
    /// The parcels of its address.
    pub ids: Vec<String>,
    /// Number of sales.
    pub total: u64,
    /// The latest ones, latest first.
    pub latest: Vec<ReportedSale>,
}

/// Market indicators of the commune of a home, for its class.
#[derive(Clone, Debug, Default, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct PlaceMarket {
    /// Name of the place.
    pub name: String,
    /// First day of the sales.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = Date)]
    pub from: Option<NaiveDate>,
    /// Last day of the sales.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = Date)]
    pub to: Option<NaiveDate>,
    /// Number of sales.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sales: Option<f64>,
    /// Lower quartile of prices, EUR per m².
    #[serde(skip_serializing_if = "Option::is_none")]
    pub price_per_m2_q1: Option<f64>,
    /// Median.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub price_per_m2_median: Option<f64>,
    /// Upper quartile.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub price_per_m2_q3: Option<f64>,
    /// Properties for sale at the end of the day of the report.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stock: Option<f64>,
    /// Median asking price, EUR per m².
    #[serde(skip_serializing_if = "Option::is_none")]
    pub asking_price_per_m2: Option<f64>,
    /// Median days on the market.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub days_on_market: Option<f64>,
    /// Median monthly rent, EUR per m².
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rent_per_m2: Option<f64>,
    /// Gross yield, percent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gross_yield: Option<f64>,
}

/// The relation of a layer to the position of a home.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct LayerNearby {
    /// Name of the layer.
    pub name: String,
    /// Whether the home is inside a feature.
    pub is_inside: bool,
    /// Distance of the nearest feature, metres.
    pub distance_m: f64,
    /// Attributes of that feature.
    #[schema(value_type = Object)]
    pub attributes: Map<String, Value>,
}

/// A source of the report.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReportSource {
    /// `sales`, `diagnostics`, `addresses`, or the name of a layer.
    pub dataset: String,
    /// File or address of the latest data.
    pub name: String,
    /// Its licence.
    pub licence: String,
    /// When it was imported.
    pub imported_at: String,
}

/// Contents of the map of a report in addition to the comparables.
#[derive(Clone, Debug, Default)]
pub struct Surroundings {
    /// Latitudes and longitudes of addresses, degrees.
    pub addresses: Vec<(f64, f64)>,
}
