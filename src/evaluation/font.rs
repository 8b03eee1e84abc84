//! The font of plots: DejaVu Sans, compiled in, so that drawing a plot needs no installed font.

use plotters::style::{FontStyle, register_font};

/// Registers the font for everything that draws `sans-serif` in this process. Cheap to repeat.
///
/// # Errors
/// The compiled-in font cannot be read, which would be a defect.
pub fn register() -> Result<(), &'static str> {
    register_font("sans-serif", FontStyle::Normal, dejavu::sans::regular())
        .map_err(|_| "the compiled-in font cannot be read")
}
