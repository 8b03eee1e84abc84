//! Identifiers that adverts keep across portals: names of picture files and numbers in URLs.
//!
//! Portals of one group, and software that sends adverts to several portals, keep the file names of pictures and often
//! the number of the advert. Size, extension and query string are not part of a name.

use super::digest;
use super::inline_vec::InlineVec;
use super::text::FoldedText;
use toise_contract::listings::Advert;

/// Maximum names of pictures per advert; the first ones are kept.
pub const PICTURE_NAMES_MAX: usize = 8;
/// Minimum letters and digits of a name that is unlikely to occur twice: `photo1` and `IMG_0012` have fewer.
const NAME_CHARS_MIN: usize = 12;
/// Minimum digits of a number in a URL.
const NUMBER_DIGITS_MIN: usize = 7;

/// Digests of the names of pictures, without duplicates.
pub type PictureNames = InlineVec<u32, PICTURE_NAMES_MAX>;

/// Returns the digests of the first pictures' names that are long enough to be unique.
pub fn picture_names(advert: &Advert) -> PictureNames {
    let mut found = PictureNames::default();
    let pictures = advert.medias.iter().flat_map(|medias| &medias.images);
    for name in pictures.filter_map(|image| picture_name(image.url.as_deref()?)) {
        if !found.contains(&name) && !found.push(name) {
            break;
        }
    }
    found
}

/// Returns the digest of the number in the advert's URL.
pub fn address_number(advert: &Advert) -> Option<u32> {
    let number = number_of_address(advert.url.as_deref()?)?;
    Some(digest::hash(number.as_bytes()) as u32)
}

/// Returns the digest of a picture's file name, if it has a digit and is long enough to be unique.
fn picture_name(address: &str) -> Option<u32> {
    let path = address.split(['?', '#']).next()?;
    let file = path.rsplit('/').next()?;
    let stem = file.rsplit_once('.').map_or(file, |(stem, _)| stem);
    let name = without_size(stem);
    let has_digit = name.bytes().any(|byte| byte.is_ascii_digit());
    let characters = name.bytes().filter(u8::is_ascii_alphanumeric).count();
    let is_own = has_digit && characters >= NAME_CHARS_MIN;
    is_own.then(|| FoldedText::from_text(name).digest() as u32)
}

/// Removes the size: `kitchen-4812_800x600` → `kitchen-4812`.
fn without_size(stem: &str) -> &str {
    let Some((name, last)) = stem.rsplit_once(['-', '_']) else {
        return stem;
    };
    let is_size = last.split_once('x').is_some_and(|(width, height)| {
        let is_number =
            |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        is_number(width) && is_number(height)
    });
    if is_size { name } else { stem }
}

/// Returns the last long number in the path of a URL.
fn number_of_address(address: &str) -> Option<&str> {
    let path = address.split(['?', '#']).next()?;
    let mut numbers = path.split(|character: char| !character.is_ascii_digit());
    numbers.rfind(|number| number.len() >= NUMBER_DIGITS_MIN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_picture_keeps_its_name_on_every_portal_and_in_every_size() {
        let one = picture_name("https://a.example/800x600/visuels/0d1f3a9c77b2.jpg?ci_seal=1");
        assert!(one.is_some());
        assert_eq!(
            one,
            picture_name("https://b.example/x/0D1F3A9C77B2_1200x900.webp")
        );
    }

    #[test]
    fn usual_names_are_no_identifiers() {
        for address in [
            "https://a.example/1.jpg",
            "https://a.example/photo12.jpg",
            "https://a.example/IMG_0012.jpg",
        ] {
            assert_eq!(picture_name(address), None, "{address}");
        }
    }

    #[test]
    fn the_number_of_an_address_is_its_last_long_one() {
        let address = "https://a.example/annonces/achat/lyon-69003/187654321.htm?serp=2";
        assert_eq!(number_of_address(address), Some("187654321"));
        assert_eq!(number_of_address("https://a.example/annonces/12"), None);
    }
}
