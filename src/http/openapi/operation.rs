//! What the document says of an endpoint; the rest follows from the endpoint's other fields.

use serde_json::Value;

use super::JSON;

/// What the document says of an endpoint.
#[derive(Debug)]
pub struct Operation {
    /// Its name for generated clients.
    pub id: String,
    /// One line.
    pub summary: String,
    /// More, where there is more to say.
    pub description: Option<String>,
    /// Query parameters.
    pub query: Vec<Value>,
    /// Schema of the body.
    pub request: Option<Value>,
    /// Status of success.
    pub status: &'static str,
    /// Media type and schema of the answer.
    pub answer: Option<(&'static str, Value)>,
    /// Ways to fail that do not follow from the endpoint's other fields.
    pub failures: Vec<Failure>,
    /// Answers that are no plain error, or replace it, by status.
    pub others: Vec<(&'static str, Value)>,
    /// Whether it cannot fail in any way but [`Operation::others`].
    pub fails_as_said_only: bool,
}

/// A way to fail that only the handler knows of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// There may be no model.
    NoModel,
    /// The body may name a record that does not exist.
    NoRecord,
    /// What was asked for may not be possible as things stand.
    Refused,
}

impl Operation {
    /// An operation that answers 200.
    pub fn new(id: impl Into<String>, summary: impl Into<String>) -> Self {
        Self {
            id: id.into(),
            summary: summary.into(),
            description: None,
            query: Vec::new(),
            request: None,
            status: "200",
            answer: None,
            failures: Vec::new(),
            others: Vec::new(),
            fails_as_said_only: false,
        }
    }

    /// Says more.
    pub fn with_description(mut self, description: impl Into<String>) -> Self {
        self.description = Some(description.into());
        self
    }

    /// Takes these query parameters.
    pub fn with_query(mut self, query: Vec<Value>) -> Self {
        self.query = query;
        self
    }

    /// Takes a body of this schema.
    pub fn with_request(mut self, request: Value) -> Self {
        self.request = Some(request);
        self
    }

    /// Answers JSON of this schema.
    pub fn with_answer(self, answer: Value) -> Self {
        self.answering_as(JSON, answer)
    }

    /// Answers another media type.
    pub fn answering_as(mut self, media_type: &'static str, answer: Value) -> Self {
        self.answer = Some((media_type, answer));
        self
    }

    /// Succeeds with another status than 200.
    pub fn with_status(mut self, status: &'static str) -> Self {
        self.status = status;
        self
    }

    /// May fail in a way of its own.
    pub fn failing(mut self, failure: Failure) -> Self {
        self.failures.push(failure);
        self
    }

    /// Fails in no way but those said by [`Operation::or_answering`].
    pub fn failing_as_said_only(mut self) -> Self {
        self.fails_as_said_only = true;
        self
    }

    /// May answer with another status, in a way of its own.
    pub fn or_answering(mut self, status: &'static str, response: Value) -> Self {
        self.others.push((status, response));
        self
    }
}
