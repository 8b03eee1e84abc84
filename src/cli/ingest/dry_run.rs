//! `toise ingest --dry-run`: shows what the rows of the files would become, and writes nothing.

use std::borrow::Cow;
use std::fmt::Write as _;

use chrono::{DateTime, Utc};
use serde::Serialize;
use serde_json::Value;

use super::convert::{ConvertedBatch, ConvertedRow};
use super::report::IngestReport;
use toise_listings::adverts::identity::IdentityRules;
use toise_listings::adverts::left_out::with_left_out_value;
use toise_listings::adverts::locating::PlaceSources;
use toise_listings::adverts::prepare::preview;

/// Maximum rows that are shown.
const SHOWN: usize = 10;

/// Maximum length of a value in the text output, in characters.
const VALUE_CHARS_MAX: usize = 160;
/// Fields that the text output leaves out because they repeat others.
const NOT_SHOWN: [&str; 2] = ["meta", "lastModifiedAt"];

/// The first rows with what they would become.
#[derive(Debug, Default, Serialize)]
pub struct DryRun {
    rows: Vec<ShownRow>,
}

/// A row and what it would become.
#[derive(Debug, Serialize)]
struct ShownRow {
    file: String,
    /// Number of its line or record.
    number: u64,
    /// The advert, completed as a new one would be; as it was given if it would be refused.
    advert: Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    refused: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
}

impl DryRun {
    /// Previews rows as if each were the first sighting of its advert, and keeps the first rows for display.
    pub fn add(
        &mut self,
        batch: ConvertedBatch,
        report: &mut IngestReport,
        now: DateTime<Utc>,
        identity: &IdentityRules,
    ) {
        report.blank(batch.blank);
        for (number, reason, value) in batch.refused {
            report.unreadable(number, &reason, value);
        }
        for row in batch.rows {
            let ConvertedRow {
                number,
                advert,
                left_out,
                warnings,
                ..
            } = row;
            let given = advert.clone();
            let mut outcome = preview(advert, now, identity, PlaceSources::default());
            if let Ok((_, others)) = &mut outcome {
                others.extend(warnings.into_iter().map(Cow::Borrowed));
            }
            report.add_preview(
                number,
                outcome.as_ref().map(|(_, warnings)| warnings.as_slice()),
                &left_out,
                Some(&given),
            );
            if self.rows.len() >= SHOWN {
                continue;
            }
            let mut warnings: Vec<String> = left_out.iter().map(|one| one.warning()).collect();
            let (advert, refused) = match outcome {
                Ok((advert, others)) => {
                    warnings.extend(others.into_iter().map(|warning| warning.into_owned()));
                    (serde_json::to_value(advert).unwrap_or(given), None)
                }
                Err(fault) => (
                    given,
                    Some(with_left_out_value(fault, &left_out).to_string()),
                ),
            };
            self.rows.push(ShownRow {
                file: report.file().to_owned(),
                number,
                advert,
                refused,
                warnings,
            });
        }
    }

    /// Formats the rows as text.
    pub fn to_text(&self) -> String {
        let mut text = String::new();
        for row in &self.rows {
            let _ = writeln!(text, "{}, {}:", row.file, row.number);
            write_fields(&row.advert, "", &mut text);
            if let Some(fault) = &row.refused {
                let _ = writeln!(text, "refused: {fault}");
            }
            for warning in &row.warnings {
                let _ = writeln!(text, "warning: {warning}");
            }
            text.push('\n');
        }
        text
    }
}

/// Writes the fields that have a value with their paths, one per line.
fn write_fields(value: &Value, path: &str, text: &mut String) {
    match value {
        Value::Object(fields) => {
            for (field, value) in fields {
                if NOT_SHOWN.contains(&field.as_str()) {
                    continue;
                }
                let path = match path {
                    "" => field.clone(),
                    path => format!("{path}.{field}"),
                };
                write_fields(value, &path, text);
            }
        }
        Value::Array(items) if items.is_empty() => {}
        value => {
            let value = value.to_string();
            let _ = match value.char_indices().nth(VALUE_CHARS_MAX) {
                None => writeln!(text, "  {path}: {value}"),
                Some((end, _)) => writeln!(text, "  {path}: {}…", &value[..end]),
            };
        }
    }
}
