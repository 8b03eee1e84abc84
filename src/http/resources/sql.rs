//! SQL over HTTP: runs a query and streams its rows as fast as the client reads.
//!
//! The answer begins when its first part is ready, or all of it if it is short. A query that fails before that is an
//! ordinary error. A query that fails later ends the connection, so that no client mistakes a part for the whole. A
//! client that hangs up stops its query.

use bytes::Bytes;
use serde_json::{Value, json};
use warp::http::HeaderMap;
use warp::http::header::{ACCEPT, CONTENT_ENCODING, HeaderName};

use crate::endpoint::call::Call;
use crate::endpoint::response::ApiResponse;
use crate::endpoint::{Access, Endpoint, JSON_BODY, Time, endpoints};
use crate::openapi::Operation;
use toise_accounts::prices::Consumption;
use toise_accounts::scopes::Scope;
use toise_accounts::sql_limits::{SQL_LIMIT_MAX, SqlLimits};
use toise_contract::Fault;
use toise_contract::fields::schema::{Components, object, record};
use toise_contract::fields::{DefaultValue, Field, FieldKind, Own, Taken, Values, read};
use toise_contract::walk::JsonPath;
use toise_service::error::ApiError;
use toise_sql::SqlError;
use toise_sql::audit::Caller;
use toise_sql::encode::RowFormat;
use toise_sql::parameters;
use toise_sql::request::{Output, SqlRequest};
use toise_sql::running::{Piece, RunningQuery};
use toise_sql::text::TEXT_BYTES_MAX;
use toise_transport::pieces::{self, BodyWriter};

/// Bytes collected before an answer begins.
const FIRST_BYTES: usize = 256 << 10;
/// Header with the versions of the tables that a query reads.
const SNAPSHOTS_HEADER: HeaderName = HeaderName::from_static("x-toise-snapshots");
/// The supported compression.
const ZSTD: &str = "zstd";

static PARAMETERS: Own = Own {
    read: |value, _| Ok(Taken::Json(value)),
    schema: |_| {
        json!({
            "type": ["array", "object"],
            "items": {"type": ["string", "number", "boolean", "null"]},
            "additionalProperties": {"type": ["string", "number", "boolean", "null"]},
        })
    },
};

static LIMITS: [Field; 4] = [
    Field::optional("rows", FieldKind::Integer(1, SQL_LIMIT_MAX), "Maximum rows"),
    Field::optional(
        "bytes",
        FieldKind::Integer(1, SQL_LIMIT_MAX),
        "Maximum bytes",
    ),
    Field::optional(
        "memory_mib",
        FieldKind::Integer(1, SQL_LIMIT_MAX),
        "Memory that the query may use before it spills to disk, in MiB",
    ),
    Field::optional(
        "time_s",
        FieldKind::Integer(1, SQL_LIMIT_MAX),
        "Maximum duration, including the answer, in seconds",
    ),
];

/// The body of a query.
static BODY: [Field; 5] = [
    Field::required(
        "query",
        FieldKind::TextUpTo(TEXT_BYTES_MAX),
        "One read-only statement, in the SQL of DataFusion; `information_schema` lists tables and columns",
    )
    .with_example("select property_type, count(*) as sales from dvf group by 1"),
    Field::optional(
        "parameters",
        FieldKind::Own(&PARAMETERS),
        "Values of placeholders: an array for `$1` or `?`, an object for `$name`",
    ),
    Field::optional(
        "format",
        FieldKind::OneOf(&RowFormat::NAMES),
        "Format of the rows; by default the one in the Accept header, or JSON",
    ),
    Field::optional(
        "compression",
        FieldKind::OneOf(&["none", ZSTD]),
        "zstd compresses the buffers of Arrow data, and text formats as a whole (Content-Encoding)",
    )
    .or(DefaultValue::Word("none")),
    Field::optional(
        "limits",
        FieldKind::Object(&LIMITS),
        "Limits lower than those of the key; a query that exceeds one ends with an error",
    ),
];

/// The endpoint.
pub const ENDPOINTS: &[Endpoint] = endpoints! {
    POST "/v2/protected/sql", Access::scoped(Scope::Sql, "sql.query"), Reads, query(call)
        .counted_as(Consumption::Sql).with_body(JSON_BODY).with_time(Time::Query).with_operation(documented);
};

fn documented() -> Operation {
    let rows =
        json!({"type": "object", "additionalProperties": true, "description": "A row, by column"});
    Operation::new("sql", "The rows of a SQL query")
        .with_description(
            "All tables are read as they are at one moment, which the header `x-toise-snapshots` identifies. \
             `format` or the Accept header selects the format: JSON, Arrow IPC stream \
             (`application/vnd.apache.arrow.stream`), Parquet (`application/vnd.apache.parquet`), CSV (`text/csv`; \
             `safe-csv` puts an apostrophe in front of cells that a spreadsheet would run as formulas), NDJSON \
             (`application/x-ndjson`) or GeoJSON (`application/geo+json`). GeoParquet can only be selected with \
             `format`. In the two geographic formats, rows with columns named lon and lat, or longitude and \
             latitude, are points. Rows are streamed; if the answer fails midway, the connection is closed. A fault \
             in the query is reported with its line and column. Every query is written to an audit log",
        )
        .with_request(object(&BODY, &mut Components::new()))
        .with_response(record(json!({"data": {"type": "array", "items": rows}})))
}

async fn query(call: &Call<'_>) -> Result<ApiResponse, ApiError> {
    let key = call.key()?;
    let caller = Caller {
        request_id: call.request_id,
        account_id: key.account_id,
        key_id: key.key_id,
        protocol: call.protocol,
    };
    let headers = call.headers.clone();
    let read = move |body| parse(&body, &headers, caller);
    let mut request = call.read_on_pool(read).await?;
    request.key_limits = key.allowance.sql;
    let output = request.output;
    let mut running = call.app.data.sql.run(request).await?;
    let (first, is_whole) = running.bytes(FIRST_BYTES).await?;
    let (format, compresses) = match output {
        Output::Encoded(format, compresses) => (format, compresses),
        Output::Batches => (RowFormat::Json, false),
    };
    let mut response = ApiResponse::typed(format.media_type(), Bytes::from(first))
        .with_header(SNAPSHOTS_HEADER, running.snapshots());
    if compresses && format.is_text() {
        response = response.with_header(CONTENT_ENCODING, ZSTD);
    }
    if is_whole {
        return Ok(response);
    }
    let (writer, rest) = pieces::body();
    tokio::spawn(stream_rest(running, writer));
    Ok(response.with_rest(rest))
}

/// Sends the rest of an answer while the client reads.
async fn stream_rest(mut running: RunningQuery, writer: BodyWriter) {
    loop {
        let piece = tokio::select! {
            piece = running.next() => piece,
            () = writer.closed() => return,
        };
        match piece {
            None => return writer.finish(),
            Some(Ok(Piece::Bytes(bytes))) => {
                if !writer.write(bytes).await {
                    return;
                }
            }
            // The service has logged how the query ended. Its error may quote the query.
            Some(Ok(Piece::Batch(_)) | Err(_)) => return,
        }
    }
}

fn parse(body: &Value, headers: &HeaderMap, caller: Caller) -> Result<SqlRequest, ApiError> {
    let mut values = read(body, &BODY, JsonPath::Body)?;
    let sql: String = values.require("query")?;
    let given = values.take("parameters").map(parameters::from_json);
    let parameters = given.transpose().map_err(misplaced)?;
    let format = match values.word("format").and_then(RowFormat::parse) {
        Some(format) => format,
        None => accepted(headers),
    };
    let compresses = values.word("compression") == Some(ZSTD);
    let limits = values.take::<Values<'_>>("limits").map(requested);
    Ok(SqlRequest {
        sql,
        parameters,
        limits: limits.unwrap_or_default(),
        key_limits: SqlLimits::default(),
        output: Output::Encoded(format, compresses),
        caller,
    })
}

/// Converts an error about the parameters to a fault. The path of the fault replaces the prefix of the message.
fn misplaced(error: SqlError) -> ApiError {
    let message = error.to_string();
    let rule = message.strip_prefix("parameters: ").unwrap_or(&message);
    Fault::new("parameters", rule).into()
}

fn requested(mut limits: Values<'_>) -> SqlLimits {
    let mut whole = |name: &str| limits.take::<u64>(name);
    SqlLimits {
        rows: whole("rows"),
        bytes: whole("bytes"),
        memory_mib: whole("memory_mib"),
        time_s: whole("time_s"),
        concurrent: None,
    }
}

/// Returns the format of the first media type in `Accept` that is supported; JSON if none is.
fn accepted(headers: &HeaderMap) -> RowFormat {
    let accept = headers.get(ACCEPT).and_then(|accept| accept.to_str().ok());
    let mut wanted = accept.unwrap_or_default().split(',').filter_map(|part| {
        let essence = part.split(';').next().unwrap_or_default().trim();
        let mut known = RowFormat::ALL.into_iter();
        known.find(|format| format.media_type().eq_ignore_ascii_case(essence))
    });
    wanted.next().unwrap_or(RowFormat::Json)
}
