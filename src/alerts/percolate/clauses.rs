//! The distinct clauses of all alerts, each compiled once, and the rows of a batch on which they are true.
//!
//! A batch has at most 128 rows, so the result of a clause is one 128-bit word. A clause that several alerts share is
//! evaluated on first use and cached for the others, so an alert usually costs one AND per clause. Clauses are
//! identified by a digest.

use std::collections::HashMap;

use datafusion::error::DataFusionError;

use toise_contract::cursor::{QueryDigest, query_digest};
use toise_contract::filter::{Clause, ClauseTest};
use toise_engine::Error;
use toise_engine::batch::DecodedBatch;
use toise_engine::predicate::Predicate;
use toise_lake::schema::TableSchema;

/// Maximum rows in a batch: one bit each.
pub const ROWS_MAX: usize = u128::BITS as usize;

/// Index of a clause in [`ClauseTable`].
pub(super) type ClauseId = u32;

/// The distinct clauses.
#[derive(Debug, Default)]
pub(super) struct ClauseTable {
    by_digest: HashMap<QueryDigest, ClauseId>,
    all: Vec<Option<InternedClause>>,
    free: Vec<ClauseId>,
}

/// A clause used by one or more alerts.
#[derive(Debug)]
struct InternedClause {
    digest: QueryDigest,
    /// The compiled clause.
    predicate: Predicate,
    uses: u32,
}

/// Cached results of the clauses on one batch.
#[derive(Debug, Default)]
pub(super) struct ClauseBits {
    words: Vec<u128>,
    /// The batch for which each word was computed.
    computed_for: Vec<u32>,
    batch: u32,
}

/// Returns the evaluation cost of a clause. Cheap clauses come first: conditions that many alerts share before places,
/// which are usually unique to an alert.
pub(super) fn cost(clause: &Clause) -> u8 {
    match clause.test {
        ClauseTest::OneOf(_) => 0,
        ClauseTest::Is(_)
        | ClauseTest::Number { .. }
        | ClauseTest::Day { .. }
        | ClauseTest::Moment { .. } => 1,
        ClauseTest::Within { .. } | ClauseTest::InBox { .. } | ClauseTest::InArea(_) => 2,
        ClauseTest::Any(_) => 3,
        ClauseTest::SomeItem(_) => 4,
    }
}

/// Returns whether a clause has a condition on a moment.
pub(super) fn asks_for_moments(clause: &Clause) -> bool {
    match &clause.test {
        ClauseTest::Moment { .. } => true,
        ClauseTest::Any(filters) => filters.iter().flatten().any(asks_for_moments),
        ClauseTest::SomeItem(filter) => filter.iter().any(asks_for_moments),
        ClauseTest::OneOf(_)
        | ClauseTest::Is(_)
        | ClauseTest::Number { .. }
        | ClauseTest::Day { .. }
        | ClauseTest::Within { .. }
        | ClauseTest::InBox { .. }
        | ClauseTest::InArea(_) => false,
    }
}

impl ClauseTable {
    /// Returns the index of a clause, compiling it on its first use. Each call counts as one use, which
    /// [`Self::release`] ends.
    pub(super) fn intern(
        &mut self,
        schema: &TableSchema,
        clause: &Clause,
    ) -> Result<ClauseId, DataFusionError> {
        let alone = vec![clause.clone()];
        let digest = query_digest(schema.name, &alone, "", false);
        if let Some(id) = self.by_digest.get(&digest) {
            if let Some(Some(shared)) = self.all.get_mut(*id as usize) {
                shared.uses += 1;
            }
            return Ok(*id);
        }
        let shared = InternedClause {
            predicate: Predicate::compile(schema, &alone)?,
            digest,
            uses: 1,
        };
        let id = match self.free.pop() {
            Some(id) => id,
            None => {
                self.all.push(None);
                self.all.len() as ClauseId - 1
            }
        };
        self.all[id as usize] = Some(shared);
        self.by_digest.insert(digest, id);
        Ok(id)
    }

    /// Ends one use of a clause. A clause without uses is removed.
    pub(super) fn release(&mut self, id: ClauseId) {
        let Some(place) = self.all.get_mut(id as usize) else {
            return;
        };
        if let Some(shared) = place {
            shared.uses -= 1;
            if shared.uses == 0 {
                self.by_digest.remove(&shared.digest);
                *place = None;
                self.free.push(id);
            }
        }
    }

    /// Returns the clause with an index; `None` if it is not in use.
    pub(super) fn get(&self, id: ClauseId) -> Option<&Clause> {
        let shared = self.all.get(id as usize)?.as_ref()?;
        let compiled = shared.predicate.clauses.first()?;
        Some(&compiled.clause)
    }

    /// Returns the number of distinct clauses.
    pub(super) fn count(&self) -> usize {
        self.by_digest.len()
    }

    /// Returns the rows of a batch on which a clause is true, as a bitset.
    pub(super) fn bits(
        &self,
        id: ClauseId,
        batch: &DecodedBatch,
        words: &mut ClauseBits,
    ) -> Result<u128, Error> {
        let place = id as usize;
        if words.computed_for[place] == words.batch {
            return Ok(words.words[place]);
        }
        let mut word = 0;
        if let Some(Some(shared)) = self.all.get(place) {
            let selected = batch.select(&shared.predicate)?;
            selected.for_each(|row| word |= 1 << row);
        }
        words.words[place] = word;
        words.computed_for[place] = words.batch;
        Ok(word)
    }
}

impl ClauseBits {
    /// Discards the cached results, for the next batch.
    pub(super) fn begin(&mut self, clauses: &ClauseTable) {
        self.batch = self.batch.wrapping_add(1);
        if self.batch == 0 {
            self.computed_for.fill(0);
            self.batch = 1;
        }
        self.words.resize(clauses.all.len(), 0);
        self.computed_for.resize(clauses.all.len(), 0);
    }
}
