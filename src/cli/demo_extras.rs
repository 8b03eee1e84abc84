//! Creates the other objects of the demo: a layer with the centres of towns, an area, and a portfolio of homes.

use std::fmt::Write;

use serde_json::json;

use super::accounts::named_or_default;
use super::sql::write_rows;
use super::{CommandResult, Common};
use toise_accounts::{DEFAULT_ACCOUNT, areas};
use toise_base::clock::Clock;
use toise_geo::places::{DIVIDED_CITIES, PlaceKind, Places};
use toise_layers::LayerName;
use toise_layers::import::{ImportOptions, InvalidFeatures, import};
use toise_portfolios::{MOVED_PERCENT_DEFAULT, PortfolioOptions, Portfolios};
use toise_store::Store;

/// Name of the layer.
const LAYER: &str = "town_centres";
/// Licence of the places, and where they are published.
const LICENCE: &str = "Licence Ouverte 2.0";
const SOURCE: &str = "https://geo.api.gouv.fr/decoupage-administratif";
/// Name of the portfolio.
const PORTFOLIO: &str = "demo";
/// The homes of the portfolio: some of those that were sold.
const HOMES: &str = "
    select id as key, property_type as type, surface_m2, main_rooms as room_count, land_surface_m2,
        lon as longitude, lat as latitude
    from dvf
    where property_type in ('Appartement', 'Maison') and lat is not null and main_rooms > 0
        and surface_m2 between 12 and 300
    order by id limit 200";
/// Name and corners of the area, longitude and latitude: the centre of Paris.
const AREA: &str = "Paris centre";
const CORNERS: [[f64; 2]; 5] = [
    [2.330, 48.846],
    [2.372, 48.846],
    [2.372, 48.872],
    [2.330, 48.872],
    [2.330, 48.846],
];

/// Adds the layer, the area and the portfolio to a folder that has sales.
pub(super) fn add(common: &Common) -> CommandResult {
    let (data, clock) = (&common.data, Clock::system());
    let folder = tempfile::tempdir_in(data)?;
    let centres = folder.path().join("town_centres.csv");
    std::fs::write(&centres, town_centres()?)?;
    let options = ImportOptions {
        licence: Some(LICENCE.to_owned()),
        source: Some(SOURCE.to_owned()),
        invalid: InvalidFeatures::Refused,
    };
    let name: LayerName = LAYER.parse()?;
    let layer = import(data, &name, &centres, &options, &clock)?;
    let store = Store::open(data)?;
    let account = named_or_default(&store, &clock, DEFAULT_ACCOUNT)?.account_id;
    let polygon = json!({"type": "Polygon", "coordinates": [CORNERS]});
    areas::put(&store, &clock, account, AREA, polygon.to_string())?;
    let homes = folder.path().join("homes.parquet");
    write_rows(common, HOMES, &homes)?;
    let options = PortfolioOptions {
        webhook_url: None,
        moved_percent: MOVED_PERCENT_DEFAULT,
    };
    let stored = Portfolios::new(data, store, clock).put(account, PORTFOLIO, &homes, options)?;
    eprintln!(
        "added a layer of {} town centres and a portfolio of {} homes",
        layer.features, stored.portfolio.homes
    );
    Ok(())
}

/// Returns the centres of communes and arrondissements as CSV.
fn town_centres() -> Result<String, std::fmt::Error> {
    let mut csv = "code,name,population,latitude,longitude\n".to_owned();
    let is_town = |kind| matches!(kind, PlaceKind::Commune | PlaceKind::Arrondissement);
    for place in Places::get().all() {
        if is_town(place.kind) && !DIVIDED_CITIES.contains(&place.code) {
            let (lat, lon) = place.centre;
            let (code, name, population) = (place.code, place.name, place.population);
            writeln!(csv, "{code},\"{name}\",{population},{lat},{lon}")?;
        }
    }
    Ok(csv)
}
