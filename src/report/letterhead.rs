//! The letterhead of a report: the logo and text of the person or firm that issues it.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use krilla::geom::Size;

/// Maximum bytes of a logo.
pub const LOGO_BYTES_MAX: usize = 256 * 1024;
/// Maximum characters of a text.
pub const TEXT_CHARS_MAX: usize = 300;
/// Maximum width and height of a logo, pixels.
const LOGO_PIXELS_MAX: u32 = 4_000;
const PNG_START: &[u8] = b"\x89PNG\r\n\x1a\n";
const JPEG_START: &[u8] = b"\xff\xd8\xff";

/// A logo and a text at the top of a report; both may be absent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Letterhead {
    /// The logo.
    pub logo: Option<Logo>,
    /// The text, such as name, address and telephone number; empty for none.
    pub text: String,
}

/// A picture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Logo {
    /// Its format.
    pub format: LogoFormat,
    /// Bytes of the file.
    pub bytes: Vec<u8>,
}

/// Format of a picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogoFormat {
    /// PNG.
    Png,
    /// JPEG.
    Jpeg,
}

impl Logo {
    /// Reads a picture and embeds it in a page, as a report does, so that a damaged one is refused. CPU-bound: decodes
    /// the picture.
    ///
    /// # Errors
    /// As for [`Logo::read`], or its pixels are damaged.
    pub fn checked(bytes: Vec<u8>) -> Result<Self, String> {
        let logo = Self::read(bytes)?;
        let image = logo.image()?;
        let mut pdf = krilla::Document::new();
        let mut page = pdf.start_page();
        let mut surface = page.surface();
        if let Some(size) = Size::from_wh(1.0, 1.0) {
            surface.draw_image(image, size);
        }
        surface.finish();
        page.finish();
        pdf.finish()
            .map_err(|_| "cannot be read: its pixels are damaged".to_owned())?;
        Ok(logo)
    }

    /// Reads the head of a picture.
    ///
    /// # Errors
    /// It is not a PNG or JPEG file, or too large. The text continues after the name of the field.
    pub fn read(bytes: Vec<u8>) -> Result<Self, String> {
        if bytes.len() > LOGO_BYTES_MAX {
            return Err(format!("must be at most {} KiB", LOGO_BYTES_MAX / 1024));
        }
        let format = if bytes.starts_with(PNG_START) {
            LogoFormat::Png
        } else if bytes.starts_with(JPEG_START) {
            LogoFormat::Jpeg
        } else {
            return Err("must be a PNG or JPEG file".to_owned());
        };
        let logo = Self { format, bytes };
        let image = logo.image()?;
        let (width, height) = image.size();
        if width > LOGO_PIXELS_MAX || height > LOGO_PIXELS_MAX {
            return Err(format!(
                "must be at most {LOGO_PIXELS_MAX} pixels wide and high"
            ));
        }
        Ok(logo)
    }

    /// Returns the picture for a PDF.
    ///
    /// # Errors
    /// It cannot be read.
    pub(crate) fn image(&self) -> Result<krilla::image::Image, String> {
        use krilla::image::Image;
        let data = self.bytes.clone().into();
        match self.format {
            LogoFormat::Png => Image::from_png(data, true),
            LogoFormat::Jpeg => Image::from_jpeg(data, true),
        }
        .map_err(|reason| format!("cannot be read: {reason}"))
    }

    /// Returns the media type.
    pub fn media_type(&self) -> &'static str {
        match self.format {
            LogoFormat::Png => "image/png",
            LogoFormat::Jpeg => "image/jpeg",
        }
    }

    /// Returns the picture as a data URL.
    pub fn data_url(&self) -> String {
        let text = BASE64_STANDARD.encode(&self.bytes);
        format!("data:{};base64,{text}", self.media_type())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_pictures_are_taken() {
        let refusal = Logo::read(b"<svg/>".to_vec()).unwrap_err();
        assert_eq!(refusal, "must be a PNG or JPEG file");
        let broken = [PNG_START, b"broken"].concat();
        let refusal = Logo::read(broken).unwrap_err();
        assert!(refusal.starts_with("cannot be read"), "{refusal}");
        let refusal = Logo::read(vec![0; LOGO_BYTES_MAX + 1]).unwrap_err();
        assert_eq!(refusal, "must be at most 256 KiB");
    }
    #[test]
    fn a_picture_whose_pixels_are_cut_off_is_refused() {
        let point = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
        let point = BASE64_STANDARD.decode(point).unwrap();
        assert!(Logo::checked(point.clone()).is_ok());
        // The end of the head, and the beginning of the pixels.
        let refusal = Logo::checked(point[..45].to_vec()).unwrap_err();
        assert!(refusal.starts_with("cannot be read"), "{refusal}");
    }
}
