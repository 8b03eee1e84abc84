//! Portfolio rows for bulk matching: perturbed copies of generated diagnostics or sales, with the correct answer.
//!
//! Each row has the fields of a match body by name (`code_insee_ban`, `type_batiment`, a range of ±2 % around a surface
//! with an error of at most 2 %, the other values rounded), a `key`, and the true identifier: `true_numero_dpe`, or for
//! sales `true_id_mutation` (the record's own `id` is a digest that only the importer computes).

use std::io::{self, Write};

use super::blocks::{BLOCK_ITEMS, Summary};
use super::dpe::{Certificate, DiagnosticGenerator, Dwelling};
use super::dvf::SaleGenerator;
use super::random::Stream;
use super::text::{CsvLine, push_digits, push_integer, push_number};
use super::{SynthRequest, dvf};
use toise_opendata::Dataset;

/// Columns of a portfolio of diagnostics.
const DPE_COLUMNS: [&str; 9] = [
    "key",
    "code_insee_ban",
    "type_batiment",
    "surface_habitable_logement_min",
    "surface_habitable_logement_max",
    "surface_habitable_logement",
    "conso_5_usages_par_m2_ep",
    "emission_ges_5_usages_par_m2",
    "true_numero_dpe",
];

/// Columns of a portfolio of sales.
const DVF_COLUMNS: [&str; 10] = [
    "key",
    "insee_code",
    "property_type",
    "surface_m2_min",
    "surface_m2_max",
    "surface_m2",
    "main_rooms",
    "price_eur",
    "transaction_date",
    "true_id_mutation",
];

/// Writes up to `rows` queries about the items that `source` generates: pass the same request that generated the lake
/// or the file. Fewer are written if the source has too few single dwellings.
pub fn write(
    writer: &mut (impl Write + ?Sized),
    source: SynthRequest,
    rows: u64,
) -> io::Result<Summary> {
    let mut out = Vec::with_capacity(1 << 16);
    let mut stream = Stream::new(source.seed, 3, source.dataset as u64);
    let mut summary = Summary::default();
    let mut cells = CsvLine::new(&mut out);
    match source.dataset {
        Dataset::Dpe => DPE_COLUMNS.iter().for_each(|name| cells.text(name)),
        Dataset::Dvf => DVF_COLUMNS.iter().for_each(|name| cells.text(name)),
    }
    cells.end();
    let diagnostics = DiagnosticGenerator::new(source.items, source.seed, source.full_width);
    let sales = SaleGenerator::new(source.items, source.seed);
    let block_count = source.items.div_ceil(BLOCK_ITEMS);
    // Whole blocks are generated in any case, so a small portfolio uses few of them, spread over the file.
    let visited = block_count.min(rows.div_ceil(64).max(1));
    for visit in 0..visited {
        let block = visit * block_count / visited;
        let from = block * BLOCK_ITEMS;
        let to = (from + BLOCK_ITEMS).min(source.items);
        let wanted = (visit + 1) * rows / visited - summary.rows;
        // Some items cannot be candidates (buildings, land, several dwellings), so a larger share of the others is
        // used.
        let share = (wanted as f64 * 1.9 / (to - from) as f64).min(1.0);
        let upto = summary.rows + wanted;
        match source.dataset {
            Dataset::Dpe => diagnostics.draw(block, from, to, |certificate| {
                if summary.rows < upto && stream.chance(share) {
                    summary.rows +=
                        u64::from(diagnostic(certificate, summary.rows, &mut stream, &mut out));
                }
            }),
            Dataset::Dvf => sales.draw(block, from, to, |sale| {
                if summary.rows < upto && stream.chance(share) {
                    summary.rows += u64::from(push_sale(sale, summary.rows, &mut stream, &mut out));
                }
            }),
        }
        summary.bytes += out.len() as u64;
        writer.write_all(&out)?;
        out.clear();
    }
    if visited == 0 {
        summary.bytes += out.len() as u64;
        writer.write_all(&out)?;
    }
    summary.items = summary.rows;
    Ok(summary)
}

fn push_key(cells: &mut CsvLine<'_>, rank: u64) {
    let key = cells.cell();
    key.push(b'p');
    push_digits(key, rank + 1, 7);
}

/// Writes a surface with an error of at most 2 %, as a range of ±2 % around it that contains the true one.
fn push_surface(cells: &mut CsvLine<'_>, stream: &mut Stream, surface_m2: f64) {
    let seen = surface_m2 * (1.0 + 0.04 * (stream.unit() - 0.5));
    // Rounding outwards keeps the true surface inside the range.
    cells.number((seen / 1.021 * 10.0).floor() / 10.0, 1);
    cells.number((seen * 1.021 * 10.0).ceil() / 10.0, 1);
    cells.number(seen, 1);
}

fn diagnostic(
    certificate: &Certificate,
    rank: u64,
    stream: &mut Stream,
    out: &mut Vec<u8>,
) -> bool {
    // Matching ignores superseded diagnostics, so no query may target one.
    if certificate.dwelling == Dwelling::Building || certificate.superseded {
        return false;
    }
    let mut cells = CsvLine::new(out);
    push_key(&mut cells, rank);
    cells.text(certificate.address.place.insee);
    cells.text(match certificate.dwelling {
        Dwelling::House => "maison",
        _ => "appartement",
    });
    push_surface(&mut cells, stream, certificate.surface_m2);
    cells.number(certificate.primary_per_m2(), 0);
    cells.number(certificate.emission_per_m2(), 0);
    cells
        .cell()
        .extend_from_slice(certificate.number.as_bytes());
    cells.end();
    true
}

fn push_sale(sale: &dvf::SynthSale, rank: u64, stream: &mut Stream, out: &mut Vec<u8>) -> bool {
    let Some((kind, surface_m2, rooms)) = sale.only_dwelling() else {
        return false;
    };
    let Some(price_eur) = sale.price_eur else {
        return false;
    };
    let mut cells = CsvLine::new(out);
    push_key(&mut cells, rank);
    cells.text(sale.address.place.insee);
    cells.text(kind);
    push_surface(&mut cells, stream, f64::from(surface_m2));
    cells.integer(i64::from(rooms));
    let step = if price_eur >= 100_000.0 {
        1_000.0
    } else {
        100.0
    };
    push_number(cells.cell(), (price_eur / step).round() * step, 0);
    sale.day.push(cells.cell());
    let id = cells.cell();
    push_integer(id, i64::from(sale.year));
    id.push(b'-');
    push_integer(id, sale.number as i64);
    cells.end();
    true
}
