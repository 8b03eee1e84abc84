//! All enumerations of the contract in one table, used for reading, writing, the OpenAPI `enum` and the lake's
//! categories.
//!
//! A value is written in its first spelling; the spellings after `|` are also accepted. The contract has two values
//! `ALERT_MATCH_UNKNOWN` that are always refused, so they are not listed. To add a value, add it to the table.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{Deserialize, Deserializer, Error, Visitor};
use serde::ser::{Serialize, Serializer};
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{ObjectBuilder, Schema, Type};

/// A closed set of named values.
pub trait WireEnum: Copy + Eq + 'static {
    /// The table entry of this enumeration.
    const TABLE: &'static Enumeration;
    /// Every value, in the order of the contract.
    const ALL: &'static [Self];

    /// The value as written.
    fn as_str(self) -> &'static str;

    /// Parses a value in any of its spellings.
    fn parse(text: &str) -> Option<Self>;
}

/// Table entry of an enumeration.
#[derive(Debug)]
pub struct Enumeration {
    /// Name in the contract and in the OpenAPI document.
    pub name: &'static str,
    /// Description, for the reference.
    pub about: &'static str,
    /// All values as written, in the order of the contract.
    pub values: &'static [&'static str],
    /// Other accepted spellings, as pairs (accepted, written).
    pub spellings: &'static [(&'static str, &'static str)],
}

impl Enumeration {
    /// Returns the value of a text in any spelling, as written; `None` if there is none.
    pub fn value(&self, text: &str) -> Option<&'static str> {
        let spelling = self
            .spellings
            .iter()
            .find(|(accepted, _)| *accepted == text);
        let written = spelling.map_or(text, |(_, written)| written);
        self.values.iter().find(|value| **value == written).copied()
    }

    /// Returns the schema for the OpenAPI document.
    pub fn schema(&self) -> RefOr<Schema> {
        let mut about = self.about.trim().to_owned();
        for (accepted, written) in self.spellings {
            about.push_str(&format!(" `{accepted}` is read as `{written}`."));
        }
        ObjectBuilder::new()
            .schema_type(Type::String)
            .enum_values(Some(self.values.iter().copied()))
            .description(Some(about))
            .into()
    }
}

/// Visitor that reads a value of an enumeration; the error lists the allowed values.
struct ValueOf<E>(PhantomData<E>);

impl<E: WireEnum> Visitor<'_> for ValueOf<E> {
    type Value = E;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "one of: {}", E::TABLE.values.join(", "))
    }

    fn visit_str<F: Error>(self, text: &str) -> Result<E, F> {
        E::parse(text).ok_or_else(|| F::unknown_variant(text, E::TABLE.values))
    }
}

macro_rules! wire_enums {
    ($(
        $(#[doc = $about:literal])+
        $name:ident { $($variant:ident = $value:literal $(| $spelling:literal)*),+ $(,)? }
    )+) => {
        /// All enumerations of the contract.
        pub static ENUMERATIONS: &[&Enumeration] = &[$(<$name as WireEnum>::TABLE),+];

        $(
            $(#[doc = $about])+
            #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
            pub enum $name {
                $(#[doc = concat!("`", $value, "`")] $variant),+
            }

            impl WireEnum for $name {
                const TABLE: &'static Enumeration = &Enumeration {
                    name: stringify!($name),
                    about: concat!($($about),+),
                    values: &[$($value),+],
                    spellings: &[$($(($spelling, $value),)*)+],
                };
                const ALL: &'static [Self] = &[$(Self::$variant),+];

                fn as_str(self) -> &'static str {
                    match self { $(Self::$variant => $value),+ }
                }

                fn parse(text: &str) -> Option<Self> {
                    match text {
                        $($value $(| $spelling)* => Some(Self::$variant),)+
                        _ => None,
                    }
                }
            }

            impl Serialize for $name {
                fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                    serializer.serialize_str(self.as_str())
                }
            }

            impl<'de> Deserialize<'de> for $name {
                fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                    deserializer.deserialize_str(ValueOf(PhantomData))
                }
            }

            impl utoipa::PartialSchema for $name {
                fn schema() -> RefOr<Schema> {
                    Self::TABLE.schema()
                }
            }

            impl utoipa::ToSchema for $name {}
        )+
    };
}

wire_enums! {
    /// Order of a sorted list.
    EnumSearchRequestOrderBy { Asc = "ASC" | "asc", Desc = "DESC" | "desc" }

    /// Greenhouse gas class of a dwelling, A (best) to G; NC if exempt from a diagnostic.
    EnumGreenhouseClassification {
        Unknown = "GREENHOUSE_CLASSIFICATION_UNKNOWN", G = "GREENHOUSE_CLASSIFICATION_G",
        F = "GREENHOUSE_CLASSIFICATION_F", E = "GREENHOUSE_CLASSIFICATION_E", D = "GREENHOUSE_CLASSIFICATION_D",
        C = "GREENHOUSE_CLASSIFICATION_C", B = "GREENHOUSE_CLASSIFICATION_B", A = "GREENHOUSE_CLASSIFICATION_A",
        Nc = "GREENHOUSE_CLASSIFICATION_NC",
    }

    /// Energy class of a dwelling, A (best) to G; NC if exempt from a diagnostic.
    EnumEnergyClassification {
        Unknown = "ENERGY_CLASSIFICATION_UNKNOWN", G = "ENERGY_CLASSIFICATION_G", F = "ENERGY_CLASSIFICATION_F",
        E = "ENERGY_CLASSIFICATION_E", D = "ENERGY_CLASSIFICATION_D", C = "ENERGY_CLASSIFICATION_C",
        B = "ENERGY_CLASSIFICATION_B", A = "ENERGY_CLASSIFICATION_A", Nc = "ENERGY_CLASSIFICATION_NC",
    }

    /// Compass direction the main rooms face.
    EnumExposure {
        Unknown = "EXPOSURE_UNKNOWN", North = "EXPOSURE_NORTH", NorthEast = "EXPOSURE_NORTH_EAST",
        East = "EXPOSURE_EAST", SouthEast = "EXPOSURE_SOUTH_EAST", South = "EXPOSURE_SOUTH",
        SouthWest = "EXPOSURE_SOUTH_WEST", West = "EXPOSURE_WEST", NorthWest = "EXPOSURE_NORTH_WEST",
    }

    /// Whether a dwelling is furnished.
    EnumFurniture {
        Unknown = "UNKNOWN_FURNITURE", Unfurnished = "UNFURNISHED", PartiallyFurnished = "PARTIALLY_FURNISHED",
        FullyFurnished = "FULLY_FURNISHED",
    }

    /// Material of walls or frames.
    EnumConstructionMaterial {
        Unknown = "MATERIAL_UNKNOWN", Wooden = "MATERIAL_WOODEN", Steel = "MATERIAL_STEEL", Stone = "MATERIAL_STONE",
        Pvc = "MATERIAL_PVC", Concrete = "MATERIAL_CONCRETE", Aluminium = "MATERIAL_ALUMINIUM",
        HalfTimbered = "MATERIAL_HALF_TIMBERED", Marble = "MATERIAL_MARBLE", Brick = "MATERIAL_BRICK",
        CinderBlock = "MATERIAL_CINDER_BLOCK", Prefabricated = "MATERIAL_PREFABRICATED", Adobe = "MATERIAL_ADOBE",
        Coating = "MATERIAL_COATING",
    }

    /// Glazing of the windows.
    EnumGlazingType {
        Unknown = "GLAZING_TYPE_UNKNOWN", Simple = "GLAZING_TYPE_SIMPLE", Double = "GLAZING_TYPE_DOUBLE",
        Triple = "GLAZING_TYPE_TRIPLE",
    }

    /// What the windows overlook.
    EnumViewOn {
        Unknown = "VIEW_ON_UNKNOWN", Sea = "VIEW_ON_SEA", Hills = "VIEW_ON_HILLS", Rivers = "VIEW_ON_RIVERS",
        City = "VIEW_ON_CITY", Park = "VIEW_ON_PARK", Verdure = "VIEW_ON_VERDURE", Street = "VIEW_ON_STREET",
        Courtyard = "VIEW_ON_COURTYARD", Countryside = "VIEW_ON_COUNTRYSIDE", Mountain = "VIEW_ON_MOUNTAIN",
        GardenTerrace = "VIEW_ON_GARDEN_TERRACE", Lake = "VIEW_ON_LAKE", SkiSlopes = "VIEW_ON_SKI_SLOPES",
        Port = "VIEW_ON_PORT", Poi = "VIEW_ON_POI", Sky = "VIEW_ON_SKY", Water = "VIEW_ON_WATER",
        Vineyard = "VIEW_ON_VINEYARD", Roof = "VIEW_ON_ROOF",
    }

    /// Quality of the view.
    EnumViewType {
        Unknown = "VIEW_TYPE_UNKNOWN", Glimpse = "VIEW_TYPE_GLIMPSE", Panoramic = "VIEW_TYPE_PANORAMIC",
        Clear = "VIEW_TYPE_CLEAR", Exceptional = "VIEW_TYPE_EXCEPTIONAL", Dominant = "VIEW_TYPE_DOMINANT",
    }

    /// Whether the heating is individual or shared.
    EnumHeatType {
        Unknown = "HEAT_TYPE_UNKNOWN", Individual = "HEAT_TYPE_INDIVIDUAL", Shared = "HEAT_TYPE_SHARED",
        Mix = "HEAT_TYPE_MIX" | "HEAT_TYPE_MIXED", City = "HEAT_TYPE_CITY", Cistern = "HEAT_TYPE_CISTERN",
    }

    /// Kind of heat emitter.
    EnumHeatTypeDetail {
        Unknown = "HEAT_DETAIL_UNKNOWN", Floor = "HEAT_DETAIL_FLOOR", Ceiling = "HEAT_DETAIL_CEILING",
        Fireplace = "HEAT_DETAIL_FIREPLACE", Insert = "HEAT_DETAIL_INSERT", AirCon = "HEAT_DETAIL_AIR_CON",
        ReversibleAirCon = "HEAT_DETAIL_REVERSIBLE_AIR_CON", RadiantsTubes = "HEAT_DETAIL_RADIANTS_TUBES",
        Radiator = "HEAT_DETAIL_RADIATOR", Sheahs = "HEAT_DETAIL_SHEAHS" | "HEAT_DETAIL_SHEATHS",
        Convector = "HEAT_DETAIL_CONVECTOR",
    }

    /// Source of energy of the heating.
    EnumHeating {
        Unknown = "HEATING_UNKNOWN", FuelOil = "HEATING_FUEL_OIL", Electrical = "HEATING_ELECTRICAL",
        Gas = "HEATING_GAS", Biomass = "HEATING_BIOMASS", Solar = "HEATING_SOLAR", Geothermal = "HEATING_GEOTHERMAL",
        Wood = "HEATING_WOOD", HeatPump = "HEATING_HEAT_PUMP", Pellet = "HEATING_PELLET",
        CanadianWell = "HEATING_CANADIAN_WELL", Coal = "HEATING_COAL",
    }

    /// Condition of the interior; the misspelling of one value is part of the contract.
    EnumPropertyInteriorCondition {
        Unknown = "INTERIOR_CONDITION_UNKNOWN", Excellent = "INTERIOR_CONDITION_EXCELLENT",
        ToRefresh = "INTERIOR_CONDITION_TO_REFRESH",
        SmallWorksToBePlanned = "INTERIOR_CONDITION_SMALL_WORKS_TO_BE_PLANNED",
        MajorWorksToBePallned = "INTERIOR_CONDITION_MAJOR_WORKS_TO_BE_PALLNED",
        BrandNew = "INTERIOR_CONDITION_BRAND_NEW", GoodCondition = "INTERIOR_CONDITION_GOOD_CONDITION",
        ToBeRenovated = "INTERIOR_CONDITION_TO_BE_RENOVATED",
    }

    /// Condition of the asset as a whole.
    EnumPropertyGeneralCondition {
        Unknown = "GENERAL_CONDITION_UNKNOWN", ToBeRenovated = "GENERAL_CONDITION_TO_BE_RENOVATED",
        BrandNew = "GENERAL_CONDITION_BRAND_NEW", Renovated = "GENERAL_CONDITION_RENOVATED",
        ToBeRefreshed = "GENERAL_CONDITION_TO_BE_REFRESHED", Good = "GENERAL_CONDITION_GOOD",
        Excellent = "GENERAL_CONDITION_EXCELLENT", Decrepit = "GENERAL_CONDITION_DECREPIT",
        ToBeBuilt = "GENERAL_CONDITION_TO_BE_BUILT",
    }

    /// Kind of dwelling: flats by main rooms (T2: two), houses by style.
    EnumPropertyTypeHabitation {
        Unknown = "PROPERTY_TYPE_UNKNOWN", Studio = "PROPERTY_TYPE_STUDIO", T1 = "PROPERTY_TYPE_T1",
        T1T2 = "PROPERTY_TYPE_T1_T2", T2 = "PROPERTY_TYPE_T2", T2T3 = "PROPERTY_TYPE_T2_T3", T3 = "PROPERTY_TYPE_T3",
        T3To4 = "PROPERTY_TYPE_T3_4", T4 = "PROPERTY_TYPE_T4", T4To5 = "PROPERTY_TYPE_T4_5",
        T5More = "PROPERTY_TYPE_T5_MORE", Loft = "PROPERTY_TYPE_LOFT", Duplex = "PROPERTY_TYPE_DUPLEX",
        OtherApartmentType = "PROPERTY_TYPE_OTHER_APARTMENT_TYPE", Individual = "PROPERTY_TYPE_INDIVIDUAL",
        OneSideTerraced = "PROPERTY_TYPE_ONE_SIDE_TERRACED", TwoSideTerraced = "PROPERTY_TYPE_TWO_SIDE_TERRACED",
        SingleStorey = "PROPERTY_TYPE_SINGLE_STOREY", Traditional = "PROPERTY_TYPE_TRADITIONAL",
        Contemporary = "PROPERTY_TYPE_CONTEMPORARY", Bourgeois = "PROPERTY_TYPE_BOURGEOIS",
        Villa = "PROPERTY_TYPE_VILLA", Manor = "PROPERTY_TYPE_MANOR", Castle = "PROPERTY_TYPE_CASTLE",
        Farm = "PROPERTY_TYPE_FARM", Mas = "PROPERTY_TYPE_MAS", Bastide = "PROPERTY_TYPE_BASTIDE",
        Chalet = "PROPERTY_TYPE_CHALET", Ancient = "PROPERTY_TYPE_ANCIENT",
        HeritageListed = "PROPERTY_TYPE_HERITAGE_LISTED", Bungalow = "PROPERTY_TYPE_BUNGALOW",
    }

    /// Kind of land.
    EnumLandType {
        Unknown = "LAND_UNKNOWN", BuildingPlot = "LAND_BUILDING_PLOT", Agricultural = "LAND_AGRICULTURAL",
        Vineyard = "LAND_VINEYARD", Industrial = "LAND_INDUSTRIAL", Pond = "LAND_POND", Forest = "LAND_FOREST",
    }

    /// What is offered: sale, rent and others.
    EnumPropertyOfferType {
        Unknown = "OFFER_UNKNOWN", Buy = "OFFER_BUY", Rent = "OFFER_RENT",
        BusinessTakeOver = "OFFER_BUSINESS_TAKE_OVER", LeaseBack = "OFFER_LEASE_BACK",
        LifeAnnuitySale = "OFFER_LIFE_ANNUITY_SALE", Holidays = "OFFER_HOLIDAYS", Auction = "OFFER_AUCTION",
    }

    /// Kind of parking place.
    EnumParkingType { Unknown = "PARKING_UNKNOWN", Garage = "PARKING_GARAGE", Parking = "PARKING_PARKING" }

    /// Status of the transaction.
    EnumPropertyProcess {
        Unknown = "PROCESS_UNKNOWN", AvailableOnMarket = "PROCESS_AVAILABLE_ON_MARKET",
        UnderCompromise = "PROCESS_UNDER_COMPROMISE", RentedSold = "PROCESS_RENTED_SOLD", Removed = "PROCESS_REMOVED",
        Reserved = "PROCESS_RESERVED", Archived = "PROCESS_ARCHIVED",
    }

    /// Whether a price is paid once or every month.
    EnumPricingScope { OneOff = "PRICING_ONE_OFF", Mensual = "PRICING_MENSUAL" }

    /// Class of asset.
    EnumPropertyClass {
        Unknown = "CLASS_UNKNOWN", House = "CLASS_HOUSE", Flat = "CLASS_FLAT", Program = "CLASS_PROGRAM",
        Shop = "CLASS_SHOP", Premises = "CLASS_PREMISES", Office = "CLASS_OFFICE", Land = "CLASS_LAND",
        Building = "CLASS_BUILDING", Parking = "CLASS_PARKING", Room = "CLASS_ROOM", Other = "CLASS_OTHER",
    }

    /// Currency of prices, ISO 4217 after the prefix.
    EnumCurrency { Eur = "CURRENCY_EUR", Usd = "CURRENCY_USD" }

    /// Kind of professional seller.
    EnumSellerType { Unknown = "SELLER_TYPE_UNKNOWN", Agency = "SELLER_TYPE_AGENCY", Network = "SELLER_TYPE_NETWORK" }

    /// What a list is sorted by.
    EnumSearchRequestSortBy {
        FirstSeenAt = "FIRST_SEEN_AT", Price = "PRICE", LastUpdatedAt = "LAST_UPDATED_AT",
        LastSeenAt = "LAST_SEEN_AT", Relevance = "RELEVANCE",
    }

    /// The value that is studied.
    EnumStudiedData {
        Price = "PRICE", PricePerArea = "PRICE_PER_AREA", Surface = "SURFACE", TimeOnMarket = "TIME_ON_MARKET",
    }

    /// How similar properties are found.
    SimilarPropertiesRequestSimilarityStrategyEnum { Search = "SEARCH" }

    /// What a property alert reports: a property that qualifies, or an advert that joins one.
    EnumAlertMatch { Created = "ALERT_MATCH_CREATED", Merged = "ALERT_MATCH_MERGED" }

    /// What an advert alert reports: an advert that qualifies, or an event on one.
    EnumAdvertAlertMatch { Created = "ALERT_MATCH_CREATED", AdvertEvent = "ALERT_MATCH_ADVERT_EVENT" }

    /// What an alert on open data reports: a new record that matches, or a corrected one.
    EnumOpenDataAlertMatch { Created = "ALERT_MATCH_CREATED", Changed = "ALERT_MATCH_CHANGED" }

    /// What is wrong with a listing.
    EnumAdvertReportReason {
        StillOnline = "STILL_ONLINE", NotOnlineAnymore = "NOT_ONLINE_ANYMORE", WrongData = "WRONG_DATA",
        WrongLocation = "WRONG_LOCATION", Duplicate = "DUPLICATE", WrongAgency = "WRONG_AGENCY", Other = "OTHER",
    }

    /// Precision of a position that was found from an address, a town or a postal code: a house number, a street or
    /// named place, or the centre of a commune.
    EnumLocationPrecision { Address = "ADDRESS", Street = "STREET", Town = "TOWN" }

    /// What happened to an advert: its price changed, it came back online or it went offline.
    EnumAdvertEvent { Price = "PRICE", Republished = "REPUBLISHED", Unpublished = "UNPUBLISHED" }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::read;
    use serde_json::json;

    #[test]
    fn other_spellings_are_read_and_the_first_is_written() {
        for (accepted, written) in [
            ("HEAT_TYPE_MIXED", "HEAT_TYPE_MIX"),
            ("HEAT_TYPE_MIX", "HEAT_TYPE_MIX"),
        ] {
            let value: EnumHeatType = read(&json!(accepted)).unwrap();
            assert_eq!(serde_json::to_value(value).unwrap(), json!(written));
        }
        let value: EnumHeatTypeDetail = read(&json!("HEAT_DETAIL_SHEATHS")).unwrap();
        assert_eq!(value.as_str(), "HEAT_DETAIL_SHEAHS");
    }

    #[test]
    fn an_unknown_value_is_refused_with_the_allowed_ones() {
        for value in [
            json!("CURRENCY_GBP"),
            json!(1),
            json!("currency_eur"),
            json!(null),
        ] {
            let fault = read::<EnumCurrency>(&value).unwrap_err();
            assert_eq!(
                fault.to_string(),
                "body: must be one of: CURRENCY_EUR, CURRENCY_USD",
                "{value}"
            );
        }
    }

    #[test]
    fn every_value_is_read_back() {
        fn check<E: WireEnum + fmt::Debug>() {
            let written: Vec<&str> = E::ALL.iter().map(|value| value.as_str()).collect();
            assert_eq!(written, E::TABLE.values);
            for value in E::ALL {
                assert_eq!(E::parse(value.as_str()), Some(*value));
            }
        }
        check::<EnumPropertyClass>();
        check::<EnumPropertyTypeHabitation>();
        check::<EnumHeatTypeDetail>();
    }
}
