//! Drawings made of lines, areas, circles and texts. HTML shows them as SVG; PDF draws them directly.

use std::fmt::Write;

/// A colour: red, green and blue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Color(pub u8, pub u8, pub u8);

impl Color {
    /// Text.
    pub const INK: Self = Self(28, 36, 48);
    /// Secondary text.
    pub const GREY: Self = Self(98, 108, 122);
    /// Lines between rows, axes.
    pub const RULE: Self = Self(208, 213, 221);
    /// Background of boxes.
    pub const PALE: Self = Self(243, 245, 248);
    /// The subject of a figure.
    pub const MAIN: Self = Self(24, 86, 148);
    /// The value that the subject is compared with.
    pub const OTHER: Self = Self(214, 120, 40);
    /// A part that lowers a price.
    pub const LOSS: Self = Self(178, 58, 58);
    /// A part that raises a price.
    pub const GAIN: Self = Self(44, 130, 84);
    /// Paper.
    pub const WHITE: Self = Self(255, 255, 255);

    /// Returns the colour as CSS writes it.
    pub fn css(self) -> String {
        format!("#{:02x}{:02x}{:02x}", self.0, self.1, self.2)
    }
}

/// Which end of a text is at its position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Align {
    /// Its beginning.
    Start,
    /// Its middle.
    Middle,
    /// Its end.
    End,
}

/// A part of a figure. Positions and lengths are points (1/72 inch), from the upper left corner.
#[derive(Clone, Debug, PartialEq)]
pub enum Item {
    /// A line through positions.
    Line {
        /// The positions.
        points: Vec<[f32; 2]>,
        /// Colour.
        color: Color,
        /// Width.
        width: f32,
    },
    /// A polygon.
    Area {
        /// Its corners.
        points: Vec<[f32; 2]>,
        /// Colour of its inside.
        fill: Color,
    },
    /// Small squares, which are cheaper than as many circles.
    Dots {
        /// Their centres.
        points: Vec<[f32; 2]>,
        /// Their side.
        side: f32,
        /// Their colour.
        fill: Color,
    },
    /// A circle.
    Circle {
        /// Its centre.
        center: [f32; 2],
        /// Its radius.
        radius: f32,
        /// Colour of its inside.
        fill: Color,
        /// Colour of its border, if it has one.
        border: Option<Color>,
    },
    /// A line of text.
    Text(Text),
}

/// A line of text in a figure.
#[derive(Clone, Debug, PartialEq)]
pub struct Text {
    /// Position on the base line.
    pub at: [f32; 2],
    /// The text.
    pub text: String,
    /// Size of the font.
    pub size: f32,
    /// Whether it is bold.
    pub is_bold: bool,
    /// Colour.
    pub color: Color,
    /// Which end of the text is at the position.
    pub align: Align,
}

/// A drawing.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Figure {
    /// Width, points.
    pub width: f32,
    /// Height, points.
    pub height: f32,
    /// Description for readers who cannot see it.
    pub about: String,
    /// Its parts, in drawing order.
    pub items: Vec<Item>,
}

impl Figure {
    /// Returns an empty figure.
    pub fn new(width: f32, height: f32, about: impl Into<String>) -> Self {
        Self {
            width,
            height,
            about: about.into(),
            items: Vec::new(),
        }
    }

    /// Adds a line.
    pub fn line(&mut self, points: Vec<[f32; 2]>, color: Color, width: f32) {
        self.items.push(Item::Line {
            points,
            color,
            width,
        });
    }

    /// Adds a rectangle by its upper left corner.
    pub fn rectangle(&mut self, [x, y]: [f32; 2], width: f32, height: f32, fill: Color) {
        let points = vec![
            [x, y],
            [x + width, y],
            [x + width, y + height],
            [x, y + height],
        ];
        self.items.push(Item::Area { points, fill });
    }

    /// Adds small squares around positions.
    pub fn dots(&mut self, points: Vec<[f32; 2]>, side: f32, fill: Color) {
        self.items.push(Item::Dots { points, side, fill });
    }

    /// Adds a circle.
    pub fn circle(&mut self, center: [f32; 2], radius: f32, fill: Color, border: Option<Color>) {
        self.items.push(Item::Circle {
            center,
            radius,
            fill,
            border,
        });
    }

    /// Adds a text.
    pub fn text(
        &mut self,
        at: [f32; 2],
        text: impl Into<String>,
        size: f32,
        color: Color,
        align: Align,
    ) {
        self.items.push(Item::Text(Text {
            at,
            text: text.into(),
            size,
            is_bold: false,
            color,
            align,
        }));
    }

    /// Adds a bold text.
    pub fn bold(
        &mut self,
        at: [f32; 2],
        text: impl Into<String>,
        size: f32,
        color: Color,
        align: Align,
    ) {
        self.text(at, text, size, color, align);
        if let Some(Item::Text(text)) = self.items.last_mut() {
            text.is_bold = true;
        }
    }

    /// Adds the parts of another figure, moved.
    pub fn place(&mut self, other: &Self, [x, y]: [f32; 2]) {
        let moved = |[left, top]: &[f32; 2]| [left + x, top + y];
        self.items.extend(other.items.iter().map(|item| {
            let mut item = item.clone();
            match &mut item {
                Item::Line { points, .. }
                | Item::Area { points, .. }
                | Item::Dots { points, .. } => {
                    *points = points.iter().map(moved).collect();
                }
                Item::Circle { center, .. } => *center = moved(center),
                Item::Text(text) => text.at = moved(&text.at),
            }
            item
        }));
    }

    /// Returns the figure as an SVG element that fills its container's width.
    pub fn svg(&self) -> String {
        let mut out = format!(
            r#"<svg viewBox="0 0 {} {}" role="img" aria-label="{}">"#,
            self.width,
            self.height,
            escaped(&self.about)
        );
        for item in &self.items {
            item.write_svg(&mut out);
        }
        out.push_str("</svg>");
        out
    }
}

impl Item {
    fn write_svg(&self, out: &mut String) {
        // Writing to a String never fails.
        let _ = match self {
            Self::Line {
                points,
                color,
                width,
            } => write!(
                out,
                r#"<polyline points="{}" fill="none" stroke="{}" stroke-width="{width}" stroke-linejoin="round"/>"#,
                joined(points),
                color.css()
            ),
            Self::Area { points, fill } => write!(
                out,
                r#"<polygon points="{}" fill="{}"/>"#,
                joined(points),
                fill.css()
            ),
            Self::Dots { points, side, fill } => {
                let half = side / 2.0;
                let squares = points.iter().map(|[x, y]| {
                    format!("M{:.1} {:.1}h{side}v{side}h-{side}z", x - half, y - half)
                });
                let squares = squares.collect::<String>();
                write!(out, r#"<path d="{squares}" fill="{}"/>"#, fill.css())
            }
            Self::Circle {
                center: [x, y],
                radius,
                fill,
                border,
            } => {
                let border = border.map_or("none".to_owned(), Color::css);
                write!(
                    out,
                    r#"<circle cx="{x:.1}" cy="{y:.1}" r="{radius}" fill="{}" stroke="{border}"/>"#,
                    fill.css()
                )
            }
            Self::Text(text) => {
                let anchor = match text.align {
                    Align::Start => "start",
                    Align::Middle => "middle",
                    Align::End => "end",
                };
                let weight = if text.is_bold { "700" } else { "400" };
                write!(
                    out,
                    r#"<text x="{:.1}" y="{:.1}" font-size="{}" font-weight="{weight}" text-anchor="{anchor}" fill="{}">{}</text>"#,
                    text.at[0],
                    text.at[1],
                    text.size,
                    text.color.css(),
                    escaped(&text.text)
                )
            }
        };
    }
}

fn joined(points: &[[f32; 2]]) -> String {
    let points = points.iter().map(|[x, y]| format!("{x:.1},{y:.1}"));
    points.collect::<Vec<_>>().join(" ")
}

/// Returns a text with the special characters of HTML escaped.
pub fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for char in text.chars() {
        match char {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            other => out.push(other),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_cannot_break_out_of_the_drawing() {
        let mut figure = Figure::new(10.0, 10.0, "a \"b\"");
        figure.text([1.0, 2.0], "</text><script>", 8.0, Color::INK, Align::Start);
        let svg = figure.svg();
        assert!(!svg.contains("<script>"), "{svg}");
        assert!(svg.contains(r#"aria-label="a &quot;b&quot;""#), "{svg}");
    }

    #[test]
    fn a_placed_figure_is_moved_as_a_whole() {
        let mut small = Figure::new(10.0, 10.0, "");
        small.line(vec![[0.0, 0.0], [1.0, 1.0]], Color::INK, 1.0);
        small.circle([2.0, 2.0], 1.0, Color::INK, None);
        let mut page = Figure::new(100.0, 100.0, "");
        page.place(&small, [10.0, 20.0]);
        let Item::Line { points, .. } = &page.items[0] else {
            panic!("a line");
        };
        assert_eq!(points, &[[10.0, 20.0], [11.0, 21.0]]);
        let Item::Circle { center, .. } = &page.items[1] else {
            panic!("a circle");
        };
        assert_eq!(center, &[12.0, 22.0]);
    }
}
