//! The distinct clauses of all alerts, each compiled once, and the rows of a batch on which they are true.
//!
//! A batch has at most 128 rows, so the result of a clause is one 128-bit word. A clause that several alerts share is
//! evaluated on first use and cached for the others, so an alert usually costs one AND per clause. Clauses are
//! identified by a digest.
//!
//! A clause on a layer is compiled again when the layer has been replaced ([`ClauseTable::follow_layers`]). While its
//! layer is missing it holds for no row, so that its alerts match nothing.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use datafusion::error::DataFusionError;

use toise_contract::cursor::{QueryDigest, query_digest};
use toise_contract::filter::{Clause, ClauseTest, LayerError, LayerSource, layer_tests, resolve};
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
    /// The layers; if `None`, clauses on layers hold for no row.
    layers: Option<Arc<dyn LayerSource>>,
    /// Clauses with a test on a layer.
    on_layers: BTreeSet<ClauseId>,
    /// Number of clauses that use each layer.
    layer_uses: BTreeMap<String, usize>,
    /// Versions of layers for which their clauses are compiled; `None` for a missing layer.
    versions: BTreeMap<String, Option<String>>,
}

/// A clause used by one or more alerts.
#[derive(Debug)]
struct InternedClause {
    digest: QueryDigest,
    /// The compiled clause; `None` while its layer is missing.
    predicate: Option<Predicate>,
    /// The clause as it was before its layers were resolved; `None` without a test on a layer.
    unresolved: Option<Box<Clause>>,
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

/// Returns the evaluation cost of a clause. Cheap clauses come first: conditions that many alerts share before
/// conditions on position, which are usually unique to an alert.
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
        ClauseTest::InLayer(_) => 5,
    }
}

/// Returns whether a clause has a condition on a timestamp.
pub(super) fn tests_timestamp(clause: &Clause) -> bool {
    match &clause.test {
        ClauseTest::Moment { .. } => true,
        ClauseTest::Any(filters) => filters.iter().flatten().any(tests_timestamp),
        ClauseTest::SomeItem(filter) => filter.iter().any(tests_timestamp),
        ClauseTest::OneOf(_)
        | ClauseTest::Is(_)
        | ClauseTest::Number { .. }
        | ClauseTest::Day { .. }
        | ClauseTest::Within { .. }
        | ClauseTest::InBox { .. }
        | ClauseTest::InArea(_)
        | ClauseTest::InLayer(_) => false,
    }
}

impl ClauseTable {
    /// Creates an empty table whose clauses use these layers.
    pub(super) fn on(layers: Option<Arc<dyn LayerSource>>) -> Self {
        Self {
            layers,
            ..Self::default()
        }
    }

    /// Returns the names of the layers that clauses use.
    pub(super) fn layer_names(&self) -> impl Iterator<Item = &str> {
        self.layer_uses.keys().map(String::as_str)
    }

    /// Recompiles the clauses whose layers have been replaced or removed. Reads a small file per layer; a replaced
    /// layer that is not in memory yet costs another second per million vertices.
    pub(super) fn follow_layers(&mut self, schema: &TableSchema) {
        let Some(layers) = self.layers.clone() else {
            return;
        };
        let mut replaced: BTreeSet<&str> = BTreeSet::new();
        for name in self.layer_uses.keys() {
            let version = match layers.shape(name) {
                Ok(shape) => Some(shape.version().to_owned()),
                Err(LayerError::Unusable(_)) => None,
                Err(LayerError::Unreadable(_)) => {
                    // Retried before the next batch.
                    self.versions.remove(name);
                    replaced.insert(name);
                    continue;
                }
            };
            if self.versions.get(name) != Some(&version) {
                self.versions.insert(name.clone(), version);
                replaced.insert(name);
            }
        }
        if replaced.is_empty() {
            return;
        }
        for id in &self.on_layers {
            let Some(Some(shared)) = self.all.get_mut(*id as usize) else {
                continue;
            };
            let Some(clause) = shared.unresolved.as_deref() else {
                continue;
            };
            let tests = layer_tests(std::slice::from_ref(clause));
            if !tests
                .iter()
                .any(|test| replaced.contains(test.name.as_str()))
            {
                continue;
            }
            let before = shared.predicate.take();
            shared.predicate = compiled(schema, clause, self.layers.as_deref(), before);
        }
    }

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
        let is_on_layer = !layer_tests(&alone).is_empty();
        let predicate = if is_on_layer {
            compiled(schema, clause, self.layers.as_deref(), None)
        } else {
            Some(Predicate::compile(schema, &alone)?)
        };
        let shared = InternedClause {
            predicate,
            unresolved: is_on_layer.then(|| Box::new(clause.clone())),
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
        for test in layer_tests(&alone) {
            self.on_layers.insert(id);
            *self.layer_uses.entry(test.name.clone()).or_default() += 1;
        }
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
                self.on_layers.remove(&id);
                let unresolved = shared.unresolved.as_deref().map(std::slice::from_ref);
                for test in layer_tests(unresolved.unwrap_or_default()) {
                    if let Some(uses) = self.layer_uses.get_mut(&test.name) {
                        *uses -= 1;
                        if *uses == 0 {
                            self.layer_uses.remove(&test.name);
                            self.versions.remove(&test.name);
                        }
                    }
                }
                *place = None;
                self.free.push(id);
            }
        }
    }

    /// Returns the clause with an index; `None` if it is not in use.
    pub(super) fn get(&self, id: ClauseId) -> Option<&Clause> {
        let shared = self.all.get(id as usize)?.as_ref()?;
        if let Some(clause) = &shared.unresolved {
            return Some(clause);
        }
        let compiled = shared.predicate.as_ref()?.clauses.first()?;
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
        if let Some(Some(shared)) = self.all.get(place)
            && let Some(predicate) = &shared.predicate
        {
            let selected = batch.select(predicate)?;
            selected.for_each(|row| word |= 1 << row);
        }
        words.words[place] = word;
        words.computed_for[place] = words.batch;
        Ok(word)
    }
}

/// Compiles a clause with the current versions of its layers; `None` while a layer is missing. `before` is kept if
/// nothing has changed, or if a layer cannot be read.
fn compiled(
    schema: &TableSchema,
    clause: &Clause,
    layers: Option<&dyn LayerSource>,
    before: Option<Predicate>,
) -> Option<Predicate> {
    let mut resolved = vec![clause.clone()];
    match resolve(&mut resolved, layers?) {
        Ok(()) => {}
        Err(LayerError::Unusable(reason)) => {
            if before.is_some() {
                tracing::warn!(
                    reason,
                    "alerts on a layer match nothing until it is imported again"
                );
            }
            return None;
        }
        Err(LayerError::Unreadable(reason)) => {
            tracing::error!(
                reason,
                "cannot read a layer that alerts use; they use its former content, if it is known"
            );
            return before;
        }
    }
    let known = before.as_ref().and_then(|before| before.clauses.first());
    if known.is_some_and(|known| Some(&known.clause) == resolved.first()) {
        return before;
    }
    Predicate::compile(schema, &resolved)
        .inspect_err(|error| tracing::error!(%error, "cannot compile a clause on a layer"))
        .ok()
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
