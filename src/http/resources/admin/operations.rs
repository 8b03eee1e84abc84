//! Endpoints for monitoring: reports of imports and ingestions, the model with its report card, collection jobs,
//! metrics, and what is missing, old or wrong in the data folder.

use serde_json::{Value, json};

use super::{on_store, operator, private};
use crate::endpoint::call::Call;
use crate::endpoint::response::ApiResponse;
use crate::endpoint::{Endpoint, endpoints};
use crate::openapi::Operation;
use crate::openapi::admin::{data_list_of, data_of};
use crate::reports;
use crate::resources::probes::current_metrics;
use toise_alerts::request::queries::{PAGE, parse_page};
use toise_base::reports::FOLDER;
use toise_collect::jobs;
use toise_contract::fields::schema::parameters;
use toise_contract::query::pairs;
use toise_estimate::store;
use toise_service::error::ApiError;

/// Folder of the report cards, inside the folder of the models.
const REPORT_CARDS: &str = "reports";
/// Prefix of the names of report cards.
const REPORT_CARD: &str = "estimate-";

/// Operators' endpoints for monitoring.
pub const ENDPOINTS: &[Endpoint] = endpoints! {
    GET "/v2/protected/admin/reports", operator("admin.reports"), ReadsOnWriter, list_reports(call)
        .with_operation(|| {
            Operation::new(
                "reportsList",
                "Reports of imports and ingestions, newest first",
            )
            .with_query(parameters(&PAGE))
            .with_response(data_list_of("OperationReport"))
        });
    GET "/v2/protected/admin/model", operator("admin.model"), ReadsOnWriter, model(call)
        .with_operation(|| {
            Operation::new("model", "The valuation model and its latest evaluation")
                .with_description(
                    "The evaluation is the one that `toise evaluate estimate` wrote; it names the \
                                       model it evaluated",
                )
                .with_response(data_of("ModelInUse"))
        });
    GET "/v2/protected/admin/jobs", operator("admin.jobs"), ReadsOnWriter, list_jobs(call)
        .with_operation(|| {
            Operation::new(
                "jobsList",
                "Pages being collected or recently collected, newest first",
            )
            .with_query(parameters(&PAGE))
            .with_response(data_list_of("Job"))
        });
    GET "/v2/protected/admin/metrics", operator("admin.metrics"), ReadsOnWriter, current_metrics(call)
        .with_operation(|| {
            Operation::new(
                "adminMetrics",
                "Metrics of the service for Prometheus, for operators on any machine",
            )
            .with_description(
                "The same metrics as `/metrics`, which answers only clients on the same machine, \
                                       or on `admin.listen`",
            )
            .with_response_of_type("text/plain", json!({"type": "string"}))
        });
    GET "/v2/protected/admin/findings", operator("admin.findings"), ReadsOnWriter, list_findings(call)
        .with_operation(|| {
            Operation::new(
                "findingsList",
                "What is missing, old or wrong in the data folder, the most urgent first",
            )
            .with_description("The same findings as those of `toise doctor`, with the command to run")
            .with_response(data_list_of("Finding"))
        });
};

/// `GET /v2/protected/admin/reports`: reports of imports and ingestions, newest first.
async fn list_reports(call: &Call<'_>) -> Result<ApiResponse, ApiError> {
    let page = parse_page(&pairs(call.query)?)?;
    on_store(call, move |store, _| {
        let found = reports::list(&store.folder().join(FOLDER), page.skip, page.take);
        let found = found.map_err(ApiError::internal)?;
        Ok(found.into_iter().map(report_json).collect())
    })
    .await
}

fn report_json((name, report): (String, Value)) -> Value {
    json!({"name": name, "report": report})
}

/// `GET /v2/protected/admin/model`: the model in use and the newest report card.
async fn model(call: &Call<'_>) -> Result<ApiResponse, ApiError> {
    let valuer = call.app.data.models.valuer();
    let metadata = valuer.map(|valuer| json!(valuer.model().metadata()));
    on_store(call, move |store, _| {
        let folder = store.folder().join(store::FOLDER).join(REPORT_CARDS);
        // The report cards of left-out places have no segments.
        let card =
            reports::last_written(&folder, REPORT_CARD, |card| card.get("segments").is_some());
        let card = card.map_err(ApiError::internal)?;
        Ok(json!({"model": metadata, "report_card": card.map(report_json)}))
    })
    .await
}

/// `GET /v2/protected/admin/findings`: the findings of `toise doctor`.
async fn list_findings(call: &Call<'_>) -> Result<ApiResponse, ApiError> {
    Ok(private(call.blocking(|app| Ok((app.doctor)())).await?))
}

/// `GET /v2/protected/admin/jobs`: collection jobs, newest first.
async fn list_jobs(call: &Call<'_>) -> Result<ApiResponse, ApiError> {
    let page = parse_page(&pairs(call.query)?)?;
    on_store(call, move |store, clock| {
        let now_ms = clock.now().timestamp_millis();
        let through = page.skip.saturating_add(page.take);
        let found = store.read(|connection| jobs::list(connection, None, now_ms, through))?;
        Ok(json!(found.get(page.skip..).unwrap_or_default()))
    })
    .await
}
