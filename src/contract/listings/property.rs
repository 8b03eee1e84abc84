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
    /// One property, merged from the adverts that offer it.
    #[derive(Default)]
    Property {
        /// Its adverts, in order of first sighting.
        adverts: Vec<PropertyAdvert>,
        /// Description from the first advert.
        description: Option<String>,
        /// Identifier, the same as that of its first advert.
        flx_id: Option<FlxId>,
        /// The dwelling.
        habitation: Option<TypeHabitation>,
        /// Whether its data is contradictory or implausible.
        has_anomaly: Option<bool>,
        /// Whether an advert says that it is urgent.
        is_urgent: Option<bool>,
        /// Its land.
        land: Option<TypeLand>,
        /// Location.
        location: Option<Location>,
        /// Pictures and virtual tours of all its adverts.
        medias: Option<Medias>,
        /// When it was seen.
        meta: Option<Meta>,
        /// Its parking places.
        parking: Option<TypeParking>,
        /// Price.
        price: Option<Price>,
        /// Status of the transaction, as given.
        process: Option<EnumPropertyProcess>,
        /// Free tags.
        tags: Vec<String>,
        /// Title from the first advert.
        title: Option<String>,
        /// Class of asset.
        #[serde(rename = "type")]
        class: Option<EnumPropertyClass>,
        /// What is offered.
        offer: Option<Offer>,
    }
}

record! {
    /// An advert within its property.
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
        /// Pictures and virtual tours.
        medias: Option<Medias>,
        /// Asking price.
        price: Option<Price>,
        /// The portal, as a host name.
        source: Option<String>,
        /// URL of the listing on its portal.
        url: Option<String>,
        /// Title, as on the portal.
        title: Option<String>,
        /// When it went offline, UTC.
        offline_at: Option<Timestamp>,
        /// Whether its data is contradictory or implausible.
        has_anomaly: Option<bool>,
        /// Whether the seller is a professional; false for a private person.
        is_pro: Option<bool>,
        /// The professional who sells or lets it.
        seller: Option<LightSeller>,
        /// Whether the seller claims an exclusive mandate.
        is_exclusive: Option<bool>,
        /// Contact person.
        contact_in_charge: Option<Contact>,
    }
}
