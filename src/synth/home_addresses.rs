//! Writes the addresses of synthetic sales and diagnostics as a file in the official format, so that homes of the demo
//! are found by their address.

use std::collections::BTreeSet;
use std::fmt::Write;

use rayon::prelude::*;

use super::SynthRequest;
use super::blocks::BLOCK_ITEMS;
use super::communes::SynthAddress;
use super::dpe::DiagnosticGenerator;
use super::dvf::SaleGenerator;
use toise_opendata::Dataset;

/// Columns of the file.
const COLUMNS: &str = "id;numero;rep;nom_voie;code_postal;code_insee;nom_commune;lon;lat\n";

/// Returns a file with the addresses of the items that some requests generate, each once, by commune, street and
/// number.
pub fn csv(requests: &[SynthRequest]) -> String {
    let mut rows = BTreeSet::new();
    for request in requests {
        rows.append(&mut rows_of(*request));
    }
    let mut text = COLUMNS.to_owned();
    for row in rows {
        text.push_str(&row);
    }
    text
}

/// Returns the rows of the items of a request.
fn rows_of(request: SynthRequest) -> BTreeSet<String> {
    let SynthRequest { items, seed, .. } = request;
    let sales = SaleGenerator::new(items, seed);
    let diagnostics = DiagnosticGenerator::new(items, seed, request.full_width);
    let blocks = (0..items.div_ceil(BLOCK_ITEMS)).into_par_iter();
    let rows_of_blocks = blocks.flat_map_iter(|block| {
        let from = block * BLOCK_ITEMS;
        let to = (from + BLOCK_ITEMS).min(items);
        let mut rows = Vec::new();
        match request.dataset {
            Dataset::Dvf => sales.draw(block, from, to, |sale| rows.push(row(&sale.address))),
            Dataset::Dpe => diagnostics.draw(block, from, to, |certificate| {
                rows.push(row(&certificate.address));
            }),
        }
        rows
    });
    rows_of_blocks.collect()
}

fn row(address: &SynthAddress) -> String {
    let place = address.place;
    let (kind, name) = address.street_name();
    let (lat, lon) = address.position();
    let suffix = match address.suffix() {
        Some("B") => "bis",
        Some(_) => "a",
        None => "",
    };
    let separator = if suffix.is_empty() { "" } else { "_" };
    let mut row = String::with_capacity(128);
    // Writing to a string does not fail.
    let _ = writeln!(
        row,
        "{}_{:04}_{:05}{separator}{suffix};{};{suffix};{kind} {name};{};{};{};{lon:.6};{lat:.6}",
        place.insee,
        address.street_code(),
        address.number,
        address.number,
        address.postal_code(),
        place.insee,
        place.name,
    );
    row
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_address_has_one_row() {
        let request = |dataset| SynthRequest {
            dataset,
            items: 3_000,
            seed: 1,
            full_width: false,
        };
        let text = csv(&[request(Dataset::Dvf), request(Dataset::Dpe)]);
        let ids: Vec<&str> = text
            .lines()
            .skip(1)
            .map(|row| row.split(';').next().unwrap())
            .collect();
        assert!(ids.len() > 4_000, "{}", ids.len());
        assert_eq!(ids.iter().collect::<BTreeSet<_>>().len(), ids.len());
        assert!(text.lines().all(|row| row.matches(';').count() == 8));
    }
}
