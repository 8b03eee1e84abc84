//! The Model Context Protocol at `/mcp`: the tools, the results of calls, and refusals.

use reqwest::{Method, Response};
use serde_json::{Value, json};
use toise::accounts::DEFAULT_ACCOUNT;
use toise::accounts::key::KeyKind;
use toise::sql::audit::latest;

use crate::support::assertions::{assert_begins, texts_of};
use crate::support::{ROWS, Service, error_of};

/// Sends a message with a bearer token.
async fn send(service: &Service, key: &str, message: &Value) -> Response {
    let request = service
        .ask(Method::POST, "/mcp")
        .header("authorization", format!("Bearer {key}"))
        .header("accept", "application/json, text/event-stream")
        .json(message);
    request.send().await.unwrap()
}

/// The result of a request, or its error.
async fn ask(service: &Service, key: &str, method: &str, parameters: Value) -> Value {
    let message = json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": parameters});
    let response = send(service, key, &message).await;
    assert!(response.headers().contains_key("x-request-id"));
    let mut answer: Value = response.json().await.unwrap();
    assert_eq!(answer["id"], 7, "{answer}");
    match answer.get_mut("result") {
        Some(result) => result.take(),
        None => answer["error"].take(),
    }
}

/// Calls a tool; returns whether it failed, and its structured result.
async fn call(service: &Service, key: &str, tool: &str, arguments: Value) -> (bool, Value) {
    let parameters = json!({"name": tool, "arguments": arguments});
    let mut result = ask(service, key, "tools/call", parameters).await;
    let structured = result["structuredContent"].take();
    // Clients without support for structured results read the text.
    let text = result["content"][0]["text"].as_str().unwrap();
    assert_eq!(serde_json::from_str::<Value>(text).unwrap(), structured);
    (result["isError"] == true, structured)
}

#[tokio::test]
async fn an_agent_is_offered_the_tools_with_hints_and_schemas() {
    let service = Service::start().await;
    let begun = ask(
        &service,
        &service.key,
        "initialize",
        json!({
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"},
        }),
    )
    .await;
    assert_eq!(begun["protocolVersion"], "2025-06-18");
    assert_eq!(begun["serverInfo"]["name"], "toise");
    assert!(begun["instructions"].as_str().unwrap().contains("French"));
    let listed = ask(&service, &service.key, "tools/list", json!({})).await;
    let tools = listed["tools"].as_array().unwrap();
    let names: Vec<&str> = tools
        .iter()
        .map(|tool| tool["name"].as_str().unwrap())
        .collect();
    assert_eq!(names.len(), 20);
    for tool in tools {
        let name = tool["name"].as_str().unwrap();
        assert_eq!(tool["inputSchema"]["type"], "object", "{name}");
        assert_eq!(tool["outputSchema"]["type"], "object", "{name}");
        let reads = name != "create_alert";
        assert_eq!(tool["annotations"]["readOnlyHint"], reads, "{name}");
        assert_eq!(tool["annotations"]["destructiveHint"], false, "{name}");
    }
}

#[tokio::test]
async fn a_call_is_answered_and_charged_like_its_request() {
    let service = Service::start().await;
    let (failed, found) = call(&service, &service.key, "search_sales", json!({"size": 2})).await;
    assert!(!failed, "{found}");
    assert_eq!(found["total"], ROWS);
    assert_eq!(found["data"].as_array().unwrap().len(), 2);
    let charged =
        service.charged("SELECT count(*) FROM ledger WHERE type = 'API_OPENDATA_DVF_SEARCH'");
    assert_eq!(charged, [1]);
    let (failed, found) = call(
        &service,
        &service.key,
        "search_properties",
        json!({"search": {"filterProperty": {}}}),
    )
    .await;
    assert!(!failed, "{found}");
    assert_eq!(found["data"]["count"], 0);
    let (failed, found) = call(&service, &service.key, "list_portfolios", json!({})).await;
    assert_eq!((failed, found), (false, json!({"data": []})));
}

#[tokio::test]
async fn an_error_is_a_result_with_the_error_body_of_the_service() {
    let service = Service::start().await;
    let key = service.key.as_str();
    let message = async |tool: &str, arguments: Value| {
        let (failed, body) = call(&service, key, tool, arguments).await;
        assert!(failed, "{tool}: {body}");
        let code = body["error"]["code"].as_u64().unwrap();
        (code, body["error"]["message"].as_str().unwrap().to_owned())
    };
    let (code, wrong_type) = message("search_sales", json!({"size": "many"})).await;
    assert_eq!(code, 10002);
    assert!(wrong_type.starts_with("size: must be"), "{wrong_type}");
    let (_, unknown) = message("search_sales", json!({"colour": "red"})).await;
    assert_begins(&unknown, "colour: is not an argument");
    let (_, other_path) = message("get_property", json!({"flxId": "search"})).await;
    assert_eq!(other_path, "flxId: must be a UUID");
    let id = "0198c0de-0000-7000-8000-000000000001";
    let (code, missing) = message("get_property", json!({"flxId": id})).await;
    assert_eq!((code, missing.as_str()), (10003, "no such property"));
    let (_, missing) = message("get_portfolio", json!({"name": "lyon"})).await;
    assert_eq!(missing, "no such portfolio");
    let (code, denied) = message("sql", json!({"query": "select 1"})).await;
    assert_eq!(code, 10004);
    assert!(denied.contains("sql"), "{denied}");
    let unknown = ask(&service, key, "tools/call", json!({"name": "drop_all"})).await;
    assert_eq!(unknown["code"], -32602, "{unknown}");
    let unknown = ask(&service, key, "resources/list", json!({})).await;
    assert!(
        unknown["code"].is_number() || unknown["resources"] == json!([]),
        "{unknown}"
    );
    let charged = service.charged("SELECT count(*) FROM ledger");
    assert_eq!(charged, [0]);
}

#[tokio::test]
async fn a_query_reads_at_most_a_thousand_rows_and_is_audited() {
    let service = Service::start().await;
    let key = service.key_with("sql");
    let query = |sql: &str| json!({"query": sql});
    let (failed, rows) = call(&service, &key, "sql", query("select 1 as one")).await;
    assert_eq!((failed, &rows), (false, &json!({"data": [{"one": 1}]})));
    let series = |rows: u32| query(&format!("select value from generate_series(1, {rows})"));
    let (failed, rows) = call(&service, &key, "sql", series(1_000)).await;
    assert!(!failed && rows["data"].as_array().unwrap().len() == 1_000);
    for too_many in [1_001, 10_000_000] {
        let (failed, error) = call(&service, &key, "sql", series(too_many)).await;
        assert!(failed, "{error}");
        let message = error["error"]["message"].as_str().unwrap();
        assert!(message.contains("rows"), "{message}");
    }
    for hostile in [
        "drop table dvf",
        "copy dvf to '/tmp/x.csv'",
        "create external table t stored as csv location '/etc/passwd'",
        "select 1; select 2",
        "set datafusion.execution.batch_size = 1",
    ] {
        let (failed, error) = call(&service, &key, "sql", query(hostile)).await;
        assert!(
            failed && error["error"]["code"] == 10002,
            "{hostile}: {error}"
        );
    }
    let (failed, tables) = call(&service, &key, "describe_tables", json!({})).await;
    assert!(!failed, "{tables}");
    let names = texts_of(&tables["data"], "table_name");
    assert_eq!(names, ["adverts", "dpe", "dvf", "market", "properties"]);
    let (_, one) = call(
        &service,
        &key,
        "describe_tables",
        json!({"table": "properties"}),
    )
    .await;
    assert_eq!(one["data"].as_array().unwrap().len(), 1);
    assert!(
        one["data"][0]["columns"]
            .to_string()
            .contains("price_latest_value ")
    );
    let (_, none) = call(
        &service,
        &key,
        "describe_tables",
        json!({"table": "x' or '1'='1"}),
    )
    .await;
    assert_eq!(none, json!({"data": []}));
    let entries = latest(&service.store, 100).unwrap();
    assert!(!entries.is_empty() && entries.iter().all(|entry| entry.protocol == "mcp"));
}

#[tokio::test]
async fn no_message_is_taken_without_a_key_too_long_or_from_a_web_page() {
    let service = Service::start().await;
    let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"});
    let response = send(&service, "wrong", &list).await;
    assert_eq!(response.headers()["www-authenticate"], "Bearer");
    let (status, code, message) = error_of(response).await;
    assert_eq!((status, code), (401, 10001));
    assert!(message.starts_with("x-api-key: "), "{message}");
    for method in [Method::POST, Method::GET, Method::DELETE] {
        let response = service.ask(method, "/mcp").send().await.unwrap();
        assert_eq!(error_of(response).await.0, 401);
    }
    let request = |method| {
        let request = service.keyed(method, "/mcp", &service.key);
        request.header("accept", "application/json, text/event-stream")
    };
    // There are no sessions, so there is no stream to open.
    for method in [Method::GET, Method::DELETE] {
        let response = request(method).send().await.unwrap();
        assert_eq!(response.headers()["allow"], "POST");
        assert!(response.headers().contains_key("x-request-id"));
        let (status, code, _) = error_of(response).await;
        assert_eq!((status, code), (405, 10007));
    }
    let silent = service.ask(Method::POST, "/mcp").json(&list);
    let silent = silent.header("x-api-key", &service.key).send().await;
    let (status, code, message) = error_of(silent.unwrap()).await;
    assert_eq!((status, code), (406, 10007));
    assert!(message.starts_with("accept: "), "{message}");
    let foreign = request(Method::POST).header("origin", "https://evil.example");
    let (status, code, _) = error_of(foreign.json(&list).send().await.unwrap()).await;
    assert_eq!((status, code), (403, 10004));
    let text = request(Method::POST)
        .header("content-type", "text/plain")
        .body("x");
    assert_eq!(error_of(text.send().await.unwrap()).await.0, 415);
    let many = "[".repeat(1_040_000);
    let unfolds = request(Method::POST).header("content-type", "application/json");
    let (status, _, message) = error_of(unfolds.body(many).send().await.unwrap()).await;
    assert_eq!(status, 422);
    assert!(message.contains("1000000 values"), "{message}");
    for broken in ["", "{", "[]", "null", "{\"jsonrpc\": \"2.0\"}"] {
        let request = request(Method::POST).header("content-type", "application/json");
        let response = request.body(broken).send().await.unwrap();
        assert!(response.headers().contains_key("x-request-id"));
        let (status, code, _) = error_of(response).await;
        assert_eq!((status, code), (400, 10002), "{broken}");
    }
    assert_eq!(
        request(Method::POST)
            .json(&list)
            .send()
            .await
            .unwrap()
            .status(),
        200
    );
    // Last: the server closes the connection of a client that sends much too much.
    let long = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
        "name": "sql", "arguments": {"query": "x".repeat(10 << 20)},
    }});
    let response = request(Method::POST).json(&long).send().await.unwrap();
    assert_eq!(error_of(response).await.0, 413);
}

#[tokio::test]
async fn every_message_counts_once_against_the_rate_of_its_key() {
    let service = Service::start().await;
    let message = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"});
    let key = service.key.as_str();
    let mut refused = None;
    for _ in 0..500 {
        let response = send(&service, key, &message).await;
        if response.status() == 429 {
            refused = Some(error_of(response).await);
            break;
        }
    }
    assert_eq!(
        refused.map(|(status, code, _)| (status, code)),
        Some((429, 10005))
    );
    // The clock of the service is fixed, so no further call is admitted: it has the same rate.
    let (failed, error) = call(&service, key, "search_sales", json!({})).await;
    assert!(failed && error["error"]["code"] == 10005, "{error}");
}

#[tokio::test]
async fn a_call_of_a_tool_counts_once_however_long_it_is() {
    let service = Service::start().await;
    let key = service
        .new_key(KeyKind::Test, "search", DEFAULT_ACCOUNT)
        .key;
    let calling = |arguments: Value| {
        json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
            "name": "search_sales", "arguments": arguments,
        }})
    };
    let short = calling(json!({"size": 1}));
    let long = calling(json!({"filters": {"postal_code": "4".repeat(20 << 10)}}));
    let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"});
    // Its key allows five calls a second, and the clock is fixed.
    for message in [&short, &long, &short, &long, &list] {
        let response = send(&service, &key, message).await;
        assert_eq!(response.status(), 200);
        let text = response.text().await.unwrap();
        assert!(!text.contains("10005"), "{text}");
    }
    // An agent reads results; a client that reads messages gets the status.
    let (failed, error) = call(&service, &key, "search_sales", json!({"size": 1})).await;
    assert!(failed && error["error"]["code"] == 10005, "{error}");
    for message in [&list, &long] {
        let refused = send(&service, &key, message).await;
        assert_eq!(refused.headers()["ratelimit-limit"], "5");
        assert_eq!(refused.headers()["ratelimit-remaining"], "0");
        assert_eq!(refused.headers()["retry-after"], "1");
        let (status, code, _) = error_of(refused).await;
        assert_eq!((status, code), (429, 10005));
    }
}
