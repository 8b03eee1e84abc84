//! Pictures and visits of a listing. Pictures are not stored; their hashes show whether two pictures look alike.

use super::record::record;

record! {
    /// Pictures and visits.
    #[derive(Default)]
    Medias {
        /// Pictures, in the order of the listing.
        images: Vec<Image>,
        /// Addresses of virtual visits.
        virtual_visit_external_url: Vec<String>,
    }
}

record! {
    /// A picture and its hashes, as hexadecimal texts; pictures that look alike have hashes of few different bits.
    Image {
        /// Hash of the brightness after a Gaussian blur.
        gaussian_hash: String,
        /// Identifier of the picture.
        image_id: String,
        /// Hash of the brightness against its mean.
        mean_hash: String,
        /// Hash of the low frequencies.
        perceptual_hash: String,
        /// Address of the picture on its portal.
        url: Option<String>,
        /// Hash of the distribution of colours.
        color_hash: Option<String>,
        /// Hash of the differences between neighbouring points.
        difference_hash: Option<String>,
    }
}
