//! Consumption types, their units, and the price list.

use std::collections::BTreeMap;
use std::fmt;

toise_base::named! {
    /// The consumption type of a call or delivery, in the order of the price list.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
    pub enum Consumption {
        /// A property read by id, including `_many`.
        PropertiesGetById = "API_PROPERTIES_GET_BY_ID",
        /// The property that contains an advert.
        PropertiesGetByAdvertId = "API_PROPERTIES_GET_BY_ADVERT_ID",
        /// An advert read by its URL on the portal.
        AdvertsGetByUrl = "API_ADVERTS_GET_BY_URL",
        /// A property read by the URL of one of its adverts.
        PropertiesGetByUrl = "API_PROPERTIES_GET_BY_URL",
        /// A check of an advert.
        AdvertsCheck = "API_ADVERTS_CHECK",
        /// A check of a property's adverts.
        PropertiesCheck = "API_PROPERTIES_CHECK",
        /// An estimate.
        EstimatePropertyLite = "API_ESTIMATE_PROPERTY_LITE",
        /// An estimate of a rent.
        EstimateRent = "API_ESTIMATE_RENT",
        /// The report of a home.
        ReportsHome = "API_REPORTS_HOME",
        /// A property search.
        PropertiesSearch = "API_PROPERTIES_SEARCH",
        /// A lite property search.
        PropertiesSearchLite = "API_PROPERTIES_SEARCH_LITE",
        /// An advert read by id.
        AdvertsGetById = "API_ADVERTS_GET_BY_ID",
        /// A search of diagnostics.
        OpendataDpeSearch = "API_OPENDATA_DPE_SEARCH",
        /// A call that matches homes with diagnostics.
        OpendataDpeMatch = "API_OPENDATA_DPE_MATCH",
        /// A search of sales.
        OpendataDvfSearch = "API_OPENDATA_DVF_SEARCH",
        /// A call that matches homes with sales.
        OpendataDvfMatch = "API_OPENDATA_DVF_MATCH",
        /// The history of a parcel.
        ParcelsGetById = "API_PARCELS_GET_BY_ID",
        /// The history of a building.
        BuildingsGetById = "API_BUILDINGS_GET_BY_ID",
        /// Geocoding of an address.
        GeocodingSearch = "API_GEOCODING_SEARCH",
        /// Reverse geocoding of a position.
        GeocodingReverse = "API_GEOCODING_REVERSE",
        /// Geocoding of a file.
        GeocodingCsv = "API_GEOCODING_CSV",
        /// Statistics.
        Analytics = "API_ANALYTICS",
        /// A SQL query.
        Sql = "API_SQL",
        /// The history of an advert alert.
        AdvertsGetAlertHistory = "API_ADVERTS_GET_ALERT_HISTORY",
        /// The history of a property alert.
        PropertiesGetAlertHistory = "API_PROPERTIES_GET_ALERT_HISTORY",
        /// A delivery of an advert alert.
        WebhookAlertAdverts = "WEBHOOK_ALERT_ADVERTS",
        /// A delivery of properties that match for the first time.
        WebhookAlertPropertiesMatchCreated = "WEBHOOK_ALERT_PROPERTIES_MATCH_CREATED",
        /// A delivery of properties that match and were joined by an advert.
        WebhookAlertPropertiesMatchMerged = "WEBHOOK_ALERT_PROPERTIES_MATCH_MERGED",
        /// The history of an alert on sales.
        OpendataDvfGetAlertHistory = "API_OPENDATA_DVF_GET_ALERT_HISTORY",
        /// The history of an alert on diagnostics.
        OpendataDpeGetAlertHistory = "API_OPENDATA_DPE_GET_ALERT_HISTORY",
        /// A delivery of an alert on sales.
        WebhookAlertDvf = "WEBHOOK_ALERT_DVF",
        /// A delivery of an alert on diagnostics.
        WebhookAlertDpe = "WEBHOOK_ALERT_DPE",
        /// A delivery of changes in a portfolio.
        WebhookPortfolios = "WEBHOOK_PORTFOLIOS",
    }
}

use Consumption::*;

impl Consumption {
    /// Returns what one unit is, for the price list.
    pub fn unit(self) -> &'static str {
        match self {
            PropertiesGetById => "record returned, also by `_many`",
            PropertiesGetByAdvertId => "record returned",
            AdvertsGetByUrl => "advert returned; pending and rejected ones are free",
            PropertiesGetByUrl => "property returned; pending and rejected ones are free",
            AdvertsCheck | PropertiesCheck => "check, even if there is nothing to check",
            EstimatePropertyLite => "estimate",
            EstimateRent => "rent estimated",
            ReportsHome => "report",
            PropertiesSearch
            | PropertiesSearchLite
            | AdvertsGetById
            | OpendataDpeSearch
            | OpendataDpeMatch
            | OpendataDvfSearch
            | OpendataDvfMatch
            | GeocodingSearch
            | GeocodingReverse
            | GeocodingCsv
            | Analytics
            | AdvertsGetAlertHistory
            | PropertiesGetAlertHistory
            | OpendataDvfGetAlertHistory
            | OpendataDpeGetAlertHistory => "call",
            ParcelsGetById | BuildingsGetById => "page returned",
            Sql => "query that was answered",
            WebhookAlertAdverts
            | WebhookAlertPropertiesMatchCreated
            | WebhookAlertPropertiesMatchMerged
            | WebhookAlertDvf
            | WebhookAlertDpe => "item delivered",
            WebhookPortfolios => "home delivered",
        }
    }

    /// Returns the default price of one unit, in credits.
    pub fn default_price(self) -> u32 {
        match self {
            PropertiesGetById
            | PropertiesGetByAdvertId
            | AdvertsGetByUrl
            | PropertiesGetByUrl
            | AdvertsCheck
            | PropertiesCheck
            | EstimatePropertyLite
            | EstimateRent
            | ReportsHome
            | Sql => 1,
            _ => 0,
        }
    }
}

impl fmt::Display for Consumption {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

/// The error for a text that is not a consumption type.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown consumption type {0:?}; the types are: {types}", types = Consumption::NAMES.join(", "))]
pub struct UnknownConsumption(pub String);

impl std::str::FromStr for Consumption {
    type Err = UnknownConsumption;

    fn from_str(text: &str) -> Result<Self, UnknownConsumption> {
        Self::parse(text).ok_or_else(|| UnknownConsumption(text.to_owned()))
    }
}

/// Price of one unit of each type, in credits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prices([u32; Consumption::ALL.len()]);

impl Default for Prices {
    fn default() -> Self {
        Self(Consumption::ALL.map(Consumption::default_price))
    }
}

impl From<&BTreeMap<String, u32>> for Prices {
    /// Reads prices by the name of their type. Types that are missing keep their default; unknown names are ignored.
    fn from(list: &BTreeMap<String, u32>) -> Self {
        let mut prices = Self::default();
        for consumption in Consumption::ALL {
            if let Some(credits) = list.get(consumption.as_str()) {
                prices.set(consumption, *credits);
            }
        }
        prices
    }
}

impl Prices {
    /// Returns the price of one unit, in credits.
    pub fn of(&self, consumption: Consumption) -> u32 {
        self.0[consumption as usize]
    }

    /// Sets a price.
    pub fn set(&mut self, consumption: Consumption, credits: u32) {
        self.0[consumption as usize] = credits;
    }
}

/// Returns the default price list, by name of type.
pub fn default_prices() -> BTreeMap<String, u32> {
    Consumption::ALL
        .into_iter()
        .map(|kind| (kind.as_str().to_owned(), kind.default_price()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_type_is_listed_at_the_index_of_its_price() {
        for (index, consumption) in Consumption::ALL.into_iter().enumerate() {
            assert_eq!(consumption as usize, index);
            assert_eq!(consumption.as_str().parse(), Ok(consumption));
        }
        let mut prices = Prices::default();
        assert_eq!(prices.of(AdvertsCheck), 1);
        prices.set(OpendataDvfSearch, 3);
        assert_eq!(prices.of(OpendataDvfSearch), 3);
        assert_eq!(prices.of(OpendataDvfMatch), 0);
    }
}
