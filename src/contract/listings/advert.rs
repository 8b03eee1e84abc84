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
        /// Currency of all amounts; CURRENCY_EUR unless stated otherwise.
        currency: Option<EnumCurrency>,
        /// Current asking price.
        current_price: Option<AdvertPrice>,
        /// Description, as on the portal.
        description: Option<String>,
        /// First sighting, UTC.
        first_seen_at: Option<Timestamp>,
        /// Identifier of the advert.
        flx_id: Option<FlxId>,
        /// The dwelling.
        habitation: Option<TypeHabitation>,
        /// Whether its data is contradictory or implausible.
        has_anomaly: Option<bool>,
        /// Whether the price is the starting bid of an auction.
        is_auction: Option<bool>,
        /// Whether it says that it is urgent.
        is_urgent: Option<bool>,
        /// The land.
        land: Option<TypeLand>,
        /// Last change of content, UTC.
        last_modified_at: Option<Timestamp>,
        /// Where the asset is.
        location: Option<AdLocation>,
        /// Pictures and virtual tours.
        medias: Option<Medias>,
        /// The parking places.
        parking: Option<TypeParking>,
        /// Status of the transaction, as given.
        process: Option<EnumPropertyProcess>,
        /// Whether amounts are paid once or every month: PRICING_ONE_OFF, or PRICING_MENSUAL for rents.
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
        /// Identifier of the first advert that was seen for the asset; the same as propertyFlxId.
        #[schema(deprecated)]
        main_property_ad_flx_id: Option<FlxId>,
        /// Identifier of the property it belongs to.
        property_flx_id: Option<FlxId>,
        /// When it was seen.
        meta: Option<Meta>,
        /// Whether it is on its portal now.
        is_online: Option<bool>,
        /// Last sighting, UTC.
        last_seen_at: Option<Timestamp>,
        /// Whether the seller is a professional; false for a private person.
        is_pro: Option<bool>,
        /// The professional who sells or lets it.
        seller: Option<LightSeller>,
        /// Whether the seller claims an exclusive mandate.
        is_exclusive: Option<bool>,
        /// The seller's reference for the asset or the mandate, as on the portal.
        reference: Option<String>,
        /// Contact person.
        contact_in_charge: Option<Contact>,
        /// Charges in addition to the price; not in webhook deliveries.
        charges: Option<Charges>,
    }
}
