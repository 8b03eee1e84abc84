//! Fingerprints: the data of an advert that a comparison needs, in about 500 bytes, without references to the advert.
//!
//! Numbers are rounded to the precision that adverts have (decimetres, whole euros, seconds), texts become digests and
//! sketches. A field that is missing in the advert is missing here, and a comparison skips it.

use super::digest;
use super::district;
use super::identifiers::{
    PictureNames, UnitAddress, address_number, is_page_of_new_build, picture_names, unit_address,
};
use super::images::{self, Photos};
use super::inline_vec::InlineVec;
use super::rooms;
use super::seller::{REFERENCES_MAX, SELLER_KEYS_MAX, SellerKind, lot_series, references, seller};
use super::street::address_of;
use super::text::{FoldedText, Sketch, TextFigures};
use super::title::{TitleWords, title_words};
use toise_contract::enums::EnumLocationPrecision;
use toise_contract::enums::{
    EnumEnergyClassification as Energy, EnumGreenhouseClassification as Greenhouse,
    EnumPropertyClass, EnumPropertyGeneralCondition as General,
    EnumPropertyInteriorCondition as Interior, EnumPropertyOfferType, WireEnum,
};
use toise_contract::listings::Advert;
use toise_contract::listings::codes::{Position, Timestamp};
use toise_contract::listings::habitation::{Characteristics, TypeHabitation};
use toise_contract::listings::scalars::Eur;
use toise_geo::distance::planar_distance_m;

/// Maximum distance from the commune's centre, metres, at which a position only means the commune.
const CENTRE_RADIUS_M: f64 = 30.0;
/// Uncertainty of a position that only means its commune, metres.
pub const COMMUNE_BLUR_M: u16 = 5_000;
/// Uncertainty of a position with more than two decimals, metres: portals blur without saying so.
pub const USUAL_BLUR_M: u16 = 300;
/// Uncertainty of the middle of a street, metres.
const STREET_BLUR_M: u16 = 1_000;

/// The data of an advert that a comparison needs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fingerprint {
    /// Class of asset.
    pub class: EnumPropertyClass,
    /// Kind of offer.
    pub offer: EnumPropertyOfferType,
    /// INSEE code of the commune.
    pub commune: Option<[u8; 5]>,
    /// Postal code.
    pub postal_code: Option<u32>,
    /// Position.
    pub spot: Option<ApproximatePosition>,
    /// Habitable area, square decimetres.
    pub surface_dm2: Option<u32>,
    /// Land, square metres.
    pub land_m2: Option<u32>,
    /// Main rooms.
    pub rooms: Option<u8>,
    /// Bedrooms.
    pub bedrooms: Option<u8>,
    /// Storey.
    pub floor: Option<i16>,
    /// Storeys of the building.
    pub floors: Option<i16>,
    /// Year of construction.
    pub year: Option<u16>,
    /// Price, EUR; per month for rentals.
    pub price_eur: Option<u32>,
    /// Price before the last change, EUR.
    pub previous_price_eur: Option<u32>,
    /// Energy class, 1 for A to 7 for G.
    pub energy_class: Option<u8>,
    /// Climate class, 1 for A to 7 for G.
    pub climate_class: Option<u8>,
    /// Primary energy, kWh per square metre and year.
    pub energy_score: Option<u16>,
    /// Greenhouse gas emissions, kg per square metre and year.
    pub climate_score: Option<u16>,
    /// Price without the agency's fees, EUR.
    pub net_price_eur: Option<u32>,
    /// Lots of the condominium.
    pub condominium_lots: Option<u16>,
    /// Charges of the condominium, EUR a year.
    pub charges_eur: Option<u32>,
    /// Digest of the name of the district, and of the word in it that names the place.
    pub district: Option<u32>,
    /// House number and digest of the street.
    pub street_address: Option<u32>,
    /// Amenities that the advert mentions, one bit each.
    pub amenities_known: u32,
    /// Amenities that it has, one bit each.
    pub amenities: u32,
    /// Description.
    pub text: Option<Sketch>,
    /// Figures in the description.
    pub figures: TextFigures,
    /// Pictures.
    pub photos: Photos,
    /// Digests of the names of pictures.
    pub picture_names: PictureNames,
    /// Digest of the number in its URL.
    pub address_number: Option<u32>,
    /// Page and unit that its URL names.
    pub unit: Option<UnitAddress>,
    /// Kind of seller.
    pub seller_kind: Option<SellerKind>,
    /// Digests of the identities of the seller.
    pub seller: InlineVec<u64, SELLER_KEYS_MAX>,
    /// Digests of the references given in title, description and tags.
    pub references: InlineVec<u64, REFERENCES_MAX>,
    /// Digest of its reference without the number of the lot; all lots of one sale share it.
    pub lot_series: Option<u32>,
    /// Whether it is off plan or newly built.
    pub new_build: bool,
    /// Whether its text may be that of several homes for sale or rent in one place.
    pub names_lots: bool,
    /// Whether it is a room let alone, such as one of a shared flat.
    pub is_room: bool,
    /// Words of the title.
    pub title: TitleWords,
    /// Digest of the portal.
    pub portal: u32,
    /// When it was on its portal.
    pub period: Option<OnlinePeriod>,
}

impl Fingerprint {
    /// Creates a fingerprint of a class and an offer in which every other field is missing.
    pub(super) fn empty(class: EnumPropertyClass, offer: EnumPropertyOfferType) -> Self {
        Self {
            class,
            offer,
            commune: None,
            postal_code: None,
            spot: None,
            surface_dm2: None,
            land_m2: None,
            rooms: None,
            bedrooms: None,
            floor: None,
            floors: None,
            year: None,
            price_eur: None,
            previous_price_eur: None,
            energy_class: None,
            climate_class: None,
            energy_score: None,
            climate_score: None,
            net_price_eur: None,
            condominium_lots: None,
            charges_eur: None,
            district: None,
            street_address: None,
            amenities_known: 0,
            amenities: 0,
            text: None,
            figures: InlineVec::default(),
            photos: InlineVec::default(),
            picture_names: InlineVec::default(),
            address_number: None,
            unit: None,
            seller_kind: None,
            seller: InlineVec::default(),
            references: InlineVec::default(),
            lot_series: None,
            new_build: false,
            names_lots: false,
            is_room: false,
            title: InlineVec::default(),
            portal: 0,
            period: None,
        }
    }

    /// Returns whether this fingerprint has a field that an earlier one of the same advert lacked. The property that
    /// the advert joined may then no longer fit. A changed value, such as a lower price, adds no information.
    pub fn adds_information_to(&self, former: &Self) -> bool {
        let gained = [
            self.precise().is_some() && former.precise().is_none(),
            self.street_address.is_some() && former.street_address.is_none(),
            self.surface_dm2.is_some() && former.surface_dm2.is_none(),
            self.land_m2.is_some() && former.land_m2.is_none(),
            self.rooms.is_some() && former.rooms.is_none(),
            self.floor.is_some() && former.floor.is_none(),
            self.year.is_some() && former.year.is_none(),
            self.energy_score.is_some() && former.energy_score.is_none(),
            self.climate_score.is_some() && former.climate_score.is_none(),
            self.text.is_some() && former.text.is_none(),
            self.has_pictures() && !former.has_pictures(),
            !self.references.is_empty() && former.references.is_empty(),
        ];
        gained.contains(&true)
    }
}

/// A position and its uncertainty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ApproximatePosition {
    /// Latitude, millionths of a degree.
    pub lat_e6: i32,
    /// Longitude, millionths of a degree.
    pub lon_e6: i32,
    /// Uncertainty in metres, estimated from the number of decimals and the distance to the commune's centre.
    pub blur_m: u16,
}

/// When an advert was on its portal, seconds since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OnlinePeriod {
    /// First sighting.
    pub first_s: u32,
    /// Last sighting.
    pub last_s: u32,
    /// Whether it is online now.
    pub online: bool,
}

impl Fingerprint {
    /// Computes the fingerprint of an advert. Most of the cost is the description's (`benches/dedup.rs`).
    pub fn from_advert(advert: &Advert) -> Self {
        let nothing = TypeHabitation::default();
        let habitation = advert.habitation.as_ref().unwrap_or(&nothing);
        let climate = habitation.climate.clone().unwrap_or_default();
        let features = habitation.features.as_ref();
        let surface = habitation.surface.clone().unwrap_or_default();
        let surface = surface
            .total
            .or(surface.living_space)
            .or(surface.floor_space);
        let condition = habitation.property_condition.as_ref();
        let location = advert.location.as_ref();
        let land = advert.land.as_ref().and_then(|land| land.surface);
        let current_price = advert.current_price.as_ref();
        let price = current_price.and_then(|price| price.value);
        let offer = advert.offer.as_ref().and_then(|offer| offer.offer_type);
        let amenities = habitation.characteristics.as_ref();
        let (amenities_known, amenities) = amenities.map(amenity_bits).unwrap_or_default();
        let description = FoldedText::from_text(advert.description.as_deref().unwrap_or_default());
        let own_text = description.without_boilerplate();
        let own_text = Some(own_text).filter(FoldedText::has_own_words);
        let title = FoldedText::from_text(advert.title.as_deref().unwrap_or_default());
        let (seller_kind, seller) = seller(advert);
        let is_flat = advert.class == Some(EnumPropertyClass::Flat);
        let mut made = Self {
            class: advert.class.unwrap_or(EnumPropertyClass::Unknown),
            offer: offer.unwrap_or(EnumPropertyOfferType::Unknown),
            commune: location
                .and_then(|place| place.insee_code.as_ref())
                .and_then(|code| code.as_str().as_bytes().try_into().ok()),
            postal_code: location
                .and_then(|place| place.postal_code.as_ref())
                .and_then(|code| code.as_str().parse().ok()),
            spot: approximate_position(advert),
            surface_dm2: surface.and_then(|area| positive(area.get() * 100.0)),
            land_m2: land.and_then(|area| positive(area.get())),
            rooms: habitation.room_count.and_then(|count| small(count.get())),
            bedrooms: habitation
                .bedroom_count
                .map(|count| count.get().min(f64::from(u8::MAX)) as u8),
            floor: habitation
                .floor
                .or(features.and_then(|features| features.property_floor))
                .map(|floor| floor.get() as i16)
                .or_else(|| {
                    let named = title.storey().or_else(|| description.storey());
                    named.filter(|_| is_flat)
                }),
            floors: features
                .and_then(|features| features.property_total_floor)
                .map(|floors| floors.get() as i16),
            year: condition
                .and_then(|condition| condition.construction_year)
                .map(|year| year.get() as u16),
            price_eur: price.and_then(|price| positive(price.get())),
            previous_price_eur: None,
            net_price_eur: current_price
                .and_then(|price| price.net_value)
                .and_then(|price| positive(price.get())),
            condominium_lots: habitation
                .condominium_lot_count
                .and_then(|count| score_of(count.get())),
            charges_eur: advert
                .charges
                .as_ref()
                .and_then(|charges| charges.yearly_condonium_fees)
                .and_then(|fees| positive(fees.get())),
            district: location.and_then(|place| {
                district::digest_of(place.district.as_deref()?, place.city.as_deref())
            }),
            street_address: location.and_then(address_of),
            energy_class: climate.epc_energy.and_then(energy_class),
            climate_class: climate.epc_climate.and_then(climate_class),
            energy_score: climate
                .epc_energy_score
                .and_then(|score| score_of(score.get())),
            climate_score: climate
                .epc_climate_score
                .and_then(|score| score_of(score.get())),
            amenities_known,
            amenities,
            text: own_text.as_ref().and_then(Sketch::from_text),
            figures: own_text
                .as_ref()
                .map(FoldedText::figures)
                .unwrap_or_default(),
            photos: advert
                .medias
                .as_ref()
                .map(images::photos)
                .unwrap_or_default(),
            picture_names: picture_names(advert),
            address_number: address_number(advert),
            unit: unit_address(advert),
            seller_kind,
            seller,
            references: references(advert, &description),
            lot_series: advert.reference.as_deref().and_then(lot_series),
            new_build: description.mentions_new_build()
                || title.is_title_of_new_build()
                || is_page_of_new_build(advert)
                || condition.is_some_and(|condition| {
                    condition.interior_condition == Some(Interior::BrandNew)
                        || condition
                            .general_conditions
                            .iter()
                            .any(|one| matches!(one, General::BrandNew | General::ToBeBuilt))
                }),
            names_lots: advert.class != Some(EnumPropertyClass::Building)
                && description.mentions_lots(),
            is_room: rooms::is_room(advert),
            title: InlineVec::default(),
            portal: portal(advert),
            period: period(advert),
        };
        made.title = title_words(advert, &own_numbers(&made), made.price_eur);
        made
    }

    /// Returns whether any of its pictures is known.
    pub(super) fn has_pictures(&self) -> bool {
        !self.photos.is_empty() || !self.picture_names.is_empty()
    }

    /// Sets what the record alone does not contain: the price before the last change, and the end of the online period
    /// of an advert that is offline now. The end is `online_at`, the last sighting online, or the first sighting if the
    /// advert was never seen online. The advert left its portal some time later, but the sighting that missed it does
    /// not show when.
    #[must_use]
    pub fn with_history(
        mut self,
        previous_price: Option<Eur>,
        online_at: Option<Timestamp>,
    ) -> Self {
        self.previous_price_eur = previous_price.and_then(|price| positive(price.get()));
        if let Some(period) = &mut self.period
            && !period.online
        {
            let last_s = online_at.map_or(period.first_s, seconds);
            period.last_s = last_s.max(period.first_s);
        }
        self
    }
}

/// Rounds to a whole number; `None` for 0, which portals write if a value is unknown.
fn positive(number: f64) -> Option<u32> {
    let whole = number.round().min(f64::from(u32::MAX)) as u32;
    (whole > 0).then_some(whole)
}

fn small(number: f64) -> Option<u8> {
    let whole = number.min(f64::from(u8::MAX)) as u8;
    (whole > 0).then_some(whole)
}

fn score_of(number: f64) -> Option<u16> {
    let whole = number.round().min(f64::from(u16::MAX)) as u16;
    (whole > 0).then_some(whole)
}

fn energy_class(class: Energy) -> Option<u8> {
    match class {
        Energy::Unknown | Energy::Nc => None,
        Energy::A => Some(1),
        Energy::B => Some(2),
        Energy::C => Some(3),
        Energy::D => Some(4),
        Energy::E => Some(5),
        Energy::F => Some(6),
        Energy::G => Some(7),
    }
}

fn climate_class(class: Greenhouse) -> Option<u8> {
    match class {
        Greenhouse::Unknown | Greenhouse::Nc => None,
        Greenhouse::A => Some(1),
        Greenhouse::B => Some(2),
        Greenhouse::C => Some(3),
        Greenhouse::D => Some(4),
        Greenhouse::E => Some(5),
        Greenhouse::F => Some(6),
        Greenhouse::G => Some(7),
    }
}

/// Returns the bits of the amenities that the advert mentions, and of those that the home has.
fn amenity_bits(has: &Characteristics) -> (u32, u32) {
    let flags = [
        has.has_balcony,
        has.has_cellar,
        has.has_fireplace,
        has.has_garage,
        has.has_garden,
        has.has_lift,
        has.has_mezzanine,
        has.has_parking,
        has.has_pool,
        has.has_terrace,
        has.has_concierge,
        has.has_digicode,
        has.has_interphone,
        has.has_grenier,
        has.has_alarm,
    ];
    let mut bits = (0, 0);
    for (rank, flag) in flags.into_iter().enumerate() {
        if let Some(flag) = flag {
            bits.0 |= 1 << rank;
            bits.1 |= u32::from(flag) << rank;
        }
    }
    bits
}

fn approximate_position(advert: &Advert) -> Option<ApproximatePosition> {
    let location = advert.location.as_ref()?;
    let position = location.location_coordinate.as_ref()?.location?;
    let centre = location
        .city_coordinate
        .as_ref()
        .and_then(|centre| centre.location);
    let at_centre = centre.is_some_and(|centre| metres(position, centre) < CENTRE_RADIUS_M);
    Some(ApproximatePosition {
        lat_e6: (position.latitude() * 1e6).round() as i32,
        lon_e6: (position.longitude() * 1e6).round() as i32,
        blur_m: match location.precision {
            Some(EnumLocationPrecision::Town) => COMMUNE_BLUR_M,
            _ if at_centre => COMMUNE_BLUR_M,
            Some(EnumLocationPrecision::Street) => STREET_BLUR_M,
            Some(EnumLocationPrecision::Address) | None => blur_m(position),
        },
    })
}

fn metres(one: Position, other: Position) -> f64 {
    planar_distance_m(
        one.latitude(),
        one.longitude(),
        other.latitude(),
        other.longitude(),
    )
}

/// Estimates the uncertainty of a position from its decimals: a degree is 111 km, and rounding moves by up to half a
/// step.
fn blur_m(position: Position) -> u16 {
    let has = |decimals: i32| {
        let scale = 10f64.powi(decimals);
        let rounded = |degrees: f64| (degrees * scale - (degrees * scale).round()).abs() < 1e-6;
        rounded(position.latitude()) && rounded(position.longitude())
    };
    if has(1) {
        COMMUNE_BLUR_M
    } else if has(2) {
        1_000
    } else {
        USUAL_BLUR_M
    }
}

/// Returns the digest of the portal's name, without `www.`.
fn portal(advert: &Advert) -> u32 {
    let name = advert.source.as_deref().unwrap_or_default();
    let name = name.trim().to_ascii_lowercase();
    digest::mix(digest::hash(name.trim_start_matches("www.").as_bytes())) as u32
}

fn period(advert: &Advert) -> Option<OnlinePeriod> {
    let meta = advert.meta.as_ref();
    let first = advert
        .first_seen_at
        .or(meta.and_then(|meta| meta.first_seen_at));
    let last = advert
        .last_seen_at
        .or(meta.and_then(|meta| meta.last_seen_at));
    let (first, last) = match (first, last) {
        (None, None) => return None,
        (first, last) => (first.or(last)?, last.or(first)?),
    };
    Some(OnlinePeriod {
        first_s: seconds(first.min(last)),
        last_s: seconds(last.max(first)),
        online: advert.is_online.unwrap_or(true),
    })
}

fn seconds(moment: Timestamp) -> u32 {
    let seconds = moment.get().timestamp();
    seconds.clamp(0, i64::from(u32::MAX)) as u32
}

/// Returns the enum value at an index of the contract's list.
pub(super) fn value_at<E: WireEnum>(index: u8) -> Option<E> {
    E::ALL.get(usize::from(index)).copied()
}

/// Returns the index of an enum value in the contract's list.
pub(super) fn index_of<E: WireEnum>(value: E) -> u8 {
    let index = E::ALL.iter().position(|one| *one == value);
    index.unwrap_or_default() as u8
}

/// Returns the numbers of an advert's fields that its title may repeat; 0 for those that are missing.
fn own_numbers(advert: &Fingerprint) -> [u32; 13] {
    let price = advert.price_eur.unwrap_or_default();
    let net_price = advert.net_price_eur.unwrap_or_default();
    let surface = advert.surface_dm2.unwrap_or_default();
    [
        price,
        price / 1_000,
        net_price,
        net_price / 1_000,
        surface / 100,
        surface.div_ceil(100),
        surface % 100,
        advert.land_m2.unwrap_or_default(),
        advert.rooms.unwrap_or_default().into(),
        advert.bedrooms.unwrap_or_default().into(),
        advert.floor.unwrap_or_default().unsigned_abs().into(),
        advert.year.unwrap_or_default().into(),
        advert.postal_code.unwrap_or_default(),
    ]
}
