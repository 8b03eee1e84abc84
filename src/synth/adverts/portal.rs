//! An asset as a portal shows it: rounded, blurred, truncated, with recompressed pictures.

use super::asset::{Amenities, SynthAsset};
use super::descriptions::{ListingText, truncated};
use super::level::Noise;
use super::lifecycle::SynthSighting;
use super::seller::{Seller, SynthSellerKind};
use crate::random::{Stream, mix2};
use toise_contract::enums::{
    EnumEnergyClassification as Energy, EnumGreenhouseClassification as Greenhouse,
    EnumPricingScope as Scope, EnumPropertyClass as Class, EnumPropertyGeneralCondition as General,
    EnumPropertyInteriorCondition as Interior, EnumPropertyOfferType as OfferType,
    EnumPropertyTypeHabitation as HabitationType, EnumSellerType,
};
use toise_contract::listings::Advert;
use toise_contract::listings::codes::{Siren, Timestamp};
use toise_contract::listings::habitation::{
    Characteristics, Climate, Features, PropertyCondition, Surface, TypeHabitation,
};
use toise_contract::listings::land::{TypeLand, TypeParking};
use toise_contract::listings::market::{Contact, LightSeller, Offer};
use toise_contract::listings::place::AdLocation;
use toise_contract::listings::price::AdvertPrice;
use toise_contract::listings::scalars::{
    CarbonPerArea, Count, EnergyPerArea, Eur, EurPerSquareMetre, Floor, SquareMetres, Year,
};

/// Domains of the invented portals.
pub const PORTALS: [&str; 4] = [
    "toits-et-murs.example",
    "place-aux-biens.example",
    "immo-cle.example",
    "entre-voisins.example",
];
/// Upper bounds of the energy classes A to F in kWh, and of the climate classes in kg, per square metre and year.
const ENERGY_LIMITS: [u32; 6] = [70, 110, 180, 250, 330, 420];
const CLIMATE_LIMITS: [u32; 6] = [6, 11, 30, 50, 70, 100];

/// An advert to be generated: an asset, its seller and its portal.
#[derive(Debug)]
pub struct PortalListing<'a> {
    /// The asset offered.
    pub asset: &'a SynthAsset,
    /// The seller.
    pub seller: Seller,
    /// Index of the portal in [`PORTALS`].
    pub portal: usize,
    /// Unique number of the advert, part of its URL.
    pub number: u64,
    /// Whether it is the first advert of the asset, which has the least noise.
    pub first: bool,
}

/// Draws whether something happens. Draws no random number if the share is 0, so that a kind of noise added later does
/// not change the output of levels that do not use it.
fn happens(stream: &mut Stream, share: f64) -> bool {
    share > 0.0 && stream.chance(share)
}

/// Reduces an advert to what a portal's list of results shows: price, area, rooms and town.
fn thinned(advert: Advert) -> Advert {
    let habitation = advert.habitation.map(|habitation| TypeHabitation {
        room_count: habitation.room_count,
        surface: habitation.surface,
        ..TypeHabitation::default()
    });
    let location = advert.location.map(|location| AdLocation {
        city: location.city,
        department: location.department,
        insee_code: location.insee_code,
        postal_code: location.postal_code,
        ..AdLocation::default()
    });
    Advert {
        habitation,
        location,
        land: advert.land,
        parking: advert.parking,
        scope: advert.scope,
        source: advert.source,
        url: advert.url,
        title: advert.title,
        class: advert.class,
        offer: advert.offer,
        is_auction: advert.is_auction,
        ..Advert::default()
    }
}

/// Draws whether the portal shows the description whole, shortened or not at all.
fn shown_description(
    stream: &mut Stream,
    noise: &Noise,
    writing: &ListingText<'_>,
    with_boilerplate: bool,
) -> Option<String> {
    let mut description = Some(if with_boilerplate {
        format!("{} {}", writing.boilerplate(), writing.description())
    } else {
        writing.description()
    });
    if stream.chance(noise.text_truncated) {
        description = description.map(|text| truncated(text, 180 + stream.below(320)));
    }
    if stream.chance(noise.text_missing) {
        description = None;
    }
    description
}

impl PortalListing<'_> {
    /// Returns the advert as first seen; [`apply_sighting`] sets what changes later.
    pub fn advert(&self, stream: &mut Stream, noise: &Noise) -> Advert {
        let asset = self.asset;
        let dwelling = asset.is_dwelling();
        let professional = self.seller.kind != SynthSellerKind::Private;
        let surface = self.surface(stream, noise);
        let rewritten = if !self.first && stream.chance(noise.text_rewritten) {
            0.65
        } else {
            0.0
        };
        let writing = ListingText {
            asset,
            seller: &self.seller,
            version: self.number,
            rewritten,
            with_reference: professional && !stream.chance(noise.reference_missing),
        };
        let own_words = happens(stream, noise.boilerplate);
        let description = shown_description(stream, noise, &writing, own_words);
        let tags = if stream.chance(0.3) {
            tags(asset)
        } else {
            Vec::new()
        };
        let whole = Advert {
            description,
            habitation: dwelling
                .then(|| self.habitation(stream, noise, surface))
                .or_else(|| {
                    (surface > 0.0).then(|| TypeHabitation {
                        surface: total(surface),
                        ..TypeHabitation::default()
                    })
                }),
            land: self.land(stream, noise),
            location: Some(self.location(stream, noise)),
            medias: self.medias(stream, noise),
            parking: (asset.class == Class::Parking).then(|| TypeParking {
                count: Count::new(1.0),
                ..TypeParking::default()
            }),
            scope: (asset.offer == OfferType::Rent).then_some(Scope::Mensual),
            source: Some(PORTALS[self.portal].to_owned()),
            url: Some(if happens(stream, noise.tracked) {
                format!("{}?search_id={:08x}&position=3", self.url(), self.number)
            } else {
                self.url()
            }),
            tags,
            title: Some(writing.title()),
            class: Some(asset.class),
            warranty_deposit: (asset.offer == OfferType::Rent)
                .then(|| Eur::new(asset.price_eur))
                .flatten(),
            offer: Some(Offer {
                offer_type: Some(asset.offer),
                ..Offer::default()
            }),
            is_auction: (asset.offer == OfferType::Auction).then_some(true),
            is_pro: Some(professional),
            seller: professional.then(|| self.light_seller(stream, noise)),
            is_exclusive: professional.then(|| mix2(asset.key, 61).is_multiple_of(4)),
            contact_in_charge: Some(self.contact(stream, noise)),
            ..Advert::default()
        };
        if happens(stream, noise.thin) {
            thinned(whole)
        } else {
            whole
        }
    }

    /// Returns the URL of the advert. The number is scrambled, so that URLs reveal no relation between adverts.
    pub fn url(&self) -> String {
        let code = self.asset.address.postal_code();
        format!(
            "https://{}/annonce/{code}-{:016x}",
            PORTALS[self.portal], self.number
        )
    }

    fn surface(&self, stream: &mut Stream, noise: &Noise) -> f64 {
        let mut surface = self.asset.surface_m2;
        if !self.first && stream.chance(noise.surface_moved) {
            surface *= 1.0 + noise.surface_move_max * (2.0 * stream.unit() - 1.0);
            surface = (surface * 10.0).round() / 10.0;
        }
        if surface >= 2.0 && stream.chance(noise.surface_rounded) {
            // Most portals round, some truncate.
            surface = if stream.chance(0.7) {
                surface.round()
            } else {
                surface.floor()
            };
        }
        surface
    }

    fn land(&self, stream: &mut Stream, noise: &Noise) -> Option<TypeLand> {
        let mut land_m2 = f64::from(self.asset.land_m2?);
        if self.asset.is_dwelling() && stream.chance(noise.field_missing) {
            return None;
        }
        if stream.chance(noise.surface_rounded) && land_m2 > 400.0 {
            land_m2 = (land_m2 / 10.0).round() * 10.0;
        }
        if stream.chance(noise.field_wrong) {
            land_m2 = (land_m2 * (0.85 + 0.3 * stream.unit())).round();
        }
        Some(TypeLand {
            surface: SquareMetres::new(land_m2),
            ..TypeLand::default()
        })
    }

    fn habitation(&self, stream: &mut Stream, noise: &Noise, surface: f64) -> TypeHabitation {
        let asset = self.asset;
        let mut kept = |share: f64| !stream.chance(share);
        let (
            with_bedrooms,
            with_floor,
            with_floors,
            with_year,
            with_energy,
            with_scores,
            with_amenities,
        ) = (
            kept(noise.field_missing),
            kept(noise.field_missing),
            kept(2.0 * noise.field_missing),
            kept(2.0 * noise.field_missing),
            kept(noise.field_missing),
            kept(noise.scores_missing),
            kept(noise.field_missing),
        );
        let with_surface = kept(noise.field_missing * 0.15);
        let with_rooms = kept(noise.field_missing * 0.3);
        let moved = |stream: &mut Stream, count: u32| {
            let by = if stream.chance(0.6) { 1 } else { -1 };
            (i64::from(count) + by).max(1) as u32
        };
        let mut year = asset.year;
        if stream.chance(noise.field_wrong) {
            // Rounded to the decade, or the year of the renovation.
            year = if stream.chance(0.5) {
                year / 10 * 10
            } else {
                year + 5
            };
        }
        let mut rooms = asset.rooms;
        let mut bedrooms = asset.bedrooms;
        if stream.chance(noise.rooms_moved) {
            rooms = moved(stream, rooms);
        }
        if stream.chance(noise.rooms_moved) {
            bedrooms = moved(stream, bedrooms);
        }
        let mut floor = asset.floor;
        if stream.chance(noise.floor_moved) {
            floor = floor.map(|floor| floor + 1);
        }
        let with_floor = with_floor && !happens(stream, noise.floor_missing);
        let says_new_build = asset.programme && !happens(stream, noise.new_build_unsaid);
        let floor = floor
            .filter(|_| with_floor)
            .and_then(|floor| Floor::new(f64::from(floor)));
        TypeHabitation {
            bathroom_count: kept_count(stream, noise, 1 + asset.rooms / 5),
            bedroom_count: Count::new(f64::from(bedrooms)).filter(|_| with_bedrooms),
            floor,
            characteristics: with_amenities
                .then(|| characteristics(stream, noise, &asset.amenities)),
            climate: with_energy.then(|| climate(stream, noise, asset, with_scores)),
            features: Some(Features {
                exposure: Some(asset.exposure)
                    .filter(|_| !stream.chance(0.3 + noise.field_missing)),
                property_floor: floor,
                property_total_floor: (asset.class == Class::Flat && with_floors)
                    .then(|| Floor::new(f64::from(asset.floors)))
                    .flatten(),
                ..Features::default()
            }),
            property_condition: Some(PropertyCondition {
                construction_year: Year::new(f64::from(year)).filter(|_| with_year),
                interior_condition: asset.to_renovate.then_some(Interior::ToBeRenovated),
                general_conditions: if says_new_build {
                    vec![General::ToBeBuilt]
                } else {
                    Vec::new()
                },
                ..PropertyCondition::default()
            }),
            room_count: Count::new(f64::from(rooms)).filter(|_| with_rooms),
            surface: with_surface.then(|| total(surface)).flatten(),
            types: habitation_types(asset),
            ..TypeHabitation::default()
        }
    }

    fn light_seller(&self, stream: &mut Stream, noise: &Noise) -> LightSeller {
        LightSeller {
            flx_id: None,
            name: Some(self.seller.name()),
            siren: Siren::parse(&self.seller.siren())
                .filter(|_| !stream.chance(0.2 + noise.field_missing)),
            seller_type: Some(match self.seller.kind {
                SynthSellerKind::Network => EnumSellerType::Network,
                _ => EnumSellerType::Agency,
            }),
        }
    }

    fn contact(&self, stream: &mut Stream, noise: &Noise) -> Contact {
        let (first, last) = self.seller.person();
        let private = self.seller.kind == SynthSellerKind::Private;
        Contact {
            first_name: (!private).then(|| first.to_owned()),
            last_name: (!private).then(|| last.to_owned()),
            pseudonym: private.then(|| format!("{first}{}", self.seller.key % 100)),
            phone_number: (!stream.chance(0.15 + noise.field_missing))
                .then(|| self.seller.telephone()),
            email: None,
        }
    }
}

/// Updates the advert to a later sighting. Only the fields set here differ between sightings of an advert. Callers that
/// read only the changes rely on that.
pub fn apply_sighting(advert: &mut Advert, first_s: i64, sighting: &SynthSighting) {
    let moment = |seconds: i64| chrono::DateTime::from_timestamp(seconds, 0).map(Timestamp::new);
    // A house whose living area is not shown also has land, but its price is not the price of the land.
    let surface = match &advert.habitation {
        Some(habitation) => habitation
            .surface
            .as_ref()
            .and_then(|surface| surface.total),
        None => advert.land.as_ref().and_then(|land| land.surface),
    };
    let per_area = surface
        .map(|surface| (sighting.price_eur / surface.get().max(1.0) * 100.0).round() / 100.0)
        .and_then(EurPerSquareMetre::new);
    advert.current_price = Some(AdvertPrice {
        value: Eur::new(sighting.price_eur),
        value_per_area: per_area,
        ..AdvertPrice::default()
    });
    advert.first_seen_at = moment(first_s);
    advert.last_seen_at = moment(sighting.at_s);
    advert.is_online = Some(sighting.online);
}

fn total(surface: f64) -> Option<Surface> {
    Some(Surface {
        total: SquareMetres::new(surface),
        ..Surface::default()
    })
}

fn kept_count(stream: &mut Stream, noise: &Noise, count: u32) -> Option<Count> {
    Count::new(f64::from(count)).filter(|_| !stream.chance(0.2 + noise.field_missing))
}

fn characteristics(stream: &mut Stream, noise: &Noise, has: &Amenities) -> Characteristics {
    // Absent amenities are usually not mentioned.
    let mut said = |there: bool| {
        let share = if there {
            1.0 - noise.field_missing
        } else {
            0.35
        };
        let said = stream.chance(share);
        let wrong = stream.chance(noise.field_wrong);
        said.then_some(there != wrong)
    };
    Characteristics {
        has_balcony: said(has.balcony),
        has_cellar: said(has.cellar),
        has_fireplace: said(has.fireplace),
        has_garage: said(has.garage),
        has_garden: said(has.garden),
        has_lift: said(has.lift),
        has_parking: said(has.parking),
        has_pool: said(has.pool),
        has_terrace: said(has.terrace),
        has_interphone: said(has.interphone),
        ..Characteristics::default()
    }
}

fn climate(stream: &mut Stream, noise: &Noise, asset: &SynthAsset, with_scores: bool) -> Climate {
    const ENERGY: [Energy; 7] = [
        Energy::A,
        Energy::B,
        Energy::C,
        Energy::D,
        Energy::E,
        Energy::F,
        Energy::G,
    ];
    const CLIMATE: [Greenhouse; 7] = [
        Greenhouse::A,
        Greenhouse::B,
        Greenhouse::C,
        Greenhouse::D,
        Greenhouse::E,
        Greenhouse::F,
        Greenhouse::G,
    ];
    let (mut energy_score, mut climate_score) = (asset.energy, asset.climate);
    if stream.chance(noise.field_wrong) {
        // Values of another diagnostic, from before or after renovation.
        let factor = stream.spread(0.25);
        energy_score = (f64::from(energy_score) * factor).round().max(20.0) as u32;
        climate_score = (f64::from(climate_score) * factor).round().max(1.0) as u32;
    }
    let rank =
        |score: u32, limits: &[u32; 6]| limits.iter().take_while(|limit| score > **limit).count();
    let gas = rank(climate_score, &CLIMATE_LIMITS);
    // The energy class of a dwelling is the worse of its two ranks.
    let energy = rank(energy_score, &ENERGY_LIMITS).max(gas);
    Climate {
        epc_energy: Some(ENERGY[energy]),
        epc_climate: Some(CLIMATE[gas]),
        epc_energy_score: EnergyPerArea::new(f64::from(energy_score)).filter(|_| with_scores),
        epc_climate_score: CarbonPerArea::new(f64::from(climate_score)).filter(|_| with_scores),
        ..Climate::default()
    }
}

fn habitation_types(asset: &SynthAsset) -> Vec<HabitationType> {
    match (asset.class, asset.rooms) {
        (Class::Flat, 1) => vec![HabitationType::Studio],
        (Class::Flat, 2) => vec![HabitationType::T2],
        (Class::Flat, 3) => vec![HabitationType::T3],
        (Class::Flat, 4) => vec![HabitationType::T4],
        (Class::Flat, _) => vec![HabitationType::T5More],
        (Class::House, _) if asset.key.is_multiple_of(3) => vec![HabitationType::Villa],
        (Class::House, _) => vec![HabitationType::Individual],
        _ => Vec::new(),
    }
}

fn tags(asset: &SynthAsset) -> Vec<String> {
    let has = asset.amenities;
    [
        (has.terrace, "terrasse"),
        (has.parking, "parking"),
        (has.pool, "piscine"),
        (asset.to_renovate, "à rénover"),
    ]
    .iter()
    .filter(|(there, _)| *there)
    .map(|(_, tag)| (*tag).to_owned())
    .collect()
}
