//! The market side of a listing: the seller, the offer, and when it was seen.

use super::codes::{FlxId, Siren, Timestamp};
use super::record::record;
use crate::enums::{EnumPropertyOfferType, EnumSellerType};

record! {
    /// When an asset was seen. Times are in UTC.
    #[derive(Default)]
    Meta {
        /// First sighting.
        first_seen_at: Option<Timestamp>,
        /// Whether every advert of the property is offline.
        is_totally_offline: Option<bool>,
        /// When an advert was last published or came back online.
        last_published_at: Option<Timestamp>,
        /// Last sighting.
        last_seen_at: Option<Timestamp>,
        /// Last change of content.
        last_updated_at: Option<Timestamp>,
        /// When the last advert went offline.
        totally_offline_at: Option<Timestamp>,
    }
}

record! {
    /// The professional who sells or lets it.
    #[derive(Default)]
    LightSeller {
        /// Identifier of the seller.
        flx_id: Option<FlxId>,
        /// Name.
        name: Option<String>,
        /// SIREN number, nine digits.
        siren: Option<Siren>,
        /// Kind of seller.
        #[serde(rename = "type")]
        seller_type: Option<EnumSellerType>,
    }
}

record! {
    /// Contact person.
    #[derive(Default)]
    Contact {
        /// Email address.
        email: Option<String>,
        /// First name.
        first_name: Option<String>,
        /// Last name.
        last_name: Option<String>,
        /// Telephone number, as on the portal.
        phone_number: Option<String>,
        /// Name shown on the portal in place of the real name.
        pseudonym: Option<String>,
    }
}

record! {
    /// What is offered.
    #[derive(Default)]
    Offer {
        /// Whether it is sold occupied.
        is_currently_occupied: Option<bool>,
        /// Terms of a rent.
        renting: Option<OfferRentingContract>,
        /// Sale, rent or another kind.
        #[serde(rename = "type")]
        offer_type: Option<EnumPropertyOfferType>,
    }
}

record! {
    /// Terms of a rent.
    #[derive(Default)]
    OfferRentingContract {
        /// Shared with others.
        is_colocation: Option<bool>,
        /// More than 6 months.
        is_long_term: Option<bool>,
        /// Less than 6 months.
        is_short_term: Option<bool>,
        /// Let by a tenant.
        is_sub_lease: Option<bool>,
    }
}
