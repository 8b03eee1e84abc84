//! Pictures compared by perceptual hashes: hashes of one picture differ in few bits, even after a portal has resized or
//! recompressed it.
//!
//! Cost of a comparison: one XOR and one bit count for most pairs of pictures, with a maximum of 100 pairs.

use super::inline_vec::InlineVec;
use toise_contract::listings::medias::{Image, Medias};

/// Maximum pictures per advert. The first ones are used: portals keep the order, and the first show the most.
pub const PHOTOS_MAX: usize = 10;
/// Hexadecimal digits read from a hash: 64 bits. The rest of a longer hash is ignored.
const HASH_DIGITS: usize = 16;
/// Maximum differing bits of perceptual hashes. Those of unrelated pictures differ in 32 ± 4 bits; recompression
/// flips a few.
const PERCEPTUAL_BITS_MAX: u32 = 12;
/// Maximum differing bits of all three hashes together. A missing difference hash counts like the perceptual one.
const ALL_BITS_MAX: u32 = 36;

/// Hashes of one picture, 64 bits each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ImageHash {
    /// Hash of the low frequencies.
    pub perceptual: u64,
    /// Hash of the brightness relative to its mean.
    pub mean: u64,
    /// Hash of the differences between neighbouring pixels; 0 if not given.
    pub difference: u64,
}

/// Pictures of an advert.
pub type Photos = InlineVec<ImageHash, PHOTOS_MAX>;

/// The number of pictures that two adverts share.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SharedPhotos {
    /// Pictures that both adverts show.
    pub matched: usize,
    /// Pictures of the advert that has fewer.
    pub of: usize,
}

impl ImageHash {
    fn of(image: &Image) -> Option<Self> {
        let perceptual = bits(&image.perceptual_hash)?;
        // All bits equal: a blank picture, which is not evidence.
        if perceptual == 0 || perceptual == u64::MAX {
            return None;
        }
        Some(Self {
            perceptual,
            mean: bits(&image.mean_hash)?,
            difference: image
                .difference_hash
                .as_deref()
                .and_then(bits)
                .unwrap_or_default(),
        })
    }

    /// Returns whether both are hashes of the same picture.
    pub fn is_same_picture(self, other: Self) -> bool {
        let perceptual = (self.perceptual ^ other.perceptual).count_ones();
        if perceptual > PERCEPTUAL_BITS_MAX {
            return false;
        }
        let mean = (self.mean ^ other.mean).count_ones();
        let difference = if self.difference == 0 || other.difference == 0 {
            perceptual
        } else {
            (self.difference ^ other.difference).count_ones()
        };
        perceptual + mean + difference <= ALL_BITS_MAX
    }
}

fn bits(hash: &str) -> Option<u64> {
    u64::from_str_radix(hash.get(..HASH_DIGITS)?, 16).ok()
}

/// Returns the first pictures with readable hashes.
pub fn photos(medias: &Medias) -> Photos {
    let mut photos = Photos::default();
    for hash in medias.images.iter().filter_map(ImageHash::of) {
        if !photos.push(hash) {
            break;
        }
    }
    photos
}

/// Counts the pictures that both show, in any order.
pub fn shared(one: &Photos, other: &Photos) -> SharedPhotos {
    let matched_in = |from: &Photos, to: &Photos| {
        from.iter()
            .filter(|hash| to.iter().any(|known| hash.is_same_picture(*known)))
            .count()
    };
    // A picture that one side shows twice would count twice there; the minimum of both directions is symmetric.
    SharedPhotos {
        matched: matched_in(one, other).min(matched_in(other, one)),
        of: one.len().min(other.len()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn image(perceptual: &str) -> Image {
        Image {
            gaussian_hash: "b9b0b2f131b82769".into(),
            image_id: "1".into(),
            mean_hash: "0dd9a1cb4b27de72".into(),
            perceptual_hash: perceptual.into(),
            url: None,
            color_hash: None,
            difference_hash: None,
        }
    }

    fn photos_of(hashes: &[&str]) -> Photos {
        photos(&Medias {
            images: hashes.iter().map(|hash| image(hash)).collect(),
            virtual_visit_external_url: Vec::new(),
        })
    }

    #[test]
    fn a_recompressed_picture_is_recognised() {
        let one = photos_of(&["e4097545c922a10e", "a8780601c93e7be1"]);
        let flipped = photos_of(&["5449dac18f512a1c", "e4097545c922a10d"]);
        assert_eq!(shared(&one, &flipped), SharedPhotos { matched: 1, of: 2 });
        assert_eq!(shared(&flipped, &one), SharedPhotos { matched: 1, of: 2 });
    }

    #[test]
    fn blank_pictures_and_unreadable_hashes_are_left_out() {
        let kept = photos_of(&[
            "0000000000000000",
            "zz",
            "é4097545c922a10",
            "5449dac18f512a1c",
        ]);
        assert_eq!(kept.len(), 1);
    }
}
