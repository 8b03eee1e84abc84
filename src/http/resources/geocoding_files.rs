//! Files of addresses, answered at once: takes a file, CSV or a spreadsheet, and streams it back as CSV with the
//! results appended.

use std::fs::File;
use std::io::{Seek, SeekFrom};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use parking_lot::Mutex;
use serde_json::{Value, json};
use uuid::Uuid;
use warp::http::header::{CONTENT_DISPOSITION, CONTENT_TYPE, HeaderName};

use crate::endpoint::call::Call;
use crate::endpoint::response::ApiResponse;
use crate::endpoint::{Access, BodyRule, Endpoint, Time, endpoints};
use crate::input::form::{ReceivedForm, receive};
use crate::openapi::Operation as Documented;
use crate::openapi::geocoding::file_fields;
use toise_accounts::prices::Consumption;
use toise_accounts::scopes::Scope;
use toise_contract::Fault;
use toise_engine::pool::{Load, PoolError};
use toise_geocode::file::csv::{CsvBlock, CsvPlan, next_block};
use toise_geocode::file::received::{explained, unpacked};
use toise_geocode::file::records::RecordReader;
use toise_geocode::file::request::FileRequest;
use toise_geocode::file::rows::RowGeocoder;
use toise_geocode::file::text::TextEncoding;
use toise_geocode::request::Operation;
use toise_geocode::search::Geocoder;
use toise_service::App;
use toise_service::error::ApiError;
use toise_transport::body_budget::{BodyLease, BudgetError};
use toise_transport::pieces::{self, BodyWriter};

/// Maximum bytes of a file.
pub const FILE_BYTES_MAX: usize = 50 << 20;
/// Maximum bytes of the form around a file.
const FORM_BYTES_MAX: usize = 64 << 10;
/// Maximum rows of a file that is answered at once. Together with the maximum columns it bounds the answer, in which
/// short rows are padded: half a gigabyte at worst, produced as the client reads it.
pub const FILE_ROWS_MAX: u64 = 200_000;
/// Maximum files that are received or answered at a time; a key may have at most a quarter of them.
pub const FILES_AT_ONCE_MAX: usize = 8;
/// Field of the file.
const FILE_FIELD: &str = "data";
/// Header with the number of rows.
const ROWS_HEADER: HeaderName = HeaderName::from_static("x-rows-count");
/// Header with a warning about the first rows, such as that they name no town.
const WARNING_HEADER: HeaderName = HeaderName::from_static("x-warning");
/// Pause after the query pool was full.
const FULL_PAUSE: Duration = Duration::from_millis(100);
/// How often in a row the pool may be full before a file is abandoned.
const FULL_MAX: usize = 600;
/// Endings of packed files.
const PACKED: [&str; 3] = [".gz", ".zst", ".zip"];
/// Maximum characters of the name of an answer.
const NAME_CHARS_MAX: usize = 100;

/// The endpoints.
pub const ENDPOINTS: &[Endpoint] = endpoints! {
    POST "/geocoding/search/csv",
        Access::scoped(Scope::Geocoding, "geocoding.csv"), Reads, answer_file(call, Operation::Search)
        .counted_as(Consumption::GeocodingCsv)
        .with_body(BodyRule::Form {
            bytes_max: FILE_BYTES_MAX + FORM_BYTES_MAX,
        })
        .with_time(Time::Upload)
        .with_operation(|| documented(Operation::Search));
    POST "/geocoding/reverse/csv",
        Access::scoped(Scope::Geocoding, "geocoding.reverse_csv"), Reads, answer_file(call, Operation::Reverse)
        .counted_as(Consumption::GeocodingCsv)
        .with_body(BodyRule::Form {
            bytes_max: FILE_BYTES_MAX + FORM_BYTES_MAX,
        })
        .with_time(Time::Upload)
        .with_operation(|| documented(Operation::Reverse));
};

fn documented(operation: Operation) -> Documented {
    let (id, summary) = match operation {
        Operation::Search => ("geocodingSearchCsv", "Positions of the addresses in a file"),
        Operation::Reverse => (
            "geocodingReverseCsv",
            "Addresses at the positions in a file",
        ),
    };
    Documented::new(id, summary)
        .with_description(
            "The file is returned as it was, byte for byte, with the result columns appended. Its encoding and \
             delimiter are detected unless they are given. A packed file (gzip, zstd, zip) is returned unpacked, a \
             spreadsheet (XLSX, ODS) as CSV, and UTF-16 as UTF-8. A row that cannot be read or is not found gets a \
             status and never stops the file. Rows with the same query are looked up only once",
        )
        .with_request_of_type("multipart/form-data", form_schema())
        .with_response_of_type("text/csv", json!({"type": "string"}))
}

fn form_schema() -> Value {
    let mut properties = file_fields();
    properties[FILE_FIELD] = json!({
        "type": "string", "format": "binary",
        "description": "The file, with a header: CSV or a spreadsheet, also packed; at most 50 MiB, before and \
            after unpacking, and 200,000 rows",
    });
    json!({"type": "object", "required": [FILE_FIELD], "properties": properties})
}

/// Handles a file.
async fn answer_file(call: &Call<'_>, operation: Operation) -> Result<ApiResponse, ApiError> {
    let app = call.app;
    let permit = file_permit(call)?;
    let bytes_max = FILE_BYTES_MAX + FORM_BYTES_MAX;
    let form = receive(call, FILE_FIELD, bytes_max).await?;
    let name = output_name(&form.file.name);
    let prepare =
        move |app: &App| FileAnswer::prepare(form, operation, app.data.geocoding.geocoder());
    let (answer, rows) = call.blocking(prepare).await?;
    let client = call.key()?.key_id;
    let encoding = answer.plan.encoding().name();
    let header = answer.plan.header().to_vec();
    let answer = Arc::new(Mutex::new(answer));
    let first = compute_next_block(app, client, &answer)
        .await?
        .unwrap_or_default();
    let begin = [header, first.text].concat();
    let (writer, pieces) = pieces::body();
    tokio::spawn(stream_rest(app.clone(), client, answer, writer, permit));
    let disposition = format!("attachment; filename=\"{name}\"");
    let response = ApiResponse::typed("text/csv", begin)
        .with_header(CONTENT_TYPE, &format!("text/csv; charset={encoding}"))
        .with_header(CONTENT_DISPOSITION, &disposition)
        .with_header(ROWS_HEADER, &rows.to_string());
    let response = match first.counts.town_warning() {
        Some(warning) => response.with_header(WARNING_HEADER, &warning),
        None => response,
    };
    Ok(response.with_rest(pieces))
}

/// Returns a permit to receive, count or geocode a file; released when it is dropped.
pub(super) fn file_permit(call: &Call<'_>) -> Result<BodyLease, ApiError> {
    let key = call.key()?.key_id;
    let mut permit = call.app.capacity.geocoding_files.lease(Some(key), None);
    permit.grow(1).map_err(|error| match error {
        BudgetError::ShareUsed => {
            ApiError::StillWaiting("too many files of addresses at once for this client".to_owned())
        }
        BudgetError::Full => error.into(),
    })?;
    Ok(permit)
}

/// A file that is being answered.
struct FileAnswer {
    plan: CsvPlan,
    records: RecordReader<File>,
    rows: RowGeocoder,
    geocoder: Arc<Geocoder>,
}

impl FileAnswer {
    /// Reads the form, detects the encoding of the file and counts its rows, which are the second value returned.
    fn prepare(
        form: ReceivedForm,
        operation: Operation,
        geocoder: Arc<Geocoder>,
    ) -> Result<(Self, u64), ApiError> {
        let mut request = file_request(form.fields, operation)?;
        let mut file = form.file.file;
        if let Some(input) = unpacked(&mut file, FILE_BYTES_MAX as u64)? {
            request = request.of_converted(&input.form.found());
            file = input.into_file().map_err(explained)?;
        }
        let encoding = TextEncoding::detect(&file).map_err(ApiError::internal)?;
        file.rewind().map_err(ApiError::internal)?;
        let plan = CsvPlan::read(&file, &request, encoding)?;
        let first = SeekFrom::Start(plan.first_record_at());
        file.seek(first).map_err(ApiError::internal)?;
        let count = plan.count(&file).map_err(ApiError::internal)?;
        if count > FILE_ROWS_MAX {
            let message = format!(
                "has {count} rows; at most {FILE_ROWS_MAX} are answered at once, more as a project \
                 (POST /geocoding/async/projects)"
            );
            return Err(Fault::new(FILE_FIELD, message).into());
        }
        file.seek(first).map_err(ApiError::internal)?;
        let answer = Self {
            records: plan.records(file, plan.first_record_at()),
            rows: plan.rows()?,
            plan,
            geocoder,
        };
        Ok((answer, count))
    }
}

/// Builds the request from the fields of a form.
fn file_request(fields: Vec<(String, String)>, operation: Operation) -> Result<FileRequest, Fault> {
    let mut request = FileRequest {
        operation,
        ..FileRequest::default()
    };
    for (name, value) in fields {
        // Accepted for clients of the public service, whose other indexes are not supported.
        let is_index = name == "indexes" && value == "address";
        if !is_index && !request.set(&name, value) {
            let known = FileRequest::FIELDS.join(", ");
            let message = format!("is not known; must be one of: {FILE_FIELD}, {known}");
            return Err(Fault::new(name, message));
        }
    }
    request.checked()
}

/// Answers the next block on the query pool; `None` at the end of the file.
async fn compute_next_block(
    app: &App,
    client: Uuid,
    answer: &Arc<Mutex<FileAnswer>>,
) -> Result<Option<CsvBlock>, ApiError> {
    for _ in 0..FULL_MAX {
        let answer = Arc::clone(answer);
        let job = move |_: &_| {
            let answer = &mut *answer.lock();
            next_block(
                &answer.plan,
                &mut answer.records,
                &mut answer.rows,
                &*answer.geocoder,
            )
        };
        match app.capacity.pool.run(client, Load::Batch, job).await {
            Ok(block) => return block.map_err(ApiError::internal),
            Err(PoolError::Overloaded) => tokio::time::sleep(FULL_PAUSE).await,
            Err(error) => return Err(error.into()),
        }
    }
    Err(ApiError::Overloaded)
}

/// Answers the rest of a file while the client reads.
async fn stream_rest(
    app: App,
    client: Uuid,
    answer: Arc<Mutex<FileAnswer>>,
    writer: BodyWriter,
    permit: BodyLease,
) {
    loop {
        match compute_next_block(&app, client, &answer).await {
            Ok(Some(block)) => {
                // Stops when the client went away.
                if !writer.write(Bytes::from(block.text)).await {
                    break;
                }
            }
            Ok(None) => {
                writer.finish();
                break;
            }
            Err(error) => {
                tracing::warn!(%error, "the response to a file of addresses was cut off");
                break;
            }
        }
    }
    drop(permit);
}

/// Names an answer: `addresses.csv`, `addresses.csv.gz` → `addresses-geocoded.csv`. Keeps only what is harmless in a
/// header and a file system.
pub(super) fn output_name(given: &str) -> String {
    let lower = given.to_ascii_lowercase();
    let packed = PACKED.iter().find(|ending| lower.ends_with(**ending));
    let given = &given[..given.len() - packed.map_or(0, |ending| ending.len())];
    let stem = Path::new(given).file_stem().unwrap_or_default();
    let is_safe =
        |character: &char| character.is_ascii_alphanumeric() || "-_. ".contains(*character);
    let stem: String = stem
        .to_string_lossy()
        .chars()
        .filter(is_safe)
        .take(NAME_CHARS_MAX)
        .collect();
    match stem.trim() {
        "" => "geocoded.csv".to_owned(),
        stem => format!("{stem}-geocoded.csv"),
    }
}
