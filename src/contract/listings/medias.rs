//! Pictures and virtual tours of a listing. Pictures are not stored; their hashes show whether two pictures look alike.
//!
//! Most senders know only the addresses of pictures. A picture may therefore be given by its address alone, as a string
//! or as the only field of an object. It then has no hashes, and its identifier is a digest of the address.

use std::fmt;

use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserialize, Deserializer, Error, MapAccess, Visitor};
use sha2::{Digest, Sha256};
use url::Url;

use super::record::record;

/// Path of the pictures in an advert.
pub const IMAGES: &str = "medias.images";
/// Bytes of an address's digest that make the identifier of a picture.
const ID_BYTES: usize = 8;
/// Rule for the address of a picture, as it follows "must be".
const ADDRESS_RULE: &str = "the http or https address of a picture";

record! {
    /// Pictures and virtual tours.
    #[derive(Default)]
    Medias {
        /// Pictures, in the order of the listing. In ingestion a picture may be given by its URL alone.
        images: Vec<Image>,
        /// URLs of virtual tours.
        virtual_visit_external_url: Vec<String>,
    }
}

record! {
    /// A picture and its hashes, as hexadecimal texts. The hashes of pictures that look alike differ in few bits.
    /// Hashes are empty if only the URL of the picture is known.
    #[serde(try_from = "GivenImage")]
    Image {
        /// Hash of the brightness after a Gaussian blur.
        gaussian_hash: String,
        /// Identifier of the picture.
        image_id: String,
        /// Hash of the brightness relative to its mean.
        mean_hash: String,
        /// Hash of the low frequencies.
        perceptual_hash: String,
        /// URL of the picture on its portal.
        url: Option<String>,
        /// Hash of the distribution of colours.
        color_hash: Option<String>,
        /// Hash of the differences between neighbouring pixels.
        difference_hash: Option<String>,
    }
}

impl Image {
    /// Returns whether two pictures have the same hashes. Pictures without hashes are not comparable.
    pub fn has_hashes_of(&self, other: &Self) -> bool {
        !self.perceptual_hash.is_empty() && self.hashes() == other.hashes()
    }

    fn hashes(&self) -> [&str; 3] {
        [&self.perceptual_hash, &self.mean_hash, &self.gaussian_hash].map(String::as_str)
    }
}

/// A picture as senders give it: its address, or an object.
enum GivenImage {
    Address(String),
    Fields(ImageFields),
}

#[derive(Default, serde::Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
struct ImageFields {
    gaussian_hash: Option<String>,
    image_id: Option<String>,
    mean_hash: Option<String>,
    perceptual_hash: Option<String>,
    url: Option<String>,
    color_hash: Option<String>,
    difference_hash: Option<String>,
}

impl<'de> Deserialize<'de> for GivenImage {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(GivenImageVisitor)
    }
}

struct GivenImageVisitor;

impl<'de> Visitor<'de> for GivenImageVisitor {
    type Value = GivenImage;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{ADDRESS_RULE}, or an object")
    }

    fn visit_str<E: Error>(self, address: &str) -> Result<GivenImage, E> {
        if is_address(address) {
            Ok(GivenImage::Address(address.to_owned()))
        } else {
            Err(E::custom(format!("must be {ADDRESS_RULE}, or an object")))
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, fields: A) -> Result<GivenImage, A::Error> {
        ImageFields::deserialize(MapAccessDeserializer::new(fields)).map(GivenImage::Fields)
    }
}

impl TryFrom<GivenImage> for Image {
    type Error = &'static str;

    fn try_from(given: GivenImage) -> Result<Self, Self::Error> {
        let fields = match given {
            GivenImage::Address(url) => ImageFields {
                url: Some(url),
                ..ImageFields::default()
            },
            GivenImage::Fields(fields) => fields,
        };
        let has_hashes = [
            &fields.gaussian_hash,
            &fields.mean_hash,
            &fields.perceptual_hash,
        ]
        .iter()
        .all(|hash| hash.is_some());
        let image_id = match (fields.image_id, &fields.url) {
            (Some(id), Some(_)) => id,
            (Some(id), None) if has_hashes => id,
            (None, Some(url)) => id_of_address(url),
            _ => {
                return Err(
                    "needs its url, or imageId with gaussianHash, meanHash and perceptualHash",
                );
            }
        };
        Ok(Self {
            gaussian_hash: fields.gaussian_hash.unwrap_or_default(),
            image_id,
            mean_hash: fields.mean_hash.unwrap_or_default(),
            perceptual_hash: fields.perceptual_hash.unwrap_or_default(),
            url: fields.url,
            color_hash: fields.color_hash,
            difference_hash: fields.difference_hash,
        })
    }
}

fn is_address(text: &str) -> bool {
    let scheme = Url::parse(text).ok().map(|url| url.scheme().to_owned());
    scheme.is_some_and(|scheme| ["http", "https"].contains(&&*scheme))
}

fn id_of_address(address: &str) -> String {
    let digest = Sha256::digest(address.as_bytes());
    let id = digest.iter().take(ID_BYTES);
    id.map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::read;
    use serde_json::{Value, json};

    fn images(given: Value) -> Result<Vec<Image>, String> {
        let medias = read::<Medias>(&json!({ "images": given }));
        medias
            .map(|medias| medias.images)
            .map_err(|fault| fault.to_string())
    }

    #[test]
    fn a_picture_is_read_from_its_address_alone() {
        let address = "https://img.example/4812_1.jpg";
        let read =
            images(json!([address, {"url": address}, {"url": address, "imageId": "7"}])).unwrap();
        assert_eq!(read[0], read[1]);
        assert_eq!(
            (read[0].url.as_deref(), read[0].image_id.len()),
            (Some(address), 16)
        );
        assert_eq!(read[2].image_id, "7");
        assert!(!read[0].has_hashes_of(&read[2]));
        // A written value can be read again.
        let written = serde_json::to_value(&read).unwrap();
        assert_eq!(images(written).unwrap(), read);
    }

    #[test]
    fn what_is_no_picture_is_refused_with_its_path() {
        let rule = "must be the http or https address of a picture, or an object";
        let fields = "needs its url, or imageId with gaussianHash, meanHash and perceptualHash";
        for (given, fault) in [
            (json!(["photo 1.jpg"]), format!("images[0]: {rule}")),
            (
                json!([{"url": "https://i.example/1.jpg"}, 3]),
                format!("images[1]: {rule}"),
            ),
            (json!([{}]), format!("images[0]: {fields}")),
            (
                json!([{"imageId": "1", "meanHash": "0d"}]),
                format!("images[0]: {fields}"),
            ),
        ] {
            assert_eq!(images(given.clone()).unwrap_err(), fault, "{given}");
        }
    }
}
