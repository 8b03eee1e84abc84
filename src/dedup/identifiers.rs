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

/// Parameters of a URL that name one unit of the page's programme or residence, in lower case without separators.
const UNIT_PARAMETERS: [&str; 6] = ["unitid", "unit", "lotid", "lot", "idlot", "numlot"];
/// Parameters that name one advert of a page. They count only if the path has a number of its own: on other sites all
/// adverts have one path.
const ADVERT_PARAMETERS: [&str; 3] = ["annonce", "annonceid", "idannonce"];

/// Parts of paths, without separators, under which portals show new homes.
const NEW_BUILD_PATHS: [&str; 12] = [
    "programme",
    "programmes",
    "programmeneuf",
    "programmesneufs",
    "programmeimmobilierneuf",
    "neuf",
    "achatneuf",
    "immobilierneuf",
    "logementneuf",
    "logementsneufs",
    "appartementneuf",
    "appartementsneufs",
];
/// Ends of names of places, which agencies have in their host names: `agence-pont-neuf`.
const PLACES_IN_NEUF: [&str; 4] = ["bourgneuf", "chateauneuf", "pontneuf", "portneuf"];

/// Digests of the URL of an advert that shows one unit of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnitAddress {
    /// Digest of host and path.
    pub page: u32,
    /// Digest of the parameter that names the unit.
    pub unit: u32,
}

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

/// Returns the page and the unit that the advert's URL names; `None` if it names no unit.
pub fn unit_address(advert: &Advert) -> Option<UnitAddress> {
    unit_of_address(advert.url.as_deref()?)
}

fn unit_of_address(address: &str) -> Option<UnitAddress> {
    let (page, query) = address.split('#').next()?.split_once('?')?;
    let is_numbered = number_of_address(page).is_some();
    let unit = query.split('&').find_map(|parameter| {
        let (name, value) = parameter.split_once('=')?;
        let name: String = name.chars().filter(char::is_ascii_alphanumeric).collect();
        let name = name.to_ascii_lowercase();
        let names_unit = UNIT_PARAMETERS.contains(&name.as_str());
        let names_advert = is_numbered && ADVERT_PARAMETERS.contains(&name.as_str());
        let has_digit = value.bytes().any(|byte| byte.is_ascii_digit());
        ((names_unit || names_advert) && has_digit).then_some(value)
    })?;
    let page = page.split_once("://").map_or(page, |(_, rest)| rest);
    let page = page.to_ascii_lowercase();
    let page = page.trim_start_matches("www.").trim_end_matches('/');
    Some(UnitAddress {
        page: digest::hash(page.as_bytes()) as u32,
        unit: digest::hash(unit.as_bytes()) as u32,
    })
}

/// Returns whether the advert's URL is one of a portal, or of a part of a portal, for new homes.
pub fn is_page_of_new_build(advert: &Advert) -> bool {
    advert.url.as_deref().is_some_and(is_address_of_new_build)
}

fn is_address_of_new_build(address: &str) -> bool {
    let page = address.split(['?', '#']).next().unwrap_or_default();
    let page = page.split_once("://").map_or(page, |(_, rest)| rest);
    let page = page.to_ascii_lowercase().replace(['-', '_'], "");
    let (host, path) = page.split_once('/').unwrap_or((page.as_str(), ""));
    let is_host = host.split('.').any(|label| {
        label.ends_with("neuf") && !PLACES_IN_NEUF.iter().any(|place| label.ends_with(*place))
    });
    is_host || path.split('/').any(|part| NEW_BUILD_PATHS.contains(&part))
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
    fn only_a_parameter_that_names_a_unit_counts() {
        let page = "https://www.neuf.example/programme/bordeaux-33/264725651/";
        let unit = |query: &str| unit_of_address(&format!("{page}?{query}"));
        let first = unit("view=list&unitId=264725859#m=1").unwrap();
        let next = unit("unit_id=264725863").unwrap();
        assert_eq!(first.page, next.page);
        assert_ne!(first.unit, next.unit);
        assert_eq!(Some(first), unit("source=web&unitId=264725859"));
        assert!(unit("annonce=4").is_some());
        for address in [
            page,
            "https://a.example/annonce.php?annonce=12",
            "https://a.example/annonces/264725651?utm_id=3",
            "https://a.example/annonces/264725651?unit=all",
        ] {
            assert_eq!(unit_of_address(address), None, "{address}");
        }
    }

    #[test]
    fn pages_of_new_homes_are_recognised() {
        for address in [
            "https://www.selogerneuf.com/annonces/achat/264725651/",
            "https://a.example/Programmes-Neufs/lyon/12",
            "https://a.example/annonces/neuf/bordeaux-33/252176327/?unitId=1",
            "https://neuf.a.example/12",
        ] {
            assert!(is_address_of_new_build(address), "{address}");
        }
        for address in [
            "https://agence-pont-neuf.example/annonces/12",
            "https://a.example/ville/neuf-brisach/12?type=neuf",
            "https://a.example/annonces/villeneuve/12",
        ] {
            assert!(!is_address_of_new_build(address), "{address}");
        }
    }

    #[test]
    fn the_number_of_an_address_is_its_last_long_one() {
        let address = "https://a.example/annonces/achat/lyon-69003/187654321.htm?serp=2";
        assert_eq!(number_of_address(address), Some("187654321"));
        assert_eq!(number_of_address("https://a.example/annonces/12"), None);
    }
}
