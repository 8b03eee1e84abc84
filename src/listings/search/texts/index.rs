//! One index of words: how texts are taken apart, written and searched.
//!
//! Words are taken apart at everything but letters and digits, in lower case, without accents. Keywords must occur as
//! they are: every one of them, its words next to each other. Full texts are compared by their French stems and with
//! tolerance: any of them, but all words of it; a word of four letters may have one typing error, of eight two.
//!
//! Every commit carries the number of the last change in it.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use arc_swap::ArcSwap;
use parking_lot::Mutex;
use serde::Deserialize;
use tantivy::directory::MmapDirectory;
use tantivy::directory::error::LockError;
use tantivy::schema::{
    FAST, Field, INDEXED, IndexRecordOption, Schema, TextFieldIndexing, TextOptions,
};
use tantivy::tokenizer::{
    AsciiFoldingFilter, Language, LowerCaser, RemoveLongFilter, SimpleTokenizer, Stemmer,
    TextAnalyzer, TokenStream,
};
use tantivy::{
    Index, IndexReader, IndexSettings, IndexWriter, ReloadPolicy, TantivyDocument, TantivyError,
    Term,
};

use super::postings_cache::{PostingsCache, QueryTerm};
use super::query::{TextMatches, TextQuery, TextSearchContext};
use super::segments::IndexSnapshot;
use super::{Error, Result};
use crate::records::changes::ListingChanges;
use toise_contract::listings::filters::ListingSearch;
use toise_engine::cancellation::Interrupt;
use toise_engine::priority;

/// Memory in which new words are gathered before they are written, bytes.
const WRITER_BYTES: usize = 32 << 20;
/// Longest word taken, bytes.
const WORD_BYTES_MAX: usize = 40;
/// Name of the field with the number of a property.
pub(super) const NUMBER: &str = "number";
const WORDS: &str = "words";
const STEMS: &str = "stems";

/// What the index keeps of a property.
#[derive(Clone, Copy)]
pub(super) struct IndexFields {
    /// Its number.
    pub number: Field,
    /// Its texts, word by word.
    pub words: Field,
    /// The same by their stems.
    pub stems: Field,
}

/// An index. Shared by all questions.
pub struct TextIndex {
    index: Index,
    reader: IndexReader,
    /// Opened with the first change: whoever only asks needs none, and only one process may write.
    writer: Mutex<Option<IndexWriter>>,
    fields: IndexFields,
    /// What is found now.
    present: ArcSwap<IndexSnapshot>,
    kept: PostingsCache,
}

/// What of a record is searched.
#[derive(Default, Deserialize)]
#[serde(default)]
struct SearchableText {
    title: String,
    description: String,
    tags: Vec<String>,
}

impl TextIndex {
    /// Opens the index in a folder, which is made where it is not there.
    ///
    /// # Errors
    /// The folder cannot be used, or holds something else.
    pub fn open(folder: &Path) -> Result<Self> {
        fs::create_dir_all(folder).map_err(|error| Error::folder(folder, error))?;
        let (schema, fields) = schema();
        let directory = MmapDirectory::open(folder).map_err(TantivyError::from)?;
        let index = Index::builder()
            .schema(schema)
            .settings(IndexSettings::default())
            .open_or_create(directory)?;
        index.tokenizers().register(WORDS, analyzer(false));
        index.tokenizers().register(STEMS, analyzer(true));
        let through = committed(&index)?;
        let reader = index
            .reader_builder()
            .reload_policy(ReloadPolicy::Manual)
            .try_into()?;
        let present = IndexSnapshot::open(reader.searcher(), &[], through)?;
        Ok(Self {
            index,
            reader,
            writer: Mutex::new(None),
            fields,
            present: ArcSwap::from_pointee(present),
            kept: PostingsCache::new(),
        })
    }

    /// Number of the last change it holds.
    pub fn through(&self) -> i64 {
        self.present.load().through
    }

    /// Takes the changes after those it holds. Durable, and found from then on, when it returns.
    ///
    /// # Errors
    /// The index cannot be written, or another process does.
    pub fn take(&self, changes: &ListingChanges) -> Result<()> {
        self.gather(changes, 0)?;
        self.commit(changes.through)
    }

    /// Takes changes that nothing finds before the next commit. Of records that last changed at `new_through` or before
    /// nothing is here yet: looking for what they replace would cost more than taking them.
    pub(super) fn gather(&self, changes: &ListingChanges, new_through: i64) -> Result<()> {
        let mut writer = self.writer.lock();
        let writer = self.opened(&mut writer)?;
        for change in &changes.records {
            // Numbers of rows are never negative.
            let number = Term::from_field_u64(self.fields.number, change.number.cast_unsigned());
            if change.sequence > new_through {
                writer.delete_term(number);
            }
            let Some(record) = &change.record else {
                continue;
            };
            // A record that is none has no words; the table says what is wrong with it.
            let written: SearchableText = serde_json::from_slice(record).unwrap_or_default();
            let texts = [&written.title, &written.description].into_iter();
            let document = self.document(change.number, texts.chain(&written.tags));
            writer.add_document(document)?;
        }
        Ok(())
    }

    /// What the index keeps of a property.
    pub(super) fn document<'t>(
        &self,
        number: i64,
        texts: impl Iterator<Item = &'t String>,
    ) -> TantivyDocument {
        let mut document = TantivyDocument::default();
        document.add_u64(self.fields.number, number.cast_unsigned());
        for text in texts {
            document.add_text(self.fields.words, text);
            document.add_text(self.fields.stems, text);
        }
        document
    }

    /// Makes what was gathered durable and found.
    pub(super) fn commit(&self, through: i64) -> Result<()> {
        let mut writer = self.writer.lock();
        commit(self.opened(&mut writer)?, through)?;
        self.show(through)
    }

    /// Makes what a writer of [`TextIndex::bulk_writer`] gathered durable and found, and waits for its merges.
    pub(super) fn commit_bulk(&self, mut wide: IndexWriter, through: i64) -> Result<()> {
        let _writer = self.writer.lock();
        commit(&mut wide, through)?;
        wide.wait_merging_threads()?;
        self.show(through)
    }

    /// Has the files as they are now be asked.
    fn show(&self, through: i64) -> Result<()> {
        self.reader.reload()?;
        let former = self.present.load_full();
        let present = IndexSnapshot::open(self.reader.searcher(), &former.segments, through)?;
        self.present.store(Arc::new(present));
        Ok(())
    }

    /// Whether this process may write, which one process may at a time; tries to become that one. What another wrote is
    /// taken up, now or when it has ended.
    ///
    /// # Errors
    /// The index cannot be read, or not be written for another reason.
    pub(super) fn acquire_writer(&self) -> Result<bool> {
        let mut writer = self.writer.lock();
        if writer.is_some() {
            return Ok(true);
        }
        let may_write = match self.opened(&mut writer) {
            Ok(_) => true,
            Err(Error::Index(TantivyError::LockFailure(LockError::LockBusy, _))) => false,
            Err(error) => return Err(error),
        };
        let through = committed(&self.index)?;
        if through != self.through() {
            self.show(through)?;
        }
        Ok(may_write)
    }

    /// Forgets everything: the store is not the one these words came from.
    ///
    /// # Errors
    /// The index cannot be written.
    pub fn clear(&self) -> Result<()> {
        self.opened(&mut self.writer.lock())?
            .delete_all_documents()?;
        self.commit(0)
    }

    /// A writer of several threads for many documents at once. A folder has one writer: that for changes is opened again
    /// when the next one comes.
    pub(super) fn bulk_writer(&self, threads: usize, bytes: usize) -> Result<IndexWriter> {
        self.roll_back();
        Ok(self.index.writer_with_num_threads(threads, bytes)?)
    }

    /// Leaves what was gathered since the last commit.
    pub(super) fn roll_back(&self) {
        drop(self.writer.lock().take());
    }

    /// Ends writing: the files are as they will stay.
    pub(super) fn close(&self) -> Result<()> {
        match self.writer.lock().take() {
            None => Ok(()),
            Some(writer) => Ok(writer.wait_merging_threads()?),
        }
    }

    fn opened<'w>(&self, writer: &'w mut Option<IndexWriter>) -> Result<&'w mut IndexWriter> {
        match writer {
            Some(writer) => Ok(writer),
            // The threads that merge segments start here, and a merge may keep a core for seconds: questions go first.
            slot => {
                let made = priority::with_lowered_priority(|| {
                    self.index.writer_with_num_threads(1, WRITER_BYTES)
                });
                Ok(slot.insert(made?))
            }
        }
    }

    /// What is found now.
    pub(super) fn present(&self) -> Arc<IndexSnapshot> {
        self.present.load_full()
    }

    /// The properties that the texts of a search find in one state; `None` when it has none. Comparing how well they fit
    /// takes several times as long as finding them.
    ///
    /// # Errors
    /// The index cannot be read, or nobody waits any more.
    pub(super) fn find(
        &self,
        present: &IndexSnapshot,
        search: &ListingSearch,
        is_compared: bool,
        interrupt: &Interrupt,
    ) -> Result<Option<TextMatches>> {
        if search.keywords.is_empty() && search.full_texts.is_empty() {
            return Ok(None);
        }
        let looking = TextSearchContext {
            present,
            kept: &self.kept,
            fields: self.fields,
            interrupt,
        };
        let asked = parse_query(search);
        Ok(Some(match is_compared {
            true => asked.scored(&looking)?,
            false => asked.found(&looking)?,
        }))
    }
}

#[cfg(test)]
impl TextIndex {
    /// What the texts of a search find now.
    pub(super) fn find_current(
        &self,
        search: &ListingSearch,
        is_compared: bool,
    ) -> Result<Option<TextMatches>> {
        self.find(&self.present(), search, is_compared, &Interrupt::default())
    }

    pub(super) fn fields(&self) -> IndexFields {
        self.fields
    }
}

/// Number of the last change that any process committed.
fn committed(index: &Index) -> Result<i64> {
    let payload = index.load_metas()?.payload;
    Ok(payload.and_then(|text| text.parse().ok()).unwrap_or(0))
}

/// Makes what a writer gathered durable.
fn commit(writer: &mut IndexWriter, through: i64) -> Result<()> {
    let mut commit = writer.prepare_commit()?;
    commit.set_payload(&through.to_string());
    commit.commit()?;
    Ok(())
}

/// Takes the texts of a search apart as those of properties are.
pub(super) fn parse_query(search: &ListingSearch) -> TextQuery {
    let (mut words, mut stems) = (analyzer(false), analyzer(true));
    let keywords = search.keywords.iter();
    let keywords = keywords.map(|keyword| QueryTerm::Phrase(tokens(&mut words, keyword)));
    let keywords = keywords.collect();
    let texts = search.full_texts.iter().map(|text| {
        let words = tokens(&mut words, text).into_iter();
        let words = words.zip(tokens(&mut stems, text));
        words
            .map(|(word, stem)| QueryTerm::Like { word, stem })
            .collect()
    });
    let texts = texts.collect();
    TextQuery { keywords, texts }
}

fn schema() -> (Schema, IndexFields) {
    let text = |tokenizer: &str| {
        let indexing = TextFieldIndexing::default()
            .set_tokenizer(tokenizer)
            .set_index_option(IndexRecordOption::WithFreqsAndPositions);
        TextOptions::default().set_indexing_options(indexing)
    };
    let mut schema = Schema::builder();
    let fields = IndexFields {
        number: schema.add_u64_field(NUMBER, FAST | INDEXED),
        words: schema.add_text_field(WORDS, text(WORDS)),
        stems: schema.add_text_field(STEMS, text(STEMS)),
    };
    (schema.build(), fields)
}

/// Takes a text apart into words, or into their stems. Accents go before the stem is taken, so that a text written
/// without them has the same stems.
pub(super) fn analyzer(is_stemmed: bool) -> TextAnalyzer {
    let words = TextAnalyzer::builder(SimpleTokenizer::default())
        .filter(RemoveLongFilter::limit(WORD_BYTES_MAX))
        .filter(LowerCaser)
        .filter(AsciiFoldingFilter);
    match is_stemmed {
        true => words.filter(Stemmer::new(Language::French)).build(),
        false => words.build(),
    }
}

pub(super) fn tokens(analyzer: &mut TextAnalyzer, text: &str) -> Vec<String> {
    let mut stream = analyzer.token_stream(text);
    let mut tokens = Vec::new();
    while stream.advance() {
        tokens.push(stream.token().text.clone());
    }
    tokens
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::properties::record_key::RecordKey;
    use crate::records::changes::ListingChange;
    use serde_json::json;
    use toise_contract::listings::codes::FlxId;
    use uuid::Uuid;

    fn property(number: i64, sequence: i64, record: Option<serde_json::Value>) -> ListingChange {
        ListingChange {
            sequence,
            number,
            key: RecordKey(number),
            id: FlxId(Uuid::nil()),
            record: record.map(|record| record.to_string().into_bytes()),
        }
    }

    fn take(words: &TextIndex, records: impl Into<Vec<ListingChange>>) {
        let records = records.into();
        let through = records.last().unwrap().sequence;
        words.take(&ListingChanges { records, through }).unwrap();
    }

    fn found(texts: &TextIndex, keywords: &[&str], full_texts: &[&str]) -> Vec<i64> {
        let owned = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
        let search = ListingSearch {
            filter: Vec::new(),
            keywords: owned(keywords),
            full_texts: owned(full_texts),
        };
        let of = |is_compared| {
            let fits = texts.find_current(&search, is_compared).unwrap().unwrap();
            let is_found = |number: &i64| fits.score(*number).is_some();
            (-1..200).filter(is_found).collect::<Vec<i64>>()
        };
        assert_eq!(of(true), of(false));
        of(false)
    }

    #[test]
    fn keywords_occur_as_they_are_and_full_texts_by_stem_with_tolerance() {
        let folder = tempfile::tempdir().unwrap();
        let texts = TextIndex::open(folder.path()).unwrap();
        let changes = [
            property(
                1,
                1,
                Some(
                    json!({"title": "Maison de caractère", "description": "Cheminée, jardin clos."}),
                ),
            ),
            property(
                2,
                2,
                Some(
                    json!({"title": "Appartement", "description": "Belles cheminées, vue sur les jardins."}),
                ),
            ),
            property(3, 3, Some(json!({"title": "Studio", "tags": ["Vue mer"]}))),
        ];
        take(&texts, changes);
        assert_eq!(found(&texts, &["CHEMINEE"], &[]), [1]);
        assert_eq!(found(&texts, &["cheminée", "jardin"], &[]), [1]);
        assert_eq!(found(&texts, &["jardin clos"], &[]), [1]);
        assert_eq!(found(&texts, &["clos jardin"], &[]), [0i64; 0]);
        assert_eq!(found(&texts, &["vue mer"], &[]), [3]);
        assert_eq!(found(&texts, &["!"], &[]), [0i64; 0]);
        assert_eq!(found(&texts, &[], &["cheminee"]), [1, 2]);
        assert_eq!(found(&texts, &[], &["jardin chemniée"]), [1, 2]);
        assert_eq!(found(&texts, &[], &["aparttement", "mer"]), [2, 3]);
        assert_eq!(found(&texts, &["vue"], &["jardin"]), [2]);
    }

    #[test]
    fn the_index_follows_changes_and_goes_on_where_it_was() {
        let folder = tempfile::tempdir().unwrap();
        let texts = TextIndex::open(folder.path()).unwrap();
        let title = |title: &str| Some(json!({ "title": title }));
        take(
            &texts,
            [property(1, 1, title("loft")), property(2, 2, title("loft"))],
        );
        take(
            &texts,
            [property(1, 3, title("villa")), property(2, 4, None)],
        );
        assert_eq!(found(&texts, &["loft"], &[]), [0i64; 0]);
        drop(texts);
        let texts = TextIndex::open(folder.path()).unwrap();
        assert_eq!(texts.through(), 4);
        assert_eq!(found(&texts, &["villa"], &[]), [1]);
    }
}
