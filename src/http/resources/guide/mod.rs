//! The guide at `/docs/guide/`: the pages of `docs/` and their pictures, compiled in and rendered once. They need no
//! network and match the running version. A script searches all pages in the browser.
//!
//! To add a page, add its row to [`PAGES`]; to add a picture, its name to [`PICTURES`]. A test checks that every file
//! of `docs/` is listed.

mod render;

use std::sync::LazyLock;

use bytes::Bytes;
use serde_json::{Value, json};
use warp::http::{HeaderMap, StatusCode};

use crate::endpoint::call::Call;
use crate::endpoint::response::ApiResponse;
use crate::endpoint::{Access, Endpoint, endpoints};
use crate::files::{DocsFile, FILE_CACHE, PAGE_CACHE};
use crate::openapi::Operation;
use toise_service::error::ApiError;

/// A page of the guide.
struct Page {
    /// Its name in the path; empty for the index.
    name: &'static str,
    /// Its file, relative to the root of the repository.
    file: &'static str,
    /// Its text in Markdown.
    text: &'static str,
}

macro_rules! pages {
    ($($name:literal: $file:literal,)*) => {
        &[$(Page {
            name: $name,
            file: $file,
            text: include_str!(concat!("../../../../", $file)),
        }),*]
    };
}

/// Every page.
static PAGES: &[Page] = pages![
    "": "docs/README.md",
    "getting-started": "docs/getting-started.md",
    "for-analysts": "docs/for-analysts.md",
    "for-developers": "docs/for-developers.md",
    "for-agencies": "docs/for-agencies.md",
    "for-operators": "docs/for-operators.md",
    "importing": "docs/importing.md",
    "refresh": "docs/refresh.md",
    "sales": "docs/sales.md",
    "files": "docs/files.md",
    "ingesting": "docs/ingesting.md",
    "searching": "docs/searching.md",
    "parcels": "docs/parcels.md",
    "matching": "docs/matching.md",
    "valuing": "docs/valuing.md",
    "rents": "docs/rents.md",
    "portfolios": "docs/portfolios.md",
    "reports": "docs/reports.md",
    "market": "docs/market.md",
    "alerts": "docs/alerts.md",
    "collecting": "docs/collecting.md",
    "sql": "docs/sql.md",
    "layers": "docs/layers.md",
    "console": "docs/console.md",
    "mcp": "docs/mcp.md",
    "python": "docs/python.md",
    "installing": "docs/installing.md",
    "deduplication": "docs/deduplication.md",
    "geocoding": "docs/geocoding.md",
    "operating": "docs/operating.md",
    "scaling": "docs/scaling.md",
    "security": "docs/security.md",
    "personal-data": "docs/personal-data.md",
    "performance": "docs/performance.md",
    "errors": "docs/errors.md",
    "data-sources": "docs/data-sources.md",
    "contributing": "docs/CONTRIBUTING.md",
    "changelog": "docs/CHANGELOG.md",
    "architecture": "src/ARCHITECTURE.md",
    "glossary": "src/GLOSSARY.md",
];

macro_rules! pictures {
    ($($name:literal,)*) => {
        &[$((
            $name,
            include_bytes!(concat!("../../../../docs/images/", $name)).as_slice(),
        )),*]
    };
}

/// Every picture of the pages, by its name in `docs/images/`.
static PICTURES: &[(&str, &[u8])] = pictures![
    "address-to-estimate.webp",
    "alert-from-the-map.webp",
    "alerts.webp",
    "home.webp",
    "home-phone.webp",
    "map.webp",
    "map-phone-dark.webp",
    "market.webp",
    "operations-dark.webp",
    "sql.webp",
];
const PICTURE_TYPE: &str = "image/webp";

const STYLE_NAME: &str = "guide.css";
const STYLE: &str = include_str!("guide.css");
/// The script of the search, which reads [`SECTIONS_NAME`].
const SCRIPT_NAME: &str = "guide.js";
const SCRIPT: &str = include_str!("guide.js");
/// The sections of every page, as JSON.
const SECTIONS_NAME: &str = "sections.json";

/// The index, which is in the OpenAPI document, and the pages.
pub const ENDPOINTS: &[Endpoint] = endpoints! {
    GET "/docs/guide/", Access::Public, Reads, page(call)
        .with_operation(|| {
            Operation::new("guide", "Guide to using and operating the service, as web pages")
                .with_response_of_type("text/html", json!({"type": "string"}))
        });
    GET "/docs/guide/{page}", Access::Public, Reads, page(call);
    GET "/docs/guide/images/{file}", Access::Public, Reads, picture(call);
    GET "/docs/guide", Access::Public, Reads, to_index(call);
};

/// Every page rendered, their style sheet, and the search. The last three are revalidated like the pages, because they
/// fit the pages of this version only.
static FILES: LazyLock<Vec<DocsFile>> = LazyLock::new(|| {
    let pages = PAGES
        .iter()
        .map(|page| (page.name, "text/html", render::document(page)));
    let sections: Vec<Value> = PAGES.iter().flat_map(render::sections).collect();
    let others = [
        (STYLE_NAME, "text/css", STYLE.to_owned()),
        (SCRIPT_NAME, "text/javascript", SCRIPT.to_owned()),
        (
            SECTIONS_NAME,
            "application/json",
            Value::Array(sections).to_string(),
        ),
    ];
    let files = pages.chain(others);
    let files = files.filter_map(|(name, media_type, text)| {
        DocsFile::new(name, media_type, PAGE_CACHE, Bytes::from(text))
    });
    files.collect()
});

/// Every picture.
static PICTURE_FILES: LazyLock<Vec<DocsFile>> = LazyLock::new(|| {
    let pictures = PICTURES.iter().filter_map(|(name, bytes)| {
        DocsFile::new(name, PICTURE_TYPE, FILE_CACHE, Bytes::from_static(bytes))
    });
    pictures.collect()
});

async fn page(call: &Call<'_>) -> Result<ApiResponse, ApiError> {
    send(call.param(0), call.headers)
}

async fn picture(call: &Call<'_>) -> Result<ApiResponse, ApiError> {
    send_from(&PICTURE_FILES, call.param(0), call.headers)
}

fn send(name: &str, headers: &HeaderMap) -> Result<ApiResponse, ApiError> {
    send_from(&FILES, name, headers)
}

fn send_from(files: &[DocsFile], name: &str, headers: &HeaderMap) -> Result<ApiResponse, ApiError> {
    let file = files.iter().find(|file| file.name == name);
    Ok(file.ok_or(ApiError::NoRoute)?.send(headers).into())
}

/// Redirects to the index, so that its relative links lead to the pages.
async fn to_index(_: &Call<'_>) -> Result<ApiResponse, ApiError> {
    Ok(ApiResponse::redirect(
        StatusCode::PERMANENT_REDIRECT,
        "guide/",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn html(name: &str) -> String {
        let response = send(name, &HeaderMap::new()).unwrap().response;
        assert_eq!(response.status(), 200, "{name}");
        String::from_utf8(response.into_body().to_vec()).unwrap()
    }

    /// Returns the targets of the links of a page.
    fn links(page: &str) -> Vec<&str> {
        let links = page.split("href=\"").skip(1);
        links.map(|rest| rest.split('"').next().unwrap()).collect()
    }

    #[test]
    fn every_page_has_one_headline_and_its_links_lead_to_existing_pages_and_headings() {
        let mut between_pages = 0;
        for page in PAGES {
            let text = html(page.name);
            assert_eq!(text.matches("<h1").count(), 1, "{}", page.file);
            // The reference and the console.
            let of_service = ["../", "../../console/"];
            let found = links(&text);
            assert!(of_service.iter().all(|link| found.contains(link)));
            for link in found {
                let is_elsewhere = link.contains("://") || link.starts_with("data:");
                if is_elsewhere || of_service.contains(&link) {
                    continue;
                }
                let (name, heading) = link.split_once('#').unwrap_or((link, ""));
                let target = match name {
                    "" => text.clone(),
                    name => html(name.trim_start_matches("./")),
                };
                let is_there = heading.is_empty() || target.contains(&format!("id=\"{heading}\""));
                assert!(is_there, "{} links to {link}", page.file);
                between_pages += 1;
            }
        }
        assert!(between_pages > 60, "{between_pages}");
    }

    #[test]
    fn every_relative_link_of_the_sources_names_a_page_or_a_file() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        for page in PAGES {
            for link in render::links(page.text) {
                let (path, _) = link.split_once('#').unwrap_or((&link, ""));
                let is_elsewhere = path.contains("://") || path.is_empty();
                let file = render::resolve(page.file, path);
                assert!(
                    is_elsewhere || root.join(&file).exists(),
                    "{} links to {link}",
                    page.file
                );
            }
        }
    }

    #[test]
    fn every_picture_is_served_and_shown() {
        let images = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/images");
        let shown = |name: &str| {
            let is_shown =
                |page: &Page| html(page.name).contains(&format!("src=\"images/{name}\""));
            PAGES.iter().any(is_shown)
        };
        let mut names = Vec::new();
        for entry in std::fs::read_dir(images).unwrap() {
            names.push(entry.unwrap().file_name().into_string().unwrap());
        }
        for name in names {
            assert!(shown(&name), "no page shows {name}");
            let picture = send_from(&PICTURE_FILES, &name, &HeaderMap::new()).unwrap();
            assert_eq!(picture.response.headers()["content-type"], PICTURE_TYPE);
            assert!(picture.response.body().starts_with(b"RIFF"), "{name}");
        }
    }

    #[test]
    fn the_search_reads_the_sections_of_every_page() {
        assert_eq!(html(SCRIPT_NAME), SCRIPT);
        assert!(SCRIPT.contains(SECTIONS_NAME));
        let sections: Vec<Value> = serde_json::from_str(&html(SECTIONS_NAME)).unwrap();
        for page in PAGES {
            let of_page = |section: &&Value| section["page"] == page.name;
            let title = sections.iter().find(of_page).unwrap();
            assert_eq!(title["title"], title["heading"], "{}", page.file);
        }
    }

    #[test]
    fn every_file_of_the_docs_is_a_page() {
        let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
        for entry in std::fs::read_dir(docs).unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            let file = format!("docs/{name}");
            let is_page = PAGES.iter().any(|page| page.file == file);
            assert!(is_page || !name.ends_with(".md"), "{file}");
        }
    }

    #[test]
    fn pages_have_the_security_policy_and_are_not_sent_again_if_unchanged() {
        let response = send("alerts", &HeaderMap::new()).unwrap().response;
        let headers = response.headers();
        assert_eq!(headers["content-type"], "text/html; charset=utf-8");
        assert_eq!(headers["cache-control"], PAGE_CACHE);
        assert!(
            headers["content-security-policy"]
                .to_str()
                .unwrap()
                .contains("default-src 'none'")
        );
        let mut conditional = HeaderMap::new();
        conditional.insert("if-none-match", headers["etag"].clone());
        assert_eq!(send("alerts", &conditional).unwrap().response.status(), 304);
        assert_eq!(html("guide.css"), STYLE);
        for name in ["nowhere", "alerts.md", "../openapi.json"] {
            let error = send(name, &HeaderMap::new()).unwrap_err();
            assert_eq!(error.status_and_code().0, 404, "{name}");
        }
    }
}
