//! Sends queries to a server: `toise sql --url URL --key KEY`.

use std::collections::VecDeque;

use arrow::array::RecordBatch;
use arrow::buffer::Buffer;
use arrow::ipc::reader::StreamDecoder;
use futures::stream::{self, BoxStream};
use futures::{Stream, StreamExt};
use serde_json::json;

use super::Failure;
use super::source::Rows;
use bytes::Bytes;
use toise_net::api_client::{ApiClient, Error};
use toise_sql::encode::RowFormat;

/// Path of the endpoint.
const PATH: &str = "/v2/protected/sql";

/// A server that answers queries.
pub(super) struct RemoteSource {
    client: ApiClient,
}

/// An answer that is being received.
struct Incoming {
    bytes: BoxStream<'static, Result<Bytes, Error>>,
    decoder: StreamDecoder,
    decoded: VecDeque<RecordBatch>,
}

impl RemoteSource {
    pub fn new(url: &str, key: &str) -> Result<Self, Failure> {
        Ok(Self {
            client: ApiClient::new(url, key)?,
        })
    }

    pub async fn ask(&self, statement: &str) -> Result<Rows, Failure> {
        let body = json!({"query": statement, "format": "arrow", "compression": "zstd"});
        let accept = RowFormat::Arrow.media_type();
        let answered = self.client.post(PATH, accept, &body).await;
        let bytes = answered.map_err(|error| {
            let message = error.to_string();
            message
                .strip_prefix("query: ")
                .unwrap_or(&message)
                .to_owned()
        })?;
        let mut incoming = Incoming {
            bytes: bytes.boxed(),
            decoder: StreamDecoder::new(),
            decoded: VecDeque::new(),
        };
        while incoming.decoder.schema().is_none() {
            if !incoming.read().await? {
                return Err("the answer of the server has no columns".into());
            }
        }
        let schema = incoming
            .decoder
            .schema()
            .ok_or("the answer has no columns")?;
        Ok(Rows {
            schema,
            batches: incoming.batches().boxed(),
        })
    }
}

impl Incoming {
    /// Reads and decodes the next bytes; `false` at the end.
    async fn read(&mut self) -> Result<bool, Failure> {
        let Some(bytes) = self.bytes.next().await.transpose()? else {
            self.decoder.finish()?;
            return Ok(false);
        };
        let mut buffer = Buffer::from(bytes);
        while !buffer.is_empty() {
            if let Some(batch) = self.decoder.decode(&mut buffer)? {
                self.decoded.push_back(batch);
            }
        }
        Ok(true)
    }

    fn batches(self) -> impl Stream<Item = Result<RecordBatch, Failure>> + Send {
        stream::unfold(Some(self), |state| async move {
            let mut incoming = state?;
            loop {
                if let Some(batch) = incoming.decoded.pop_front() {
                    return Some((Ok(batch), Some(incoming)));
                }
                match incoming.read().await {
                    Ok(true) => {}
                    Ok(false) => return None,
                    Err(error) => return Some((Err(error), None)),
                }
            }
        })
    }
}
