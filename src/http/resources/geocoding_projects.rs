//! Files of addresses that are geocoded in the background. A client creates a project, sets its pipeline, sends its
//! file and starts it.

use std::fs::File;
use std::io::Read;

use bytes::{Bytes, BytesMut};
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;
use warp::http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};

use super::geocoding_files::{file_permit, output_name};
use crate::endpoint::call::Call;
use crate::endpoint::response::ApiResponse;
use crate::endpoint::{Access, BodyRule, Endpoint, JSON_BODY, Time, endpoints};
use crate::input::upload::UploadPieces;
use crate::openapi::geocoding::{asked, file_fields};
use crate::openapi::{Failure, Operation as Documented, enveloped};
use toise_accounts::prices::Consumption;
use toise_accounts::scopes::Scope;
use toise_base::clock::iso;
use toise_contract::Fault;
use toise_contract::fields::schema::{count, id, instant, record, record_about, text};
use toise_geocode::file::request::FileRequest;
use toise_geocode::projects::{self, INPUT_BYTES_MAX, Project, ProjectStatus};
use toise_service::App;
use toise_service::error::ApiError;
use toise_transport::pieces::{self, BodyWriter};

/// Bytes of a result that are read at a time.
const PIECE_BYTES: usize = 256 << 10;

/// The endpoints.
pub const ENDPOINTS: &[Endpoint] = endpoints! {
    POST "/geocoding/async/projects",
        Access::scoped(Scope::Geocoding, "geocoding.projects.create"), Writes, create(call)
        .with_operation(create_operation);
    PUT "/geocoding/async/projects/{id}/pipeline",
        Access::scoped(Scope::Geocoding, "geocoding.projects.pipeline"), Writes, set_pipeline(call)
        .with_body(JSON_BODY).with_operation(pipeline_operation);
    PUT "/geocoding/async/projects/{id}/input-file",
        Access::scoped(Scope::Geocoding, "geocoding.projects.input"), Writes, set_input(call)
        .with_body(BodyRule::Upload {
            bytes_max: INPUT_BYTES_MAX,
        })
        .with_time(Time::Upload)
        .with_operation(input_operation);
    POST "/geocoding/async/projects/{id}/start",
        Access::scoped(Scope::Geocoding, "geocoding.projects.start"), Writes, start(call)
        .counted_as(Consumption::GeocodingCsv).with_time(Time::Upload).with_operation(start_operation);
    GET "/geocoding/async/projects/{id}",
        Access::scoped(Scope::Geocoding, "geocoding.projects.get"), ReadsOnWriter, get(call)
        .with_operation(get_operation);
    GET "/geocoding/async/projects/{id}/output-file/{token}",
        Access::scoped(Scope::Geocoding, "geocoding.projects.output"), ReadsOnWriter, output(call)
        .with_operation(output_operation);
    DELETE "/geocoding/async/projects/{id}",
        Access::scoped(Scope::Geocoding, "geocoding.projects.delete"), Writes, delete(call)
        .with_operation(delete_operation);
};

fn create_operation() -> Documented {
    Documented::new("geocodingProjectCreate", "Create a project that geocodes a large file")
        .with_description(
            "Next, PUT its pipeline and its input-file, POST start, GET the project until it is completed, and GET \
             its output-file. A project survives restarts of the service and is kept for 14 days. An account may \
             have at most 50 projects, with 12 GiB of files and results",
        )
        .with_response(enveloped(record(json!({
            "id": id("Identifier of the project"),
            "token": text("Token for reading the result; shown only here"),
        }))))
        .failing(Failure::WrongState)
}

fn pipeline_operation() -> Documented {
    let mut properties = file_fields();
    properties["operation"] = asked();
    let pipeline = json!({
        "type": "object",
        "required": ["operation"],
        "additionalProperties": false,
        "properties": properties,
    });
    Documented::new(
        "geocodingProjectPipeline",
        "Set what is done with the file of a project",
    )
    .with_request(pipeline)
    .with_response(enveloped(project_schema()))
    .failing(Failure::WrongState)
}

fn input_operation() -> Documented {
    Documented::new("geocodingProjectInput", "Upload the file of a project")
        .with_description(
            "The body is the file: CSV or a spreadsheet, also packed; at most 1 GiB, also when unpacked. A second \
             upload replaces the first",
        )
        .with_request_of_type("text/csv", json!({"type": "string", "format": "binary"}))
        .with_response(enveloped(project_schema()))
        .failing(Failure::WrongState)
}

fn start_operation() -> Documented {
    Documented::new("geocodingProjectStart", "Start a project")
        .with_response(enveloped(project_schema()))
        .failing(Failure::WrongState)
        .failing(Failure::Refused)
}

fn get_operation() -> Documented {
    Documented::new("geocodingProjectGet", "Progress of a project")
        .with_response(enveloped(project_schema()))
}

fn output_operation() -> Documented {
    Documented::new("geocodingProjectOutput", "The result of a project")
        .with_response_of_type("text/csv", json!({"type": "string"}))
        .failing(Failure::WrongState)
}

fn delete_operation() -> Documented {
    Documented::new("geocodingProjectDelete", "Delete a project and its files").with_response(
        enveloped(record(json!({"id": id("Identifier of the project")}))),
    )
}

fn project_schema() -> Value {
    record(json!({
        "id": id("Identifier of the project"),
        "status": {"type": "string", "enum": ProjectStatus::NAMES, "description": "State"},
        "operation?": asked(),
        "input_bytes?": count("Size of the file, bytes"),
        "rows?": count("Number of rows in the file, once the project was started"),
        "rows_done": count("Rows answered so far"),
        "rows_by_status?": record_about("Rows answered so far, by outcome", json!({
            "ok?": count("Rows with a result"),
            "not_found?": count("Rows without a result"),
            "skipped?": count("Empty rows"),
            "error?": count("Unreadable rows"),
        })),
        "created_at": instant("When it was created"),
        "ended_at?": instant("When it was completed or failed"),
        "expires_at": instant("When it is deleted"),
        "error?": text("Why it failed"),
        "warning?": text("What is probably wrong with the rows answered so far, such as missing towns"),
    }))
}

async fn create(call: &Call<'_>) -> Result<ApiResponse, ApiError> {
    let account = call.key()?.account_id;
    let id = call.new_id();
    let (id, token) = call
        .blocking(move |app| Ok(app.data.projects.create(account, id)?))
        .await?;
    Ok(ApiResponse::data(json!({"id": id, "token": token})))
}

async fn set_pipeline(call: &Call<'_>) -> Result<ApiResponse, ApiError> {
    let read = |body| Ok(FileRequest::parse(&body)?);
    let request = call.read_on_pool(read).await?;
    on_project(call, move |app, account, id| {
        app.data.projects.set_request(account, id, &request)
    })
    .await
}

async fn start(call: &Call<'_>) -> Result<ApiResponse, ApiError> {
    // The file is read to its end, whether or not the client waits for it.
    let permit = file_permit(call)?;
    on_project(call, move |app, account, id| {
        let started = app.data.projects.start(account, id);
        drop(permit);
        started
    })
    .await
}

async fn get(call: &Call<'_>) -> Result<ApiResponse, ApiError> {
    on_project(call, |_, _, _| Ok(())).await
}

async fn delete(call: &Call<'_>) -> Result<ApiResponse, ApiError> {
    let (account, id) = (call.key()?.account_id, project_id(call)?);
    call.blocking(move |app| Ok(app.data.projects.delete(account, id)?))
        .await?;
    Ok(ApiResponse::data(json!({"id": id})))
}

/// Receives the file: writes it to disk as it arrives, and makes it the input once it is complete.
async fn set_input(call: &Call<'_>) -> Result<ApiResponse, ApiError> {
    let (account, id) = (call.key()?.account_id, project_id(call)?);
    let mut draft = call
        .blocking(move |app| Ok(app.data.projects.draft(account, id)?))
        .await?;
    let file = draft.file.try_clone().map_err(ApiError::internal)?;
    let mut file = tokio::fs::File::from_std(file);
    let mut upload = call.upload.lock().await;
    let mut pieces = UploadPieces::new(&mut upload, INPUT_BYTES_MAX);
    while let Some(piece) = pieces.next().await? {
        let received = pieces.received() as u64;
        if received > draft.reserved() {
            draft = call
                .blocking(move |_| {
                    draft.reserve(received)?;
                    Ok(draft)
                })
                .await?;
        }
        file.write_all(&piece).await.map_err(ApiError::internal)?;
    }
    file.flush().await.map_err(ApiError::internal)?;
    if pieces.received() == 0 {
        return Err(Fault::new("body", "must be a file").into());
    }
    let name = file_name(call);
    on_project(call, move |app, account, id| {
        let set = app.data.projects.set_input(account, id, draft, &name);
        set.map(drop)
    })
    .await
}

/// Runs a job on the project of a call, and answers with the project as it is afterwards.
async fn on_project(
    call: &Call<'_>,
    job: impl FnOnce(&App, uuid::Uuid, uuid::Uuid) -> Result<(), projects::Error> + Send + 'static,
) -> Result<ApiResponse, ApiError> {
    let (account, id) = (call.key()?.account_id, project_id(call)?);
    let project = call
        .blocking(move |app| {
            job(app, account, id)?;
            Ok(app.data.projects.get(account, id)?)
        })
        .await?;
    Ok(ApiResponse::data(project_json(&project)))
}

async fn output(call: &Call<'_>) -> Result<ApiResponse, ApiError> {
    let (account, id) = (call.key()?.account_id, project_id(call)?);
    let token = call.param(1).to_owned();
    let (file, project) = call
        .blocking(move |app| Ok(app.data.projects.output(account, id, &token)?))
        .await?;
    let (writer, pieces) = pieces::body();
    tokio::spawn(send_file(file, writer));
    let name = output_name(project.input_name.as_deref().unwrap_or_default());
    Ok(ApiResponse::typed("text/csv", Bytes::new())
        .with_header(CONTENT_TYPE, "text/csv")
        .with_header(
            CONTENT_DISPOSITION,
            &format!("attachment; filename=\"{name}\""),
        )
        .with_rest(pieces))
}

/// Sends a file piece by piece while the client reads.
async fn send_file(mut file: File, writer: BodyWriter) {
    loop {
        let read = tokio::task::spawn_blocking(move || {
            let mut piece = BytesMut::zeroed(PIECE_BYTES);
            let read = file.read(&mut piece)?;
            piece.truncate(read);
            std::io::Result::Ok((file, piece.freeze()))
        });
        let Ok(Ok((same, piece))) = read.await else {
            tracing::warn!("a result of geocoding cannot be read");
            return;
        };
        if piece.is_empty() {
            writer.finish();
            return;
        }
        if !writer.write(piece).await {
            return;
        }
        file = same;
    }
}

fn project_id(call: &Call<'_>) -> Result<uuid::Uuid, ApiError> {
    call.uuid().map_err(|_| ApiError::NotFound("project"))
}

/// Returns the name that the sender gave the file; empty if it gave none.
fn file_name(call: &Call<'_>) -> String {
    let disposition = call.headers.get(CONTENT_DISPOSITION);
    let text = disposition.and_then(|value| value.to_str().ok());
    let name = text.and_then(|text| text.split_once("filename="));
    name.map_or_else(String::new, |(_, name)| {
        let name = name.split(';').next().unwrap_or_default();
        name.trim().trim_matches('"').to_owned()
    })
}

fn project_json(project: &Project) -> Value {
    let mut data = json!({
        "id": project.id,
        "status": project.status.as_str(),
        "rows_done": project.counts.rows(),
        "rows_by_status": {
            "ok": project.counts.ok,
            "not_found": project.counts.not_found,
            "skipped": project.counts.skipped,
            "error": project.counts.error,
        },
        "created_at": iso(project.created_at),
        "expires_at": iso(project.expires_at()),
    });
    let optional = [
        (
            "operation",
            project
                .request
                .as_ref()
                .map(|request| json!(request.operation.as_str())),
        ),
        ("input_bytes", project.input_bytes.map(|bytes| json!(bytes))),
        ("rows", project.rows.map(|rows| json!(rows))),
        (
            "warning",
            project.counts.town_warning().map(|text| json!(text)),
        ),
        ("ended_at", project.ended_at.map(|at| json!(iso(at)))),
        ("error", project.error.as_ref().map(|error| json!(error))),
    ];
    for (name, value) in optional {
        if let Some(value) = value {
            data[name] = value;
        }
    }
    data
}
