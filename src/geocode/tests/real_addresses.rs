//! Tests of searches on real addresses, found through `TOISE_REAL_DATA`: streets that are named once, without their
//! town, without and with a position, and with their town.

#![expect(clippy::unwrap_used, reason = "test")]

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufWriter, Read};
use std::path::Path;
use std::sync::{Arc, LazyLock};
use std::time::Instant;

use flate2::read::GzDecoder;

use toise_geo::departments;
use toise_geo::distance::planar_distance_m;
use toise_geo::places::Places;
use toise_geocode::Geocoder;
use toise_geocode::index::builder::{AddressRow, SegmentBuilder};
use toise_geocode::index::segment::Segment;
use toise_geocode::search::{ResultKind, SearchRequest, position};
use toise_geocode::text::fold;

/// Number of house numbers drawn.
const DRAWN: usize = 200;

struct RealBase {
    geocoder: Geocoder,
    /// House numbers of streets whose name occurs once.
    drawn: Vec<AddressRow>,
}

static BASE: LazyLock<Option<RealBase>> = LazyLock::new(read_base);

fn unzip(path: &Path) -> String {
    let mut text = String::new();
    let mut file = GzDecoder::new(File::open(path).unwrap());
    file.read_to_string(&mut text).unwrap();
    text
}

fn row_of_ban(record: &HashMap<String, String>) -> Option<AddressRow> {
    let field = |name: &str| record.get(name).cloned().unwrap_or_default();
    Some(AddressRow {
        id: field("id"),
        number: field("numero").parse().ok(),
        suffix: field("rep"),
        name: field("nom_voie"),
        postal_code: field("code_postal"),
        insee_code: field("code_insee"),
        commune: field("nom_commune"),
        former_code: field("code_insee_ancienne_commune"),
        former_name: field("nom_ancienne_commune"),
        lat: field("lat").parse().ok()?,
        lon: field("lon").parse().ok()?,
    })
}

fn row_of_bano(fields: &csv::StringRecord) -> Option<AddressRow> {
    let (id, number) = (fields.get(0)?, fields.get(1)?);
    let insee_code = id.get(..5)?.to_owned();
    let digits = number
        .split(|character: char| !character.is_ascii_digit())
        .next()?;
    let suffix = fold::folded(&number[digits.len()..]);
    let tail = if suffix.is_empty() {
        String::new()
    } else {
        format!("_{suffix}")
    };
    let street = id.rsplit_once('-')?.0.get(5..)?;
    Some(AddressRow {
        id: format!("{insee_code}_{street}_{digits:0>5}{tail}"),
        number: Some(digits.parse().ok()?),
        suffix,
        name: fields.get(2)?.to_owned(),
        postal_code: fields.get(3)?.to_owned(),
        commune: fields.get(4)?.to_owned(),
        insee_code,
        lat: fields.get(6)?.parse().ok()?,
        lon: fields.get(7)?.parse().ok()?,
        ..AddressRow::default()
    })
}

fn read_base() -> Option<RealBase> {
    let folder = std::env::var_os("TOISE_REAL_DATA")?;
    let folder = Path::new(&folder).join("ban");
    let mut segments = Vec::new();
    let mut all: Vec<AddressRow> = Vec::new();
    let scratch = tempfile::tempdir().unwrap();
    for department in ["04", "05", "09", "12", "15", "2A", "2B", "43", "48", "971"] {
        let is_ban = department == "48";
        let name = if is_ban { "adresses" } else { "bano" };
        let text = unzip(&folder.join(format!("{name}-{department}.csv.gz")));
        let mut reader = csv::ReaderBuilder::new()
            .delimiter(if is_ban { b';' } else { b',' })
            .has_headers(is_ban)
            .flexible(true)
            .from_reader(text.as_bytes());
        let rows: Vec<AddressRow> = if is_ban {
            let records = reader.deserialize().map_while(Result::ok);
            records.filter_map(|one| row_of_ban(&one)).collect()
        } else {
            let records = reader.records().map_while(Result::ok);
            records.filter_map(|one| row_of_bano(&one)).collect()
        };
        let mut builder = SegmentBuilder::default();
        rows.iter().for_each(|row| builder.push(row));
        let path = scratch.path().join(department);
        let mut out = BufWriter::new(File::create(&path).unwrap());
        builder.write(department, &mut out).unwrap();
        drop(out);
        segments.push(Arc::new(Segment::open(&path).unwrap()));
        all.extend(rows);
    }
    let mut streets: HashMap<String, Vec<usize>> = HashMap::new();
    for (at, row) in all.iter().enumerate() {
        if departments::for_commune(&row.insee_code).is_some() {
            streets.entry(fold::folded(&row.name)).or_default().push(at);
        }
    }
    let is_once = |rows: &&Vec<usize>| {
        let code = |at: &usize| &all[*at].insee_code;
        rows.iter().all(|at| code(at) == code(&rows[0]))
            && all[rows[0]].number.is_some()
            && fold::tokens(&all[rows[0]].name).len() > 2
    };
    let mut once: Vec<&Vec<usize>> = streets.values().filter(is_once).collect();
    once.sort();
    let step = once.len() / DRAWN;
    let drawn = once.iter().step_by(step.max(1)).take(DRAWN);
    let drawn = drawn
        .map(|rows| all[rows[rows.len() / 2]].clone())
        .collect();
    Some(RealBase {
        geocoder: Geocoder::new(segments),
        drawn,
    })
}

/// Asks for each drawn address; returns how many are first, and prints the others and the times.
fn ask(label: &str, text: impl Fn(&AddressRow) -> String, is_near: bool) -> Option<usize> {
    let Some(base) = BASE.as_ref() else {
        println!("skipped: TOISE_REAL_DATA is not set");
        return None;
    };
    let (mut right, mut times) = (0, Vec::new());
    let (mut claimed, mut high) = (0.0, 0);
    for row in &base.drawn {
        let request = SearchRequest {
            text: text(row),
            limit: 5,
            near: is_near.then_some((row.lat, row.lon)),
            ..SearchRequest::default()
        };
        let begin = Instant::now();
        let found = base.geocoder.search(&request);
        times.push(begin.elapsed());
        let first = found.first();
        let is_right = first.is_some_and(|one| {
            let at = position(&base.geocoder, one);
            let metres = planar_distance_m(at.0, at.1, row.lat, row.lon);
            let name = one
                .street
                .map(|(segment, street)| base.geocoder.segments()[segment].street_name(street));
            metres < 100.0
                || one.kind == ResultKind::HouseNumber && name == Some(&row.name) && metres < 500.0
        });
        claimed += first.map_or(0.0, |one| one.probability);
        high += usize::from(is_right && first.is_some_and(|one| one.probability >= 0.9));
        right += usize::from(is_right);
        if !is_right {
            let name = first
                .and_then(|one| one.street)
                .map(|(segment, street)| base.geocoder.segments()[segment].street_name(street));
            println!(
                "{label}: {:?} -> {:?} {:?}",
                request.text,
                name,
                first.map(|one| (
                    one.probability,
                    one.kind,
                    one.place
                        .and_then(|p| Places::get().place(p))
                        .map(|p| p.name)
                ))
            );
        }
    }
    times.sort();
    let (half, most) = (times[times.len() / 2], times[times.len() * 99 / 100]);
    println!(
        "{label}: {right} of {}, {high} HIGH, claimed {claimed:.1}, p50 {half:?}, p99 {most:?}",
        times.len()
    );
    Some(right)
}

fn number(row: &AddressRow) -> String {
    format!("{} {}", row.number.unwrap_or_default(), row.suffix)
}

#[test]
fn a_street_named_once_is_found_without_its_town() {
    let text = |row: &AddressRow| format!("{} {}", number(row), row.name);
    for is_near in [false, true] {
        if let Some(right) = ask(&format!("no town, near {is_near}"), text, is_near) {
            assert!(right >= DRAWN * 97 / 100, "{right}");
        }
    }
}

#[test]
fn a_street_named_once_is_found_with_its_town() {
    let text = |row: &AddressRow| {
        format!(
            "{} {} {} {}",
            number(row),
            row.name,
            row.postal_code,
            row.commune
        )
    };
    if let Some(right) = ask("town", text, false) {
        assert!(right >= DRAWN * 99 / 100, "{right}");
    }
}
