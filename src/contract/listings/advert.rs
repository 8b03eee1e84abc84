//! The advert: one posting of an asset on one portal.

use super::codes::{FlxId, Timestamp};
use super::habitation::TypeHabitation;
use super::land::{TypeLand, TypeParking};
use super::market::{Contact, LightSeller, Meta, Offer};
use super::medias::Medias;
use super::place::AdLocation;
use super::price::{AdvertPrice, Charges};
use super::record::record;
use super::scalars::Eur;
use crate::enums::{EnumCurrency, EnumPricingScope, EnumPropertyClass, EnumPropertyProcess};

record! {
    /// One listing on one portal.
    #[derive(Default)]
    Advert {
        /// Currency of every amount here; CURRENCY_EUR unless said otherwise.
        currency: Option<EnumCurrency>,
        /// What it asks now.
        current_price: Option<AdvertPrice>,
        /// Description, as on the portal.
        description: Option<String>,
        /// First sighting, UTC.
        first_seen_at: Option<Timestamp>,
        /// Identifier of the advert.
        flx_id: Option<FlxId>,
        /// The dwelling.
        habitation: Option<TypeHabitation>,
        /// Whether its data contradict each other or are absurd.
        has_anomaly: Option<bool>,
        /// Whether the price is the starting bid of an auction.
        is_auction: Option<bool>,
        /// Whether it says to be urgent.
        is_urgent: Option<bool>,
        /// The land.
        land: Option<TypeLand>,
        /// Last change of content, UTC.
        last_modified_at: Option<Timestamp>,
        /// Where the asset is.
        location: Option<AdLocation>,
        /// Pictures and visits.
        medias: Option<Medias>,
        /// The parking places.
        parking: Option<TypeParking>,
        /// Where the transaction stands, as given.
        process: Option<EnumPropertyProcess>,
        /// Whether amounts are paid once or every month; PRICING_ONE_OFF, for rents PRICING_MENSUAL.
        scope: Option<EnumPricingScope>,
        /// The portal, as a host name.
        source: Option<String>,
        /// URL of the listing on its portal.
        url: Option<String>,
        /// Free tags.
        tags: Vec<String>,
        /// Title, as on the portal.
        title: Option<String>,
        /// Class of asset.
        #[serde(rename = "type")]
        class: Option<EnumPropertyClass>,
        /// Deposit of a rent, EUR, from 0.
        warranty_deposit: Option<Eur>,
        /// What is offered.
        offer: Option<Offer>,
        /// Identifier of the first advert seen of the asset; propertyFlxId tells the same.
        #[schema(deprecated)]
        main_property_ad_flx_id: Option<FlxId>,
        /// Identifier of the property it belongs to.
        property_flx_id: Option<FlxId>,
        /// Since when it was seen.
        meta: Option<Meta>,
        /// Whether it is on its portal now.
        is_online: Option<bool>,
        /// Last sighting, UTC.
        last_seen_at: Option<Timestamp>,
        /// Whether the seller is a professional; false for a private person.
        is_pro: Option<bool>,
        /// The professional who sells or lets.
        seller: Option<LightSeller>,
        /// Whether the seller says to have the exclusive mandate.
        is_exclusive: Option<bool>,
        /// The seller's reference of the asset or of the mandate, as on the portal.
        reference: Option<String>,
        /// The person to ask.
        contact_in_charge: Option<Contact>,
        /// Charges beside the price; not in webhook deliveries.
        charges: Option<Charges>,
    }
}
