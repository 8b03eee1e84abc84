//! Draws the home and its comparables on a map: borders of communes, addresses as dots, a scale.

use std::f32::consts::TAU;
use std::iter;

use crate::figure::{Align, Color, Figure};
use crate::gather::map_half_m;
use crate::language::Language;
use crate::model::{HomeReport, ReportedSale};
use toise_geo::contours::{self, UNITS_PER_DEGREE};

const SIZE: f32 = 7.0;
/// Radius of the mark of the home or a sale.
const MARK: f32 = 6.5;
/// Minimum distance between the centres of two marks.
const APART: f32 = 2.0 * MARK + 1.0;
/// Number of rings around a position on which a free place for its mark is looked for.
const RINGS: u8 = 4;
/// Metres per degree of latitude.
const DEGREE_M: f64 = 111_195.0;
/// Maximum length of the scale, as a share of the width.
const SCALE_SHARE: f64 = 0.3;

/// Converts geographic positions to points of the map.
struct View {
    lat: f64,
    lon: f64,
    points_per_m: f64,
    middle: [f64; 2],
    size: [f64; 2],
}

impl View {
    fn at(&self, (lat, lon): (f64, f64)) -> [f32; 2] {
        let east_m = (lon - self.lon) * DEGREE_M * self.lat.to_radians().cos();
        let north_m = (lat - self.lat) * DEGREE_M;
        [
            (self.middle[0] + east_m * self.points_per_m) as f32,
            (self.middle[1] - north_m * self.points_per_m) as f32,
        ]
    }

    fn shows(&self, [x, y]: [f32; 2]) -> bool {
        let [width, height] = self.size.map(|side| side as f32);
        (0.0..=width).contains(&x) && (0.0..=height).contains(&y)
    }
}

/// Draws the map of a report. Comparables have the numbers of their rows.
pub fn draw(report: &HomeReport, width: f32, height: f32, language: Language) -> Figure {
    let about = language.choose("Carte des ventes comparables", "Map of comparable sales");
    let mut figure = Figure::new(width, height, about);
    let half_m = map_half_m(&report.comparables);
    let view = View {
        lat: report.home.latitude,
        lon: report.home.longitude,
        points_per_m: f64::from(width.min(height)) / 2.0 / half_m,
        middle: [f64::from(width) / 2.0, f64::from(height) / 2.0],
        size: [f64::from(width), f64::from(height)],
    };
    figure.rectangle([0.0, 0.0], width, height, Color::PALE);
    let addresses = report.surroundings.addresses.iter();
    let addresses = addresses.map(|position| view.at(*position));
    let shown: Vec<[f32; 2]> = addresses.filter(|point| view.shows(*point)).collect();
    figure.dots(shown, 1.1, Color(176, 184, 196));
    borders(&mut figure, &view);
    marks(&mut figure, &view, &report.comparables);
    scale(&mut figure, &view, language);
    figure
}

/// Draws the home, and the sales on the map with the numbers of their rows. The mark of a sale that would cover another
/// mark, such as that of a sale in the same building, is moved aside and joined to its position by a line.
fn marks(figure: &mut Figure, view: &View, sales: &[ReportedSale]) {
    let home = view.at((view.lat, view.lon));
    let mut taken = vec![home];
    let mut marks = Vec::new();
    for (nth, sale) in sales.iter().enumerate() {
        let location = sale.location.as_ref();
        let at = location.map(|location| view.at((location.lat, location.lon)));
        let Some(at) = at.filter(|at| view.shows(*at)) else {
            continue;
        };
        let mark = free_place(at, &taken, view);
        taken.push(mark);
        marks.push((nth + 1, mark));
        if mark != at {
            figure.line(vec![at, mark], Color::OTHER, 0.8);
        }
    }
    for (number, mark) in marks.into_iter().rev() {
        figure.circle(mark, MARK, Color::OTHER, Some(Color::WHITE));
        let base = [mark[0], mark[1] + 2.6];
        figure.bold(base, number.to_string(), SIZE, Color::WHITE, Align::Middle);
    }
    figure.circle(home, MARK, Color::MAIN, Some(Color::WHITE));
    figure.circle(home, 2.2, Color::WHITE, None);
}

/// Returns the place nearest to a position at which a mark covers no other; the position itself if there is none.
fn free_place(at: [f32; 2], taken: &[[f32; 2]], view: &View) -> [f32; 2] {
    let is_free = |place: &[f32; 2]| {
        let [x, y] = *place;
        // Places on one ring may be nearer than their distance by a rounding error.
        let is_apart = |other: &[f32; 2]| (x - other[0]).hypot(y - other[1]) > APART - 0.1;
        view.shows(*place) && taken.iter().all(is_apart)
    };
    let around = (1..=RINGS).flat_map(|ring| {
        let (places, radius) = (6 * ring, APART * f32::from(ring));
        (0..places).map(move |nth| {
            let angle = f32::from(nth) / f32::from(places) * TAU;
            [at[0] + radius * angle.cos(), at[1] + radius * angle.sin()]
        })
    });
    iter::once(at).chain(around).find(is_free).unwrap_or(at)
}

/// Draws the borders of communes, in pieces within the map.
fn borders(figure: &mut Figure, view: &View) {
    for (_, rings) in contours::all() {
        for ring in rings {
            let mut piece: Vec<[f32; 2]> = Vec::new();
            let corners = ring.iter().chain(ring.first());
            let mut last: Option<[f32; 2]> = None;
            for (east, north) in corners {
                let position = (
                    f64::from(*north) / UNITS_PER_DEGREE,
                    f64::from(*east) / UNITS_PER_DEGREE,
                );
                let at = view.at(position);
                let clipped = last.and_then(|last| clipped(last, at, view));
                last = Some(at);
                match clipped {
                    Some([from, to]) if piece.last() == Some(&from) => piece.push(to),
                    Some([from, to]) => {
                        flush(figure, &mut piece);
                        piece.extend([from, to]);
                    }
                    None => flush(figure, &mut piece),
                }
            }
            flush(figure, &mut piece);
        }
    }
}

fn flush(figure: &mut Figure, piece: &mut Vec<[f32; 2]>) {
    let points = std::mem::take(piece);
    if points.len() > 1 {
        figure.line(points, Color(128, 138, 154), 0.7);
    }
}

/// Returns the part of a line within the map (Liang and Barsky 1984).
fn clipped(from: [f32; 2], to: [f32; 2], view: &View) -> Option<[[f32; 2]; 2]> {
    let (mut enter, mut leave) = (0.0_f64, 1.0_f64);
    let start = from.map(f64::from);
    let change = [f64::from(to[0]) - start[0], f64::from(to[1]) - start[1]];
    for axis in 0..2 {
        for (towards, room) in [
            (-change[axis], start[axis]),
            (change[axis], view.size[axis] - start[axis]),
        ] {
            if towards == 0.0 {
                if room < 0.0 {
                    return None;
                }
                continue;
            }
            let share = room / towards;
            if towards < 0.0 {
                enter = enter.max(share);
            } else {
                leave = leave.min(share);
            }
        }
    }
    let at = |share: f64| [0, 1].map(|axis| (start[axis] + share * change[axis]) as f32);
    (enter < leave).then(|| {
        [
            if enter == 0.0 { from } else { at(enter) },
            if leave == 1.0 { to } else { at(leave) },
        ]
    })
}

/// Draws a scale of a round length.
fn scale(figure: &mut Figure, view: &View, language: Language) {
    let longest_m = view.size[0] * SCALE_SHARE / view.points_per_m;
    let power = 10_f64.powf(longest_m.log10().floor());
    let round = [5.0, 2.0, 1.0].into_iter().map(|factor| factor * power);
    let metres = round
        .into_iter()
        .find(|metres| *metres <= longest_m)
        .unwrap_or(power);
    let length = (metres * view.points_per_m) as f32;
    let base = view.size[1] as f32 - 8.0;
    figure.rectangle([4.0, base - 12.0], length + 8.0, 17.0, Color::WHITE);
    figure.line(
        vec![
            [8.0, base - 3.0],
            [8.0, base],
            [8.0 + length, base],
            [8.0 + length, base - 3.0],
        ],
        Color::INK,
        0.8,
    );
    let label = language.distance(metres);
    figure.text(
        [8.0 + length / 2.0, base - 4.0],
        label,
        SIZE - 0.5,
        Color::INK,
        Align::Middle,
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    fn view() -> View {
        View {
            lat: 44.5,
            lon: 3.5,
            points_per_m: 0.1,
            middle: [50.0, 50.0],
            size: [100.0, 100.0],
        }
    }

    #[test]
    fn north_is_up_and_distances_are_to_scale() {
        let view = view();
        let [x, y] = view.at((44.5 + 100.0 / DEGREE_M, 3.5));
        assert!((x - 50.0).abs() < 0.01 && (y - 40.0).abs() < 0.01);
        let east = 100.0 / (DEGREE_M * 44.5_f64.to_radians().cos());
        let [x, y] = view.at((44.5, 3.5 + east));
        assert!((x - 60.0).abs() < 0.01 && (y - 50.0).abs() < 0.01);
    }

    #[test]
    fn lines_are_cut_at_the_edge() {
        let view = view();
        let across = clipped([-50.0, 50.0], [150.0, 50.0], &view);
        assert_eq!(across, Some([[0.0, 50.0], [100.0, 50.0]]));
        assert_eq!(clipped([-50.0, 50.0], [-1.0, 60.0], &view), None);
        let inside = clipped([10.0, 10.0], [20.0, 30.0], &view);
        assert_eq!(inside, Some([[10.0, 10.0], [20.0, 30.0]]));
    }

    #[test]
    fn marks_cover_neither_each_other_nor_the_home() {
        let view = view();
        let middle = [50.0, 50.0];
        let mut taken = vec![middle];
        for _ in 0..5 {
            let place = free_place(middle, &taken, &view);
            assert!(view.shows(place));
            for other in &taken {
                let apart = (place[0] - other[0]).hypot(place[1] - other[1]);
                assert!(apart > 2.0 * MARK, "{place:?} {taken:?}");
            }
            taken.push(place);
        }
        assert_eq!(free_place([10.0, 10.0], &taken, &view), [10.0, 10.0]);
    }
}
