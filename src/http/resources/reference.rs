//! The API reference: the OpenAPI document at `/openapi.json`, and the page `/docs`. The page is Swagger UI, compiled
//! in, so that it needs no network.
//!
//! The page is the same at `/docs` and `/docs/`; only the relative links to its files and to the guide differ.

use std::sync::{Arc, LazyLock};

use bytes::Bytes;
use serde_json::json;
use utoipa_swagger_ui::Config;
use warp::http::{HeaderMap, Response, StatusCode};

use crate::endpoint::call::Call;
use crate::endpoint::response::ApiResponse;
use crate::endpoint::{Access, Endpoint, endpoints};
use crate::files::{DocsFile, FILE_CACHE, PAGE_CACHE};
use crate::openapi::{self, Operation};
use crate::resources;
use toise_service::error::ApiError;
use toise_transport::coding::ConstantBody;

/// The document, the page and the page's files; only the first two are in the OpenAPI document.
pub const ENDPOINTS: &[Endpoint] = endpoints! {
    GET DOCUMENT_PATH, Access::Public, Reads, document(call)
        .with_operation(|| Operation::new("openapi", "This document").with_response(json!({"type": "object"})));
    GET PAGE_PATH, Access::Public, Reads, page(call)
        .with_operation(|| {
            Operation::new("docs", "This document as a web page")
                .with_response_of_type("text/html", json!({"type": "string"}))
        });
    GET FILES_PREFIX, Access::Public, Reads, page(call);
    GET "/docs/{file}", Access::Public, Reads, page(call);
    GET "/", Access::Public, Reads, to_page(call);
    GET "/robots.txt", Access::Public, Reads, robots(call);
};

/// Keeps search engines away: the terms of the sales data forbid indexing by them.
const ROBOTS: &[u8] = b"User-agent: *\nDisallow: /\n";

async fn robots(_: &Call<'_>) -> Result<ApiResponse, ApiError> {
    Ok(ApiResponse::typed("text/plain; charset=utf-8", ROBOTS))
}

/// Redirects from the root of the service to its documentation.
async fn to_page(_: &Call<'_>) -> Result<ApiResponse, ApiError> {
    Ok(ApiResponse::redirect(
        StatusCode::TEMPORARY_REDIRECT,
        FILES_PREFIX,
    ))
}

async fn document(_: &Call<'_>) -> Result<ApiResponse, ApiError> {
    let mut document = ApiResponse::json(DOCUMENT.clone());
    document.response.extensions_mut().insert(ConstantBody);
    Ok(document)
}

/// The document as JSON text, built once.
static DOCUMENT: LazyLock<Bytes> =
    LazyLock::new(|| openapi::document(resources::endpoints()).to_string().into());

async fn page(call: &Call<'_>) -> Result<ApiResponse, ApiError> {
    docs(call.path, call.headers).map(ApiResponse::from)
}

/// Path of the page.
const PAGE_PATH: &str = "/docs";
/// Prefix of the page and its files.
const FILES_PREFIX: &str = "/docs/";
/// Path of the OpenAPI document.
const DOCUMENT_PATH: &str = "/openapi.json";

/// The page.
const INDEX: &str = "index.html";
const FILES: [&str; 7] = [
    "swagger-ui.css",
    "index.css",
    "swagger-ui-bundle.js",
    "swagger-ui-standalone-preset.js",
    INITIALIZER,
    "favicon-32x32.png",
    "favicon-16x16.png",
];
/// The script that starts the page. It contains the settings, so it changes with this program and not with Swagger
/// UI.
const INITIALIZER: &str = "swagger-initializer.js";

const TITLE_SHIPPED: &str = "<title>Swagger UI</title>";
const TITLE: &str = "<title>toise</title>";

/// The opening tag of the body, and its replacement with links to the console and the guide.
const BODY_SHIPPED: &str = "<body>";
const BODY: &str = "<body>\n    <p style=\"margin: 0; padding: .8em 1.5em; font-family: sans-serif\">\
    <a href=\"../console/\">Console</a> &nbsp; <a href=\"./guide/\">Guide</a></p>";

/// Links in the page served at [`FILES_PREFIX`], and in the one at [`PAGE_PATH`].
const LINKS: [(&str, &str); 2] = [
    ("\"../console/\"", "\"console/\""),
    ("\"./guide/\"", "\"docs/guide/\""),
];

/// Every file, each digested once.
static SHIPPED: LazyLock<Vec<DocsFile>> = LazyLock::new(|| {
    let config = Arc::new(
        Config::from(DOCUMENT_PATH)
            // The default validator is an external service.
            .validator_url("none")
            .deep_linking(true)
            .display_request_duration(true)
            .filter(true)
            .default_models_expand_depth(0),
    );
    let page = [INDEX].into_iter().chain(FILES);
    page.filter_map(|name| load(name, &config)).collect()
});

fn load(name: &'static str, config: &Arc<Config<'static>>) -> Option<DocsFile> {
    let shipped = match utoipa_swagger_ui::serve(name, config.clone()) {
        Ok(shipped) => shipped?,
        Err(error) => {
            tracing::error!(name, %error, "a file of the reference page cannot be read");
            return None;
        }
    };
    let bytes = match name {
        INDEX => Bytes::from(with_title_and_links(&shipped.bytes)),
        _ => Bytes::from(shipped.bytes.into_owned()),
    };
    let cache = if name == INDEX || name == INITIALIZER {
        PAGE_CACHE
    } else {
        FILE_CACHE
    };
    DocsFile::new(name, &shipped.content_type, cache, bytes)
}

fn with_title_and_links(page: &[u8]) -> String {
    String::from_utf8_lossy(page)
        .replace(TITLE_SHIPPED, TITLE)
        .replacen(BODY_SHIPPED, BODY, 1)
}

/// The page as served at [`PAGE_PATH`], where the links to its files start with `docs/`.
static PAGE: LazyLock<Option<DocsFile>> = LazyLock::new(|| {
    let index = find(INDEX)?;
    let mut page = String::from_utf8_lossy(&index.bytes).into_owned();
    for name in FILES {
        for link in [format!("\"./{name}\""), format!("\"{name}\"")] {
            page = page.replace(&link, &format!("\"docs/{name}\""));
        }
    }
    for (link, replacement) in LINKS {
        page = page.replace(link, replacement);
    }
    DocsFile::new(INDEX, "text/html", PAGE_CACHE, Bytes::from(page))
});

fn find(name: &str) -> Option<&'static DocsFile> {
    SHIPPED.iter().find(|file| file.name == name)
}

/// Handles `/docs`, `/docs/` and the files below; any other path has no route.
fn docs(path: &str, headers: &HeaderMap) -> Result<Response<Bytes>, ApiError> {
    let file = match path.strip_prefix(FILES_PREFIX) {
        None if path == PAGE_PATH => PAGE.as_ref(),
        None => None,
        Some("") => find(INDEX),
        Some(name) => find(name),
    };
    Ok(file.ok_or(ApiError::NoRoute)?.send(headers))
}

#[cfg(test)]
mod tests {
    use super::*;
    use warp::http::header::{HeaderValue, IF_NONE_MATCH};

    fn get(path: &str) -> Response<Bytes> {
        docs(path, &HeaderMap::new()).unwrap()
    }

    fn text(path: &str) -> String {
        String::from_utf8(get(path).into_body().to_vec()).unwrap()
    }

    /// Returns the paths that a browser requests when it loads or follows the links of the page at `path`.
    fn loaded(path: &str) -> Vec<String> {
        let folder = &path[..=path.rfind('/').unwrap()];
        let page = text(path);
        ["src=\"", "href=\""]
            .iter()
            .flat_map(|attribute| page.split(attribute).skip(1))
            .map(|rest| rest.split('"').next().unwrap())
            .map(|link| format!("{folder}{}", link.trim_start_matches("./")))
            .map(|link| link.replace("/docs/../", "/"))
            .collect()
    }

    #[test]
    fn the_page_loads_only_files_that_are_served_with_and_without_the_slash() {
        for path in ["/docs", "/docs/"] {
            let (pages, mut files): (Vec<_>, Vec<_>) = loaded(path)
                .into_iter()
                .partition(|link| link.ends_with('/'));
            assert_eq!(pages, ["/console/", "/docs/guide/"], "{path}");
            assert_eq!(files.len(), FILES.len(), "{files:?}");
            for file in &files {
                assert_eq!(get(file).status(), 200, "{path} loads {file}");
            }
            files.sort();
            let mut expected = FILES.map(|name| format!("/docs/{name}")).to_vec();
            expected.sort();
            assert_eq!(files, expected, "{path}");
            assert!(text(path).contains(TITLE));
        }
    }

    #[test]
    fn the_page_reads_this_services_document_and_uses_no_external_validator() {
        let settings = text("/docs/swagger-initializer.js");
        assert!(
            settings.contains("\"url\": \"/openapi.json\""),
            "{settings}"
        );
        assert!(
            settings.contains("\"validatorUrl\": \"none\""),
            "{settings}"
        );
        assert!(!settings.contains("{{config}}") && !settings.contains("https://"));
    }

    #[test]
    fn files_have_their_type_and_the_policy_forbids_other_origins() {
        for (path, media_type, cache) in [
            ("/docs", "text/html; charset=utf-8", PAGE_CACHE),
            ("/docs/", "text/html; charset=utf-8", PAGE_CACHE),
            (
                "/docs/swagger-ui.css",
                "text/css; charset=utf-8",
                FILE_CACHE,
            ),
            (
                "/docs/swagger-ui-bundle.js",
                "text/javascript; charset=utf-8",
                FILE_CACHE,
            ),
            (
                "/docs/swagger-initializer.js",
                "text/javascript; charset=utf-8",
                PAGE_CACHE,
            ),
            ("/docs/favicon-32x32.png", "image/png", FILE_CACHE),
        ] {
            let response = get(path);
            let headers = response.headers();
            assert_eq!(headers["content-type"], media_type, "{path}");
            assert_eq!(headers["cache-control"], cache, "{path}");
            assert_eq!(headers["x-content-type-options"], "nosniff");
            let policy = headers["content-security-policy"].to_str().unwrap();
            assert!(policy.contains("default-src 'none'") && policy.contains("connect-src 'self'"));
            assert!(!policy.contains("http"), "{policy}");
        }
    }

    #[test]
    fn a_cached_file_is_not_sent_again() {
        let etag = get("/docs/swagger-ui.css").headers()["etag"].clone();
        for sent in [
            etag.to_str().unwrap().to_owned(),
            format!("\"x\", W/{}", etag.to_str().unwrap()),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(IF_NONE_MATCH, HeaderValue::from_str(&sent).unwrap());
            let response = docs("/docs/swagger-ui.css", &headers).unwrap();
            assert_eq!(response.status(), 304);
            assert!(response.body().is_empty());
            assert_eq!(response.headers()["etag"], etag);
        }
    }

    #[test]
    fn other_paths_have_no_route() {
        for path in [
            "/docs/x",
            "/docs/../openapi.json",
            "/docs//",
            "/docsx",
            "/docs/oauth2-redirect.html",
        ] {
            let error = docs(path, &HeaderMap::new()).unwrap_err();
            assert_eq!(error.status_and_code().0, 404, "{path}");
        }
    }
}
