//! Estimates the rent of a home from adverts of homes to rent and the official map of rents, with an interval and the
//! gross yield.
//!
//! HTTP, the tools of agents and the command line all call one function, [`Rents::estimate`]. The model is fitted in
//! memory on the first request, and again when properties or the map have changed. Adverts change continuously, so at
//! most about a twentieth of the time is spent on fitting. `docs/rents.md` describes the method.

pub mod adverts;
pub mod answer;
pub mod effects;
pub mod evaluation;
mod file;
pub mod interval;
pub mod levels;
pub mod map;
pub mod model;

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use arc_swap::ArcSwapOption;
use parking_lot::Mutex;

use crate::CurrentProperties;
use adverts::Rentals;
use answer::{RentEstimate, RentYield, YieldPrice};
use effects::RentedHome;
use map::{MapDescription, MapError, RentMap};
use model::{RentModel, RentUnavailable};
use toise_base::clock::Clock;
use toise_contract::fault::Fault;
use toise_engine::Engine;
use toise_engine::cancellation::Interrupt;
use toise_estimate::live::LiveModel;
use toise_estimate::request::LocatedHome;
use toise_estimate::request::fields::ADDRESS_PATH;
use toise_estimate::{Detail, Home};
use toise_geo::communes::record_place;
use toise_geo::contours::commune_at;
use toise_geo::places::Place;
use toise_store::{self as store, Store};

/// A model is used for at least this many times the duration of its fit before it is fitted again.
const FIT_PAUSE_FACTOR: u32 = 20;
/// The path of the position in messages.
const POSITION_PATH: &str = "location.locationCoordinate.location";

/// Why a rent cannot be estimated.
#[derive(Debug, thiserror::Error)]
pub enum RentError {
    /// The home has no position in France.
    #[error(transparent)]
    Invalid(#[from] Fault),
    /// Too few rents are known at the place.
    #[error(transparent)]
    RentUnavailable(#[from] RentUnavailable),
    /// The table of properties cannot be read, or the query was cancelled.
    #[error(transparent)]
    Engine(#[from] toise_engine::Error),
    /// The map of rents cannot be read.
    #[error(transparent)]
    Map(#[from] MapError),
    /// The value for the yield cannot be estimated.
    #[error(transparent)]
    Value(#[from] toise_estimate::model::Error),
}

impl From<store::Error> for RentError {
    fn from(error: store::Error) -> Self {
        Self::Map(error.into())
    }
}

/// Rents over the properties of an engine. Cheap to clone.
#[derive(Clone)]
pub struct Rents(Arc<Inner>);

struct Inner {
    engine: Arc<Engine>,
    properties: CurrentProperties,
    store: Option<Store>,
    models: LiveModel,
    clock: Clock,
    fitted: ArcSwapOption<Fitted>,
    fitting: Mutex<()>,
}

impl fmt::Debug for Rents {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Rents")
    }
}

/// Versions of the inputs that a model was fitted from.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Inputs {
    /// Last change of the properties.
    through: Option<i64>,
    maps: Vec<MapDescription>,
    today: i32,
}

struct Fitted {
    inputs: Inputs,
    model: Arc<RentModel>,
    at: Instant,
    took: Duration,
}

impl Rents {
    /// Creates an estimator of rents over the properties of an engine and the map in a store, with the model for
    /// values. Nothing is fitted yet.
    pub fn new(
        engine: Arc<Engine>,
        properties: CurrentProperties,
        store: Option<Store>,
        models: LiveModel,
        clock: Clock,
    ) -> Self {
        Self(Arc::new(Inner {
            engine,
            properties,
            store,
            models,
            clock,
            fitted: ArcSwapOption::empty(),
            fitting: Mutex::default(),
        }))
    }

    /// Estimates the rent of a home as of today. `price_eur` is the price for the yield; without it, the value of the
    /// home is estimated if there is a model. If the rent model must be fitted first, this takes as long as the fit.
    ///
    /// # Errors
    /// The home is outside France, too little is known about its place, or the data cannot be read.
    pub fn estimate(
        &self,
        located: &LocatedHome,
        price_eur: Option<f64>,
        interrupt: &Interrupt,
    ) -> Result<RentEstimate, RentError> {
        let home = &located.home;
        let place = commune(located)?;
        let position = (home.latitude, home.longitude);
        let model = self.model(interrupt)?;
        let prediction = model.predict(&RentedHome::of(home), position, place)?;
        let price = match price_eur {
            Some(eur) => Some((eur, YieldPrice::Request)),
            None => self.value(home)?.map(|eur| (eur, YieldPrice::Estimate)),
        };
        Ok(RentEstimate {
            place,
            adverts: model.adverts(),
            rent_yield: price.map(|(eur, from)| RentYield::new(&prediction, eur, from)),
            prediction,
        })
    }

    /// Returns the estimated value of a home; `None` without a model that knows its class.
    fn value(&self, home: &Home) -> Result<Option<f64>, RentError> {
        use toise_estimate::model::Error;
        let Some(valuer) = self.0.models.valuer() else {
            return Ok(None);
        };
        match valuer.value(home, Detail::default()) {
            Ok(estimate) => Ok(Some(estimate.price)),
            Err(Error::NothingOfClass { .. } | Error::NothingBefore { .. }) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Returns the model, fitted to the current or slightly older properties and the current map. If another call is
    /// fitting it, returns the previous model.
    ///
    /// # Errors
    /// The properties or the map cannot be read, or the query is cancelled.
    pub fn model(&self, interrupt: &Interrupt) -> Result<Arc<RentModel>, RentError> {
        let inner = &self.0;
        let inputs = self.inputs()?;
        let is_fresh = |fitted: &Fitted| fitted.inputs == inputs;
        let rests = |fitted: &Fitted| {
            fitted.inputs.maps == inputs.maps
                && fitted.at.elapsed() < FIT_PAUSE_FACTOR * fitted.took
        };
        let known = inner.fitted.load_full();
        if let Some(known) = known
            .as_ref()
            .filter(|known| is_fresh(known) || rests(known))
        {
            return Ok(Arc::clone(&known.model));
        }
        let _fitting = match known {
            None => inner.fitting.lock(),
            // While another call fits the model, the previous one is used.
            Some(stale) => match inner.fitting.try_lock() {
                Some(fitting) => fitting,
                None => return Ok(Arc::clone(&stale.model)),
            },
        };
        // Another call may have fitted it while this one waited for the lock.
        if let Some(known) = inner.fitted.load_full().filter(|known| is_fresh(known)) {
            return Ok(Arc::clone(&known.model));
        }
        let started = Instant::now();
        let (rentals, map) = self.read(inputs.today, interrupt)?;
        let model = Arc::new(RentModel::fit(rentals, Arc::new(map)));
        inner.fitted.store(Some(Arc::new(Fitted {
            inputs,
            model: Arc::clone(&model),
            at: Instant::now(),
            took: started.elapsed(),
        })));
        Ok(model)
    }

    /// Reads the homes to rent and the map.
    ///
    /// # Errors
    /// The properties or the map cannot be read, or the query is cancelled.
    pub fn read(&self, today: i32, interrupt: &Interrupt) -> Result<(Rentals, RentMap), RentError> {
        let inner = &self.0;
        let rentals = match (inner.properties)() {
            Some(view) => adverts::read(&inner.engine, &view, today, interrupt)?,
            None => Rentals::default(),
        };
        let map = match &inner.store {
            Some(store) => RentMap::load(store)?,
            None => RentMap::default(),
        };
        Ok((rentals, map))
    }

    /// Returns today in days since 1970-01-01.
    pub fn today(&self) -> i32 {
        toise_estimate::model::days(self.0.clock.now().date_naive())
    }

    fn inputs(&self) -> Result<Inputs, RentError> {
        let maps = self.0.store.as_ref().map(map::descriptions);
        Ok(Inputs {
            through: (self.0.properties)().map(|view| view.through()),
            maps: maps.transpose()?.unwrap_or_default(),
            today: self.today(),
        })
    }
}

fn commune(located: &LocatedHome) -> Result<&'static Place, Fault> {
    let home = &located.home;
    let path = match located.address {
        Some(_) => ADDRESS_PATH,
        None => POSITION_PATH,
    };
    if let Some(fault) = located.position_fault() {
        return Err(Fault::new(path, fault.to_string()));
    }
    let place = commune_at(home.latitude, home.longitude).and_then(record_place);
    place.ok_or_else(|| Fault::new(path, "must be in a commune of France"))
}
