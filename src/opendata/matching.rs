//! Match: ranks the candidates that pass a filter by similarity to the targets.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arrow::array::AsArray;

use super::score::{AMBIGUOUS_GAP, TargetEvidence, confidence, to_tenths};
use super::scorer::Scorer;
use super::{Dataset, MatchAnswer, MatchCandidate, MatchRequest, OpenData, column_index};
use toise_engine::Error;
use toise_engine::predicate::Predicate;
use toise_engine::topk::{TopPage, number_key};
use toise_engine::view::{RowRef, RowSet, TableView};

/// A candidate before its record is fetched.
#[derive(Clone, Debug, PartialEq)]
pub struct RankedCandidate {
    /// Score from 0 to 100, with one decimal.
    pub score: f64,
    /// Identifier of the record.
    pub id: String,
    /// Row of the record in the view.
    pub row: RowRef,
}

/// Ranked candidates, and the number of candidates that passed the filters.
#[derive(Clone, Debug)]
pub struct Ranking {
    /// The candidates, best first; at least two if there are two, even if fewer were requested.
    pub best: Vec<RankedCandidate>,
    /// Number of candidates that passed the filters.
    pub total: u64,
    /// Evidence of the targets.
    pub evidence: TargetEvidence,
}

impl Ranking {
    /// Returns whether the two best scores are too close to decide.
    pub fn ambiguous(&self) -> bool {
        match self.best.as_slice() {
            [first, second, ..] => to_tenths(first.score - second.score) <= AMBIGUOUS_GAP,
            _ => false,
        }
    }

    /// Returns the confidence of the candidate at a rank, counted from 0.
    pub fn confidence(&self, rank: usize) -> super::MatchConfidence {
        let score = |nth: usize| self.best.get(nth).map(|ranked| ranked.score);
        let first = score(0).unwrap_or(0.0);
        confidence(
            rank,
            score(rank).unwrap_or(0.0),
            first,
            score(1),
            self.evidence.among(self.total),
        )
    }
}

/// Minimum number of candidates to rank: the confidence of the first depends on the second.
const RANKED_MIN: usize = 2;
/// Scores are compared in tenths.
const TENTHS: f64 = 10.0;

impl OpenData {
    /// Computes the response to a match request. CPU-bound, on the calling thread and its rayon pool.
    pub fn find_matches(
        &self,
        dataset: Dataset,
        request: &MatchRequest,
    ) -> Result<MatchAnswer, Error> {
        let view = self.engine().view(dataset.schema())?;
        let ranking = self.rank(dataset, &view, request)?;
        let shown = request.size.min(ranking.best.len());
        let rows: Vec<RowRef> = ranking.best[..shown]
            .iter()
            .map(|ranked| ranked.row)
            .collect();
        let records = view.records(&rows)?;
        let candidates = records
            .into_iter()
            .enumerate()
            .map(|(rank, record)| MatchCandidate {
                score: ranking.best[rank].score,
                confidence: ranking.confidence(rank),
                id: ranking.best[rank].id.clone(),
                record,
            })
            .collect();
        Ok(MatchAnswer {
            candidates,
            ambiguous: ranking.ambiguous(),
            total: ranking.total,
        })
    }

    /// Ranks the candidates of a request without fetching their records.
    pub fn rank(
        &self,
        dataset: Dataset,
        view: &TableView,
        request: &MatchRequest,
    ) -> Result<Ranking, Error> {
        debug_assert!(
            request.address.is_none(),
            "an address must be located before"
        );
        let schema = dataset.schema();
        let predicate = Predicate::compile(schema, &request.filter)?;
        let scorer = Scorer::new(dataset, request);
        let superseded = view.superseded()?;
        let page = TopPage::new(request.size.max(RANKED_MIN), None);
        let columns: Vec<(&'static str, usize)> = scorer
            .columns()
            .into_iter()
            .filter_map(|name| schema.column(name).map(|(index, _)| (name, index)))
            .collect();
        let id_column = column_index(schema, schema.id)?;
        let rivals = AtomicU64::new(0);
        let parts = self.engine().scan(
            view,
            &predicate,
            self.interrupt(),
            || page.part(),
            |data_file, visited| {
                let mut rows = Vec::with_capacity(visited.selected.count() as usize);
                visited.selected.for_each(|row| {
                    if !is_superseded(
                        superseded,
                        visited.chunk.data_file,
                        visited.chunk.first_row,
                        row,
                    ) {
                        rows.push(row);
                    }
                });
                let mut decoded = Vec::with_capacity(columns.len());
                for (name, index) in &columns {
                    decoded.push((*name, visited.column(*index)?));
                }
                let column = |name: &str| {
                    let found = decoded.iter().find(|(known, _)| *known == name);
                    found.map(|(_, column)| Arc::clone(&column.values))
                };
                let scores = scorer.score(column, &rows);
                rivals.fetch_add(scorer.count_rivals(column, &rows), Ordering::Relaxed);
                let ids = visited.column(id_column)?;
                let ids = ids.values.as_string::<i32>();
                for (row, score) in rows.into_iter().zip(scores) {
                    let key = number_key((score * TENTHS).round(), true);
                    data_file.offer_scored(visited.index, row, key, ids);
                }
                Ok(())
            },
        )?;
        let found = page.finish(parts);
        let best = found.hits.iter().map(|hit| RankedCandidate {
            score: hit.number(true) / TENTHS,
            id: hit.id().to_owned(),
            row: hit.row_in(view),
        });
        Ok(Ranking {
            best: best.collect(),
            total: found.total,
            evidence: scorer.evidence(rivals.into_inner()),
        })
    }
}

fn is_superseded(superseded: &RowSet, data_file: u32, first_row: u32, row: usize) -> bool {
    superseded.count() > 0 && superseded.contains(data_file, first_row + row as u32)
}
