//! Writes a report as PDF: two pages of A4 with embedded fonts.
//!
//! The pages are laid out as figures, from the top down; then their parts are drawn. Lengths are points (1/72 inch).

use chrono::{Datelike, NaiveDate};
use krilla::Document as Pdf;
use krilla::color::rgb;
use krilla::geom::{Path, PathBuilder, Point, Rect, Size, Transform};
use krilla::metadata::{DateTime, Metadata};
use krilla::page::PageSettings;
use krilla::paint::{Fill, LineJoin, Stroke};
use krilla::surface::Surface;
use krilla::text::{Font, GlyphId, KrillaGlyph};

use crate::content::{GUTTER, PAGE_WIDTH};
use crate::document::{Block, Document, Table};
use crate::figure::{Align, Color, Figure, Item, Text};
use crate::fonts::MeasuredFont;
use crate::gather::Error;
use crate::letterhead::Letterhead;

/// Width of A4.
const WIDTH: f32 = 595.0;
/// Height of A4.
const HEIGHT: f32 = 842.0;
const MARGIN: f32 = 48.0;
const TOP: f32 = 36.0;
/// Base line of the footer.
const FOOTER: f32 = 818.0;
/// Where a page must end.
const BOTTOM: f32 = 802.0;
const BODY: f32 = 8.5;
const SMALL: f32 = 7.0;
const HEADING: f32 = 10.0;
const LINE: f32 = 1.35;
const ROW: f32 = 14.0;
/// Space between the texts of two columns of a table.
const CELL_GAP: f32 = 6.0;
const LOGO_HEIGHT: f32 = 34.0;
const LOGO_WIDTH: f32 = 150.0;
/// Facts side by side.
const FACTS_PER_ROW: usize = 4;
const FACT_ROW: f32 = 27.0;
/// Distance from the middle of a circle to the handles of its curves, for radius 1.
const CURVE: f32 = 0.552_284_8;

/// A page under construction.
struct Page {
    figure: Figure,
    y: f32,
}

impl Page {
    fn new() -> Self {
        Self {
            figure: Figure::new(WIDTH, HEIGHT, ""),
            y: TOP,
        }
    }

    /// Writes a text in lines of at most `width`.
    fn paragraph(&mut self, text: &str, size: f32, color: Color, x: f32, width: f32) {
        for line in MeasuredFont::of(false).wrapped(text, size, width) {
            self.y += size * LINE;
            self.figure
                .text([x, self.y], line, size, color, Align::Start);
        }
    }

    fn blocks(&mut self, blocks: &[Block], x: f32, width: f32) {
        for block in blocks {
            self.block(block, x, width);
        }
    }

    fn block(&mut self, block: &Block, x: f32, width: f32) {
        match block {
            Block::Heading(text) => {
                self.y += HEADING + 8.0;
                let text = MeasuredFont::of(true).fitted(text, HEADING, width);
                self.figure
                    .bold([x, self.y], text, HEADING, Color::MAIN, Align::Start);
                self.y += 6.0;
            }
            Block::Key { label, value, more } => {
                self.y += BODY + 6.0;
                self.figure
                    .text([x, self.y], label.clone(), BODY, Color::GREY, Align::Start);
                self.y += 26.0;
                self.figure
                    .bold([x, self.y], value.clone(), 24.0, Color::MAIN, Align::Start);
                self.y += 15.0;
                self.figure
                    .text([x, self.y], more.clone(), BODY, Color::GREY, Align::Start);
                self.y += 8.0;
            }
            Block::Paragraph(text) => {
                self.paragraph(text, BODY, Color::INK, x, width);
                self.y += 4.0;
            }
            Block::Small(text) => {
                self.paragraph(text, SMALL, Color::GREY, x, width);
                self.y += 3.0;
            }
            Block::Facts(facts) => self.facts(facts, x, width),
            Block::Table(table) => self.table(table, x, width),
            Block::Figure(figure) => {
                self.figure.place(figure, [x, self.y + 2.0]);
                self.y += figure.height + 4.0;
            }
            Block::Columns {
                left_share,
                left,
                right,
            } => {
                let top = self.y;
                let left_width = (width - GUTTER) * left_share;
                self.blocks(left, x, left_width);
                let left_end = self.y;
                self.y = top;
                let right_x = x + left_width + GUTTER;
                self.blocks(right, right_x, width - left_width - GUTTER);
                self.y = self.y.max(left_end);
            }
        }
    }

    fn facts(&mut self, facts: &[(String, String)], x: f32, width: f32) {
        let column = width / FACTS_PER_ROW as f32;
        for row in facts.chunks(FACTS_PER_ROW) {
            for (nth, (name, value)) in row.iter().enumerate() {
                let at = x + column * nth as f32;
                let name = MeasuredFont::of(false).fitted(name, SMALL, column - CELL_GAP);
                let value = MeasuredFont::of(true).fitted(value, BODY, column - CELL_GAP);
                self.figure
                    .text([at, self.y + 8.0], name, SMALL, Color::GREY, Align::Start);
                self.figure
                    .bold([at, self.y + 19.0], value, BODY, Color::INK, Align::Start);
            }
            self.y += FACT_ROW;
        }
    }

    fn table(&mut self, table: &Table, x: f32, width: f32) {
        let titles: Vec<&str> = table
            .columns
            .iter()
            .map(|column| column.title.as_str())
            .collect();
        self.row(table, &titles, x, width, true);
        for row in &table.rows {
            let cells: Vec<&str> = row.iter().map(String::as_str).collect();
            self.row(table, &cells, x, width, false);
        }
        self.y += 4.0;
    }

    fn row(&mut self, table: &Table, cells: &[&str], x: f32, width: f32, is_head: bool) {
        let size = if is_head { SMALL } else { BODY - 0.5 };
        let color = if is_head { Color::GREY } else { Color::INK };
        let base = self.y + ROW - 4.5;
        let mut left = x;
        for (column, cell) in table.columns.iter().zip(cells) {
            let room = column.share * width;
            let text = MeasuredFont::of(false).fitted(cell, size, room - CELL_GAP);
            let at = match column.align {
                Align::Start => left,
                Align::Middle => left + (room - CELL_GAP) / 2.0,
                Align::End => left + room - CELL_GAP,
            };
            self.figure
                .text([at, base], text, size, color, column.align);
            left += room;
        }
        self.y += ROW;
        self.figure
            .line(vec![[x, self.y], [x + width, self.y]], Color::RULE, 0.4);
    }
}

/// Lays out the pages of a document; the flag says whether everything fits.
pub(crate) fn layout(
    document: &Document,
    letterhead: &Letterhead,
    day: &str,
) -> ([Figure; 2], bool) {
    let mut is_complete = true;
    let mut nth = 0;
    let pages = document.pages.each_ref().map(|blocks| {
        nth += 1;
        let mut page = Page::new();
        if nth == 1 {
            head(&mut page, document, letterhead, day);
        } else {
            let size = SMALL;
            let subject = MeasuredFont::of(false).fitted(&document.subject, size, PAGE_WIDTH);
            page.y += size;
            page.figure
                .text([MARGIN, page.y], subject, size, Color::GREY, Align::Start);
        }
        page.blocks(blocks, MARGIN, PAGE_WIDTH);
        is_complete &= page.y <= BOTTOM;
        let footer =
            MeasuredFont::of(false).fitted(&document.footer, SMALL - 0.5, PAGE_WIDTH - 30.0);
        page.figure.text(
            [MARGIN, FOOTER],
            footer,
            SMALL - 0.5,
            Color::GREY,
            Align::Start,
        );
        let number = format!("{nth}/2");
        page.figure.text(
            [MARGIN + PAGE_WIDTH, FOOTER],
            number,
            SMALL - 0.5,
            Color::GREY,
            Align::End,
        );
        page.figure
    });
    (pages, is_complete)
}

/// Writes the letterhead, the title and the home.
fn head(page: &mut Page, document: &Document, letterhead: &Letterhead, day: &str) {
    let lines = letterhead.text.lines().take(4);
    let mut y = TOP;
    for line in lines {
        y += SMALL * LINE;
        let line = MeasuredFont::of(false).fitted(line, SMALL, PAGE_WIDTH - LOGO_WIDTH);
        page.figure.text(
            [MARGIN + PAGE_WIDTH, y],
            line,
            SMALL,
            Color::GREY,
            Align::End,
        );
    }
    let has_letterhead = letterhead.logo.is_some() || !letterhead.text.is_empty();
    if has_letterhead {
        page.y += LOGO_HEIGHT.max(y - TOP) + 4.0;
    }
    page.y += BODY;
    let title = format!("{} · {day}", document.title);
    page.figure
        .text([MARGIN, page.y], title, BODY, Color::GREY, Align::Start);
    let bold = MeasuredFont::of(true);
    for line in bold
        .wrapped(&document.subject, 15.0, PAGE_WIDTH)
        .into_iter()
        .take(2)
    {
        page.y += 20.0;
        page.figure
            .bold([MARGIN, page.y], line, 15.0, Color::INK, Align::Start);
    }
    page.y += 3.0;
    page.paragraph(&document.facts, BODY, Color::INK, MARGIN, PAGE_WIDTH);
    page.y += 7.0;
    page.figure
        .rectangle([MARGIN, page.y], PAGE_WIDTH, 1.2, Color::MAIN);
    page.y += 2.0;
}

/// Writes a document as PDF. `date` is the day of the report and `day` the same as text.
///
/// # Errors
/// A font or the logo cannot be embedded.
pub fn write(
    document: &Document,
    letterhead: &Letterhead,
    date: NaiveDate,
    day: &str,
) -> Result<Vec<u8>, Error> {
    let failed = |what: &str| Error::Page(what.to_owned());
    let font = |is_bold| Font::new(MeasuredFont::of(is_bold).bytes.to_vec().into(), 0);
    let fonts = [
        font(false).ok_or_else(|| failed("a font cannot be read"))?,
        font(true).ok_or_else(|| failed("a font cannot be read"))?,
    ];
    let mut pdf = Pdf::new();
    let created = DateTime::new(date.year() as u16)
        .month(date.month() as u8)
        .day(date.day() as u8);
    pdf.set_metadata(
        Metadata::new()
            .title(format!("{} – {}", document.title, document.subject))
            .language(document.language.as_str().to_owned())
            .creator("toise".to_owned())
            .creation_date(created),
    );
    let (pages, _) = layout(document, letterhead, day);
    for (nth, figure) in pages.iter().enumerate() {
        let settings = PageSettings::from_wh(WIDTH, HEIGHT);
        let mut page = pdf.start_page_with(settings.ok_or_else(|| failed("the page has no size"))?);
        let mut surface = page.surface();
        if nth == 0 {
            draw_logo(&mut surface, letterhead)?;
        }
        for item in &figure.items {
            draw(&mut surface, item, &fonts);
        }
        surface.finish();
        page.finish();
    }
    pdf.finish()
        .map_err(|error| Error::Page(format!("{error:?}")))
}

fn draw_logo(surface: &mut Surface<'_>, letterhead: &Letterhead) -> Result<(), Error> {
    let Some(logo) = &letterhead.logo else {
        return Ok(());
    };
    let image = logo
        .image()
        .map_err(|reason| Error::Page(format!("the logo {reason}")))?;
    let (width, height) = image.size();
    let scale = (LOGO_WIDTH / width as f32).min(LOGO_HEIGHT / height as f32);
    if let Some(size) = Size::from_wh(width as f32 * scale, height as f32 * scale) {
        surface.push_transform(&Transform::from_translate(MARGIN, TOP));
        surface.draw_image(image, size);
        surface.pop();
    }
    Ok(())
}

fn draw(surface: &mut Surface<'_>, item: &Item, fonts: &[Font; 2]) {
    match item {
        Item::Line {
            points,
            color,
            width,
        } => {
            surface.set_fill(None);
            surface.set_stroke(Some(Stroke {
                paint: paint(*color).into(),
                width: *width,
                line_join: LineJoin::Round,
                ..Stroke::default()
            }));
            draw_path(surface, polyline(points, false));
        }
        Item::Area { points, fill } => {
            fill_with(surface, *fill);
            draw_path(surface, polyline(points, true));
        }
        Item::Dots { points, side, fill } => {
            fill_with(surface, *fill);
            let mut path = PathBuilder::new();
            for [x, y] in points {
                let corner = (x - side / 2.0, y - side / 2.0);
                if let Some(square) = Rect::from_xywh(corner.0, corner.1, *side, *side) {
                    path.push_rect(square);
                }
            }
            draw_path(surface, path.finish());
        }
        Item::Circle {
            center,
            radius,
            fill,
            border,
        } => {
            fill_with(surface, *fill);
            surface.set_stroke(border.map(|color| Stroke {
                paint: paint(color).into(),
                width: 1.0,
                ..Stroke::default()
            }));
            draw_path(surface, circle(*center, *radius));
        }
        Item::Text(text) => draw_text(surface, text, fonts),
    }
}

fn paint(Color(red, green, blue): Color) -> rgb::Color {
    rgb::Color::new(red, green, blue)
}

fn fill_with(surface: &mut Surface<'_>, color: Color) {
    surface.set_stroke(None);
    surface.set_fill(Some(Fill {
        paint: paint(color).into(),
        ..Fill::default()
    }));
}

fn draw_path(surface: &mut Surface<'_>, path: Option<Path>) {
    if let Some(path) = path {
        surface.draw_path(&path);
    }
}

fn polyline(points: &[[f32; 2]], is_closed: bool) -> Option<Path> {
    let mut path = PathBuilder::new();
    let (first, rest) = points.split_first()?;
    path.move_to(first[0], first[1]);
    for [x, y] in rest {
        path.line_to(*x, *y);
    }
    if is_closed {
        path.close();
    }
    path.finish()
}

fn circle([x, y]: [f32; 2], radius: f32) -> Option<Path> {
    let handle = radius * CURVE;
    let mut path = PathBuilder::new();
    path.move_to(x + radius, y);
    path.cubic_to(
        x + radius,
        y + handle,
        x + handle,
        y + radius,
        x,
        y + radius,
    );
    path.cubic_to(
        x - handle,
        y + radius,
        x - radius,
        y + handle,
        x - radius,
        y,
    );
    path.cubic_to(
        x - radius,
        y - handle,
        x - handle,
        y - radius,
        x,
        y - radius,
    );
    path.cubic_to(
        x + handle,
        y - radius,
        x + radius,
        y - handle,
        x + radius,
        y,
    );
    path.close();
    path.finish()
}

fn draw_text(surface: &mut Surface<'_>, text: &Text, fonts: &[Font; 2]) {
    let measured = MeasuredFont::of(text.is_bold);
    let glyphs: Vec<KrillaGlyph> = text
        .text
        .char_indices()
        .map(|(start, char)| {
            let glyph = measured.glyph(char);
            KrillaGlyph {
                glyph_id: GlyphId::new(glyph.id),
                text_range: start..start + char.len_utf8(),
                x_advance: glyph.advance,
                x_offset: 0.0,
                y_offset: 0.0,
                y_advance: 0.0,
                location: None,
            }
        })
        .collect();
    let width = measured.width(&text.text, text.size);
    let x = match text.align {
        Align::Start => text.at[0],
        Align::Middle => text.at[0] - width / 2.0,
        Align::End => text.at[0] - width,
    };
    fill_with(surface, text.color);
    let font = fonts[usize::from(text.is_bold)].clone();
    let start = Point::from_xy(x, text.at[1]);
    surface.draw_glyphs(start, &glyphs, font, &text.text, text.size, false);
}
