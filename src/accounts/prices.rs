//! Consumption types, their units, and the price list.

use std::collections::BTreeMap;
use std::fmt;

/// The consumption type of a call or delivery.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Consumption {
    /// A property read by id, including `_many`.
    PropertiesGetById,
    /// The property that contains an advert.
    PropertiesGetByAdvertId,
    /// An advert read by its URL on the portal.
    AdvertsGetByUrl,
    /// A property read by the URL of one of its adverts.
    PropertiesGetByUrl,
    /// A check of an advert.
    AdvertsCheck,
    /// A check of a property's adverts.
    PropertiesCheck,
    /// An estimate.
    EstimatePropertyLite,
    /// An estimate of a rent.
    EstimateRent,
    /// The report of a home.
    ReportsHome,
    /// A property search.
    PropertiesSearch,
    /// A lite property search.
    PropertiesSearchLite,
    /// An advert read by id.
    AdvertsGetById,
    /// A search of diagnostics.
    OpendataDpeSearch,
    /// A call that matches homes with diagnostics.
    OpendataDpeMatch,
    /// A search of sales.
    OpendataDvfSearch,
    /// A call that matches homes with sales.
    OpendataDvfMatch,
    /// The history of a parcel.
    ParcelsGetById,
    /// The history of a building.
    BuildingsGetById,
    /// Geocoding of an address.
    GeocodingSearch,
    /// Reverse geocoding of a position.
    GeocodingReverse,
    /// Geocoding of a file.
    GeocodingCsv,
    /// Statistics.
    Analytics,
    /// A SQL query.
    Sql,
    /// The history of an advert alert.
    AdvertsGetAlertHistory,
    /// The history of a property alert.
    PropertiesGetAlertHistory,
    /// A delivery of an advert alert.
    WebhookAlertAdverts,
    /// A delivery of properties that match for the first time.
    WebhookAlertPropertiesMatchCreated,
    /// A delivery of properties that match and were joined by an advert.
    WebhookAlertPropertiesMatchMerged,
    /// The history of an alert on sales.
    OpendataDvfGetAlertHistory,
    /// The history of an alert on diagnostics.
    OpendataDpeGetAlertHistory,
    /// A delivery of an alert on sales.
    WebhookAlertDvf,
    /// A delivery of an alert on diagnostics.
    WebhookAlertDpe,
    /// A delivery of changes in a portfolio.
    WebhookPortfolios,
}

use Consumption::*;

impl Consumption {
    /// All types, in the order of the price list.
    pub const ALL: [Consumption; 33] = [
        PropertiesGetById,
        PropertiesGetByAdvertId,
        AdvertsGetByUrl,
        PropertiesGetByUrl,
        AdvertsCheck,
        PropertiesCheck,
        EstimatePropertyLite,
        EstimateRent,
        ReportsHome,
        PropertiesSearch,
        PropertiesSearchLite,
        AdvertsGetById,
        OpendataDpeSearch,
        OpendataDpeMatch,
        OpendataDvfSearch,
        OpendataDvfMatch,
        ParcelsGetById,
        BuildingsGetById,
        GeocodingSearch,
        GeocodingReverse,
        GeocodingCsv,
        Analytics,
        Sql,
        AdvertsGetAlertHistory,
        PropertiesGetAlertHistory,
        WebhookAlertAdverts,
        WebhookAlertPropertiesMatchCreated,
        WebhookAlertPropertiesMatchMerged,
        OpendataDvfGetAlertHistory,
        OpendataDpeGetAlertHistory,
        WebhookAlertDvf,
        WebhookAlertDpe,
        WebhookPortfolios,
    ];

    /// Returns the name in the contract.
    pub fn as_str(self) -> &'static str {
        match self {
            PropertiesGetById => "API_PROPERTIES_GET_BY_ID",
            PropertiesGetByAdvertId => "API_PROPERTIES_GET_BY_ADVERT_ID",
            AdvertsGetByUrl => "API_ADVERTS_GET_BY_URL",
            PropertiesGetByUrl => "API_PROPERTIES_GET_BY_URL",
            AdvertsCheck => "API_ADVERTS_CHECK",
            PropertiesCheck => "API_PROPERTIES_CHECK",
            EstimatePropertyLite => "API_ESTIMATE_PROPERTY_LITE",
            EstimateRent => "API_ESTIMATE_RENT",
            ReportsHome => "API_REPORTS_HOME",
            PropertiesSearch => "API_PROPERTIES_SEARCH",
            PropertiesSearchLite => "API_PROPERTIES_SEARCH_LITE",
            AdvertsGetById => "API_ADVERTS_GET_BY_ID",
            OpendataDpeSearch => "API_OPENDATA_DPE_SEARCH",
            OpendataDpeMatch => "API_OPENDATA_DPE_MATCH",
            OpendataDvfSearch => "API_OPENDATA_DVF_SEARCH",
            OpendataDvfMatch => "API_OPENDATA_DVF_MATCH",
            ParcelsGetById => "API_PARCELS_GET_BY_ID",
            BuildingsGetById => "API_BUILDINGS_GET_BY_ID",
            GeocodingSearch => "API_GEOCODING_SEARCH",
            GeocodingReverse => "API_GEOCODING_REVERSE",
            GeocodingCsv => "API_GEOCODING_CSV",
            Analytics => "API_ANALYTICS",
            Sql => "API_SQL",
            AdvertsGetAlertHistory => "API_ADVERTS_GET_ALERT_HISTORY",
            PropertiesGetAlertHistory => "API_PROPERTIES_GET_ALERT_HISTORY",
            WebhookAlertAdverts => "WEBHOOK_ALERT_ADVERTS",
            WebhookAlertPropertiesMatchCreated => "WEBHOOK_ALERT_PROPERTIES_MATCH_CREATED",
            WebhookAlertPropertiesMatchMerged => "WEBHOOK_ALERT_PROPERTIES_MATCH_MERGED",
            OpendataDvfGetAlertHistory => "API_OPENDATA_DVF_GET_ALERT_HISTORY",
            OpendataDpeGetAlertHistory => "API_OPENDATA_DPE_GET_ALERT_HISTORY",
            WebhookAlertDvf => "WEBHOOK_ALERT_DVF",
            WebhookAlertDpe => "WEBHOOK_ALERT_DPE",
            WebhookPortfolios => "WEBHOOK_PORTFOLIOS",
        }
    }

    /// Returns the description of one unit.
    pub fn unit(self) -> &'static str {
        match self {
            PropertiesGetById => "record returned, `_many` too",
            PropertiesGetByAdvertId => "record returned",
            AdvertsGetByUrl => "advert returned; pending and rejected ones are free",
            PropertiesGetByUrl => "property returned; pending and rejected ones are free",
            AdvertsCheck => "check, also when there is nothing to check",
            PropertiesCheck => "check, also when there is nothing to check",
            EstimatePropertyLite => "estimate",
            EstimateRent => "rent estimated",
            ReportsHome => "report",
            PropertiesSearch => "call",
            PropertiesSearchLite => "call",
            AdvertsGetById => "call",
            OpendataDpeSearch => "call",
            OpendataDpeMatch => "call",
            OpendataDvfSearch => "call",
            OpendataDvfMatch => "call",
            ParcelsGetById => "page returned",
            BuildingsGetById => "page returned",
            GeocodingSearch => "call",
            GeocodingReverse => "call",
            GeocodingCsv => "call",
            Analytics => "call",
            Sql => "query that was answered",
            AdvertsGetAlertHistory => "call",
            PropertiesGetAlertHistory => "call",
            WebhookAlertAdverts => "item delivered",
            WebhookAlertPropertiesMatchCreated => "item delivered",
            WebhookAlertPropertiesMatchMerged => "item delivered",
            OpendataDvfGetAlertHistory => "call",
            OpendataDpeGetAlertHistory => "call",
            WebhookAlertDvf => "item delivered",
            WebhookAlertDpe => "item delivered",
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
#[error("unknown consumption type {0:?}; the types are: {types}", types = all_names())]
pub struct UnknownConsumption(pub String);

fn all_names() -> String {
    Consumption::ALL.map(Consumption::as_str).join(", ")
}

impl std::str::FromStr for Consumption {
    type Err = UnknownConsumption;

    fn from_str(text: &str) -> Result<Self, UnknownConsumption> {
        Consumption::ALL
            .into_iter()
            .find(|consumption| consumption.as_str() == text)
            .ok_or_else(|| UnknownConsumption(text.to_owned()))
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
