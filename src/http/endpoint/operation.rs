//! Documentation of endpoints that cannot be derived from their other fields.

use serde_json::Value;

/// Media type of JSON.
pub(crate) const JSON: &str = "application/json";

/// Documentation of an endpoint in the OpenAPI document.
#[derive(Debug)]
pub struct Operation {
    /// Its operation id, used by generated clients.
    pub id: String,
    /// Summary in one line.
    pub summary: String,
    /// Longer description.
    pub description: Option<String>,
    /// Query parameters.
    pub query: Vec<Value>,
    /// Schema of the request body.
    pub request: Option<Value>,
    /// Media type of the request body.
    pub request_type: &'static str,
    /// Status on success.
    pub status: &'static str,
    /// Media type and schema of the response.
    pub response: Option<(&'static str, Value)>,
    /// Media types and schemas of the same response in other forms.
    pub alternatives: Vec<(&'static str, Value)>,
    /// Failures that do not follow from the endpoint's other fields.
    pub failures: Vec<Failure>,
    /// Responses other than a plain error, by status; they replace an error with that status.
    pub others: Vec<(&'static str, Value)>,
    /// Whether it can only fail with [`Operation::others`].
    pub has_only_listed_failures: bool,
}

/// A failure that only the handler knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// No model has been trained.
    NoModel,
    /// The body names a record that does not exist.
    NoRecord,
    /// The rows have changed since the page of the cursor.
    ExpiredCursor,
    /// The record named is not in a state that allows this.
    WrongState,
    /// The request is valid but not possible in the current state.
    Refused,
}

impl Operation {
    /// Returns an operation that succeeds with 200.
    pub fn new(id: impl Into<String>, summary: impl Into<String>) -> Self {
        Self {
            id: id.into(),
            summary: summary.into(),
            description: None,
            query: Vec::new(),
            request: None,
            request_type: JSON,
            status: "200",
            response: None,
            alternatives: Vec::new(),
            failures: Vec::new(),
            others: Vec::new(),
            has_only_listed_failures: false,
        }
    }

    /// Sets the description.
    pub fn with_description(mut self, description: impl Into<String>) -> Self {
        self.description = Some(description.into());
        self
    }

    /// Sets the query parameters.
    pub fn with_query(mut self, query: Vec<Value>) -> Self {
        self.query = query;
        self
    }

    /// Sets the schema of the request body.
    pub fn with_request(mut self, request: Value) -> Self {
        self.request = Some(request);
        self
    }

    /// Sets the media type and schema of a request body that is not JSON.
    pub fn with_request_of_type(mut self, media_type: &'static str, request: Value) -> Self {
        self.request_type = media_type;
        self.with_request(request)
    }

    /// Sets the schema of a JSON response.
    pub fn with_response(self, schema: Value) -> Self {
        self.with_response_of_type(JSON, schema)
    }

    /// Sets a response of another media type.
    pub fn with_response_of_type(mut self, media_type: &'static str, schema: Value) -> Self {
        self.response = Some((media_type, schema));
        self
    }

    /// Adds another form of the response.
    pub fn with_alternative(mut self, media_type: &'static str, schema: Value) -> Self {
        self.alternatives.push((media_type, schema));
        self
    }

    /// Sets the status on success.
    pub fn with_status(mut self, status: &'static str) -> Self {
        self.status = status;
        self
    }

    /// Adds a failure.
    pub fn failing(mut self, failure: Failure) -> Self {
        self.failures.push(failure);
        self
    }

    /// Restricts failures to those added with [`Operation::with_other_response`].
    pub fn with_only_listed_failures(mut self) -> Self {
        self.has_only_listed_failures = true;
        self
    }

    /// Adds a response with another status.
    pub fn with_other_response(mut self, status: &'static str, response: Value) -> Self {
        self.others.push((status, response));
        self
    }
}
