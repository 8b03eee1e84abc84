//! Answers searches and reverse searches: the current index, and what is added to each address on request.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use crate::address::Address;
use crate::live::LiveGeocoder;
use crate::parcels::Parcels;
use crate::request::{Additions, ReverseCall, SearchCall};
use crate::search::Geocoder;
use crate::search::explain::Explanation;
use toise_contract::Fault;
use toise_geo::iris::{self, IrisIndex};

/// Results that are explained at least.
const RUNNERS_UP: usize = 5;

/// Why a search cannot be answered.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The request asks for what this data folder does not hold.
    #[error(transparent)]
    Request(#[from] Fault),
    /// The table of addresses cannot be read.
    #[error(transparent)]
    Lake(#[from] toise_lake::Error),
    /// The contours of IRIS cannot be read.
    #[error(transparent)]
    Iris(#[from] iris::Error),
}

/// Geocoding over a data folder. Cheap to clone.
#[derive(Clone)]
pub struct GeocodingService {
    live: LiveGeocoder,
    parcels: Arc<Parcels>,
    iris: Arc<LazyIris>,
}

/// IRIS contours, read when first asked for: the national file takes seconds.
struct LazyIris {
    path: Option<PathBuf>,
    index: OnceLock<IrisIndex>,
}

impl GeocodingService {
    /// Over the index and the addresses of a data folder; `iris` is the path of IRIS contours, if there are any.
    pub fn new(data: &Path, live: LiveGeocoder, iris: Option<PathBuf>) -> Self {
        Self {
            live,
            parcels: Arc::new(Parcels::new(data)),
            iris: Arc::new(LazyIris {
                path: iris,
                index: OnceLock::new(),
            }),
        }
    }

    /// The current edition of the index. An answer is made with one edition from beginning to end.
    pub fn geocoder(&self) -> Arc<Geocoder> {
        self.live.geocoder()
    }

    /// Answers a search, best address first.
    ///
    /// # Errors
    /// What is to be added cannot be read, or is not there.
    pub fn search<'g>(
        &self,
        geocoder: &'g Geocoder,
        call: &SearchCall,
    ) -> Result<Vec<Address<'g>>, Error> {
        let found = geocoder.search(&call.request);
        let mut addresses: Vec<Address<'g>> =
            found.iter().map(|one| geocoder.address(one)).collect();
        self.add(call.with, &mut addresses)?;
        Ok(addresses)
    }

    /// Answers a search, and says how the result came about: with runners-up even where one result is wanted.
    ///
    /// # Errors
    /// As [`Self::search`].
    pub fn search_explained<'g>(
        &self,
        geocoder: &'g Geocoder,
        call: &SearchCall,
    ) -> Result<(Vec<Address<'g>>, Explanation), Error> {
        let mut request = call.request.clone();
        request.limit = request.limit.max(RUNNERS_UP);
        let found = geocoder.search(&request);
        let explanation = geocoder.explain(&request, &found);
        let wanted = found.iter().take(call.request.limit);
        let mut addresses: Vec<Address<'g>> = wanted.map(|one| geocoder.address(one)).collect();
        self.add(call.with, &mut addresses)?;
        Ok((addresses, explanation))
    }

    /// Answers a reverse search, nearest address first.
    ///
    /// # Errors
    /// As [`Self::search`].
    pub fn reverse<'g>(
        &self,
        geocoder: &'g Geocoder,
        call: &ReverseCall,
    ) -> Result<Vec<Address<'g>>, Error> {
        let near = geocoder.reverse_filtered(call);
        let mut addresses: Vec<Address<'g>> = near
            .iter()
            .map(|one| geocoder.address_near(one, call.lat, call.lon))
            .collect();
        self.add(call.with, &mut addresses)?;
        Ok(addresses)
    }

    fn add(&self, with: Additions, addresses: &mut [Address<'_>]) -> Result<(), Error> {
        if with.iris {
            let iris = self.iris.get()?;
            for address in &mut *addresses {
                let found = iris.find(address.lat, address.lon);
                address.properties.iris = found.map(|iris| iris.code.clone());
            }
        }
        if with.parcel {
            for address in &mut *addresses {
                address.properties.parcels = Some(self.parcels.of(&address.properties.id)?);
            }
        }
        Ok(())
    }
}

impl LazyIris {
    fn get(&self) -> Result<&IrisIndex, Error> {
        if let Some(index) = self.index.get() {
            return Ok(index);
        }
        let Some(path) = &self.path else {
            let reason =
                "iris is not there: import sales or diagnostics with --iris CONTOURS first";
            return Err(Fault::new("with", reason).into());
        };
        // Two first questions at once may both read the file; one of the results is kept.
        let index = IrisIndex::open(path)?;
        Ok(self.index.get_or_init(|| index))
    }
}
