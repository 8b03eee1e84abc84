//! The columns of a file of diagnostics and what fills each one: a modelled value or, at full width, a filler of the
//! column's type where there is no model.

use toise_lake::schema::ColumnKind;
use toise_opendata::dpe::columns::all;

use super::super::random::mix2;
use super::super::text::{CsvLine, push_digits, push_number};
use super::certificate::Certificate;
use super::writers::{CellWriter, writer};

/// Text values of columns without a model.
const FILLERS: [&str; 6] = [
    "Installation de chauffage simple",
    "Non affecté",
    "Un seul système d'ECS sans solaire",
    "installation individuelle",
    "Radiateur bitube avec robinet thermostatique sur réseau individuel eau chaude basse ou moyenne température(inf à 65°C)",
    "Combiné au système de chauffage",
];

#[derive(Clone, Copy, Debug)]
enum Content {
    Modelled(CellWriter),
    Number,
    Text,
}

/// The columns of a file.
#[derive(Debug)]
pub struct CertificateLayout {
    columns: Vec<(&'static str, Content)>,
}

impl CertificateLayout {
    /// The modelled columns, or with `full_width` every published one; both in the published order.
    pub fn new(full_width: bool) -> Self {
        let columns = all()
            .iter()
            .filter_map(|column| {
                let modelled = writer(column.name);
                let content = match modelled {
                    Some(writer) => Content::Modelled(writer),
                    None if !full_width => return None,
                    None if column.kind == ColumnKind::Number => Content::Number,
                    None => Content::Text,
                };
                Some((column.name, content))
            })
            .collect();
        Self { columns }
    }

    /// Appends the header line.
    pub fn write_header(&self, out: &mut Vec<u8>) {
        let mut cells = CsvLine::new(out);
        for (name, _) in &self.columns {
            cells.text(name);
        }
        cells.end();
    }

    /// Appends the line of a diagnostic.
    pub fn write(&self, certificate: &Certificate, out: &mut Vec<u8>) {
        let mut cells = CsvLine::new(out);
        for (rank, (_, content)) in self.columns.iter().enumerate() {
            let cell = cells.cell();
            match content {
                Content::Modelled(writer) => writer(certificate, cell),
                Content::Number => fill_number(certificate, rank as u64, cell),
                Content::Text => fill_text(certificate, rank as u64, cell),
            }
        }
        cells.end();
    }
}

/// Appends a number that varies with the dwelling, in six cells of ten.
fn fill_number(certificate: &Certificate, column: u64, out: &mut Vec<u8>) {
    let bits = mix2(certificate.bits, column);
    if bits % 10 < 6 {
        let share = (bits >> 32) as f64 / f64::from(u32::MAX);
        push_number(out, certificate.needs.heating * share * share, 1);
    }
}

/// Appends a phrase typical of the source, in four cells of ten; sometimes with a number, so that values differ.
fn fill_text(certificate: &Certificate, column: u64, out: &mut Vec<u8>) {
    let bits = mix2(certificate.bits, column);
    if bits % 10 < 4 {
        let phrase = FILLERS[(mix2(column, bits >> 8 & 1) % FILLERS.len() as u64) as usize];
        out.extend_from_slice(phrase.as_bytes());
        if bits >> 16 & 7 == 0 {
            out.push(b' ');
            push_digits(out, bits >> 20 & 0xFFFF, 1);
        }
    }
}
