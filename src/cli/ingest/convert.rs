//! Converts rows to adverts, with a mapping or without one if they have the contract's shape. Values that an optional
//! field does not accept are left out.

use rayon::iter::{IntoParallelIterator, ParallelIterator};
use serde_json::Value;

use super::lines::Line;
use toise_collect::mapping::{Mapping, UnreadClass};
use toise_collect::portals::Portals;
use toise_input::missing::{self, MissingCounts};
use toise_listings::adverts::left_out::{LeftOut, leave_out_faults};

/// Converts the rows of a file to adverts.
pub struct RowConverter<'c> {
    /// Mapping from rows to adverts; for rows in the contract's shape it only fills in constants.
    pub mapping: &'c Mapping,
    /// Shape of the rows.
    pub shape: RowShape,
    /// Portals that give the source of an advert by its URL.
    pub portals: &'c Portals,
}

/// Shape of the rows of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowShape {
    /// The contract's Advert.
    Advert,
    /// Columns that a mapping reads.
    Mapped,
}

/// A row that became an advert.
#[derive(Debug)]
pub struct ConvertedRow {
    /// Number of its line or record.
    pub number: u64,
    /// The advert, not yet validated as a whole.
    pub advert: Value,
    /// Values that were left out of it.
    pub left_out: Vec<LeftOut>,
    /// Corrections made in the advert.
    pub warnings: Vec<&'static str>,
    /// A cell of classes from which no class was read.
    pub unread_class: Option<UnreadClass>,
}

/// Rows that are ingested together.
#[derive(Debug, Default)]
pub struct ConvertedBatch {
    /// Rows that became adverts, in order.
    pub rows: Vec<ConvertedRow>,
    /// Rows that did not: number, reason, and the value at fault if there is one.
    pub refused: Vec<(u64, String, Option<String>)>,
    /// Number of rows without any value.
    pub blank: u64,
    /// Texts for missing values in the columns of the rows.
    pub missing: MissingCounts,
}

/// Outcome of converting a row.
enum Converted {
    Row(ConvertedRow),
    Refused(u64, String, Option<String>),
    Blank,
}

impl RowConverter<'_> {
    /// Converts rows on all cores.
    pub fn convert(&self, lines: Vec<Line>) -> ConvertedBatch {
        let mut batch = ConvertedBatch::default();
        if self.shape == RowShape::Mapped {
            for row in lines.iter().filter_map(|line| line.row.as_ref().ok()) {
                count_missing(row, &mut batch.missing);
            }
        }
        let converted: Vec<Converted> = lines
            .into_par_iter()
            .map(|line| self.convert_one(line))
            .collect();
        for row in converted {
            match row {
                Converted::Row(row) => batch.rows.push(row),
                Converted::Refused(number, reason, value) => {
                    batch.refused.push((number, reason, value));
                }
                Converted::Blank => batch.blank += 1,
            }
        }
        batch
    }

    fn convert_one(&self, line: Line) -> Converted {
        let Line { number, row } = line;
        let row = match row {
            Ok(row) => row,
            Err(reason) => return Converted::Refused(number, reason, None),
        };
        match self.shape {
            RowShape::Advert => {
                let mut advert = row;
                match leave_out_faults(&mut advert) {
                    Err(fault) => Converted::Refused(number, reason(&fault), None),
                    Ok(left_out) => {
                        self.mapping.fill(&mut advert);
                        Converted::Row(ConvertedRow {
                            number,
                            advert,
                            left_out,
                            warnings: Vec::new(),
                            unread_class: None,
                        })
                    }
                }
            }
            RowShape::Mapped => {
                let Value::Object(row) = row else {
                    return Converted::Refused(number, "row must be an object".into(), None);
                };
                if self.mapping.is_blank(&row) {
                    return Converted::Blank;
                }
                let mapped = self.mapping.read(&row, self.portals);
                if let Some(essential) = mapped.left_out.iter().find(|one| one.is_essential()) {
                    let reason = format!("{}: {}", essential.path, essential.reason);
                    return Converted::Refused(number, reason, Some(essential.value.clone()));
                }
                Converted::Row(ConvertedRow {
                    number,
                    advert: mapped.advert,
                    left_out: mapped.left_out,
                    warnings: mapped.warnings,
                    unread_class: mapped.unread_class,
                })
            }
        }
    }
}

/// Counts the cells of a row that say that they have no value.
fn count_missing(row: &Value, counts: &mut MissingCounts) {
    for (column, cell) in row.as_object().into_iter().flatten() {
        let text = cell.as_str().and_then(missing::position);
        if let Some(text) = text.filter(|_| !missing::may_name_section(column)) {
            counts.count(text);
        }
    }
}

/// Formats a fault as a reason in the report.
pub fn reason(fault: &toise_contract::Fault) -> String {
    match fault.path.as_str() {
        "" => format!("advert: {}", fault.message),
        _ => fault.to_string(),
    }
}
