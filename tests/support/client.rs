//! A client of a running server.

use std::borrow::Borrow;
use std::path::Path;

use reqwest::{Method, RequestBuilder};
use serde_json::Value;

use super::http_client;
use super::process::Server;

/// A client with a key.
pub struct Client {
    http: reqwest::Client,
    address: String,
    key: String,
}

impl Client {
    /// A client of a server.
    pub fn new(server: &Server, key: &str) -> Self {
        Self {
            http: http_client(),
            address: server.address.clone(),
            key: key.to_owned(),
        }
    }

    /// A server of a data folder, and a client of it.
    pub fn start(data: &Path, key: &str) -> (Server, Self) {
        let server = Server::start(data, "serve");
        let client = Self::new(&server, key);
        (server, client)
    }

    /// A request with its key. The path is below `/v2/protected/`.
    pub fn request(&self, method: Method, path: &str) -> RequestBuilder {
        let url = format!("{}/v2/protected/{path}", self.address);
        let request = self.http.request(method, url);
        request.header("x-api-key", &self.key)
    }

    /// Status and answer of a request with a JSON body.
    pub async fn send(&self, method: Method, path: &str, body: impl Borrow<Value>) -> (u16, Value) {
        let body: &Value = body.borrow();
        answer(self.request(method, path).json(body)).await
    }

    /// Status and answer of a POST.
    pub async fn post(&self, path: &str, body: impl Borrow<Value>) -> (u16, Value) {
        self.send(Method::POST, path, body).await
    }

    /// The answer of a request with a JSON body that succeeds.
    pub async fn ask(&self, method: Method, path: &str, body: impl Borrow<Value>) -> Value {
        let body: &Value = body.borrow();
        let (status, answer) = self.send(method, path, body).await;
        assert_eq!(status, 200, "{path} {body}: {answer}");
        answer
    }

    /// The `data` of the answer of a request with a JSON body that succeeds.
    pub async fn data(&self, method: Method, path: &str, body: impl Borrow<Value>) -> Value {
        self.ask(method, path, body).await["data"].take()
    }

    /// The answer of a GET that succeeds.
    pub async fn get(&self, path: &str) -> Value {
        let (status, answer) = answer(self.request(Method::GET, path)).await;
        assert_eq!(status, 200, "{path}: {answer}");
        answer
    }
}

/// Status and JSON of the answer to a request.
pub async fn answer(request: RequestBuilder) -> (u16, Value) {
    let response = request.send().await.unwrap();
    (response.status().as_u16(), response.json().await.unwrap())
}
