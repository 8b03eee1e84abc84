//! Converts changes of parcels to batches of the table `dfi`.
//!
//! Parcels get their 14 characters, under current codes. Each change has two lines in the file. If one is missing, the
//! change is rejected, because the parcels on that side are unknown. A parcel that cannot be read is dropped and
//! reported.

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow::array::{ArrayRef, Date32Array, RecordBatch};
use arrow::error::ArrowError;
use chrono::NaiveDate;

use crate::conversion::{filled, is_wanted, text_lists, texts};
use crate::dvf::place::parcel_today;
use crate::report::{ConversionFindings, Converted};
use crate::source::cell::day;
use crate::source::filiation::{DfiField, MISSING};
use crate::source::{Block, SourceLocation};
use toise_geo::communes::record_place;
use toise_geo::departments;

/// Maximum length of the section of a parcel.
const SECTION_CHARS: usize = 2;
/// Length of the number of a parcel.
const NUMBER_CHARS: usize = 4;

/// A change, as it is stored.
struct Change<'b> {
    id: String,
    date: i32,
    nature: &'b str,
    commune: &'static str,
    department: &'static str,
    former: Vec<String>,
    later: Vec<String>,
}

/// Converts the rows of the wanted departments, or all if `wanted` is empty, to records. CPU-bound.
///
/// # Errors
/// The arrays do not fit the table, which would be a defect.
pub fn convert(block: &Block, file: &str, wanted: &[String]) -> Result<Converted, ArrowError> {
    let mut findings = ConversionFindings::default();
    let mut rows_not_asked_for = 0;
    let mut places = BTreeSet::new();
    let mut rows = Vec::new();
    for row in 0..block.len() {
        let cell = |field: DfiField| block.cell(row, field as usize);
        let place =
            |field: DfiField| SourceLocation::line(file, block.line(row)).column(field.as_str());
        // The third character of the department is the directorate, or the first digit of an overseas commune.
        let published = cell(DfiField::Department).get(..2).unwrap_or_default();
        let published = format!("{published}{}", cell(DfiField::Commune));
        let commune = record_place(&published).map(|place| place.code);
        // The department at the time of the file, because an edition replaces changes by it. The commune may be in
        // another one now.
        let department = departments::for_commune(&published);
        let Some((commune, department)) = commune.zip(department) else {
            findings.reject("commune unknown", &place(DfiField::Commune), &published);
            continue;
        };
        if !is_wanted(wanted, department) {
            rows_not_asked_for += 1;
            continue;
        }
        let sides = [DfiField::Former, DfiField::Later];
        if let Some(missing) = sides.into_iter().find(|side| cell(*side) == MISSING) {
            let document = cell(DfiField::Document);
            findings.reject("one of the two lines is missing", &place(missing), document);
            continue;
        }
        let Some(date) = date(cell(DfiField::Date)) else {
            let value = cell(DfiField::Date);
            findings.reject("date unreadable", &place(DfiField::Date), value);
            continue;
        };
        let [former, later] = sides.map(|side| {
            let mut parcels = Vec::new();
            for text in cell(side).split(';').filter(|text| !text.is_empty()) {
                match parcel(&published, cell(DfiField::Prefix), text) {
                    Some(parcel) => parcels.push(parcel),
                    None => findings.drop_value("parcel unreadable", &place(side), text),
                }
            }
            parcels
        });
        let key = [
            DfiField::Department,
            DfiField::Commune,
            DfiField::Prefix,
            DfiField::Document,
            DfiField::Change,
        ];
        rows.push(Change {
            id: key.map(cell).join("-"),
            date,
            nature: cell(DfiField::Nature),
            commune,
            department,
            former,
            later,
        });
        places.insert((published, 0));
    }
    let batch = batch(&rows)?;
    Ok(Converted {
        rows_kept: batch.num_rows() as u64,
        batch,
        rows_not_asked_for,
        placed: 0,
        findings,
        places,
    })
}

/// Reads a day as `19900305`; days since 1970-01-01.
fn date(text: &str) -> Option<i32> {
    let date = NaiveDate::parse_from_str(text, "%Y%m%d").ok()?;
    day(&date.to_string())
}

/// Returns the identifier of a parcel from its section and number, such as `A0297`. Spaces may stand for zeros.
fn parcel(commune: &str, prefix: &str, text: &str) -> Option<String> {
    let (section, number) = text.split_at_checked(text.len().checked_sub(NUMBER_CHARS)?)?;
    let (section, number) = (section.trim(), number.trim());
    let is_parcel = (1..=SECTION_CHARS).contains(&section.len())
        && section.bytes().all(|byte| byte.is_ascii_alphanumeric())
        && !number.is_empty()
        && number.bytes().all(|byte| byte.is_ascii_digit());
    let id = || format!("{commune}{prefix:0>3}{section:0>2}{number:0>4}");
    is_parcel.then(|| parcel_today(id().into()).into_owned())
}

/// Returns the rows of changes, with the columns in the order of the table.
fn batch(rows: &[Change<'_>]) -> Result<RecordBatch, ArrowError> {
    let dates = rows.iter().map(|row| row.date);
    let columns: Vec<ArrayRef> = vec![
        texts(rows, |row| Some(row.id.as_str())),
        Arc::new(Date32Array::from_iter_values(dates)),
        texts(rows, |row| filled(row.nature)),
        texts(rows, |row| Some(row.commune)),
        texts(rows, |row| Some(row.department)),
        text_lists(rows, |row| &row.former),
        text_lists(rows, |row| &row.later),
    ];
    RecordBatch::try_new(Arc::clone(super::schema().arrow()), columns)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conversion::lists;
    use crate::dfi::{FORMER, LATER};
    use crate::source::BlockReader;
    use crate::source::filiation::DfiReader;
    use arrow::array::AsArray;
    use arrow::datatypes::Date32Type;

    /// The file format of 2018, and the format of 2024, which has one more cell.
    const FILE: &str = "140;001;000;0000299;1;19900305;XXXXXREDACTEURDUDOCUMENTXXXX;00001;1;A0120;\n\
        140;001;000;0000299;1;19900305;XXXXXREDACTEURDUDOCUMENTXXXX;00001;2;A0297;A0298;\n\
        850;307;000;0000012;4;20240131;X;XNUMX;00001;1; AB 12;\n\
        850;307;000;0000012;4;20240131;X;XNUMX;00001;2;AC0012;  ;\n\
        974;401;000;0000001;5;20200101;X;XNUMX;00002;1;;\n\
        974;401;000;0000001;5;20200101;X;XNUMX;00002;2;AB0001;\n\
        140;001;000;0000300;1;19900306;X;00001;1;A0121;\n\
        140;001;000;0000301;1;19901306;X;00001;1;A0122;\n\
        140;001;000;0000301;1;19901306;X;00001;2;A0299;\n\
        149;999;000;0000301;1;19900306;X;00001;1;A0122;\n\
        149;999;000;0000301;1;19900306;X;00001;2;A0299;\n";

    fn converted(file: &str, wanted: &[String]) -> Converted {
        let mut reader = DfiReader::new(file.as_bytes(), "dfi.txt");
        let block = reader.next_block().unwrap().unwrap();
        assert!(reader.next_block().unwrap().is_none());
        convert(&block, "dfi.txt", wanted).unwrap()
    }

    #[test]
    fn a_change_is_read_from_its_two_lines_in_both_published_forms() {
        let all = converted(FILE, &[]);
        let batch = &all.batch;
        let ids = batch.column_by_name("id").unwrap().as_string::<i32>();
        let ids: Vec<&str> = ids.iter().flatten().collect();
        assert_eq!(
            ids,
            [
                "140-001-000-0000299-00001",
                "850-307-000-0000012-00001",
                "974-401-000-0000001-00002"
            ]
        );
        let none: Vec<String> = Vec::new();
        assert_eq!(
            lists(batch, FORMER),
            [vec!["140010000A0120".to_owned()], none.clone(), none]
        );
        assert_eq!(
            lists(batch, LATER),
            [
                vec!["140010000A0297", "140010000A0298"],
                // La Faute-sur-Mer joined L'Aiguillon-la-Presqu'île.
                vec!["85001307AC0012"],
                vec!["97401000AB0001"]
            ]
        );
        let dates = batch.column_by_name("date").unwrap();
        assert_eq!(dates.as_primitive::<Date32Type>().value(0), 7_368);
        let published = ["14001", "85307", "97401"].map(|code| (code.to_owned(), 0));
        assert_eq!(all.places, BTreeSet::from(published));
        let rejected: Vec<_> = all.findings.rejected.keys().copied().collect();
        assert_eq!(
            rejected,
            [
                "commune unknown",
                "date unreadable",
                "one of the two lines is missing"
            ]
        );
        // `AB 12` is not section and number.
        let dropped: Vec<_> = all.findings.dropped.0.values().collect();
        assert_eq!((dropped.len(), dropped[0].count), (1, 1));
        assert_eq!(converted(FILE, &["85".to_owned()]).rows_kept, 1);
    }

    #[test]
    fn a_commune_that_changed_its_department_stays_in_that_of_its_file() {
        // Freigné, now in Vallons-de-l'Erdre.
        let file = "490;144;000;0000001;5;20200101;X;X;00002;1;;\n490;144;000;0000001;5;20200101;X;X;00002;2;AB0001;\n";
        let freigne = converted(file, &[]);
        let text = |name: &str| {
            let column = freigne.batch.column_by_name(name).unwrap();
            column.as_string::<i32>().value(0).to_owned()
        };
        assert_eq!(
            (text("insee_code"), text("departement_code")),
            ("44180".into(), "49".into())
        );
        assert_eq!(freigne.places, BTreeSet::from([("49144".to_owned(), 0)]));
    }

    #[test]
    fn a_line_of_another_form_is_an_error_with_its_number() {
        let mut reader = DfiReader::new(
            "140;001;000;1;1;19900305;X;1;1;A0120\nid;name\n".as_bytes(),
            "f",
        );
        let error = reader.next_block().unwrap_err().to_string();
        assert!(error.contains("line 2"), "{error}");
    }

    #[test]
    fn a_parcel_has_a_section_of_one_or_two_signs_and_four_digits() {
        let read = |text| parcel("14001", "000", text);
        assert_eq!(read("A0297").as_deref(), Some("140010000A0297"));
        assert_eq!(read("AB  12").as_deref(), Some("14001000AB0012"));
        assert_eq!(read("A   12").as_deref(), Some("140010000A0012"));
        for unreadable in ["", "0297", "ABC0297", "A029", "AB 12", "Aé0297", "A-297"] {
            assert_eq!(read(unreadable), None, "{unreadable}");
        }
    }
}
