//! "How long does it take to find an address?": forward as written, with a letter wrong, without the kind of street,
//! without a postal code, while it is typed, and from a position.
//!
//! The addresses are synthetic, from a seed: ten communes in each of two departments, with as many streets as a small
//! town. For comparison, addok in process finds 353 addresses a second on a machine of the same kind.

use std::fs::File;
use std::hint::black_box;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::sync::Arc;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use toise::base::splitmix::SplitMix64;
use toise::geo::places::{PlaceKind, Places};
use toise::geocode::Geocoder;
use toise::geocode::index::builder::{AddressRow, SegmentBuilder};
use toise::geocode::index::segment::Segment;
use toise::geocode::reverse::METRES_MAX;
use toise::geocode::search::SearchRequest;

/// The executable's allocator.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const SEED: u64 = 17;
const DEPARTMENTS: [&str; 2] = ["12", "48"];
const COMMUNES: usize = 10;
/// Streets of a commune.
const STREETS: usize = 120;
/// Maximum house numbers of a street.
const NUMBERS_MAX: usize = 40;
/// Number of addresses, used in rotation.
const QUERIES: usize = 2_000;

const TYPES: [&str; 8] = [
    "Rue", "Rue", "Rue", "Avenue", "Chemin", "Impasse", "Place", "Route",
];
const FIRST_NAMES: [&str; 10] = [
    "Jean", "Pierre", "Marie", "Louis", "Jeanne", "Paul", "Georges", "Marguerite", "Victor",
    "Camille",
];
const SYLLABLES: [&str; 16] = [
    "bar", "ton", "mar", "vel", "rou", "gil", "lan", "des", "mou", "ber", "cha", "pin", "sol",
    "tre", "vic", "gnac",
];
const PLAIN: [&str; 12] = [
    "de la Gare",
    "de l'Église",
    "du Moulin",
    "des Écoles",
    "du 8 Mai 1945",
    "de la République",
    "du Château",
    "de la Fontaine",
    "du Stade",
    "des Lilas",
    "du Maréchal Foch",
    "de la Croix",
];

/// An address and its position.
struct Address {
    number: usize,
    kind: &'static str,
    rest: String,
    postal_code: &'static str,
    commune: &'static str,
    lat: f64,
    lon: f64,
}

fn pick<T: Copy>(random: &mut SplitMix64, from: &[T]) -> T {
    from[random.below(from.len())]
}

fn street_name(random: &mut SplitMix64) -> (&'static str, String) {
    let kind = pick(random, &TYPES);
    if random.below(4) == 0 {
        return (kind, pick(random, &PLAIN).to_owned());
    }
    let syllables = 2 + random.below(2);
    let mut name: String = (0..syllables).map(|_| pick(random, &SYLLABLES)).collect();
    name[..1].make_ascii_uppercase();
    let rest = match random.below(2) {
        0 => format!("{} {name}", pick(random, &FIRST_NAMES)),
        _ => format!("de {name}"),
    };
    (kind, rest)
}

/// The addresses of a department, and its segment of the index.
fn department(code: &str, folder: &Path, random: &mut SplitMix64) -> (Vec<Address>, Arc<Segment>) {
    let communes = Places::get().all().iter().filter(|place| {
        place.kind == PlaceKind::Commune
            && place.department == code
            && !place.postal_codes.is_empty()
    });
    let mut addresses = Vec::new();
    let mut builder = SegmentBuilder::default();
    for place in communes.step_by(7).take(COMMUNES) {
        for street in 0..STREETS {
            let (kind, rest) = street_name(random);
            for number in 1..=1 + random.below(NUMBERS_MAX) {
                let offset = (street * 100 + number) as f64 * 1e-6;
                let address = Address {
                    number,
                    kind,
                    rest: rest.clone(),
                    postal_code: place.postal_codes[0],
                    commune: place.name,
                    lat: place.centre.0 + offset,
                    lon: place.centre.1 - offset,
                };
                builder.push(&AddressRow {
                    id: format!("{}_{street:04}_{number:05}", place.code),
                    number: Some(number as u32),
                    name: format!("{kind} {rest}"),
                    postal_code: address.postal_code.into(),
                    insee_code: place.code.into(),
                    commune: place.name.into(),
                    lat: address.lat,
                    lon: address.lon,
                    ..AddressRow::default()
                });
                addresses.push(address);
            }
        }
    }
    let path = folder.join(format!("{code}.segment"));
    let mut file = BufWriter::new(File::create(&path).expect("the folder can be written"));
    builder
        .write(code, &mut file)
        .expect("the segment can be written");
    file.flush().expect("the segment can be written");
    let segment = Segment::open(&path).expect("the segment can be read");
    (addresses, Arc::new(segment))
}

/// A text with two neighbouring letters swapped in its longest word.
fn with_typo(text: &str) -> String {
    let longest = text
        .split(' ')
        .max_by_key(|word| word.len())
        .unwrap_or_default();
    let mut letters: Vec<char> = longest.chars().collect();
    let middle = letters.len() / 2;
    letters.swap(middle - 1, middle);
    text.replace(longest, &letters.into_iter().collect::<String>())
}

/// How an address is written.
type Writing = fn(&Address) -> String;

const FORMS: [(&str, Writing); 4] = [
    ("forward", |one| {
        let Address {
            number,
            kind,
            rest,
            postal_code,
            commune,
            ..
        } = one;
        format!("{number} {kind} {rest} {postal_code} {commune}")
    }),
    ("forward_typo", |one| {
        let Address {
            number,
            kind,
            postal_code,
            commune,
            ..
        } = one;
        format!(
            "{number} {kind} {} {postal_code} {commune}",
            with_typo(&one.rest)
        )
    }),
    ("forward_no_street_type", |one| {
        let Address {
            number,
            rest,
            postal_code,
            commune,
            ..
        } = one;
        format!("{number} {rest} {postal_code} {commune}")
    }),
    ("forward_no_postal_code", |one| {
        let Address {
            number,
            kind,
            rest,
            commune,
            ..
        } = one;
        format!("{number} {kind} {rest} {commune}")
    }),
];

/// Every prefix of at least three letters, as a form sends them while a user types.
fn typed(one: &Address) -> impl Iterator<Item = SearchRequest> {
    let text: Vec<char> = FORMS[3].1(one).chars().collect();
    (3..=text.len()).map(move |count| SearchRequest {
        text: text[..count].iter().collect(),
        limit: 5,
        autocomplete: true,
        ..SearchRequest::default()
    })
}

fn geocode(criterion: &mut Criterion) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut random = SplitMix64::new(SEED);
    let (mut addresses, mut segments) = (Vec::new(), Vec::new());
    for code in DEPARTMENTS {
        let (of_department, segment) = department(code, folder.path(), &mut random);
        addresses.extend(of_department);
        segments.push(segment);
    }
    let geocoder = Geocoder::new(segments);
    let asked: Vec<&Address> = (0..QUERIES)
        .map(|_| &addresses[random.below(addresses.len())])
        .collect();
    let mut group = criterion.benchmark_group("geocode");
    group.throughput(Throughput::Elements(1));
    let mut searches: Vec<(&str, Vec<SearchRequest>)> = Vec::new();
    for (name, written) in FORMS {
        let requests = asked.iter().map(|one| SearchRequest {
            text: written(one),
            limit: 1,
            ..SearchRequest::default()
        });
        searches.push((name, requests.collect()));
    }
    searches.push((
        "typing",
        asked[..QUERIES / 20]
            .iter()
            .flat_map(|one| typed(one))
            .collect(),
    ));
    for (name, requests) in &searches {
        let mut turn = requests.iter().cycle();
        group.bench_function(*name, |bench| {
            bench.iter(|| {
                turn.next()
                    .map(|request| black_box(geocoder.search(request)))
            });
        });
    }
    let mut turn = asked.iter().cycle();
    group.bench_function("reverse", |bench| {
        let nearest = |one: &&Address| geocoder.reverse(one.lat, one.lon, 1, METRES_MAX);
        bench.iter(|| black_box(turn.next().map(nearest)));
    });
    group.finish();
}

criterion_group!(benches, geocode);
criterion_main!(benches);
