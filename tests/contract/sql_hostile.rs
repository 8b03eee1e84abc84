//! Hostile queries over HTTP: each is refused, stopped or answered within its limits, and memory does not depend on the
//! query.

use std::time::{Duration, Instant};

use reqwest::Method;
use serde_json::{Value, json};
use uuid::Uuid;

use toise::sql::SqlError;
use toise::sql::audit::{Caller, Protocol};
use toise::sql::settings::SqlSettings;

use super::sql::{ask, low, rows, service};
use crate::support::sql::set_sql;
use crate::support::{Service, error_of, http_client};

/// Maximum MiB that a query may add to the memory of the whole process: its own memory, buffers for spilling, and
/// memory that the allocator retains.
const GROWTH_MIB_MAX: u64 = 384;

/// Queries that try to write, to read forbidden data, or to exceed their limits.
fn hostile() -> Vec<String> {
    let joined = (0..12).map(|n| format!("range(1, 100000) as t{n}"));
    let cartesian = joined.collect::<Vec<_>>().join(", ");
    let nested = format!("select {}1{}", "(".repeat(3_000), ")".repeat(3_000));
    let doubled = (0..40).fold("select 'x' as s".to_owned(), |inner, _| {
        format!("select s || s as s from ({inner})")
    });
    let structs = (0..26).fold("select 1 as s".to_owned(), |inner, _| {
        format!("select struct(s, s) as s from ({inner})")
    });
    let lists = (0..40).fold("select [1] as s".to_owned(), |inner, _| {
        format!("select s || s as s from ({inner})")
    });
    let mut queries: Vec<String> = [
        "create table t as select 1",
        "create external table t stored as csv location '/etc/passwd'",
        "create view v as select 1",
        "create function f(int) returns int return $1 + 1",
        "drop table properties",
        "alter table properties add column x int",
        "truncate table properties",
        "insert into properties select * from properties",
        "update properties set title = ''",
        "delete from properties",
        "merge into properties using adverts on true when matched then delete",
        "copy (select 1) to '/tmp/toise-hostile.csv'",
        "copy properties to 's3://bucket/x.parquet'",
        "explain analyze copy (select 1) to '/tmp/toise-hostile.csv'",
        "explain analyze insert into properties select * from properties",
        "set datafusion.execution.batch_size = 1",
        "set datafusion.runtime.memory_limit = '100G'",
        "reset datafusion.execution.batch_size",
        "prepare p as select 1",
        "execute p",
        "begin",
        "attach 'x.db' as x",
        "install httpfs",
        "load httpfs",
        "pragma database_list",
        "select * from read_parquet('/etc/passwd')",
        "select * from read_csv('/etc/passwd')",
        "select * from '/etc/passwd'",
        "select * from 'http://169.254.169.254/latest/meta-data'",
        "select * from accounts",
        "select * from keys",
        "select * from alerts",
        "select * from main.sqlite_master",
        "select getenv('HOME')",
        "select repeat('x', 4000000000)",
        "select lpad('x', 2000000000, 'y')",
        "select cardinality(range(1, 100000000000))",
        "select array_repeat(1, 100000000000)",
        "select replace(repeat('a', 1000000), 'a', repeat('b', 1000000))",
        "with recursive t(n) as (select 1 union all select n + 1 from t) select count(*) from t",
        "with recursive t(n) as (select 1 union all select n from t union all select n from t) select count(*) from t",
        "select count(*) from range(1, 1000000000000)",
        "select string_agg(cast(value as varchar), ',') from range(1, 1000000000000)",
        "select array_agg(value) from range(1, 1000000000000)",
        "select distinct value from range(1, 1000000000000)",
        "select value from range(1, 1000000000000) order by value desc",
        "select count(*) from range(1, 500000) as a(v) join range(1, 500000) as b(v) on a.v > b.v * 1000000",
        "select count(*) from range(1, 500000) as a(v) join range(1, 500000) as b(v) on a.v <> b.v",
        "select generate_series(timestamp '2000-01-01', timestamp '2030-01-01', interval '1 nanosecond')",
    ]
    .map(str::to_owned)
    .to_vec();
    queries.push(format!("select count(*) from {cartesian}"));
    queries.push(format!(
        "select t0.value + t11.value from {cartesian} order by 1"
    ));
    queries.extend([nested, doubled, lists, structs]);
    // Planning them would take unlimited time or memory.
    queries.push(
        format!("select {}v{}", "coalesce(".repeat(45), ", v)".repeat(45))
            + " from (select random() as v)",
    );
    let brackets = |depth: usize| format!("{}1{}", "[".repeat(depth), "]".repeat(depth));
    queries.push(format!("select {} || {}", brackets(60), brackets(60)));
    queries.push(format!("select {} = {}", brackets(60), brackets(60)));
    queries.push(
        "select max(len(s)) from (select first_value(t) over (partition by v % 2 order by v rows between 100000 \
         preceding and 100000 following) as s from (select value as v, repeat(cast(value as varchar), 100000) as t \
         from range(1, 100000)))"
            .to_owned(),
    );
    queries.push(format!("select 1{}", " + 1".repeat(50_000)));
    queries.push(format!("select {}true", "not ".repeat(50_000)));
    queries.push(format!("select {}1", "-".repeat(50_000)));
    queries
}

#[tokio::test(flavor = "multi_thread")]
async fn hostile_queries_are_refused_or_stopped_within_their_limits() {
    let (service, key) = service(low()).await;
    let queries = hostile();
    assert!(queries.len() >= 40);
    for query in &queries {
        let shown: String = query.chars().take(120).collect();
        // For the rate of the key.
        service.clock.advance_ms(1_000);
        let started = Instant::now();
        let response = ask(&service, &key, json!({"query": query})).await;
        let status = response.status().as_u16();
        let answer = response.text().await;
        let told = answer
            .as_deref()
            .unwrap_or("the body ended early")
            .to_owned();
        assert!(status == 422 || answer.is_err(), "{shown}: {status} {told}");
        assert!(!told.contains("internal error"), "{shown}: {told}");
        let took = started.elapsed();
        assert!(took < Duration::from_secs(10), "{shown}: {took:?}");
    }
    // 10 MB of text, more than is read before the connection is closed: a client that still writes may not see the answer.
    let long = json!({"query": format!("select '{}'", "x".repeat(10_000_000))});
    let url = format!("http://{}/v2/protected/sql", service.address);
    let request = http_client().post(url).header("x-api-key", &key);
    match request.json(&long).send().await {
        Ok(response) => assert_eq!(response.status(), 413),
        Err(error) => assert!(error.is_request(), "{error}"),
    }
    // The service is as before.
    service.clock.advance_ms(1_000);
    assert_eq!(
        rows(&service, &key, "select 1 as n").await,
        json!([{"n": 1}])
    );
    let count = "select count(*) as n from properties";
    assert_eq!(rows(&service, &key, count).await, json!([{"n": 0}]));
    assert!(!std::path::Path::new("/tmp/toise-hostile.csv").exists());
    assert_eq!(
        service
            .ask(Method::GET, "/healthz")
            .send()
            .await
            .unwrap()
            .status(),
        200
    );
}

/// Resets the peak memory of this process; returns false if the system does not report it.
fn forget_peak() -> bool {
    std::fs::write("/proc/self/clear_refs", "5").is_ok()
}

/// A figure of this process, in MiB.
fn memory_mib(figure: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let mut lines = status.lines();
    let line = lines.find(|line| line.starts_with(figure)).unwrap();
    let kib: u64 = line.split_whitespace().nth(1).unwrap().parse().unwrap();
    kib >> 10
}

/// `t0`, and names that each stand for two of the preceding.
fn doubled(levels: usize) -> String {
    let mut sql = "with t0 as (select 1 as x)".to_owned();
    for level in 1..=levels {
        let before = level - 1;
        sql +=
            &format!(", t{level} as (select * from t{before} union all select * from t{before})");
    }
    format!("{sql} select count(*) from t{levels}")
}

/// Short queries with large results, with their parameters.
fn amplifying() -> Vec<(String, Value)> {
    let long = |length: usize| "x".repeat(length);
    let columns = |column: &str| {
        let columns = (0..100).map(|n| format!("{column} as c{n}"));
        columns.collect::<Vec<_>>().join(", ")
    };
    let repeated = "select repeat(cast(value as varchar), 1000000) as s from range(1, 100000)";
    let many = "from range(1, 1000000)";
    let mut queries = vec![
        (
            "select $1 as a from range(1, 100000)".to_owned(),
            json!([long(250_000)]),
        ),
        (
            "select $1 as a from range(1, 100000)".to_owned(),
            json!([long(300_000)]),
        ),
        (
            format!("select make_array({}) as a", vec!["$1"; 20_000].join(", ")),
            json!([long(200_000)]),
        ),
        (
            format!("explain verbose select {}", vec!["$1"; 500].join(" || ")),
            json!([long(100_000)]),
        ),
        (
            format!("select first_value($1) over () as a {many}"),
            json!([long(200_000)]),
        ),
    ];
    let plain = [
        format!("select '{}' as a {many}", long(200_000)),
        format!("select case when value > 0 then '{}' end as a {many}", long(200_000)),
        format!("select concat(value, '{}') as a {many}", long(200_000)),
        format!("select value || '{}' as a {many}", long(200_000)),
        format!("select lpad('x', 60000, 'y') as a {many}"),
        format!("select repeat('x', 16000000) as a {many}"),
        format!("select {} {many}", columns("repeat('x', 500000)")),
        format!("select {} {many}", columns("repeat(cast(value as varchar), 1000)")),
        format!("select {} from ({repeated})", columns("upper(s)")),
        format!("select {} from (select repeat('x', 1000000) as s)", columns("concat(s, s)")),
        format!("select * from ({repeated}) where random() >= 0"),
        format!("select s from ({repeated}) order by random()"),
        "select * from (select repeat('x', 2000000) as s) cross join range(1, 1000000)".to_owned(),
        format!("select a.s from ({repeated}) as a join range(1, 1000000) as b on a.s <> cast(b.value as varchar)"),
        format!("select (select string_agg(cast(value as varchar), ',') from range(1, 200000)) as a {many}"),
        format!("select unnest(range(1, 1000000)) as n, s from ({repeated})"),
        format!("select first_value(s) over () as a, max(s) over (order by v) as b from \
            (select value as v, case when value = 1 then repeat('x', 1000000) end as s {many})"),
        "select array_to_string(range(1, 100000), repeat('x', 60000))".to_owned(),
        "select array_replace_all(array_repeat('', 100000), '', repeat('x', 100000))".to_owned(),
        "select count(*) over () from range(1, 1000000000000)".to_owned(),
        "select sum(value) over (order by value rows between 100000000 preceding and current row) \
         from range(1, 1000000000000)".to_owned(),
        "select array_agg(value) over (order by value) from range(1, 1000000)".to_owned(),
        "select string_agg(cast(value as varchar), ',') over (order by value) from range(1, 1000000)".to_owned(),
        "select 1 from range(1, 10) group by cube(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16)".to_owned(),
        "select count(*), arrow_cast(null, 'FixedSizeBinary(2147483647)') as a from range(1, 1000000) group by 2".to_owned(),
        "select arrow_cast(null, 'FixedSizeList(2147483647, Int64)') as a".to_owned(),
        "select null::int[2147483647] as a".to_owned(),
        "select sum(value) over (order by value rows between 18446744073709551615 preceding and \
         18446744073709551615 following) as a from range(1, 5)".to_owned(),
        format!("select 1{}", ";".repeat(200_000)),
        "select regexp_like(cast(value as varchar), '(a{1,500}){1,500}') from range(1, 10)".to_owned(),
        doubled(25),
        format!("explain {}", doubled(25)),
        format!("explain analyze {}", doubled(25)),
        format!("select (select 1 from ({})) as n", doubled(20)),
    ];
    queries.extend(plain.map(|query| (query, Value::Null)));
    queries
}

#[tokio::test(flavor = "multi_thread")]
async fn what_makes_much_out_of_little_takes_little_memory() {
    let (service, key) = service(low()).await;
    rows(&service, &key, "select 1 as n").await;
    for (query, parameters) in amplifying() {
        let shown: String = query.chars().take(150).collect();
        service.clock.advance_ms(1_000);
        let (is_known, before) = (forget_peak(), memory_mib("VmRSS:"));
        let mut body = json!({"query": query});
        if !parameters.is_null() {
            body["parameters"] = parameters;
        }
        let started = Instant::now();
        let mut response = ask(&service, &key, body).await;
        let status = response.status().as_u16();
        let mut told = Vec::new();
        while let Ok(Some(piece)) = response.chunk().await {
            told.truncate(1_000);
            told.extend_from_slice(&piece);
        }
        let told = String::from_utf8_lossy(&told);
        let told: String = told.chars().take(300).collect();
        assert!(status == 422 || status == 200, "{shown}: {status} {told}");
        assert!(!told.contains("internal error"), "{shown}: {told}");
        let took = started.elapsed();
        assert!(took < Duration::from_secs(20), "{shown}: {took:?}");
        let grown = memory_mib("VmHWM:").saturating_sub(before);
        if std::env::var_os("TOISE_SHOW").is_some() {
            eprintln!("{status} {grown} MiB {took:?} {shown} | {told}");
        }
        assert!(!is_known || grown < GROWTH_MIB_MAX, "{shown}: {grown} MiB");
    }
    service.clock.advance_ms(1_000);
    assert_eq!(
        rows(&service, &key, "select 1 as n").await,
        json!([{"n": 1}])
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn wide_rows_long_texts_and_names_that_are_used_twice_are_answered() {
    let (service, key) = service(SqlSettings::default()).await;
    let columns = (0..100).map(|n| format!("repeat(cast(value as varchar), 1000) as c{n}"));
    let lengths = (0..100).map(|n| format!("len(c{n})"));
    let wide = format!(
        "select count(*) as n, sum({}) as l from (select {} from range(1000, 1500))",
        lengths.collect::<Vec<_>>().join(" + "),
        columns.collect::<Vec<_>>().join(", ")
    );
    let answered = rows(&service, &key, &wide).await;
    assert_eq!(answered, json!([{"n": 500, "l": 200_000_000}]));
    let polygon = "x".repeat(100_000);
    let long = format!(
        "select count(*) as n from range(0, 10000) where cast(value as varchar) <> '{polygon}'"
    );
    assert_eq!(rows(&service, &key, &long).await, json!([{"n": 10_000}]));
    let joined = format!("select sum(len(value || '{polygon}')) as l from range(0, 1000)");
    assert_eq!(
        rows(&service, &key, &joined).await,
        json!([{"l": 100_002_890}])
    );
    let list: Vec<String> = (0..20_000).map(|n| format!("'{n}'")).collect();
    let list = format!(
        "select count(*) as n from range(0, 50000) where cast(value as varchar) in ({})",
        list.join(",")
    );
    assert_eq!(rows(&service, &key, &list).await, json!([{"n": 20_000}]));
    let twice = "with a as (select value as v from range(0, 10)), b as (select v from a union all select v from a) \
        select count(*) as n from b as one join b as other using (v)";
    assert_eq!(rows(&service, &key, twice).await, json!([{"n": 40}]));
    let windows = "select sum(s) as s from (select sum(value) over (order by value) as s from range(0, 1000))";
    assert_eq!(
        rows(&service, &key, windows).await,
        json!([{"s": 166_666_500}])
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_only_planned_is_bounded_and_takes_turns() {
    let (sender, receiver) = std::sync::mpsc::channel();
    let _service = Service::start_changed(move |app| {
        set_sql(app, &low());
        sender.send(app.data.sql.clone()).unwrap();
    })
    .await;
    let sql = receiver.recv().unwrap();
    let key_id = Uuid::now_v7();
    let caller = || Caller {
        request_id: Uuid::now_v7(),
        account_id: Uuid::nil(),
        key_id,
        protocol: Protocol::Flight,
    };
    // Of memory or of time, whichever is reached first.
    let refused = sql.describe(&doubled(25), caller()).await;
    assert!(matches!(refused, Err(SqlError::Limit(_))), "{refused:?}");
    let operators = format!("select 1{}", " + 1".repeat(5_000));
    assert!(sql.describe(&operators, caller()).await.is_err());
    let shape = sql.describe("select $1 + 1 as n", caller()).await.unwrap();
    assert_eq!(shape.parameters.len(), 1);
    // One runs and eight wait; the others are told to retry.
    let asked = (0..40).map(|_| sql.describe("select 1 as n", caller()));
    let answers = futures::future::join_all(asked).await;
    let answered = answers.iter().filter(|answer| answer.is_ok()).count();
    assert!((9..40).contains(&answered), "{answered}");
}

/// A query that takes memory that the engine does not count.
const HUNGRY: &str = "select max(len(s)) from (select array_agg(repeat(cast(value as varchar), 1000)) as s \
     from range(1, 4000000))";

#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread")]
async fn a_query_whose_process_dies_takes_no_other_with_it() {
    let (service, key) = service(SqlSettings::default()).await;
    let other = service.key_with("sql");
    // More than the pipes hold, so that it runs for as long as it is not read.
    let long = "select value, repeat('x', 1000) as t from range(0, 100000)";
    let mut streaming = ask(&service, &other, json!({"query": long, "format": "csv"})).await;
    assert_eq!(streaming.status(), 200);
    for _ in 0..3 {
        let dying = ask(&service, &key, json!({"query": HUNGRY})).await;
        let (status, _, message) = error_of(dying).await;
        assert_eq!(status, 422, "{message}");
        assert!(message.contains("more memory"), "{message}");
        service.clock.advance_ms(1_000);
        let answered = rows(&service, &key, "select 1 as n").await;
        assert_eq!(answered, json!([{"n": 1}]));
    }
    let mut lines = 0;
    while let Some(piece) = streaming.chunk().await.unwrap() {
        lines += piece.iter().filter(|byte| **byte == b'\n').count();
    }
    assert_eq!(lines, 100_001);
}
