//! Converts rows of a CSV file to adverts: each mapped column fills one field and is parsed as the field's type.
//!
//! The type of a field is found by probing the wire type itself, so there is no second list of fields and types here.

use std::io::{BufRead, Read};

use serde_json::{Map, Value, json};

use super::lines::Line;
use toise_contract::Fault;
use toise_contract::listings::Advert;
use toise_contract::read::read;

/// Separator of list items in a cell.
const LIST_SEPARATOR: char = '|';
/// Maximum index of an item in a field's path.
const INDEX_MAX: usize = 99;

/// One step of a field's path.
#[derive(Clone, Debug, PartialEq, Eq)]
enum FieldStep {
    Field(String),
    Item(usize),
}

/// Type of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FieldShape {
    Text,
    Number,
    Flag,
    Texts,
}

/// A field of the advert: its path and type.
#[derive(Clone, Debug)]
struct AdvertField {
    path: Vec<FieldStep>,
    kind: FieldShape,
}

/// Maps columns to fields.
pub struct Mapping {
    given: Vec<(AdvertField, String)>,
}

impl Mapping {
    /// Parses pairs of field and column.
    ///
    /// # Errors
    /// A field that does not exist in an advert.
    pub fn new(pairs: &[(String, String)]) -> Result<Self, String> {
        let field = |ours: &str| field(ours).map_err(|fault| format!("--map: {fault}"));
        let given = pairs
            .iter()
            .map(|(ours, theirs)| Ok((field(ours)?, theirs.clone())));
        Ok(Self {
            given: given.collect::<Result<_, String>>()?,
        })
    }

    /// Returns the fields of each column, and the columns that map to no field.
    fn of_header(
        &self,
        header: &csv::StringRecord,
    ) -> Result<(Vec<Vec<AdvertField>>, Vec<String>), String> {
        for (_, theirs) in &self.given {
            if !header.iter().any(|column| column == theirs) {
                return Err(format!(
                    "--map: no column {theirs:?}; columns: {}",
                    header.iter().collect::<Vec<_>>().join(", ")
                ));
            }
        }
        let mut unknown = Vec::new();
        let columns = header.iter().map(|column| {
            let mapped = self.given.iter().filter(|(_, theirs)| theirs == column);
            let mut fields: Vec<AdvertField> = mapped.map(|(field, _)| field.clone()).collect();
            if fields.is_empty() {
                match field(column) {
                    Ok(field) => fields.push(field),
                    Err(_) => unknown.push(column.to_owned()),
                }
            }
            fields
        });
        Ok((columns.collect(), unknown))
    }
}

/// Parses a field's path, as in `location.locationCoordinate.location[0]`, and finds its type.
fn field(name: &str) -> Result<AdvertField, Fault> {
    let mut path = Vec::new();
    for part in name.split('.') {
        let mut pieces = part.split('[');
        path.push(FieldStep::Field(
            pieces.next().unwrap_or_default().to_owned(),
        ));
        for piece in pieces {
            let index = piece
                .strip_suffix(']')
                .and_then(|digits| digits.parse().ok());
            let index = index.filter(|index| *index <= INDEX_MAX);
            path.push(FieldStep::Item(
                index.ok_or_else(|| Fault::new(name, "no such field"))?,
            ));
        }
    }
    let mut fault = Fault::new(name, "no such field");
    for (kind, probe) in [
        (FieldShape::Number, json!(1)),
        (FieldShape::Flag, json!(true)),
        (FieldShape::Texts, json!([])),
        (FieldShape::Text, json!("")),
    ] {
        match probe_of(&path, &probe) {
            Ok(()) => return Ok(AdvertField { path, kind }),
            Err(refused) => fault = refused,
        }
    }
    // The field exists but takes a specific form of text: a date, a code or an enum value.
    if fault.message.contains("unknown field") {
        return Err(fault);
    }
    Ok(AdvertField {
        path,
        kind: FieldShape::Text,
    })
}

fn probe_of(path: &[FieldStep], probe: &Value) -> Result<(), Fault> {
    let mut record = Value::Object(Map::new());
    put(&mut record, path, probe.clone());
    // If the path ends in a list item, the other items must be valid too.
    if let Some(FieldStep::Item(_)) = path.last()
        && let Some(Value::Array(items)) = path_value(&mut record, &path[..path.len() - 1])
    {
        items.resize(items.len().max(2), probe.clone());
        items.iter_mut().for_each(|item| *item = probe.clone());
    }
    read::<Advert>(&record).map(drop)
}

fn path_value<'v>(record: &'v mut Value, path: &[FieldStep]) -> Option<&'v mut Value> {
    path.iter().try_fold(record, |value, step| match step {
        FieldStep::Field(name) => value.get_mut(name),
        FieldStep::Item(index) => value.get_mut(index),
    })
}

/// Sets a value at a path, creating the objects and arrays on the way.
fn put(record: &mut Value, path: &[FieldStep], value: Value) {
    let mut here = record;
    for step in path {
        match step {
            FieldStep::Field(name) => {
                if !here.is_object() {
                    *here = Value::Object(Map::new());
                }
                here = &mut here[name.as_str()];
            }
            FieldStep::Item(index) => {
                if !here.is_array() {
                    *here = Value::Array(Vec::new());
                }
                let Value::Array(items) = here else {
                    return;
                };
                if items.len() <= *index {
                    items.resize(index + 1, Value::Null);
                }
                here = &mut items[*index];
            }
        }
    }
    *here = value;
}

/// Parses a cell as the field's type. A cell that does not parse stays a text, which validation later rejects with its
/// path.
fn cell(text: &str, kind: FieldShape) -> Value {
    match kind {
        FieldShape::Text => json!(text),
        FieldShape::Number => {
            let plain: String = text
                .chars()
                .filter(|sign| !sign.is_whitespace() && *sign != '€')
                .map(|sign| if sign == ',' { '.' } else { sign })
                .collect();
            match plain.parse::<f64>() {
                Ok(number) if number.is_finite() => json!(number),
                _ => json!(text),
            }
        }
        FieldShape::Flag => match text.to_lowercase().as_str() {
            "1" | "true" | "yes" | "oui" | "vrai" => json!(true),
            "0" | "false" | "no" | "non" | "faux" => json!(false),
            _ => json!(text),
        },
        FieldShape::Texts => {
            let items = text.split(LIST_SEPARATOR).map(str::trim);
            Value::from(items.filter(|item| !item.is_empty()).collect::<Vec<_>>())
        }
    }
}

/// Reads the header and rows of a CSV file.
pub struct CsvRows<R> {
    rows: csv::StringRecordsIntoIter<R>,
    columns: Vec<Vec<AdvertField>>,
    unknown: Vec<String>,
}

impl<R: BufRead> CsvRows<R> {
    /// Reads the header of an input. The separator is whichever of comma, semicolon and tab is most frequent in it.
    ///
    /// # Errors
    /// A header that cannot be read, that lacks a mapped column, or in which no column is mapped to `url`.
    pub fn new(mut input: R, mapping: &Mapping) -> Result<Self, String> {
        let start = input.fill_buf().map_err(|error| error.to_string())?;
        let first = start
            .split(|byte| *byte == b'\n')
            .next()
            .unwrap_or_default();
        let count = |separator: &u8| first.iter().filter(|byte| *byte == separator).count();
        let delimiter = b",;\t".iter().copied().max_by_key(count).unwrap_or(b',');
        let bom = start.starts_with(b"\xef\xbb\xbf");
        if bom {
            input.consume(3);
        }
        let mut reader = csv::ReaderBuilder::new()
            .delimiter(delimiter)
            .flexible(false)
            .trim(csv::Trim::All)
            .from_reader(input);
        let header = reader.headers().map_err(|error| error.to_string())?;
        let (columns, unknown) = mapping.of_header(header)?;
        let is_url = |field: &AdvertField| field.path == [FieldStep::Field("url".into())];
        if !columns.iter().flatten().any(is_url) {
            return Err("no column is mapped to url; map one with --map url=COLUMN".into());
        }
        Ok(Self {
            rows: reader.into_records(),
            columns,
            unknown,
        })
    }

    /// Columns that map to no field.
    pub fn unknown_columns(&self) -> &[String] {
        &self.unknown
    }
}

impl<R: Read> Iterator for CsvRows<R> {
    type Item = std::io::Result<Line>;

    fn next(&mut self) -> Option<Self::Item> {
        let row = match self.rows.next()? {
            Ok(row) => row,
            Err(error) => {
                let number = error.position().map_or(0, csv::Position::line);
                let reason = match error.kind() {
                    csv::ErrorKind::UnequalLengths { expected_len, .. } => {
                        format!("row must have {expected_len} cells, like the header")
                    }
                    csv::ErrorKind::Utf8 { .. } => "row must be UTF-8".to_owned(),
                    _ => error.to_string(),
                };
                return Some(match error.into_kind() {
                    csv::ErrorKind::Io(error) => Err(error),
                    _ => Ok(Line {
                        number,
                        advert: Err(reason),
                    }),
                });
            }
        };
        let mut advert = Value::Object(Map::new());
        for (text, fields) in row.iter().zip(&self.columns) {
            for field in fields.iter().filter(|_| !text.is_empty()) {
                put(&mut advert, &field.path, cell(text, field.kind));
            }
        }
        Some(Ok(Line {
            number: row.position().map_or(0, csv::Position::line),
            advert: Ok(advert),
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mapping(pairs: &[(&str, &str)]) -> Result<Mapping, String> {
        let pairs: Vec<_> = pairs
            .iter()
            .map(|(ours, theirs)| ((*ours).into(), (*theirs).into()))
            .collect();
        Mapping::new(&pairs)
    }

    #[test]
    fn cells_are_parsed_as_the_type_of_their_field() {
        let text = "\u{feff}link;type;prix;surface;tags;isPro;vu;lon;lat;note\n\
                    https://p.example/1;CLASS_FLAT;250 000 €;61,35;cave | balcon;oui;2026-03-01;4.85;45.76;x\n\
                    https://p.example/2;CLASS_FLAT;;;;;;;;\n";
        let mapping = mapping(&[
            ("url", "link"),
            ("currentPrice.value", "prix"),
            ("habitation.surface.total", "surface"),
            ("lastSeenAt", "vu"),
            ("location.locationCoordinate.location[0]", "lon"),
            ("location.locationCoordinate.location[1]", "lat"),
        ]);
        let mut rows = CsvRows::new(text.as_bytes(), &mapping.unwrap()).unwrap();
        assert_eq!(rows.unknown_columns(), ["note"]);
        let first = rows.next().unwrap().unwrap();
        assert_eq!(first.number, 2);
        let expected = json!({
            "url": "https://p.example/1", "type": "CLASS_FLAT", "currentPrice": {"value": 250_000.0},
            "habitation": {"surface": {"total": 61.35}}, "tags": ["cave", "balcon"], "isPro": true,
            "lastSeenAt": "2026-03-01", "location": {"locationCoordinate": {"location": [4.85, 45.76]}},
        });
        assert_eq!(first.advert.unwrap(), expected);
        let second = rows.next().unwrap().unwrap().advert.unwrap();
        assert_eq!(
            second,
            json!({"url": "https://p.example/2", "type": "CLASS_FLAT"}),
            "an empty cell sets no field"
        );
    }

    #[test]
    fn invalid_mappings_are_rejected_with_the_valid_names() {
        let error = mapping(&[("currentPrice.amount", "prix")]).err().unwrap();
        assert!(
            error.starts_with("--map: currentPrice.amount: unknown field; must be one of: value"),
            "{error}"
        );
        let none = CsvRows::new(&b"a,b\n"[..], &mapping(&[("url", "link")]).unwrap())
            .err()
            .unwrap();
        assert_eq!(none, "--map: no column \"link\"; columns: a, b");
        let none = CsvRows::new(&b"a,b\n"[..], &mapping(&[]).unwrap())
            .err()
            .unwrap();
        assert!(none.contains("--map url=COLUMN"), "{none}");
    }

    #[test]
    fn a_row_of_another_width_is_reported_and_the_rest_is_read() {
        let text = "url,title\nhttps://p.example/1\nhttps://p.example/2,T3\n";
        let rows = CsvRows::new(text.as_bytes(), &mapping(&[]).unwrap()).unwrap();
        let read: Vec<bool> = rows.map(|line| line.unwrap().advert.is_ok()).collect();
        assert_eq!(read, [false, true]);
    }
}
