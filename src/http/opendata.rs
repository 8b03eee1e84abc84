//! The six open-data routes. Parsing, the question and the writing of the answer are one job on the query pool.
//!
//! Records are spliced into answers as the JSON texts the tables hold: they are never parsed on the way.

use std::error::Error;

use bytes::{BufMut, Bytes, BytesMut};
use rayon::iter::{IntoParallelRefIterator, ParallelIterator};
use serde_json::Value;

use super::App;
use super::answer::Answer;
use super::error::ApiError;
use super::pipeline::Call;
use toise_contract::Fault;
use toise_contract::cursor::{CursorKey, question_digest};
use toise_engine::interrupt::Interrupt;
use toise_engine::pool::Load;
use toise_opendata::request::{parse_match, parse_match_many, parse_search};
use toise_opendata::{Dataset, MatchAnswer, MatchRequest, OpenData, SearchAnswer, SearchRequest};

/// Bytes of an answer beside its records.
const ENVELOPE_BYTES: usize = 256;
/// Bytes a candidate takes beside its record.
const CANDIDATE_BYTES: usize = 64;

/// Why the tables gave no answer: always a failure of ours, since requests arrive valid.
pub type AnswerError = Box<dyn Error + Send + Sync>;

/// What answers open-data questions: the tables of the lake, or rows in memory under test.
///
/// Both calls block and compute; they run on the query pool.
pub trait Answers: Send + Sync + 'static {
    /// A page of records.
    fn search(
        &self,
        dataset: Dataset,
        request: &SearchRequest,
        interrupt: &Interrupt,
    ) -> Result<SearchAnswer, AnswerError>;

    /// The ranked candidates of one request.
    fn find_matches(
        &self,
        dataset: Dataset,
        request: &MatchRequest,
        interrupt: &Interrupt,
    ) -> Result<MatchAnswer, AnswerError>;
}

impl Answers for OpenData {
    fn search(
        &self,
        dataset: Dataset,
        request: &SearchRequest,
        interrupt: &Interrupt,
    ) -> Result<SearchAnswer, AnswerError> {
        let open_data = self.interruptible(interrupt);
        Ok(OpenData::search(&open_data, dataset, request)?)
    }

    fn find_matches(
        &self,
        dataset: Dataset,
        request: &MatchRequest,
        interrupt: &Interrupt,
    ) -> Result<MatchAnswer, AnswerError> {
        let open_data = self.interruptible(interrupt);
        Ok(OpenData::find_matches(&open_data, dataset, request)?)
    }
}

/// Answers a search.
pub async fn search(call: &Call<'_>, dataset: Dataset) -> Result<Answer, ApiError> {
    on_pool(call, Load::Single, move |app, body, interrupt| {
        let request = parse_search(dataset, &read_json(body)?, &app.cursors)?;
        let answer = app
            .answers
            .search(dataset, &request, interrupt)
            .map_err(ApiError::Internal)?;
        Ok(page(dataset, &request, &answer, &app.cursors))
    })
    .await
}

/// Answers a match.
pub async fn find_matches(call: &Call<'_>, dataset: Dataset) -> Result<Answer, ApiError> {
    on_pool(call, Load::Single, move |app, body, interrupt| {
        let request = parse_match(dataset, &read_json(body)?)?;
        let answer = app
            .answers
            .find_matches(dataset, &request, interrupt)
            .map_err(ApiError::Internal)?;
        let mut bytes = BytesMut::with_capacity(match_answer_bytes(&answer));
        put_match_answer(&mut bytes, dataset, &answer);
        Ok(bytes.freeze())
    })
    .await
}

/// Answers many matches at once, in order; the items are shared among the pool's threads.
pub async fn find_matches_many(call: &Call<'_>, dataset: Dataset) -> Result<Answer, ApiError> {
    on_pool(call, Load::Batch, move |app, body, interrupt| {
        let requests = parse_match_many(dataset, &read_json(body)?)?;
        let answers: Result<Vec<MatchAnswer>, AnswerError> = requests
            .par_iter()
            .map(|request| app.answers.find_matches(dataset, request, interrupt))
            .collect();
        let answers = answers.map_err(ApiError::Internal)?;
        let length: usize = answers.iter().map(match_answer_bytes).sum();
        let mut bytes = BytesMut::with_capacity(length + ENVELOPE_BYTES);
        bytes.put_slice(br#"{"data":["#);
        for (index, answer) in answers.iter().enumerate() {
            if index > 0 {
                bytes.put_u8(b',');
            }
            put_match_answer(&mut bytes, dataset, answer);
        }
        bytes.put_slice(b"]}");
        Ok(bytes.freeze())
    })
    .await
}

/// Runs a question as one job on the query pool.
pub(super) async fn on_pool(
    call: &Call<'_>,
    load: Load,
    job: impl FnOnce(&App, &[u8], &Interrupt) -> Result<Bytes, ApiError> + Send + 'static,
) -> Result<Answer, ApiError> {
    let (app, body) = (call.app.clone(), call.body.clone());
    let client = call.key()?.key_id;
    let run = move |interrupt: &Interrupt| job(&app, &body, interrupt);
    Ok(Answer::json(call.app.pool.run(client, load, run).await??))
}

/// Reads a body; a number too great for a double is a fault of the value, not of the syntax.
pub(super) fn read_json(body: &[u8]) -> Result<Value, ApiError> {
    serde_json::from_slice(body).map_err(|error| {
        let message = error.to_string();
        if message.starts_with("number out of range") {
            ApiError::Invalid(Fault::new("", message))
        } else {
            ApiError::NotJson(message)
        }
    })
}

fn page(
    dataset: Dataset,
    request: &SearchRequest,
    answer: &SearchAnswer,
    cursors: &CursorKey,
) -> Bytes {
    let records: usize = answer.records.iter().map(|record| record.len() + 1).sum();
    let mut bytes = BytesMut::with_capacity(records + ENVELOPE_BYTES);
    bytes.put_slice(br#"{"data":["#);
    for (index, record) in answer.records.iter().enumerate() {
        if index > 0 {
            bytes.put_u8(b',');
        }
        bytes.put_slice(record);
    }
    let rest = format!(
        r#"],"total":{},"size":{},"hasMore":{}"#,
        answer.total,
        request.size,
        answer.next.is_some()
    );
    bytes.put_slice(rest.as_bytes());
    if let Some(next) = &answer.next {
        let digest = question_digest(
            dataset.name(),
            &request.filter,
            request.sort_by,
            request.descending,
        );
        // Base64url needs no escaping.
        let cursor = format!(r#","cursor":"{}""#, cursors.encode(next, &digest));
        bytes.put_slice(cursor.as_bytes());
    }
    bytes.put_u8(b'}');
    bytes.freeze()
}

fn match_answer_bytes(answer: &MatchAnswer) -> usize {
    let candidates: usize = answer
        .candidates
        .iter()
        .map(|candidate| candidate.record.len() + CANDIDATE_BYTES)
        .sum();
    candidates + ENVELOPE_BYTES
}

fn put_match_answer(bytes: &mut BytesMut, dataset: Dataset, answer: &MatchAnswer) {
    bytes.put_slice(br#"{"data":["#);
    for (index, candidate) in answer.candidates.iter().enumerate() {
        if index > 0 {
            bytes.put_u8(b',');
        }
        let head = format!(
            r#"{{"score":{},"confidence":"{}","{}":"#,
            candidate.score,
            candidate.confidence.as_str(),
            dataset.name()
        );
        bytes.put_slice(head.as_bytes());
        bytes.put_slice(&candidate.record);
        bytes.put_u8(b'}');
    }
    let meta = format!(
        r#"],"meta":{{"ambiguous":{},"total":{}}}}}"#,
        answer.ambiguous, answer.total
    );
    bytes.put_slice(meta.as_bytes());
}
