//! The lite property of lite searches: the fields for a list on a small screen.

use super::codes::FlxId;
use super::habitation::TypeHabitation;
use super::market::{Meta, Offer};
use super::place::Location;
use super::price::{Price, PropertyPrice};
use super::property::{Property, PropertyAdvert};
use super::record::record;
use super::scalars::{Count, Floor, SquareMetres};
use crate::enums::{EnumEnergyClassification, EnumPropertyClass};

record! {
    /// A property in short form.
    #[derive(Default)]
    LiteProperty {
        /// Identifier.
        flx_id: Option<FlxId>,
        /// Class of asset.
        #[serde(rename = "type")]
        class: Option<EnumPropertyClass>,
        /// What is offered.
        offer: Option<Offer>,
        /// Title from the first advert.
        title: Option<String>,
        /// Price.
        price: Option<LitePrice>,
        /// The dwelling.
        habitation: Option<LiteHabitation>,
        /// Location.
        location: Option<Location>,
        /// When it was seen.
        meta: Option<Meta>,
        /// Its adverts, in order of first sighting.
        adverts: Vec<LitePropertyAdvert>,
    }
}

record! {
    /// A price in short form.
    #[derive(Default)]
    LitePrice {
        /// Price of the last advert.
        latest: Option<PropertyPrice>,
    }
}

record! {
    /// A dwelling in short form.
    #[derive(Default)]
    LiteHabitation {
        /// Area.
        surface: Option<LiteSurface>,
        /// Number of main rooms, from 0.
        room_count: Option<Count>,
        /// Number of bedrooms, from 0.
        bedroom_count: Option<Count>,
        /// Storey, -10 to 200, 0 for the ground floor.
        floor: Option<Floor>,
        /// Energy performance.
        climate: Option<LiteClimate>,
    }
}

record! {
    /// Area in short form.
    #[derive(Default)]
    LiteSurface {
        /// Habitable area, square metres, from 0.
        total: Option<SquareMetres>,
    }
}

record! {
    /// Energy performance in short form.
    #[derive(Default)]
    LiteClimate {
        /// Energy class.
        epc_energy: Option<EnumEnergyClassification>,
    }
}

record! {
    /// An advert in short form.
    #[derive(Default)]
    LitePropertyAdvert {
        /// Identifier of the advert.
        flx_id: Option<FlxId>,
        /// The portal, as a host name.
        source: Option<String>,
        /// URL of the listing on its portal.
        url: Option<String>,
        /// Whether it is on its portal now.
        is_online: Option<bool>,
        /// Asking price.
        price: Option<LitePrice>,
    }
}

impl From<&Property> for LiteProperty {
    fn from(property: &Property) -> Self {
        Self {
            flx_id: property.flx_id,
            class: property.class,
            offer: property.offer.clone(),
            title: property.title.clone(),
            price: property.price.as_ref().and_then(lite_price),
            habitation: property.habitation.as_ref().map(LiteHabitation::from),
            location: property.location.clone(),
            meta: property.meta.clone(),
            adverts: property
                .adverts
                .iter()
                .map(LitePropertyAdvert::from)
                .collect(),
        }
    }
}

impl From<&TypeHabitation> for LiteHabitation {
    fn from(habitation: &TypeHabitation) -> Self {
        let total = habitation
            .surface
            .as_ref()
            .and_then(|surface| surface.total);
        let class = habitation
            .climate
            .as_ref()
            .and_then(|climate| climate.epc_energy);
        Self {
            surface: total.map(|total| LiteSurface { total: Some(total) }),
            room_count: habitation.room_count,
            bedroom_count: habitation.bedroom_count,
            floor: habitation.floor,
            climate: class.map(|class| LiteClimate {
                epc_energy: Some(class),
            }),
        }
    }
}

impl From<&PropertyAdvert> for LitePropertyAdvert {
    fn from(advert: &PropertyAdvert) -> Self {
        Self {
            flx_id: advert.flx_id,
            source: advert.source.clone(),
            url: advert.url.clone(),
            is_online: advert.is_online,
            price: advert.price.as_ref().and_then(lite_price),
        }
    }
}

fn lite_price(price: &Price) -> Option<LitePrice> {
    price.latest.clone().map(|latest| LitePrice {
        latest: Some(latest),
    })
}
