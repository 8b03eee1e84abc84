//! Bodies of webhook deliveries. `created` and `updated` are always present, and one body belongs to one alert.

use serde_json::{Map, Value};

use super::advert::Advert;
use super::codes::{FlxId, Timestamp};
use super::price::AdvertPrice;
use super::record::record;
use super::scalars::Eur;
use crate::enums::EnumAdvertEvent;

/// Free metadata of an alert.
pub type Metadata = Map<String, Value>;

record! {
    /// Body of a delivery of a property alert.
    PropertyDelivery {
        /// What the alert matched.
        data: PropertyDeliveryData,
    }
}

record! {
    /// Properties that an alert matched, by kind of match.
    PropertyDeliveryData {
        /// Properties that qualify for the first time.
        created: Vec<PropertyMatches>,
        /// Matched properties that a new advert joined.
        updated: Vec<PropertyMatches>,
    }
}

record! {
    /// Properties that one alert matched.
    PropertyMatches {
        /// Identifier of the alert.
        #[serde(rename = "alert_id")]
        alert_id: FlxId,
        /// Data given with the alert, echoed unchanged.
        context: Option<AlertContext>,
        /// Identifiers of the properties, at most 100, newest last; read the properties by identifier.
        properties: Vec<FlxId>,
    }
}

record! {
    /// Body of a delivery of an advert alert.
    AdvertDelivery {
        /// What the alert matched.
        data: AdvertDeliveryData,
    }
}

record! {
    /// Adverts that an alert matched, by kind of match.
    AdvertDeliveryData {
        /// Adverts that qualify for the first time.
        created: Vec<AdvertMatches>,
        /// Events on matched adverts.
        updated: Vec<AdvertUpdates>,
    }
}

record! {
    /// Adverts that one alert matched.
    AdvertMatches {
        /// Identifier of the alert.
        #[serde(rename = "alert_id")]
        alert_id: FlxId,
        /// Data given with the alert, echoed unchanged.
        context: Option<AlertContext>,
        /// The adverts in full, except for their charges; at most 100, newest last.
        adverts: Vec<Advert>,
    }
}

record! {
    /// Events on adverts that one alert matched.
    AdvertUpdates {
        /// Identifier of the alert.
        #[serde(rename = "alert_id")]
        alert_id: FlxId,
        /// Data given with the alert, echoed unchanged.
        context: Option<AlertContext>,
        /// One record per event, at most 100, newest last.
        adverts: Vec<AdvertUpdate>,
    }
}

record! {
    /// An event on an advert, and the state of the advert after it.
    AdvertUpdate {
        /// Identifier of the advert.
        flx_id: FlxId,
        /// Identifier of the property it belongs to.
        property_flx_id: FlxId,
        /// Current asking price; absent if the price is given only on request.
        current_price: Option<AdvertPrice>,
        /// Whether it is on its portal now.
        is_online: bool,
        /// What happened.
        event: AdvertEvent,
    }
}

record! {
    /// What happened to an advert.
    AdvertEvent {
        /// Kind of event.
        #[serde(rename = "type")]
        event_type: EnumAdvertEvent,
        /// When it happened, UTC.
        occurred_at: Timestamp,
        /// The advert before the event; only what the event changed.
        previous: PreviousState,
    }
}

record! {
    /// What an event changed, with the values before it.
    #[derive(Default)]
    PreviousState {
        /// Price, EUR, from 0.
        price: Option<Eur>,
        /// Whether it was on its portal.
        is_online: Option<bool>,
    }
}

record! {
    /// Data given with an alert, echoed in its deliveries.
    #[derive(Default)]
    AlertContext {
        /// Any keys and values.
        #[schema(value_type = Option<Object>)]
        metadata: Option<Metadata>,
    }
}
