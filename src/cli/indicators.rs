//! Opens the market indicators for `market` and `sql`, over the tables that these commands have opened.

use std::path::Path;
use std::sync::Arc;

use toise_app::config::Config;
use toise_base::clock::Clock;
use toise_contract::listings::filters::ListingKind;
use toise_engine::Engine;
use toise_estimate::live::LiveModel;
use toise_listings::Listings;
use toise_listings::search::projection::sql_tables;
use toise_listings::search::projection::view::ProjectionView;
use toise_market::Market;

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
) -> Result<Market, Box<dyn std::error::Error + Send + Sync>> {
    let view: Option<Arc<ProjectionView>> = match listings {
        Some(listings) => sql_tables::views(listings, engine, &[ListingKind::Property])?
            .pop()
            .map(Arc::new),
        None => None,
    };
    // The model is opened on demand: few queries need it, and opening it takes seconds.
    let models = LiveModel::on_demand(data, config.estimate.adjustments());
    Ok(Market::new(
        Arc::clone(engine),
        Arc::new(move || view.clone()),
        models,
        clock,
    ))
}
