//! Answers searches and reverse searches from the current index and, if configured, the upstream service. Adds optional
//! data to each address on request.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use tokio::time::Instant;

use crate::address::{Address, Confidence};
use crate::live::LiveGeocoder;
use crate::parcels::Parcels;
use crate::request::{
    Additions, Operation, Parameters, ReverseCall, SearchCall, parse_reverse, parse_search,
};
use crate::search::explain::Explanation;
use crate::search::{Geocoder, Match};
use crate::settings::UpstreamMode;
use crate::upstream::{Unavailable, Upstream};
use toise_contract::Fault;
use toise_geo::iris::{self, IrisIndex};

/// Minimum number of results that are explained.
const RUNNERS_UP: usize = 5;

/// Errors of answering a search.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The request asks for data that this data folder does not hold.
    #[error(transparent)]
    Request(#[from] Fault),
    /// The table of addresses cannot be read.
    #[error(transparent)]
    Lake(#[from] toise_lake::Error),
    /// The contours of IRIS cannot be read.
    #[error(transparent)]
    Iris(#[from] iris::Error),
}

/// A parsed search or reverse search.
#[derive(Clone, Debug)]
pub enum GeocodingCall {
    /// An address to positions.
    Search(SearchCall),
    /// A position to addresses.
    Reverse(ReverseCall),
}

impl GeocodingCall {
    /// Parses the parameters of an operation.
    ///
    /// # Errors
    /// The first value that is not allowed.
    pub fn parse(operation: Operation, parameters: &Parameters) -> Result<Self, Fault> {
        Ok(match operation {
            Operation::Search => GeocodingCall::Search(parse_search(parameters)?),
            Operation::Reverse => GeocodingCall::Reverse(parse_reverse(parameters)?),
        })
    }

    fn additions(&self) -> Additions {
        match self {
            GeocodingCall::Search(call) => call.with,
            GeocodingCall::Reverse(call) => call.with,
        }
    }
}

/// Geocoding over a data folder. Cheap to clone.
#[derive(Clone)]
pub struct GeocodingService {
    live: LiveGeocoder,
    parcels: Arc<Parcels>,
    iris: Arc<LazyIris>,
    upstream: Option<Upstream>,
}

/// IRIS contours, read when first requested: the national file takes seconds.
struct LazyIris {
    path: Option<PathBuf>,
    index: OnceLock<IrisIndex>,
}

impl GeocodingService {
    /// Creates a service over the index and the addresses of a data folder; `iris` is the path of IRIS contours, if
    /// there are any.
    pub fn new(data: &Path, live: LiveGeocoder, iris: Option<PathBuf>) -> Self {
        Self {
            live,
            parcels: Arc::new(Parcels::new(data)),
            iris: Arc::new(LazyIris {
                path: iris,
                index: OnceLock::new(),
            }),
            upstream: None,
        }
    }

    /// Adds an upstream service. Depending on its mode, it is queried when the index has no good result, or instead of
    /// the index.
    pub fn with_upstream(self, upstream: Upstream) -> Self {
        Self {
            upstream: Some(upstream),
            ..self
        }
    }

    /// Returns the upstream service.
    pub fn upstream(&self) -> Option<&Upstream> {
        self.upstream.as_ref()
    }

    /// Returns whether the upstream service is the only source.
    pub fn is_upstream_only(&self) -> bool {
        let mode = self.upstream.as_ref().map(Upstream::mode);
        mode == Some(UpstreamMode::Only)
    }

    /// Returns whether the upstream service should be asked after the index answered with these addresses: there are
    /// none, or all of them are of low confidence.
    pub fn asks_upstream(&self, addresses: &[Address<'_>]) -> bool {
        self.upstream.is_some() && !is_any_trusted(addresses)
    }

    /// Asks the upstream service; the request starts before `deadline` or not at all. `has_own` says whether the index
    /// has an answer. Returns `None` if the index's answer is to be used, because upstream has none above low
    /// confidence or there is no upstream service.
    ///
    /// # Errors
    /// The upstream service does not respond. Without an upstream service there is no error.
    pub async fn ask_upstream(
        &self,
        call: &GeocodingCall,
        has_own: bool,
        deadline: Instant,
    ) -> Result<Option<Vec<Address<'static>>>, Unavailable> {
        let Some(upstream) = &self.upstream else {
            return Ok(None);
        };
        let addresses = match call {
            GeocodingCall::Search(call) => upstream.search(call, deadline).await?,
            GeocodingCall::Reverse(call) => upstream.reverse(call, deadline).await?,
        };
        Ok((!has_own || is_any_trusted(&addresses)).then_some(addresses))
    }

    /// Adds the data that a call asks for to addresses of the upstream service. Blocks like [`Self::answer`].
    ///
    /// # Errors
    /// Same as [`Self::answer`].
    pub fn complete(
        &self,
        call: &GeocodingCall,
        addresses: &mut [Address<'_>],
    ) -> Result<(), Error> {
        self.add(call.additions(), addresses)
    }

    /// Answers a call from the index, best address first, and explains the result if the call asks for it.
    ///
    /// # Errors
    /// The data to add cannot be read or does not exist.
    pub fn answer<'g>(
        &self,
        geocoder: &'g Geocoder,
        call: &GeocodingCall,
    ) -> Result<(Vec<Address<'g>>, Option<Explanation>), Error> {
        Ok(match call {
            GeocodingCall::Search(call) if call.explain => {
                let (addresses, explanation) = self.search_explained(geocoder, call)?;
                (addresses, Some(explanation))
            }
            GeocodingCall::Search(call) => (self.search(geocoder, call)?, None),
            GeocodingCall::Reverse(call) => (self.reverse(geocoder, call)?, None),
        })
    }

    /// Like [`GeocodingService::answer`], if that takes well below a millisecond and reads no file; otherwise `None`.
    pub fn answer_at_once<'g>(
        &self,
        geocoder: &'g Geocoder,
        call: &GeocodingCall,
    ) -> Option<Vec<Address<'g>>> {
        if call.additions() != Additions::default() || self.upstream.is_some() {
            return None;
        }
        match call {
            GeocodingCall::Search(call) if call.explain => None,
            GeocodingCall::Search(call) => {
                let found = geocoder.search_named_places(&call.request)?;
                Some(addresses(geocoder, call, &found))
            }
            GeocodingCall::Reverse(call) => self.reverse(geocoder, call).ok(),
        }
    }

    /// Returns the current edition of the index. An answer uses one edition from beginning to end.
    pub fn geocoder(&self) -> Arc<Geocoder> {
        self.live.geocoder()
    }

    /// Returns the contents of the list of segments of the current edition; `None` before the first import.
    pub fn named(&self) -> Option<Vec<u8>> {
        self.live.named()
    }

    /// Answers a search, best address first.
    ///
    /// # Errors
    /// The data to add cannot be read or does not exist.
    pub fn search<'g>(
        &self,
        geocoder: &'g Geocoder,
        call: &SearchCall,
    ) -> Result<Vec<Address<'g>>, Error> {
        let found = geocoder.search(&call.request);
        let mut addresses = addresses(geocoder, call, &found);
        self.add(call.with, &mut addresses)?;
        Ok(addresses)
    }

    /// Answers a search and explains the result. The explanation includes runners-up even if only one result is
    /// requested.
    ///
    /// # Errors
    /// Same as [`Self::search`].
    pub fn search_explained<'g>(
        &self,
        geocoder: &'g Geocoder,
        call: &SearchCall,
    ) -> Result<(Vec<Address<'g>>, Explanation), Error> {
        let mut request = call.request.clone();
        request.limit = request.limit.max(RUNNERS_UP);
        let found = geocoder.search(&request);
        let explanation = geocoder.explain(&request, &found);
        let mut addresses = addresses(geocoder, call, &found);
        self.add(call.with, &mut addresses)?;
        Ok((addresses, explanation))
    }

    /// Answers a reverse search, nearest address first.
    ///
    /// # Errors
    /// Same as [`Self::search`].
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

/// Converts the matches of a search to addresses, as many as were requested.
fn addresses<'g>(geocoder: &'g Geocoder, call: &SearchCall, found: &[Match]) -> Vec<Address<'g>> {
    let address = |one: &Match| {
        let mut address = geocoder.address(one);
        let found = &mut address.properties;
        let towns = [
            Some(&found.city),
            found.former_city.as_ref(),
            found.district.as_ref(),
        ];
        let towns: Vec<&str> = towns.into_iter().flatten().map(|name| &**name).collect();
        if let Some(matched) = &mut found.matched {
            call.given
                .correct(matched, found.house_number.as_deref(), &towns);
        }
        address
    };
    let wanted = found.iter().take(call.request.limit);
    wanted.map(address).collect()
}

fn is_any_trusted(addresses: &[Address<'_>]) -> bool {
    let is_trusted = |address: &Address<'_>| address.properties.confidence != Confidence::Low;
    addresses.iter().any(is_trusted)
}

impl LazyIris {
    fn get(&self) -> Result<&IrisIndex, Error> {
        if let Some(index) = self.index.get() {
            return Ok(index);
        }
        let Some(path) = &self.path else {
            let reason =
                "iris is not available: import sales or diagnostics with --iris CONTOURS first";
            return Err(Fault::new("with", reason).into());
        };
        // If two first requests arrive at once, both may read the file; one of the results is kept.
        let index = IrisIndex::open(path)?;
        Ok(self.index.get_or_init(|| index))
    }
}
