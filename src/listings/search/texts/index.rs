//! One text index: tokenises, writes and searches texts.
//!
//! Texts are analysed and matched as described in [`toise_engine::texts`]; alerts match the same texts.
//!
//! Every commit carries the sequence of the last change in it.

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
use toise_engine::texts::{analyzer, tokens};

/// Memory in which the writer buffers new postings, bytes.
const WRITER_BYTES: usize = 32 << 20;
/// Hexadecimal digits of the checksum of a sequence.
const PAYLOAD_DIGITS: usize = 8;
/// Name of the field with the number of a property.
pub(super) const NUMBER: &str = "number";
/// Name of the tokeniser into words. It is part of an index's schema, so that an index made with a previous tokeniser
/// is rebuilt.
const WORDS: &str = "words-2";
/// Name of the tokeniser into stems.
const STEMS: &str = "stems-2";

/// The fields of a property's document in the index.
#[derive(Clone, Copy)]
pub(super) struct IndexFields {
    /// The number of the property.
    pub number: Field,
    /// The words of its texts.
    pub words: Field,
    /// The stems of those words.
    pub stems: Field,
}

/// A text index. Shared by all queries.
pub struct TextIndex {
    index: Index,
    reader: IndexReader,
    /// Opened at the first change: readers do not need a writer, and only one process may write.
    writer: Mutex<Option<IndexWriter>>,
    fields: IndexFields,
    /// The current snapshot.
    present: ArcSwap<IndexSnapshot>,
    cache: PostingsCache,
}

/// The searchable texts of a property's record.
#[derive(Default, Deserialize)]
#[serde(default)]
struct SearchableText {
    title: String,
    description: String,
    tags: Vec<String>,
}

impl TextIndex {
    /// Opens the index in a folder, which is created if missing.
    ///
    /// # Errors
    /// The folder cannot be used, or does not hold such an index.
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
            cache: PostingsCache::new(),
        })
    }

    /// Compares every file of the last commit in a folder with its checksum.
    ///
    /// # Errors
    /// The folder does not hold such an index; [`Error::Damaged`] names the damaged files.
    pub(super) fn verify(folder: &Path) -> Result<()> {
        let index = Self::open(folder)?.index;
        if index.directory().list_managed_files().is_empty() {
            return Err(Error::Damaged("its list of files is empty".to_owned()));
        }
        let damaged = index.validate_checksum()?;
        if damaged.is_empty() {
            return Ok(());
        }
        let mut names: Vec<_> = damaged
            .iter()
            .map(|path| path.display().to_string())
            .collect();
        names.sort();
        let names = names.join(", ");
        Err(Error::Damaged(format!(
            "{names}: the checksum does not match"
        )))
    }

    /// Returns the sequence of the last change it holds.
    pub fn through(&self) -> i64 {
        self.present.load().through
    }

    /// Applies the changes after those it holds. Returns once they are durable and searchable.
    ///
    /// # Errors
    /// The index cannot be written, or another process is writing it.
    pub fn take(&self, changes: &ListingChanges) -> Result<()> {
        self.gather(changes, 0)?;
        self.commit(changes.through)
    }

    /// Buffers changes, which become searchable with the next commit. Records whose last change is at `new_through` or
    /// before must not be in the index yet: deleting their previous documents is skipped, as it would cost more than
    /// adding them.
    pub(super) fn gather(&self, changes: &ListingChanges, new_through: i64) -> Result<()> {
        let mut writer = self.writer.lock();
        let writer = self.opened(&mut writer)?;
        for change in &changes.records {
            // Row numbers are never negative.
            let number = Term::from_field_u64(self.fields.number, change.number.cast_unsigned());
            if change.sequence > new_through {
                writer.delete_term(number);
            }
            let Some(record) = &change.record else {
                continue;
            };
            // A malformed record is indexed without texts; building the table reports the error.
            let searchable: SearchableText = serde_json::from_slice(record).unwrap_or_default();
            let texts = [&searchable.title, &searchable.description].into_iter();
            let document = self.document(change.number, texts.chain(&searchable.tags));
            writer.add_document(document)?;
        }
        Ok(())
    }

    /// Builds the index document of a property.
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

    /// Makes the buffered changes durable and searchable.
    pub(super) fn commit(&self, through: i64) -> Result<()> {
        let mut writer = self.writer.lock();
        commit(self.opened(&mut writer)?, through)?;
        self.show(through)
    }

    /// Makes the changes buffered by a [`TextIndex::bulk_writer`] durable and searchable, and waits for its merges.
    pub(super) fn commit_bulk(&self, mut bulk: IndexWriter, through: i64) -> Result<()> {
        let _writer = self.writer.lock();
        commit(&mut bulk, through)?;
        bulk.wait_merging_threads()?;
        self.show(through)
    }

    /// Switches searches to the last commit.
    fn show(&self, through: i64) -> Result<()> {
        self.reader.reload()?;
        let former = self.present.load_full();
        let present = IndexSnapshot::open(self.reader.searcher(), &former.segments, through)?;
        self.present.store(Arc::new(present));
        Ok(())
    }

    /// Tries to acquire the writer lock, which one process holds at a time, and returns whether this process holds it.
    /// Also switches searches to the commits of another process.
    ///
    /// # Errors
    /// The index cannot be read, or cannot be written for a reason other than the lock.
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

    /// Deletes everything, for an index that belongs to another store.
    ///
    /// # Errors
    /// The index cannot be written.
    pub fn clear(&self) -> Result<()> {
        self.opened(&mut self.writer.lock())?
            .delete_all_documents()?;
        self.commit(0)
    }

    /// Opens a writer with several threads for many documents at once. A folder has one writer, so the one for
    /// changes is closed here and reopened at the next change.
    pub(super) fn bulk_writer(&self, threads: usize, bytes: usize) -> Result<IndexWriter> {
        self.roll_back();
        Ok(self.index.writer_with_num_threads(threads, bytes)?)
    }

    /// Discards the changes buffered since the last commit.
    pub(super) fn roll_back(&self) {
        drop(self.writer.lock().take());
    }

    /// Closes the writer and waits for its merges: the files do not change afterwards.
    pub(super) fn close(&self) -> Result<()> {
        match self.writer.lock().take() {
            None => Ok(()),
            Some(writer) => Ok(writer.wait_merging_threads()?),
        }
    }

    fn opened<'w>(&self, writer: &'w mut Option<IndexWriter>) -> Result<&'w mut IndexWriter> {
        match writer {
            Some(writer) => Ok(writer),
            // The threads that merge segments start here, and a merge may take a core for seconds: queries have
            // priority.
            slot => {
                let opened = priority::with_lowered_priority(|| {
                    self.index.writer_with_num_threads(1, WRITER_BYTES)
                });
                Ok(slot.insert(opened?))
            }
        }
    }

    /// Returns the current snapshot.
    pub(super) fn present(&self) -> Arc<IndexSnapshot> {
        self.present.load_full()
    }

    /// Finds the properties that match the texts of a search in a snapshot; `None` for a search without texts. With
    /// `is_compared` the matches are scored, which takes several times as long as finding them.
    ///
    /// # Errors
    /// The index cannot be read, or the query is cancelled.
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
        let context = TextSearchContext {
            snapshot: present,
            cache: &self.cache,
            fields: self.fields,
            interrupt,
        };
        let query = parse_query(search);
        Ok(Some(if is_compared {
            query.scored(&context)?
        } else {
            query.found(&context)?
        }))
    }
}

#[cfg(test)]
impl TextIndex {
    /// Runs a text query on the current snapshot.
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

/// Reads the sequence of the last change that any process committed.
fn committed(index: &Index) -> Result<i64> {
    let Some(payload) = index.load_metas()?.payload else {
        return Ok(0);
    };
    let through = payload.split(' ').next().and_then(|text| text.parse().ok());
    through
        .filter(|through| payload == payload_of(*through))
        .ok_or_else(|| Error::Damaged(format!("{payload:?} is not the sequence of a change")))
}

/// Returns the payload of a commit: the sequence of its last change and a checksum of that sequence, because nothing
/// else protects the file that contains it.
fn payload_of(through: i64) -> String {
    let checksum = blake3::hash(&through.to_le_bytes()).to_hex();
    format!("{through} {}", &checksum[..PAYLOAD_DIGITS])
}

/// Makes the changes buffered by a writer durable.
fn commit(writer: &mut IndexWriter, through: i64) -> Result<()> {
    let mut commit = writer.prepare_commit()?;
    commit.set_payload(&payload_of(through));
    commit.commit()?;
    Ok(())
}

/// Tokenises the texts of a search in the same way as those of properties.
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

    fn take(texts: &TextIndex, records: impl Into<Vec<ListingChange>>) {
        let records = records.into();
        let through = records.last().unwrap().sequence;
        texts
            .take(&ListingChanges {
                records,
                through,
                damaged: Vec::new(),
            })
            .unwrap();
    }

    fn found(texts: &TextIndex, keywords: &[&str], full_texts: &[&str]) -> Vec<i64> {
        let owned = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
        let search = ListingSearch {
            filter: Vec::new(),
            keywords: owned(keywords),
            full_texts: owned(full_texts),
        };
        let of = |is_compared| {
            let matches = texts.find_current(&search, is_compared).unwrap().unwrap();
            let is_found = |number: &i64| matches.score(*number).is_some();
            (-1..200).filter(is_found).collect::<Vec<i64>>()
        };
        assert_eq!(of(true), of(false));
        of(false)
    }

    #[test]
    fn keywords_match_exactly_and_full_texts_by_stem_with_tolerance() {
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
            property(
                4,
                4,
                Some(json!({"title": format!("Grenier {} clair", "x".repeat(41))})),
            ),
        ];
        take(&texts, changes);
        assert_eq!(found(&texts, &["CHEMINEE"], &[]), [1]);
        assert_eq!(found(&texts, &["cheminée", "jardin"], &[]), [1]);
        assert_eq!(found(&texts, &["jardin clos"], &[]), [1]);
        assert_eq!(found(&texts, &["clos jardin"], &[]), [0i64; 0]);
        assert_eq!(found(&texts, &["vue mer"], &[]), [3]);
        assert_eq!(found(&texts, &["grenier", "clair"], &[]), [4]);
        assert_eq!(found(&texts, &["grenier clair"], &[]), [0i64; 0]);
        assert_eq!(found(&texts, &["!"], &[]), [0i64; 0]);
        assert_eq!(found(&texts, &[], &["cheminee"]), [1, 2]);
        assert_eq!(found(&texts, &[], &["jardin chemniée"]), [1, 2]);
        assert_eq!(found(&texts, &[], &["aparttement", "mer"]), [2, 3]);
        assert_eq!(found(&texts, &["vue"], &["jardin"]), [2]);
    }

    #[test]
    fn the_index_follows_changes_and_resumes_after_a_restart() {
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
