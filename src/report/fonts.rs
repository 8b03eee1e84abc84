//! The fonts of PDF pages: DejaVu Sans, compiled in, measured so that texts can be aligned and wrapped.

use std::sync::LazyLock;

use ttf_parser::{Face, GlyphId};

/// Replacement for a character that the font lacks.
const UNKNOWN: char = '\u{fffd}';

/// A font.
pub struct MeasuredFont {
    /// Bytes of the font.
    pub bytes: &'static [u8],
    face: Option<Face<'static>>,
}

/// A glyph of the font, with its width.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MeasuredGlyph {
    /// Number of the glyph in the font.
    pub id: u32,
    /// Width for a font of size 1.
    pub advance: f32,
}

static REGULAR: LazyLock<MeasuredFont> =
    LazyLock::new(|| MeasuredFont::new(dejavu::sans::regular()));
static BOLD: LazyLock<MeasuredFont> = LazyLock::new(|| MeasuredFont::new(dejavu::sans::bold()));

impl MeasuredFont {
    fn new(bytes: &'static [u8]) -> Self {
        // The unit test below verifies that the compiled-in fonts can be read.
        let face = Face::parse(bytes, 0).ok();
        Self { bytes, face }
    }

    /// Returns the regular or the bold font.
    pub fn of(is_bold: bool) -> &'static Self {
        if is_bold { &BOLD } else { &REGULAR }
    }

    /// Returns the glyph of a character, or of the replacement character if the font lacks it.
    pub fn glyph(&self, char: char) -> MeasuredGlyph {
        let Some(face) = &self.face else {
            return MeasuredGlyph {
                id: 0,
                advance: 0.5,
            };
        };
        let found = face
            .glyph_index(char)
            .or_else(|| face.glyph_index(UNKNOWN))
            .unwrap_or(GlyphId(0));
        let advance = f32::from(face.glyph_hor_advance(found).unwrap_or(0));
        MeasuredGlyph {
            id: u32::from(found.0),
            advance: advance / f32::from(face.units_per_em()),
        }
    }

    /// Returns the width of a text, in the unit of `size`.
    pub fn width(&self, text: &str, size: f32) -> f32 {
        let widths = text.chars().map(|char| self.glyph(char).advance);
        widths.sum::<f32>() * size
    }

    /// Breaks a text into lines at most as wide as `width`; a longer word is on a separate line.
    pub fn wrapped(&self, text: &str, size: f32, width: f32) -> Vec<String> {
        let mut lines: Vec<String> = Vec::new();
        let mut line = String::new();
        for word in text.split(' ').filter(|word| !word.is_empty()) {
            let longer = if line.is_empty() {
                word.to_owned()
            } else {
                format!("{line} {word}")
            };
            if line.is_empty() || self.width(&longer, size) <= width {
                line = longer;
            } else {
                lines.push(std::mem::replace(&mut line, word.to_owned()));
            }
        }
        if !line.is_empty() {
            lines.push(line);
        }
        lines
    }

    /// Returns the text, shortened with an ellipsis if it is wider than `width`.
    pub fn fitted(&self, text: &str, size: f32, width: f32) -> String {
        if self.width(text, size) <= width {
            return text.to_owned();
        }
        let room = width - self.width("…", size);
        let mut kept = String::new();
        let mut used = 0.0;
        for char in text.chars() {
            used += self.glyph(char).advance * size;
            if used > room {
                break;
            }
            kept.push(char);
        }
        format!("{}…", kept.trim_end())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fonts_have_the_signs_of_both_languages() {
        for is_bold in [false, true] {
            let font = MeasuredFont::of(is_bold);
            assert!(font.face.is_some());
            let unknown = font.glyph(UNKNOWN).id;
            for char in "aéèàùçœŒÉ€²ᵉ«»’…–−×·\u{a0}\u{202f}".chars() {
                let glyph = font.glyph(char);
                assert!(glyph.id != unknown && glyph.id != 0, "{char:?}");
            }
        }
    }

    #[test]
    fn texts_are_wrapped_and_shortened_to_the_width() {
        let font = MeasuredFont::of(false);
        let text = "Valeur estimée du bien au jour du rapport";
        let lines = font.wrapped(text, 10.0, 90.0);
        assert!(lines.len() > 1);
        assert_eq!(lines.join(" "), text);
        assert!(lines.iter().all(|line| font.width(line, 10.0) <= 90.0));
        let short = font.fitted(text, 10.0, 90.0);
        assert!(
            short.ends_with('…') && font.width(&short, 10.0) <= 90.0,
            "{short}"
        );
        assert_eq!(font.fitted("oui", 10.0, 90.0), "oui");
    }
}
