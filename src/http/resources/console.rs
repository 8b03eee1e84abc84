//! The console at `/console`: a page for people, its files compiled in, and the exchange of a key for a session.
//!
//! The page uses only the public API. It needs no network beyond this service, except for a base map of another service
//! if the settings name one.

use std::sync::{Arc, LazyLock};
use std::time::Duration;

use bytes::Bytes;
use serde_json::{Value, json};
use warp::http::header::{CONTENT_ENCODING, HOST, ORIGIN, SET_COOKIE};
use warp::http::{Method, StatusCode};

use crate::endpoint::call::{Call, read_json};
use crate::endpoint::response::ApiResponse;
use crate::endpoint::{Access, BodyRule, Endpoint, endpoints};
use crate::files::{DocsFile, FILE_CACHE, PAGE_CACHE};
use crate::input::credentials;
use toise_accounts::key::KeyRecord;
use toise_accounts::scopes::Scope;
use toise_base::clock::iso;
use toise_contract::fault::Fault;
use toise_service::App;
use toise_service::admission::{CallRules, Caller, admit};
use toise_service::console_page::BaseMap;
use toise_service::error::ApiError;
use toise_service::sessions::{COOKIE_NAME, SESSION_LASTS};

/// Maximum length of the body that begins a session.
const SESSION_BODY: BodyRule = BodyRule::Json { bytes_max: 1_024 };
/// The page; all other files are loaded by it.
const INDEX: &str = "index.html";

/// A file of the page.
struct PageFile {
    /// Its path below `/console/`.
    name: &'static str,
    cache: &'static str,
    is_packed: bool,
    bytes: &'static [u8],
}

/// Lists files by name, with their cache rule, whether they are packed, and the ending that their names have on disk.
macro_rules! files {
    ($cache:expr, $is_packed:literal, $suffix:literal, $($name:literal,)*) => {
        &[$(PageFile {
            name: $name,
            cache: $cache,
            is_packed: $is_packed,
            bytes: include_bytes!(concat!("../../console/", $name, $suffix)),
        }),*]
    };
}

/// The project's own files.
#[rustfmt::skip]
static OWN: &[PageFile] = files![
    PAGE_CACHE, false, "",
    "index.html", "style.css", "screens.css", "app.js", "addresses.js", "advertcolumns.js", "alertlist.js", "api.js",
    "areas.js", "comparison.js", "csvfile.js", "datasets.js", "drawing.js", "dwelling.js", "evidence.js",
    "featurelayers.js", "fieldnames.js", "files.js", "filterchips.js", "filters.js", "findings.js", "icons.js",
    "language.js", "map.js", "maplayers.js", "mappicture.js", "mapstyle.js", "marketsheet.js", "metrics.js",
    "palette.js", "pages.js", "parts.js", "places.js", "plot.js", "rail.js", "refusals.js", "rows.js",
    "sqlcompletion.js", "sqleditor.js", "sqlmap.js", "sqlresults.js", "tablefile.js", "theme.js", "toasts.js",
    "traveltime.js", "valuewords.js", "wkb.js", "words.js", "years.js", "screens/alerts.js", "screens/entry.js",
    "screens/home.js", "screens/homearound.js", "screens/importing.js", "screens/keys.js", "screens/market.js",
    "screens/match.js", "screens/model.js", "screens/newalert.js", "screens/opened.js", "screens/operations.js",
    "screens/pairs.js", "screens/placehistory.js", "screens/portfolios.js", "screens/query.js", "screens/record.js",
    "screens/rentandreport.js", "screens/tables.js", "screens/welcome.js", "screens/whatif.js",
];

/// Libraries, compiled in as gzip and sent that way; `src/console/vendor/README.md` names their versions and digests.
#[rustfmt::skip]
static VENDORED: &[PageFile] = files![
    FILE_CACHE, true, ".gz",
    "vendor/maplibre-gl.mjs", "vendor/maplibre-gl-worker.mjs", "vendor/maplibre-gl.css", "vendor/preact.mjs",
    "vendor/uplot.mjs", "vendor/uplot.css",
];

/// Returns the media type of a file by the ending of its name.
fn media_type(name: &str) -> &'static str {
    match name.rsplit_once('.') {
        Some((_, "html")) => "text/html",
        Some((_, "css")) => "text/css",
        _ => "text/javascript",
    }
}

static FILES: LazyLock<Vec<(DocsFile, bool)>> = LazyLock::new(|| {
    let files = OWN.iter().chain(VENDORED);
    let files = files.filter_map(|file| {
        let bytes = Bytes::from_static(file.bytes);
        let sent = DocsFile::new(file.name, media_type(file.name), file.cache, bytes)?;
        Some((sent, file.is_packed))
    });
    files.collect()
});

/// The page, its files and its sessions. They are not in the OpenAPI document, because they are not for programs.
pub const ENDPOINTS: &[Endpoint] = endpoints! {
    GET "/console", Access::Public, Reads, to_page(call);
    GET "/console/", Access::Public, Reads, send(call);
    GET "/console/{file}", Access::Public, Reads, send(call);
    GET "/console/{folder}/{file}", Access::Public, Reads, send(call);
    // Sessions are kept in memory; nothing is stored.
    POST "/console-session", Access::Public, Reads, begin(call).with_body(SESSION_BODY);
    GET "/console-session", Access::Public, Reads, current_session(call);
    DELETE "/console-session", Access::Public, Reads, end(call);
};

/// Redirects to the page, so that its relative links lead to its files.
async fn to_page(_: &Call<'_>) -> Result<ApiResponse, ApiError> {
    Ok(ApiResponse::redirect(
        StatusCode::PERMANENT_REDIRECT,
        "console/",
    ))
}

/// Sends the file in the path; the page itself if the path names none.
async fn send(call: &Call<'_>) -> Result<ApiResponse, ApiError> {
    let path = call.params.join("/");
    let name = if path.is_empty() {
        INDEX
    } else {
        path.as_str()
    };
    let file = FILES.iter().find(|(file, _)| file.name == name);
    let (file, is_packed) = file.ok_or(ApiError::NoRoute)?;
    let policy = &call.app.web.console.policy;
    let response = ApiResponse::from(file.send_under(policy, call.headers));
    Ok(if *is_packed {
        response.with_header(CONTENT_ENCODING, "gzip")
    } else {
        response
    })
}

/// Exchanges a key, or a code made for one, for a session.
async fn begin(call: &Call<'_>) -> Result<ApiResponse, ApiError> {
    let body = read_json(&call.body)?;
    // A page of another site must not begin sessions here.
    let host = call.headers.get(HOST).and_then(|host| host.to_str().ok());
    let origin = call.headers.get(ORIGIN).map(|origin| origin.to_str());
    if let Some(origin) = origin {
        let named = origin.ok().and_then(|origin| origin.split_once("://"));
        if named.map(|(_, host)| host) != host {
            return Err(Fault::new("origin", "must be this service").into());
        }
    }
    let text = match (body["key"].as_str(), body["code"].as_str()) {
        (Some(key), None) => Some(key.trim().to_owned()),
        (None, Some(code)) => call.app.access.sessions.redeem(code),
        _ => return Err(Fault::new("key", "is required, or a code in its place").into()),
    };
    let text = text.ok_or(ApiError::Unauthorised(
        "of the code must not be used up or too old",
    ))?;
    let key = verify_key(call, Some(text.as_bytes())).await?;
    let new = call.app.access.sessions.begin(key.key_id, text);
    let cookie = set_cookie(call.app, &new.cookie, SESSION_LASTS);
    let response = ApiResponse::data(about(call, &key, &new.token, new.ends_at).await?);
    Ok(response
        .with_status(StatusCode::CREATED)
        .with_header(SET_COOKIE, &cookie))
}

/// Returns what the page needs to know about its session; null without one.
async fn current_session(call: &Call<'_>) -> Result<ApiResponse, ApiError> {
    let Some((token, ends_at)) = call.app.access.sessions.of(call.headers) else {
        return Ok(ApiResponse::data(Value::Null));
    };
    let text = credentials::find_key(call.app, &Method::GET, call.headers)?;
    let key = verify_key(call, text.as_deref()).await?;
    Ok(ApiResponse::data(about(call, &key, &token, ends_at).await?))
}

/// Returns the valid key with a text, as for any call: its network is checked and the call counts against its rate.
async fn verify_key(call: &Call<'_>, text: Option<&[u8]>) -> Result<Arc<KeyRecord>, ApiError> {
    let caller = Caller {
        key: text,
        address: call.client,
    };
    let admitted = admit(call.app, caller, CallRules::KEYED).await?;
    Ok(admitted.key)
}

async fn about(
    call: &Call<'_>,
    key: &KeyRecord,
    token: &str,
    ends_at: chrono::DateTime<chrono::Utc>,
) -> Result<Value, ApiError> {
    // A table that cannot be read must not keep operators out of the console.
    let invented = |app: &App| Ok(app.data.open_data.has_invented_rows().unwrap_or(false));
    let is_invented = call.blocking(invented).await?;
    let base_map = call.app.web.console.base_map.as_ref();
    let base_map = base_map.map(
        |BaseMap {
             address,
             attribution,
             ..
         }| json!({"address": address, "attribution": attribution}),
    );
    Ok(json!({
        "base_map": base_map,
        "has_invented_data": is_invented,
        "token": token,
        "ends_at": iso(ends_at),
        "key_id": key.key_id,
        "account_id": key.account_id,
        "scopes": key.scopes.iter().map(Scope::as_str).collect::<Vec<_>>(),
    }))
}

/// Returns the session's cookie. No script can read it and no other site can send it.
fn set_cookie(app: &App, value: &str, lasts: Duration) -> String {
    let secure = if app.web.console.has_secure_cookie {
        "; Secure"
    } else {
        ""
    };
    let seconds = lasts.as_secs();
    format!("{COOKIE_NAME}={value}; HttpOnly; SameSite=Strict; Path=/; Max-Age={seconds}{secure}")
}

async fn end(call: &Call<'_>) -> Result<ApiResponse, ApiError> {
    call.app.access.sessions.end(call.headers);
    let gone = set_cookie(call.app, "", Duration::ZERO);
    Ok(ApiResponse::empty(StatusCode::NO_CONTENT).with_header(SET_COOKIE, &gone))
}
