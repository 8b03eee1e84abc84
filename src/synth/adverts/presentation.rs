//! The position and pictures of an asset as a portal shows them.

use super::level::Noise;
use super::portal::PortalListing;
use crate::random::{Stream, mix2, to_unit};
use toise_contract::listings::codes::{Department, InseeCode, Position, PostalCode};
use toise_contract::listings::medias::{Image, Medias};
use toise_contract::listings::place::{AdCompleteLatLng, AdLocation};

/// Maximum number of pictures on each portal.
const PHOTOS_MAX: [usize; 4] = [12, 8, 10, 5];
/// Radius of a blurred position, metres.
const BLUR_M: f64 = 300.0;
/// Metres per degree of latitude.
const DEGREE_M: f64 = 111_195.0;
/// Probability that the seller's pictures come from the owner, so that another seller shows the same ones.
const OWNER_PHOTOS_SHARE: f64 = 0.25;
/// Probability that the first picture shows the facade.
const FRONT: f64 = 0.4;

impl PortalListing<'_> {
    /// Returns the location, as precisely as the portal gives it.
    pub(super) fn location(&self, stream: &mut Stream, noise: &Noise) -> AdLocation {
        let address = &self.asset.address;
        let place = address.place;
        let (mut lat, mut lon) = address.position();
        let centre = Position::new(place.lon, place.lat);
        if stream.chance(noise.position_missing) {
            (lat, lon) = (place.lat, place.lon);
        } else if stream.chance(noise.position_blurred) {
            let bearing = stream.unit() * std::f64::consts::TAU;
            let distance_m = BLUR_M * stream.unit().sqrt();
            lat += distance_m * bearing.sin() / DEGREE_M;
            lon += distance_m * bearing.cos() / (DEGREE_M * place.lat.to_radians().cos());
        }
        let six = |degrees: f64| (degrees * 1e6).round() / 1e6;
        let without_postal_code = stream.chance(noise.postal_code_missing);
        // Two portals give both codes; the others give the postal code, or the INSEE code instead.
        let with_insee_code = without_postal_code || self.portal < 2;
        AdLocation {
            city: Some(place.name.to_owned()),
            city_coordinate: Some(AdCompleteLatLng { location: centre }),
            department: Department::parse(place.department),
            insee_code: InseeCode::parse(place.insee).filter(|_| with_insee_code),
            location_coordinate: Some(AdCompleteLatLng {
                location: Position::new(six(lon), six(lat)),
            }),
            postal_code: PostalCode::parse(address.postal_code()).filter(|_| !without_postal_code),
            ..AdLocation::default()
        }
    }

    /// Returns the picture hashes; `None` if the pictures of the portal could not be hashed.
    pub(super) fn medias(&self, stream: &mut Stream, noise: &Noise) -> Option<Medias> {
        if stream.chance(noise.photos_missing) {
            return None;
        }
        let asset = self.asset;
        let owners = to_unit(mix2(asset.key, 62)) < OWNER_PHOTOS_SHARE;
        let series = match (asset.programme, owners) {
            // A programme shows the same drawings for each of its flats.
            (true, _) => mix2(asset.building_key, 63),
            (false, true) => mix2(asset.key, 64),
            (false, false) => mix2(asset.key, self.seller.key),
        };
        let front = to_unit(mix2(series, 65)) < FRONT;
        let count = 3 + (mix2(series, 66) % 9) as usize;
        let mut images = Vec::with_capacity(count + 1);
        for rank in 0..count {
            if stream.chance(noise.photo_dropped) && !(images.is_empty() && rank + 1 == count) {
                continue;
            }
            let shot = if rank == 0 && front {
                mix2(mix2(asset.building_key, self.seller.firm_key), 67)
            } else {
                mix2(series, 1_000 + rank as u64)
            };
            images.push(self.image(stream, noise, shot));
            if images.len() == PHOTOS_MAX[self.portal] {
                break;
            }
        }
        if self.seller.shows_logo() && images.len() < PHOTOS_MAX[self.portal] {
            images.push(self.image(stream, noise, mix2(self.seller.firm_key, 68)));
        }
        if images.len() > 2 && stream.chance(noise.photo_dropped) {
            images.swap(0, 1);
        }
        Some(Medias {
            images,
            virtual_visit_external_url: Vec::new(),
        })
    }

    /// Returns the hashes of a picture as this portal shows it.
    fn image(&self, stream: &mut Stream, noise: &Noise, shot: u64) -> Image {
        let shot = if stream.chance(noise.photo_cropped) {
            stream.bits()
        } else {
            shot
        };
        let mut hash = |purpose: u64, bits_max: usize| {
            let mut hash = mix2(shot, purpose);
            for _ in 0..stream.below(bits_max + 1) {
                hash ^= 1 << stream.below(64);
            }
            format!("{hash:016x}")
        };
        let bits_max = noise.photo_bits_max;
        Image {
            perceptual_hash: hash(1, bits_max),
            mean_hash: hash(2, bits_max),
            gaussian_hash: hash(3, bits_max),
            color_hash: None,
            difference_hash: (self.portal != 3).then(|| hash(4, bits_max + 2)),
            image_id: format!("{:016x}", mix2(mix2(shot, self.number), 5)),
            url: None,
        }
    }
}
