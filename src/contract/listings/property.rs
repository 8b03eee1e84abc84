//! The property: one asset, with its adverts.

use super::codes::{FlxId, Position, Timestamp};
use super::habitation::TypeHabitation;
use super::land::{TypeLand, TypeParking};
use super::market::{Contact, LightSeller, Meta, Offer};
use super::medias::Medias;
use super::place::Location;
use super::price::Price;
use super::record::record;
use crate::enums::{EnumPropertyClass, EnumPropertyProcess};

record! {
    /// One asset, merged from the adverts that offer it.
    #[derive(Default)]
    Property {
        /// Its adverts, in order of first sighting.
        adverts: Vec<PropertyAdvert>,
        /// Description of the first advert.
        description: Option<String>,
        /// Identifier, that of its first advert.
        flx_id: Option<FlxId>,
        /// The dwelling.
        habitation: Option<TypeHabitation>,
        /// Whether its data contradict each other or are absurd.
        has_anomaly: Option<bool>,
        /// Whether an advert says it is urgent.
        is_urgent: Option<bool>,
        /// Its land.
        land: Option<TypeLand>,
        /// Where it is.
        location: Option<Location>,
        /// Pictures and visits of all its adverts.
        medias: Option<Medias>,
        /// Since when it was seen.
        meta: Option<Meta>,
        /// Its parking places.
        parking: Option<TypeParking>,
        /// What it costs.
        price: Option<Price>,
        /// Where the transaction stands, as given.
        process: Option<EnumPropertyProcess>,
        /// Free tags.
        tags: Vec<String>,
        /// Title of the first advert.
        title: Option<String>,
        /// Class of asset.
        #[serde(rename = "type")]
        class: Option<EnumPropertyClass>,
        /// What is offered.
        offer: Option<Offer>,
    }
}

record! {
    /// An advert inside its property.
    #[derive(Default)]
    PropertyAdvert {
        /// Description, as on the portal.
        description: Option<String>,
        /// First sighting, UTC.
        first_seen_at: Option<Timestamp>,
        /// Identifier of the advert.
        flx_id: Option<FlxId>,
        /// Whether it is on its portal now.
        is_online: Option<bool>,
        /// Last sighting, UTC.
        last_seen_at: Option<Timestamp>,
        /// `[lng, lat]`, degrees: -180 to 180 and -90 to 90; may be imprecise.
        location: Option<Position>,
        /// Pictures and visits.
        medias: Option<Medias>,
        /// What it asks.
        price: Option<Price>,
        /// The portal, as a host name.
        source: Option<String>,
        /// URL of the listing on its portal.
        url: Option<String>,
        /// Title, as on the portal.
        title: Option<String>,
        /// When it went offline, UTC.
        offline_at: Option<Timestamp>,
        /// Whether its data contradict each other or are absurd.
        has_anomaly: Option<bool>,
        /// Whether the seller is a professional; false for a private person.
        is_pro: Option<bool>,
        /// The professional who sells or lets.
        seller: Option<LightSeller>,
        /// Whether the seller says to have the exclusive mandate.
        is_exclusive: Option<bool>,
        /// The person to ask.
        contact_in_charge: Option<Contact>,
    }
}
