//! The console at `/console`: a page for people, its files compiled in, and the exchange of a key for a session.
//!
//! The page uses only the public API. It needs no network beyond this service, except for a base map of another service
//! if the settings name one.

use std::sync::{Arc, LazyLock};
use std::time::Duration;

use bytes::Bytes;
use futures::FutureExt;
use serde_json::{Value, json};
use warp::http::header::{CONTENT_ENCODING, HOST, LOCATION, ORIGIN, SET_COOKIE};
use warp::http::{HeaderMap, Method, Response, StatusCode};

use crate::endpoint::call::{Call, read_json};
use crate::endpoint::response::ApiResponse;
use crate::endpoint::{Access, BodyRule, Effect, Endpoint, Handler};
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

/// A file of the page.
struct PageFile {
    /// Its path below `/console/`.
    name: &'static str,
    media_type: &'static str,
    cache: &'static str,
    is_packed: bool,
    bytes: &'static [u8],
}

macro_rules! files {
    ($($name:literal: $media_type:literal,)*) => {
        [$(PageFile {
            name: $name,
            media_type: $media_type,
            cache: PAGE_CACHE,
            is_packed: false,
            bytes: include_bytes!(concat!("../../console/", $name)),
        }),*]
    };
}

macro_rules! packed_files {
    ($($name:literal: $media_type:literal,)*) => {
        [$(PageFile {
            name: $name,
            media_type: $media_type,
            cache: FILE_CACHE,
            is_packed: true,
            bytes: include_bytes!(concat!("../../console/", $name, ".gz")),
        }),*]
    };
}

/// The project's own files.
static OWN: [PageFile; 70] = files![
    "index.html": "text/html",
    "style.css": "text/css",
    "screens.css": "text/css",
    "app.js": "text/javascript",
    "addresses.js": "text/javascript",
    "advertcolumns.js": "text/javascript",
    "alertlist.js": "text/javascript",
    "api.js": "text/javascript",
    "areas.js": "text/javascript",
    "comparison.js": "text/javascript",
    "csvfile.js": "text/javascript",
    "datasets.js": "text/javascript",
    "drawing.js": "text/javascript",
    "dwelling.js": "text/javascript",
    "evidence.js": "text/javascript",
    "featurelayers.js": "text/javascript",
    "fieldnames.js": "text/javascript",
    "files.js": "text/javascript",
    "filterchips.js": "text/javascript",
    "filters.js": "text/javascript",
    "findings.js": "text/javascript",
    "icons.js": "text/javascript",
    "language.js": "text/javascript",
    "map.js": "text/javascript",
    "maplayers.js": "text/javascript",
    "mappicture.js": "text/javascript",
    "mapstyle.js": "text/javascript",
    "marketsheet.js": "text/javascript",
    "metrics.js": "text/javascript",
    "palette.js": "text/javascript",
    "pages.js": "text/javascript",
    "parts.js": "text/javascript",
    "places.js": "text/javascript",
    "plot.js": "text/javascript",
    "rail.js": "text/javascript",
    "refusals.js": "text/javascript",
    "rows.js": "text/javascript",
    "sqlcompletion.js": "text/javascript",
    "sqleditor.js": "text/javascript",
    "sqlmap.js": "text/javascript",
    "sqlresults.js": "text/javascript",
    "tablefile.js": "text/javascript",
    "theme.js": "text/javascript",
    "toasts.js": "text/javascript",
    "traveltime.js": "text/javascript",
    "valuewords.js": "text/javascript",
    "wkb.js": "text/javascript",
    "words.js": "text/javascript",
    "years.js": "text/javascript",
    "screens/alerts.js": "text/javascript",
    "screens/entry.js": "text/javascript",
    "screens/home.js": "text/javascript",
    "screens/homearound.js": "text/javascript",
    "screens/importing.js": "text/javascript",
    "screens/keys.js": "text/javascript",
    "screens/market.js": "text/javascript",
    "screens/match.js": "text/javascript",
    "screens/model.js": "text/javascript",
    "screens/newalert.js": "text/javascript",
    "screens/opened.js": "text/javascript",
    "screens/operations.js": "text/javascript",
    "screens/pairs.js": "text/javascript",
    "screens/placehistory.js": "text/javascript",
    "screens/portfolios.js": "text/javascript",
    "screens/query.js": "text/javascript",
    "screens/record.js": "text/javascript",
    "screens/rentandreport.js": "text/javascript",
    "screens/tables.js": "text/javascript",
    "screens/welcome.js": "text/javascript",
    "screens/whatif.js": "text/javascript",
];

/// Libraries, compiled in as gzip and sent that way; `src/console/vendor/README.md` names their versions and digests.
static VENDORED: [PageFile; 6] = packed_files![
    "vendor/maplibre-gl.mjs": "text/javascript",
    "vendor/maplibre-gl-worker.mjs": "text/javascript",
    "vendor/maplibre-gl.css": "text/css",
    "vendor/preact.mjs": "text/javascript",
    "vendor/uplot.mjs": "text/javascript",
    "vendor/uplot.css": "text/css",
];

static FILES: LazyLock<Vec<(DocsFile, bool)>> = LazyLock::new(|| {
    let files = OWN.iter().chain(&VENDORED);
    let files = files.filter_map(|file| {
        let bytes = Bytes::from_static(file.bytes);
        Some((
            DocsFile::new(file.name, file.media_type, file.cache, bytes)?,
            file.is_packed,
        ))
    });
    files.collect()
});

/// The page, its files and its sessions. They are not in the OpenAPI document, because they are not for programs.
pub const ENDPOINTS: &[Endpoint] = &[
    Endpoint::page("/console", |_| async { Ok(to_page()) }.boxed()),
    Endpoint::page("/console/", |call| {
        async { send(call.app, "index.html", call.headers) }.boxed()
    }),
    Endpoint::page("/console/{file}", |call| {
        async { send(call.app, call.param(0), call.headers) }.boxed()
    }),
    Endpoint::page("/console/{folder}/{file}", |call| {
        async {
            send(
                call.app,
                &format!("{}/{}", call.param(0), call.param(1)),
                call.headers,
            )
        }
        .boxed()
    }),
    session(Method::POST, SESSION_BODY, |call| begin(call).boxed()),
    session(Method::GET, BodyRule::None, |call| {
        current_session(call).boxed()
    }),
    session(Method::DELETE, BodyRule::None, |call| {
        async { Ok(end(call)) }.boxed()
    }),
];

const fn session(method: Method, body: BodyRule, handler: Handler) -> Endpoint {
    // Sessions are kept in memory; nothing is stored.
    let effect = Effect::Reads;
    Endpoint::new(method, "/console-session", Access::Public, effect, handler).with_body(body)
}

fn send(app: &App, name: &str, headers: &HeaderMap) -> Result<ApiResponse, ApiError> {
    let file = FILES.iter().find(|(file, _)| file.name == name);
    let (file, is_packed) = file.ok_or(ApiError::NoRoute)?;
    let answer = ApiResponse::from(file.send_under(&app.web.console.policy, headers));
    Ok(if *is_packed {
        answer.with_header(CONTENT_ENCODING, "gzip")
    } else {
        answer
    })
}

/// Redirects to the page, so that its relative links lead to its files.
fn to_page() -> ApiResponse {
    let mut response = Response::new(Bytes::new());
    *response.status_mut() = StatusCode::PERMANENT_REDIRECT;
    ApiResponse::from(response).with_header(LOCATION, "console/")
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
    let key = key_of(call, Some(text.as_bytes())).await?;
    let new = call.app.access.sessions.begin(key.key_id, text);
    let cookie = set_cookie(call.app, &new.cookie, SESSION_LASTS);
    let answer = ApiResponse::data(about(call, &key, &new.token, new.ends_at).await?);
    Ok(answer
        .with_status(StatusCode::CREATED)
        .with_header(SET_COOKIE, &cookie))
}

/// Returns what the page needs to know about its session; null without one.
async fn current_session(call: &Call<'_>) -> Result<ApiResponse, ApiError> {
    let Some((token, ends_at)) = call.app.access.sessions.of(call.headers) else {
        return Ok(ApiResponse::data(Value::Null));
    };
    let text = credentials::of_call(call.app, &Method::GET, call.headers)?;
    let key = key_of(call, text.as_deref()).await?;
    Ok(ApiResponse::data(about(call, &key, &token, ends_at).await?))
}

/// Returns the valid key with a text, as for any call: its network is checked and the call counts against its rate.
async fn key_of(call: &Call<'_>, text: Option<&[u8]>) -> Result<Arc<KeyRecord>, ApiError> {
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

fn end(call: &Call<'_>) -> ApiResponse {
    call.app.access.sessions.end(call.headers);
    let gone = set_cookie(call.app, "", Duration::ZERO);
    let mut response = Response::new(Bytes::new());
    *response.status_mut() = StatusCode::NO_CONTENT;
    ApiResponse::from(response).with_header(SET_COOKIE, &gone)
}
