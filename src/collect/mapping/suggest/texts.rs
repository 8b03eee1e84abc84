//! Drafts surface, rooms and bedrooms from the words of titles, kinds and other texts, for files that have no columns of
//! them, or only for some rows: `Appartement - 3 pièce(s) - 90 m²`.

use super::draft::Draft;
use super::fields::{DISTINCT_MIN, SURFACE, Sampled, covered, has_part, is_of_other_value};
use super::profile::ColumnProfile;
use toise_page::findings::{FieldOrigin, PageFindings};
use toise_page::french::{self, TextTrust};

/// The fields that are read.
const MEASURES: [&str; 3] = [SURFACE, "habitation.roomCount", "habitation.bedroomCount"];
/// Minimum letters of a word that is not a unit.
const WORD_LETTERS_MIN: usize = 4;
/// Minimum number of such words in a text.
const TEXT_WORDS_MIN: usize = 2;
/// Mean characters of the values of a column from which they are descriptions. These name the areas of plots and
/// neighbours too, so their rules are never sure.
const DESCRIPTION_CHARS_MIN: usize = 120;
/// Minimum share of such texts among the shown values of a column of texts.
const TEXTS_MIN: f64 = 0.5;
/// Minimum number of [`MEASURES`] in a cell of details: `37 m² - 2 pièces`.
const DETAILS_MIN: usize = 2;

impl Sampled<'_> {
    /// Drafts the fields that the sure rules of `drafts` do not read from nearly all rows.
    pub(super) fn measures_in_texts(&self, drafts: &[Draft]) -> Vec<Draft> {
        let is_read = |column: &ColumnProfile| {
            let mut sure = drafts.iter().filter(|draft| draft.is_sure());
            sure.any(|draft| draft.columns.contains(&column.path))
        };
        let is_unread = |column: &&ColumnProfile| {
            column.meaning.is_none()
                && column.is_nameable
                && !column.is_files
                && (holds_details(column) || is_text(column) && !is_read(column))
                && !is_of_other_value(&column.path)
        };
        let named = self.of("title").into_iter().chain(self.of("type"));
        let unread = self.columns.iter().filter(is_unread);
        let (long, short): (Vec<_>, Vec<_>) = unread.partition(|column| is_description(column));
        let columns: Vec<&ColumnProfile> = named.chain(short).chain(long).collect();
        let mut all = Vec::new();
        for field in MEASURES {
            let sure = drafts.iter();
            let sure = sure.filter(|draft| draft.field == field && draft.is_sure());
            let mut found: Vec<Draft> = sure.cloned().collect();
            let sure_count = found.len();
            if covered(&found, self.rows) >= DISTINCT_MIN {
                continue;
            }
            // A column named after a part of a field is that of another area: `surface_balcon`.
            let columns = columns.iter().filter(|column| {
                column.meaning.is_some() || !has_part(&column.path, field) || holds_details(column)
            });
            for column in columns {
                if sure_count > 0 && column.meaning.is_none() && is_description(column) {
                    continue;
                }
                let draft = Draft::new(field).from(&[&column.path]);
                let draft = draft.with("as", "words");
                self.push_if_it_adds(draft.tried(self.rows, column.filled, 1.0), &mut found);
                if column.meaning.is_none()
                    && is_description(column)
                    && let Some(draft) = found.last_mut()
                    && draft.columns == [column.path.as_str()]
                {
                    draft.confidence = 0.0;
                    draft.reason = "A long text may name other areas and rooms too.".into();
                }
            }
            all.extend(found.split_off(sure_count));
        }
        all
    }
}

/// Returns whether the values of a column are as long as descriptions.
fn is_description(column: &ColumnProfile) -> bool {
    column.chars >= DESCRIPTION_CHARS_MIN * column.filled.max(1)
}

/// Returns whether most values of a column name several measures of a home: `37 m² - 2 pièces - 1 chambre`.
pub(super) fn holds_details(column: &ColumnProfile) -> bool {
    let has_details = |value: &&String| {
        let mut findings = PageFindings::default();
        french::read(value, TextTrust::Own, &mut findings, FieldOrigin::Text);
        let found = MEASURES.iter().filter(|field| findings.has(field));
        found.count() >= DETAILS_MIN
    };
    let details = column.samples.iter().filter(has_details).count();
    details > 0 && details as f64 >= TEXTS_MIN * column.samples.len() as f64
}

/// Returns whether most values of a column are texts of several words.
fn is_text(column: &ColumnProfile) -> bool {
    let is_text = |value: &&String| {
        let words = value.split(|character: char| !character.is_alphabetic());
        let words = words.filter(|word| word.chars().count() >= WORD_LETTERS_MIN);
        words.count() >= TEXT_WORDS_MIN
    };
    let texts = column.samples.iter().filter(is_text).count();
    texts > 0 && texts as f64 >= TEXTS_MIN * column.samples.len() as f64
}
