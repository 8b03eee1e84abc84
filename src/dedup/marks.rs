//! Marks of adverts: values that adverts of different homes may share, such as logos, placeholder pictures, texts that
//! an agency uses for all its homes, and telephone numbers of a portal.
//!
//! A [`Mark`] is common if many homes show it. For each mark the store keeps a set of 32 bits; the location and size of
//! a home choose one of them ([`Mark::home`]). A mark with [`COMMON_HOMES`] bits is common, and
//! [`Fingerprint::without`] removes it from the comparison. It is enough to remove it from one of the two adverts,
//! because a comparison only counts shared marks. Copies of one home have the same location and size, so they never
//! make its pictures common.
//!
//! A seller is known by name, telephone and mail. Those of a professional are on all its homes, so they are common only
//! if many *sellers* have them; those of a private person are common once they are on many homes.

use super::digest;
use super::fingerprint::Fingerprint;
use super::inline_vec::InlineVec;
use super::seller::{IdentityKind, SellerKind};
use super::text::{LANES, TextFigures};
use super::title::{self, TitleWords};
use super::weights::ComparedField;

/// Number of homes that must show a mark to make it common; for a telephone number or mail of professionals, number of
/// sellers.
pub const COMMON_HOMES: u32 = 6;
/// Bands of a sketch that are marks of a text: two texts with four fifths in common share a given band in two cases out
/// of five.
const BANDS: usize = 4;
/// Lanes of a band: 64 bits.
const BAND_LANES: usize = 4;
/// Bands of a text that must be common for the whole text to be removed: it is then mostly boilerplate.
const COMMON_BANDS: usize = 2;
/// Surfaces within this factor of each other mostly count as one size.
const SIZE_STEP: f32 = 1.06;

/// A value of an advert that others may share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    /// Digest of the value.
    pub digest: i64,
    /// One bit, chosen by the home, or by the seller.
    pub home: u32,
}

/// The part of a fingerprint that a mark belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Photo = 1,
    PictureName = 2,
    Band = 3,
    Identity = 4,
    Reference = 5,
    Title = 6,
}

impl Fingerprint {
    /// Returns the fields from which [`Fingerprint::without`] removed something to make `compared`.
    pub fn common_fields(&self, compared: &Self) -> Vec<ComparedField> {
        let has_common_picture = self.photos.len() > compared.photos.len()
            || self.picture_names.len() > compared.picture_names.len();
        let fields = [
            (ComparedField::Photos, has_common_picture),
            (
                ComparedField::Text,
                self.text.is_some() && compared.text.is_none(),
            ),
            (
                ComparedField::Title,
                self.title.len() > compared.title.len(),
            ),
            (
                ComparedField::Seller,
                self.seller.len() > compared.seller.len(),
            ),
            (
                ComparedField::Reference,
                self.references.len() > compared.references.len(),
            ),
        ];
        let common = fields.into_iter().filter(|(_, is_common)| *is_common);
        common.map(|(field, _)| field).collect()
    }

    /// Iterates over the marks that can be counted for a home or a seller.
    pub fn marks(&self) -> impl Iterator<Item = Mark> + '_ {
        let marks = self.parts().map(|(_, mark)| mark);
        marks.filter(|mark| mark.home != 0)
    }

    /// Iterates over the digests of the marks of its seller: name, telephone, mail, SIREN.
    pub fn seller_marks(&self) -> impl Iterator<Item = i64> + '_ {
        let of_seller = self.parts().filter(|(part, _)| *part == Part::Identity);
        of_seller.map(|(_, mark)| mark.digest)
    }

    /// Returns the fingerprint without its common marks.
    ///
    /// # Errors
    /// The errors of `is_common`.
    pub fn without<E>(
        &self,
        mut is_common: impl FnMut(&Mark) -> Result<bool, E>,
    ) -> Result<Self, E> {
        let mut kept = *self;
        (kept.photos, kept.picture_names) = Default::default();
        (kept.seller, kept.references) = Default::default();
        let (mut photos, mut names) = (self.photos.iter(), self.picture_names.iter());
        let (mut identities, mut references) = (self.seller.iter(), self.references.iter());
        let mut common_bands = 0;
        for (part, mark) in self.parts() {
            // A mark without a home or seller is never counted, so `is_common` is not called.
            let is_common = mark.home != 0 && is_common(&mark)?;
            match part {
                Part::Photo => keep(&mut kept.photos, photos.next(), is_common),
                Part::PictureName => keep(&mut kept.picture_names, names.next(), is_common),
                Part::Band => common_bands += usize::from(is_common),
                Part::Identity => keep(&mut kept.seller, identities.next(), is_common),
                Part::Reference => keep(&mut kept.references, references.next(), is_common),
                Part::Title if is_common => kept.title = TitleWords::default(),
                Part::Title => {}
            }
        }
        if common_bands >= COMMON_BANDS {
            // The figures come from the boilerplate too.
            (kept.text, kept.figures) = (None, TextFigures::default());
        }
        Ok(kept)
    }

    /// Iterates over the marks with the parts they belong to, in the order of each part's list.
    fn parts(&self) -> impl Iterator<Item = (Part, Mark)> + '_ {
        let home = self.home();
        let of_home = move |part: Part, value: u64| (part, mark(part, value, home));
        let photos = self.photos.iter();
        let photos = photos.map(move |photo| of_home(Part::Photo, photo.perceptual));
        let names = self.picture_names.iter();
        let names = names.map(move |name| of_home(Part::PictureName, u64::from(*name)));
        let bands = self.text.iter().flat_map(move |text| {
            (0..BANDS).map(move |band| {
                let first = band * (LANES / BANDS);
                let lanes = &text.lanes[first..first + BAND_LANES];
                let value = lanes.iter().fold(band as u64, |value, lane| {
                    digest::with(value, u64::from(*lane))
                });
                of_home(Part::Band, value)
            })
        });
        let identities = self.seller.iter().map(move |key| {
            let who = match (self.seller_kind, IdentityKind::of(*key)) {
                (Some(SellerKind::Private), _) => home,
                (_, IdentityKind::Telephone | IdentityKind::Mail) => self.seller_name(),
                _ => 0,
            };
            let is_private = self.seller_kind == Some(SellerKind::Private);
            let value = digest::with(*key, u64::from(is_private));
            (Part::Identity, mark(Part::Identity, value, who))
        });
        // Agencies number their homes alike, so the seller is part of the mark: equal numbers of two agencies are
        // different marks.
        let seller = self.seller.first().copied().unwrap_or_default();
        let references = self.references.iter();
        let references = references
            .map(move |reference| of_home(Part::Reference, digest::with(*reference, seller)));
        // Other titles are never evidence for one home.
        let is_evidence = title::is_long(&self.title);
        let title = is_evidence.then(|| of_home(Part::Title, title::digest_of(&self.title)));
        let all = photos.chain(names).chain(bands);
        all.chain(identities).chain(references).chain(title)
    }

    /// Returns one bit, chosen by location and size.
    fn home(&self) -> u32 {
        let size = self.surface_dm2.or(self.land_m2).or(self.price_eur);
        let size = size.map_or(0, |size| ((size as f32).ln() / SIZE_STEP.ln()) as u64);
        let place = match (self.commune, self.postal_code) {
            (Some(commune), _) => digest::hash(&commune),
            (None, code) => u64::from(code.unwrap_or_default()),
        };
        bit(digest::with(place, size))
    }

    /// Returns one bit, chosen by the name of the seller; 0 without a name.
    fn seller_name(&self) -> u32 {
        let is_name = |key: &&u64| {
            !matches!(
                IdentityKind::of(**key),
                IdentityKind::Telephone | IdentityKind::Mail
            )
        };
        let name = self.seller.iter().rfind(is_name);
        name.map_or(0, |name| bit(*name))
    }
}

fn mark(part: Part, value: u64, home: u32) -> Mark {
    Mark {
        digest: digest::with(value, part as u64) as i64,
        home,
    }
}

fn bit(value: u64) -> u32 {
    1 << (digest::mix(value) >> 59)
}

fn keep<T: Copy + Default, const N: usize>(
    list: &mut InlineVec<T, N>,
    item: Option<&T>,
    is_common: bool,
) {
    if let Some(item) = item.filter(|_| !is_common) {
        list.push(*item);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;
    use std::convert::Infallible;

    use super::*;
    use crate::compare;
    use crate::tests::{fingerprint, flat};
    use serde_json::{Value, json};

    /// Counts the marks of some adverts, and returns the last advert without the common ones.
    fn last_without_common(adverts: &[Fingerprint]) -> Fingerprint {
        let mut homes: HashMap<i64, u32> = HashMap::new();
        for mark in adverts.iter().flat_map(Fingerprint::marks) {
            *homes.entry(mark.digest).or_default() |= mark.home;
        }
        let is_common = |mark: &Mark| {
            let homes = homes.get(&mark.digest).copied().unwrap_or_default();
            Ok::<_, Infallible>(homes.count_ones() >= COMMON_HOMES)
        };
        let Ok(kept) = adverts[adverts.len() - 1].without(is_common);
        kept
    }

    /// Returns twelve adverts of one agency in twelve sizes, changed by `change`.
    fn adverts(change: impl Fn(usize, &mut Value)) -> Vec<Fingerprint> {
        let of = |number: usize| {
            let mut advert = flat();
            advert["habitation"]["surface"]["total"] = json!(30 + 8 * number);
            change(number, &mut advert);
            fingerprint(&advert)
        };
        (0..12).map(of).collect()
    }

    #[test]
    fn a_logo_on_many_homes_is_left_out_and_pictures_of_one_home_are_kept() {
        let image = |hash: String| json!({"imageId": "1", "gaussianHash": "b9b0b2f131b82769", "meanHash": "0dd9a1cb4b27de72", "perceptualHash": hash});
        let with_logo = adverts(|number, advert| {
            let own = format!("{:016x}", digest::mix(number as u64));
            advert["medias"] = json!({"images": [image(own), image("e4097545c922a10e".into())]});
        });
        assert_eq!(with_logo[11].photos.len(), 2);
        let kept = last_without_common(&with_logo);
        assert_eq!(kept.photos.len(), 1);
        assert_ne!(kept.photos[0].perceptual, 0xe409_7545_c922_a10e);
        let copies = vec![with_logo[11]; 40];
        assert_eq!(last_without_common(&copies), with_logo[11]);
    }

    #[test]
    fn a_text_that_an_agency_uses_for_all_its_homes_is_left_out() {
        let text = "Votre agence vous accompagne dans tous vos projets : estimation offerte, plus de 40 ans \
            d'expérience, une équipe à votre écoute du lundi au samedi. Contactez nos conseillers pour visiter ce bien \
            et découvrir les 250 autres offres de notre réseau dans toute la région";
        let adverts = adverts(|number, advert| {
            advert["description"] = json!(format!("{text}, quartier {number}."));
            advert["medias"] = Value::Null;
        });
        let kept = last_without_common(&adverts);
        assert_eq!((kept.text, kept.figures.len()), (None, 0));
        assert_eq!(adverts[11].common_fields(&kept), [ComparedField::Text]);
        let own = compare(&kept, &adverts[11]);
        assert!(own.level(ComparedField::Text).is_none());
    }

    #[test]
    fn a_long_title_counts_if_there_is_no_text_and_few_homes_show_it() {
        let titled = adverts(|_, advert| {
            advert["title"] = json!("monthieu / chateaucreux / steel t4 dernier étage");
            advert["description"] = Value::Null;
        });
        let [first, .., last] = titled.as_slice() else {
            panic!("no adverts");
        };
        let found = compare(first, last).level(ComparedField::Title);
        assert_eq!(found, Some(0), "no texts, the same long title");
        let kept = last_without_common(&titled);
        assert_eq!(compare(first, &kept).level(ComparedField::Title), None);
        assert!(last.common_fields(&kept).contains(&ComparedField::Title));
        let usual = adverts(|_, advert| {
            advert["title"] = json!("Vente appartement 3 pièces avec balcon, terrasse et cave");
            advert["description"] = Value::Null;
        });
        assert_eq!(
            compare(&usual[0], &usual[1]).level(ComparedField::Title),
            None
        );
    }

    #[test]
    fn the_number_of_a_portal_tells_no_seller_and_that_of_an_agency_does() {
        let of_agencies = adverts(|number, advert| {
            advert["seller"] =
                json!({"name": format!("Agence {number}"), "type": "SELLER_TYPE_AGENCY"});
            advert["contactInCharge"] = json!({"phoneNumber": "0199004127"});
        });
        let kept = last_without_common(&of_agencies);
        assert_eq!(kept.seller.len() + 1, of_agencies[11].seller.len());
        let of_one = adverts(|_, advert| {
            advert["seller"] = json!({"name": "Agence du port", "type": "SELLER_TYPE_AGENCY"});
            advert["contactInCharge"] = json!({"phoneNumber": "0199004127"});
        });
        assert_eq!(last_without_common(&of_one).seller, of_one[11].seller);
    }

    #[test]
    fn a_private_person_of_many_homes_is_none() {
        let adverts = adverts(|_, advert| {
            advert["isPro"] = json!(false);
            advert["seller"] = json!({"name": "Particulier"});
            advert["contactInCharge"] = Value::Null;
        });
        assert_eq!(adverts[11].seller_kind, Some(SellerKind::Private));
        assert!(last_without_common(&adverts).seller.is_empty());
    }
}
