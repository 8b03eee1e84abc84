//! Flight SQL in public bug reports: values of placeholders, and what a query with parameters counts against the rate.

use std::process::Stdio;
use std::sync::Arc;
use std::time::{Duration, Instant};

use arrow::array::builder::{ListBuilder, StringBuilder};
use arrow::array::{
    Array, ArrayRef, AsArray, BooleanArray, Date32Array, Decimal128Array, DictionaryArray,
    Int64Array, RecordBatch, StringArray,
};
use arrow::datatypes::{Int32Type, Int64Type};
use arrow_flight::encode::{DictionaryHandling, FlightDataEncoderBuilder};
use arrow_flight::error::FlightError;
use arrow_flight::sql::client::FlightSqlServiceClient;
use arrow_flight::sql::{
    ActionCreatePreparedStatementRequest, ActionCreatePreparedStatementResult, Any,
    CommandPreparedStatementQuery, ProstMessageExt,
};
use arrow_flight::{Action, FlightData, FlightDescriptor};
use futures::{TryStreamExt, stream};
use prost::Message;
use serde_json::json;
use tonic::Code;
use tonic::transport::Channel;

use crate::support::assertions::assert_has;
use crate::support::cases::import;
use crate::support::http_client;
use crate::support::process::{Server, new_key};

type Client = FlightSqlServiceClient<Channel>;

/// 2024-01-01, in days since 1970-01-01.
const FIRST_OF_2024: i32 = 19_723;
/// Queries a second that the keys of the rate may make.
const RATE: u32 = 10;
/// Queries that are sent to find the rate.
const QUERIES: usize = 40;

async fn connected(server: &Server, key: &str) -> Client {
    let address = server.ready["flight"].as_str().unwrap();
    let address = address.replacen("grpc:", "http:", 1);
    let channel = Channel::from_shared(address).unwrap().connect().await;
    let mut client = FlightSqlServiceClient::new(channel.unwrap());
    client.set_token(key.to_owned());
    client
}

fn row(parameters: &[ArrayRef]) -> RecordBatch {
    let named = parameters
        .iter()
        .enumerate()
        .map(|(place, value)| (place.to_string(), Arc::clone(value), true));
    RecordBatch::try_from_iter_with_nullable(named).unwrap()
}

/// Prepares a query, binds parameters, runs it and closes it, as drivers do; returns the number that it answers.
async fn ask(
    client: &mut Client,
    query: &str,
    parameters: &[ArrayRef],
) -> Result<i64, FlightError> {
    let mut statement = client.prepare(query.to_owned(), None).await.unwrap();
    if !parameters.is_empty() {
        statement.set_parameters(row(parameters)).unwrap();
    }
    let info = statement.execute().await.unwrap();
    let ticket = info.endpoint[0].ticket.clone().unwrap();
    let answered = match client.do_get(ticket).await {
        Ok(batches) => batches.try_collect::<Vec<RecordBatch>>().await,
        Err(refused) => Err(refused),
    };
    // A close is never refused, not even past the rate.
    statement.close().await.unwrap();
    answered.map(|batches| batches[0].column(0).as_primitive::<Int64Type>().value(0))
}

/// Binds a parameter that is a dictionary, which must be refused; returns the message.
async fn dictionary_refused(client: &mut Client, query: &str) -> String {
    let request = ActionCreatePreparedStatementRequest {
        query: query.to_owned(),
        transaction_id: None,
    };
    let action = Action {
        r#type: "CreatePreparedStatement".to_owned(),
        body: request.as_any().encode_to_vec().into(),
    };
    let mut made = client.do_action(action).await.unwrap();
    let made = made.message().await.unwrap().unwrap();
    let made = Any::decode(made.body.as_ref()).unwrap();
    let made: ActionCreatePreparedStatementResult = made.unpack().unwrap().unwrap();
    let bound = CommandPreparedStatementQuery {
        prepared_statement_handle: made.prepared_statement_handle,
    };
    let descriptor = FlightDescriptor::new_cmd(bound.as_any().encode_to_vec());
    let values: DictionaryArray<Int32Type> = ["Maison"].into_iter().collect();
    let encoded = FlightDataEncoderBuilder::new()
        .with_flight_descriptor(Some(descriptor))
        .with_dictionary_handling(DictionaryHandling::Resend)
        .build(stream::iter([Ok(row(&[Arc::new(values)]))]));
    let messages: Vec<FlightData> = encoded.try_collect().await.unwrap();
    match client.do_put(stream::iter(messages)).await {
        Ok(mut answers) => answers.message().await.unwrap_err().message().to_owned(),
        Err(refused) => refused.to_string(),
    }
}

/// Asserts that a number of queries were answered before the first refusal because each counted once.
fn assert_counted_once(answered: usize, since: Instant, door: &str) {
    let most = f64::from(RATE) * (1.0 + since.elapsed().as_secs_f64()) + 1.0;
    let is_once = answered >= RATE as usize && answered as f64 <= most;
    assert!(
        is_once,
        "{door}: {answered} queries in {:?}",
        since.elapsed()
    );
}

#[tokio::test]
async fn a_query_with_parameters_counts_once_and_takes_plain_values() {
    // Each message of a prepared query counted against the rate, about five a query, and even a close was refused.
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path();
    import(data, "dvf", "41-dvf-float32-prices/edition-2025.csv");
    let key = new_key(data, &["--scopes", "sql"]);
    let rate = RATE.to_string();
    let slow = ["--scopes", "sql", "--rate", &rate];
    let (slow_over_flight, slow_over_http) = (new_key(data, &slow), new_key(data, &slow));
    let listen = ["--set", "flight.listen=127.0.0.1:0"];
    let server = Server::start_with(data, "serve", &listen, Stdio::null());

    let mut client = connected(&server, &key).await;
    let count = |condition: &str| format!("select count(*) from dvf where {condition}");
    let mut classes = ListBuilder::new(StringBuilder::new());
    classes.append_value([Some("Maison"), Some("Appartement")]);
    let classes: ArrayRef = Arc::new(classes.finish());
    let decimal = Decimal128Array::from(vec![39_700_050]).with_precision_and_scale(10, 2);
    let values: [(&str, ArrayRef, i64); 8] = [
        (
            "price_eur > ?",
            Arc::new(Int64Array::from(vec![397_000])),
            2,
        ),
        (
            "price_eur >= $1",
            Arc::new(Int64Array::from(vec![397_000])),
            3,
        ),
        (
            "city = ?",
            Arc::new(StringArray::from(vec![None::<&str>])),
            0,
        ),
        (
            "transaction_date >= ?",
            Arc::new(Date32Array::from(vec![FIRST_OF_2024])),
            4,
        ),
        ("price_eur > ?", Arc::new(decimal.unwrap()), 2),
        (
            "is_new_build = ?",
            Arc::new(BooleanArray::from(vec![false])),
            4,
        ),
        ("property_type = any(?)", Arc::clone(&classes), 4),
        ("array_has(?, property_type)", classes, 4),
    ];
    for (condition, value, expected) in values {
        let kind = value.data_type().clone();
        let answer = ask(&mut client, &count(condition), &[value]).await;
        assert_eq!(answer.unwrap(), expected, "{condition}: {kind}");
    }
    let info = client
        .execute("select null as nothing".to_owned(), None)
        .await
        .unwrap();
    let ticket = info.endpoint[0].ticket.clone().unwrap();
    let nothing = client
        .do_get(ticket)
        .await
        .unwrap()
        .try_collect::<Vec<RecordBatch>>()
        .await;
    assert_eq!(nothing.unwrap()[0]["nothing"].logical_null_count(), 1);
    let said = dictionary_refused(&mut client, &count("property_type = ?")).await;
    assert_has(&said, "send parameters as values, not as dictionaries");
    // What `executemany` of drivers sends.
    let mut several = client.prepare(count("price_eur > ?"), None).await.unwrap();
    let said = several.execute_update().await.unwrap_err().to_string();
    assert!(said.contains("only queries are possible"), "{said}");

    let mut client = connected(&server, &slow_over_flight).await;
    let (since, mut answered) = (Instant::now(), 0);
    for price in 0..QUERIES as i64 {
        let price: ArrayRef = Arc::new(Int64Array::from(vec![1_000 * price]));
        match ask(&mut client, &count("price_eur > ?"), &[price]).await {
            Ok(_) => answered += 1,
            Err(FlightError::Tonic(status)) => {
                assert_eq!(status.code(), Code::ResourceExhausted, "{status}");
                break;
            }
            Err(other) => panic!("{other}"),
        }
    }
    assert_counted_once(answered, since, "Flight SQL");

    let url = format!("{}/v2/protected/sql", server.address);
    let (since, mut answered) = (Instant::now(), 0);
    for price in 0..QUERIES {
        let body = json!({"query": count("price_eur > $1"), "parameters": [1_000 * price]});
        let request = http_client()
            .post(&url)
            .header("x-api-key", &slow_over_http);
        let request = request.json(&body).timeout(Duration::from_secs(20));
        match request.send().await.unwrap().status().as_u16() {
            200 => answered += 1,
            status => {
                assert_eq!(status, 429);
                break;
            }
        }
    }
    assert_counted_once(answered, since, "HTTP");
}
