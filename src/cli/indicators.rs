//! Opens the market indicators for `market` and `sql`, and the rents of homes for `rent` and `evaluate`, over the
//! tables that these commands have opened.

use std::path::Path;
use std::sync::Arc;

use super::result::Failure;
use toise_app::config::Config;
use toise_base::clock::Clock;
use toise_contract::listings::filters::ListingKind;
use toise_engine::Engine;
use toise_estimate::live::LiveModel;
use toise_listings::Listings;
use toise_listings::search::projection::sql_tables;
use toise_listings::search::projection::view::ProjectionView;
use toise_market::rents::Rents;
use toise_market::{CurrentProperties, Market};
use toise_store::Store;

/// Returns the indicators over an open engine. Without listings, the figures that come from adverts are null.
///
/// # Errors
/// The listings cannot be read.
pub(super) fn market_over(
    data: &Path,
    config: &Config,
    engine: &Arc<Engine>,
    listings: Option<&Listings>,
    clock: Clock,
) -> Result<Market, Failure> {
    Ok(Market::new(
        Arc::clone(engine),
        current_properties(engine, listings)?,
        models(data, config),
        clock,
    ))
}

/// Returns the rents of homes over an open engine and the map of rents in a store.
///
/// # Errors
/// The listings cannot be read.
pub(super) fn rents_over(
    data: &Path,
    config: &Config,
    engine: &Arc<Engine>,
    listings: Option<&Listings>,
    store: Option<Store>,
    clock: Clock,
) -> Result<Rents, Failure> {
    Ok(Rents::new(
        Arc::clone(engine),
        current_properties(engine, listings)?,
        store,
        models(data, config),
        clock,
    ))
}

/// Returns the properties as they are now.
fn current_properties(
    engine: &Engine,
    listings: Option<&Listings>,
) -> Result<CurrentProperties, Failure> {
    let view: Option<Arc<ProjectionView>> = match listings {
        Some(listings) => sql_tables::views(listings, engine, &[ListingKind::Property])?
            .pop()
            .map(Arc::new),
        None => None,
    };
    Ok(Arc::new(move || view.clone()))
}

/// Returns the model, opened on demand: few queries need it, and opening it takes seconds.
fn models(data: &Path, config: &Config) -> LiveModel {
    LiveModel::on_demand(data, config.estimate.adjustments())
}
