//! FilterProperty and FilterAdvert, with all their models except that of dwellings.
//!
//! The names are the contract's, with their irregularities: `have…` for land where records have `has…`, arrays of
//! ranges for two times of an advert, one location for adverts and several for properties.

use super::habitation::FILTER_TYPE_HABITATION;
use super::model::FieldType::{
    AnyCode, AnyModel, AnyMoments, AnyOf, AnyText, Code as Coded, Flag, LatLng, Model as One,
    Moments, OneOf, Point, Range, SomeItem, Text, TownName,
};
use super::model::{CodeType, FilterModel, field};
use crate::enums::{
    EnumCurrency, EnumLandType, EnumParkingType, EnumPricingScope, EnumPropertyClass,
    EnumPropertyOfferType, EnumPropertyProcess, EnumSellerType, WireEnum,
};
use crate::listings::codes::{Department, FlxId, InseeCode, IrisCode, PostalCode, Siren};
use toise_geo::communes::{codes_within, postal_codes_within};

/// Name of the position of a commune's centre.
pub const CITY_POSITION: &str = "city";
/// Name of the position of the asset.
pub const ASSET_POSITION: &str = crate::filter::POSITION;

const FLX_ID: CodeType = CodeType::of::<FlxId>("FlxId");
const INSEE_CODE: CodeType = CodeType::of::<InseeCode>("InseeCode").finding(codes_within);
const POSTAL_CODE: CodeType = CodeType::of::<PostalCode>("PostalCode").finding(postal_codes_within);

/// Filter of a property search or alert.
#[rustfmt::skip]
pub static FILTER_PROPERTY: FilterModel = FilterModel {
    name: "FilterProperty",
    about: "Conditions that a property must all meet; a property without a value matches no filter on that value",
    fields: &[
        field("adverts", SomeItem(&FILTER_PROPERTY_ADVERT),
            "At least one advert of the property must meet all conditions of an entry; entries are combined with OR"),
        field("habitation", One(&FILTER_TYPE_HABITATION), "The dwelling").partially_lite(),
        field("isUrgent", Flag, "Whether an advert says that it is urgent"),
        field("land", One(&FILTER_TYPE_LAND), "The land").partially_lite(),
        field("location", AnyModel(&FILTER_LOCATION), "Places, combined with OR").lite(),
        field("meta", One(&FILTER_META), "When it was seen").lite(),
        field("parking", One(&FILTER_TYPE_PARKING), "The parking places"),
        field("price", One(&FILTER_PRICE), "Price").partially_lite(),
        field("process", AnyOf(EnumPropertyProcess::TABLE), "Status of the transaction"),
        field("tags", AnyText, "At least one of these tags, compared exactly"),
        field("type", AnyOf(EnumPropertyClass::TABLE), "Class of asset").lite(),
        field("hasAnomaly", Flag, "Whether its data is contradictory or implausible"),
        field("offer", AnyModel(&FILTER_OFFER), "What is offered; entries are combined with OR").lite(),
    ],
};

/// Filter of an advert alert.
#[rustfmt::skip]
pub static FILTER_ADVERT: FilterModel = FilterModel {
    name: "FilterAdvert",
    about: "Conditions that an advert must all meet; an advert without a value matches no filter on that value",
    fields: &[
        field("currentPrice", One(&FILTER_ADVERT_PRICE), "Current asking price"),
        field("habitation", One(&FILTER_TYPE_HABITATION), "The dwelling"),
        field("hasAnomaly", Flag, "Whether its data is contradictory or implausible"),
        field("isAuction", Flag, "Whether the price is the starting bid of an auction"),
        field("isUrgent", Flag, "Whether it says that it is urgent"),
        field("land", One(&FILTER_TYPE_LAND), "The land"),
        field("lastModifiedAt", AnyMoments, "Last change of content; ranges are combined with OR"),
        field("offer", AnyModel(&FILTER_OFFER), "What is offered; entries are combined with OR"),
        field("parking", One(&FILTER_TYPE_PARKING), "The parking places"),
        field("process", AnyOf(EnumPropertyProcess::TABLE), "Status of the transaction"),
        field("scope", AnyOf(EnumPricingScope::TABLE), "Whether amounts are paid once or every month"),
        field("tags", AnyText, "At least one of these tags, compared exactly"),
        field("type", AnyOf(EnumPropertyClass::TABLE), "Class of asset"),
        field("warrantyDeposit", Range, "Deposit of a rent, EUR"),
        field("firstSeenAt", AnyMoments, "First sighting; ranges are combined with OR"),
        field("location", One(&FILTER_LOCATION), "One place"),
        field("source", One(&FILTER_ADVERT_SOURCE), "The listing on its portal").on(""),
        field("currency", AnyOf(EnumCurrency::TABLE), "Currency of amounts"),
        field("mainPropertyAdFlxId", AnyCode(FLX_ID), "Identifiers of the first advert of the asset"),
        field("propertyFlxId", AnyCode(FLX_ID), "Identifiers of the property"),
        field("isPro", Flag, "Whether the seller is a professional"),
        field("seller", AnyModel(&LIGHT_SELLER), "The seller; entries are combined with OR"),
        field("meta", One(&FILTER_META), "When it was seen"),
        field("isOnline", Flag, "Whether it is on its portal now"),
        field("isExclusive", Flag, "Whether the seller claims an exclusive mandate"),
    ],
};

#[rustfmt::skip]
static FILTER_PROPERTY_ADVERT: FilterModel = FilterModel {
    name: "FilterPropertyAdvert",
    about: "Conditions that one and the same advert of the property must all meet",
    fields: &[
        field("firstSeenAt", Moments, "First sighting"),
        field("flxId", AnyCode(FLX_ID), "Identifiers of the advert"),
        field("isOnline", Flag, "Whether it is on its portal now"),
        field("lastSeenAt", Moments, "Last sighting"),
        field("location", LatLng(ASSET_POSITION), "Position of the asset according to the advert"),
        field("price", One(&FILTER_PRICE), "Asking price"),
        field("source", One(&FILTER_ADVERT_SOURCE), "The listing on its portal").on(""),
        field("isPro", Flag, "Whether the seller is a professional"),
        field("seller", AnyModel(&LIGHT_SELLER), "The seller; entries are combined with OR"),
        field("hasAnomaly", Flag, "Whether its data is contradictory or implausible"),
        field("isExclusive", Flag, "Whether the seller claims an exclusive mandate"),
    ],
};

#[rustfmt::skip]
static FILTER_PRICE: FilterModel = FilterModel {
    name: "FilterPrice",
    about: "A price",
    fields: &[
        field("currency", AnyOf(EnumCurrency::TABLE), "Currency of amounts"),
        field("initial", One(&FILTER_PROPERTY_PRICE), "The first price"),
        field("isAuction", Flag, "Whether the price is the starting bid of an auction"),
        field("latest", One(&FILTER_PROPERTY_PRICE), "The current price").lite(),
        field("scope", AnyOf(EnumPricingScope::TABLE), "Whether amounts are paid once or every month"),
        field("warrantyDeposit", Range, "Deposit of a rent, EUR"),
        field("variation", AnyModel(&FILTER_VARIATION), "How it changed; entries are combined with OR"),
    ],
};

#[rustfmt::skip]
static FILTER_PROPERTY_PRICE: FilterModel = FilterModel {
    name: "FilterPropertyPrice",
    about: "An amount and the listing that states it",
    fields: &[
        field("source", One(&FILTER_SOURCE), "Listing that the amount comes from"),
        field("value", Range, "Amount, EUR; per month for rents"),
        field("valuePerArea", Range, "Amount per square metre, EUR"),
    ],
};

#[rustfmt::skip]
static FILTER_VARIATION: FilterModel = FilterModel {
    name: "FilterVariation",
    about: "How a price changed",
    fields: &[
        field("sinceLastModified", Range, "Change from the price before the last change, percent"),
        field("sincePublished", Range, "Change from the first price, percent"),
    ],
};

#[rustfmt::skip]
static FILTER_META: FilterModel = FilterModel {
    name: "FilterMeta",
    about: "When an asset was seen",
    fields: &[
        field("firstSeenAt", Moments, "First sighting"),
        field("isTotallyOffline", Flag, "Whether every advert is offline"),
        field("lastPublishedAt", Moments, "When an advert was last published or came back online"),
        field("lastSeenAt", Moments, "Last sighting"),
        field("lastUpdatedAt", Moments, "Last change of content"),
    ],
};

#[rustfmt::skip]
static FILTER_ADVERT_PRICE: FilterModel = FilterModel {
    name: "FilterAdvertPrice",
    about: "Price of an advert",
    fields: &[
        field("value", Range, "Amount, EUR; per month for rents"),
        field("valuePerArea", Range, "Amount per square metre, EUR"),
    ],
};

#[rustfmt::skip]
static FILTER_LOCATION: FilterModel = FilterModel {
    name: "FilterLocation",
    about: "A place; several keys are combined with AND",
    fields: &[
        field("city", TownName, "Ignored if other keys are given, refused on its own: use inseeCode"),
        field("cityCoordinate", Point(CITY_POSITION), "Position of the centre of the commune"),
        field("department", Coded(CodeType::of::<Department>("Department")), "Department"),
        field("inseeCode", Coded(INSEE_CODE), "Commune; 75056, 69123 and 13055 mean all arrondissements"),
        field("irisCode", Coded(CodeType::of::<IrisCode>("IrisCode")), "IRIS district"),
        field("locationCoordinate", Point(ASSET_POSITION), "Position of the asset"),
        field("postalCode", Coded(POSTAL_CODE), "Postal code; 75000, 69000 and 13000 mean all arrondissements"),
    ],
};

#[rustfmt::skip]
static FILTER_TYPE_LAND: FilterModel = FilterModel {
    name: "FilterTypeLand",
    about: "Land",
    fields: &[
        field("canConstruct", Flag, "Whether it may be built on"),
        field("isServiced", Flag, "Whether it is connected to the usual utilities"),
        field("surface", Range, "Area, square metres").lite(),
        field("surfaceConstructable", Range, "Area that may be built on, square metres"),
        field("type", AnyOf(EnumLandType::TABLE), "Kind of land"),
        field("haveBuildingPermit", Flag, "Whether a building permit was granted")
            .on("has_building_permit"),
        field("haveElectricity", Flag, "Whether it is connected to electricity").on("has_electricity"),
        field("haveTelecom", Flag, "Whether it is connected to telecommunications").on("has_telecom"),
        field("haveWater", Flag, "Whether it is connected to water").on("has_water"),
    ],
};

#[rustfmt::skip]
static FILTER_TYPE_PARKING: FilterModel = FilterModel {
    name: "FilterTypeParking",
    about: "Parking places",
    fields: &[
        field("count", Range, "Number of places"),
        field("numberOfCars", Range, "Number of cars that all places hold together"),
        field("surface", Range, "Area, square metres"),
        field("type", AnyOf(EnumParkingType::TABLE), "Kind of place"),
    ],
};

#[rustfmt::skip]
static FILTER_OFFER: FilterModel = FilterModel {
    name: "FilterOffer",
    about: "What is offered",
    fields: &[
        field("isCurrentlyOccupied", Flag, "Whether it is sold occupied"),
        field("renting", One(&FILTER_OFFER_RENTING_CONTRACT), "Terms of a rent"),
        field("type", OneOf(EnumPropertyOfferType::TABLE), "Sale, rent or another kind"),
    ],
};

#[rustfmt::skip]
static FILTER_OFFER_RENTING_CONTRACT: FilterModel = FilterModel {
    name: "FilterOfferRentingContract",
    about: "Terms of a rent",
    fields: &[
        field("isColocation", Flag, "Shared with others"),
        field("isLongTerm", Flag, "More than 6 months"),
        field("isShortTerm", Flag, "Less than 6 months"),
        field("isSubLease", Flag, "Let by a tenant"),
    ],
};

#[rustfmt::skip]
static LIGHT_SELLER: FilterModel = FilterModel {
    name: "FilterLightSeller",
    about: "The professional who sells or lets; several keys are combined with AND",
    fields: &[
        field("flxId", Coded(FLX_ID), "Identifier of the seller"),
        field("name", Text, "Name, compared exactly"),
        field("siren", Coded(CodeType::of::<Siren>("Siren")), "SIREN number"),
        field("type", OneOf(EnumSellerType::TABLE), "Kind of seller"),
    ],
};

#[rustfmt::skip]
static FILTER_SOURCE: FilterModel = FilterModel {
    name: "FilterSource",
    about: "A listing on a portal",
    fields: &[
        field("flxId", Coded(FLX_ID), "Identifier of the advert"),
        field("url", Text, "URL of the listing, compared exactly"),
        field("website", Text, "The portal, as a host name"),
    ],
};

/// FilterSource for adverts, whose records hold its three fields at the top level.
#[rustfmt::skip]
static FILTER_ADVERT_SOURCE: FilterModel = FilterModel {
    name: "FilterSource",
    about: "A listing on a portal",
    fields: &[
        field("flxId", Coded(FLX_ID), "Identifier of the advert"),
        field("url", Text, "URL of the listing, compared exactly"),
        field("website", Text, "The portal, as a host name").on("source"),
    ],
};
