//! The service as warp filters: which group of paths a request belongs to, and what the group adds.
//!
//! | Group | Paths | Adds |
//! |---|---|---|
//! | protected | `/v2/protected/…` | nothing: responses are written once, on compute threads |
//! | tiles | `/v2/protected/tiles/…` | gzip, which makes a tile half as large |
//! | guide | `/docs/guide/…` | gzip, for clients that accept it: small pages, the same for everyone |
//! | open | everything else | nothing |
//!
//! Every group ends in the same [`pipeline`], which finds the [`crate::endpoint::Endpoint`]. warp would reject
//! unmatched requests in plain text and without the methods of a path; the last group therefore matches everything,
//! and nothing is rejected.

use std::convert::Infallible;
use std::future::Future;

use warp::filters::BoxedFilter;
use warp::http::header::{ACCEPT_ENCODING, HeaderValue, IF_NONE_MATCH, VARY};
use warp::http::{HeaderMap, Method};
use warp::path::FullPath;
use warp::{Filter, Rejection, Reply};

use super::body::{self, Incoming};
use super::client_address::PeerAddress;
use super::pipeline::Head;
use super::{App, pipeline};
use toise_sql::audit::Door;

/// The supported content coding.
const GZIP: &str = "gzip";

/// The whole service as one filter that accepts every request and rejects none.
pub fn service(app: App) -> BoxedFilter<(warp::reply::Response,)> {
    groups(move |head: Head, body: Incoming| {
        let app = app.clone();
        async move { pipeline::answer(&app, &head, body).await }
    })
}

/// The groups, around any handler.
fn groups<F, A>(answer: F) -> BoxedFilter<(warp::reply::Response,)>
where
    F: Fn(Head, Incoming) -> A + Clone + Send + Sync + 'static,
    A: Future<Output = warp::reply::Response> + Send,
{
    let protected = warp::path!("v2" / "protected" / ..).and(answered(answer.clone()));
    let tiles =
        warp::path!("v2" / "protected" / "tiles" / ..).and(compressed(answered(answer.clone())));
    let guide = warp::path!("docs" / "guide" / ..).and(compressed(answered(answer.clone())));
    let open = answered(answer);
    // Most requests belong to the first group.
    tiles
        .or(protected)
        .unify()
        .boxed()
        .or(guide)
        .unify()
        .or(open)
        .unify()
        .boxed()
}

fn answered<F, A>(answer: F) -> BoxedFilter<(warp::reply::Response,)>
where
    F: Fn(Head, Incoming) -> A + Clone + Send + Sync + 'static,
    A: Future<Output = warp::reply::Response> + Send,
{
    head()
        .and(body::incoming())
        .then(answer)
        .map(Reply::into_response)
        .boxed()
}

/// Extracts the head of a request.
pub fn head() -> impl Filter<Extract = (Head,), Error = Infallible> + Clone {
    let query = warp::query::raw().or(warp::any().map(String::new)).unify();
    warp::method()
        .and(warp::path::full())
        .and(query)
        .and(warp::header::headers_cloned())
        .and(warp::ext::optional())
        .and(warp::ext::optional())
        .map(
            |method: Method,
             path: FullPath,
             query: String,
             headers: HeaderMap,
             door: Option<Door>,
             peer: Option<PeerAddress>| Head {
                method,
                path,
                query,
                headers,
                door: door.unwrap_or(Door::Http),
                peer,
            },
        )
}

/// Compresses the responses for clients that accept gzip.
///
/// A conditional request is passed on uncompressed: its response usually has no body.
fn compressed(
    answers: BoxedFilter<(warp::reply::Response,)>,
) -> BoxedFilter<(warp::reply::Response,)> {
    let packed = takes_gzip()
        .and(answers.clone())
        .with(warp::compression::gzip())
        .map(Reply::into_response);
    let answers = packed.or(answers).unify();
    let varies = |mut response: warp::reply::Response| {
        let by = HeaderValue::from_name(ACCEPT_ENCODING);
        response.headers_mut().append(VARY, by);
        response
    };
    answers.map(varies).boxed()
}

/// Passes requests that want a compressed body.
fn takes_gzip() -> impl Filter<Extract = (), Error = Rejection> + Clone {
    warp::get()
        .and(warp::header::headers_cloned())
        .and_then(|headers: HeaderMap| {
            let takes = !headers.contains_key(IF_NONE_MATCH) && names_gzip(&headers);
            std::future::ready(takes.then_some(()).ok_or_else(warp::reject::not_found))
        })
        .untuple_one()
}

/// Whether `Accept-Encoding` names gzip with a weight other than 0.
fn names_gzip(headers: &HeaderMap) -> bool {
    let lists = headers.get_all(ACCEPT_ENCODING).iter();
    let mut codings = lists
        .filter_map(|list| list.to_str().ok())
        .flat_map(|list| list.split(','));
    codings.any(|coding| {
        let (name, weight) = coding.split_once(';').unwrap_or((coding, ""));
        let weight = weight.trim().trim_start_matches("q=");
        let is_refused = weight.parse().is_ok_and(|weight: f32| weight == 0.0);
        name.trim().eq_ignore_ascii_case(GZIP) && !is_refused
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::body_budget::BodyBudget;
    use bytes::Bytes;
    use warp::http::Response;
    use warp::test::request;

    /// Returns the head and the length of the body it received.
    fn echo() -> BoxedFilter<(warp::reply::Response,)> {
        groups(|head: Head, mut body: Incoming| async move {
            let mut lease = BodyBudget::new(100).lease(None, None);
            let length = body.read(100, None, &mut lease).await.unwrap().len();
            let (method, path, query) = (head.method, head.path.as_str().to_owned(), head.query);
            let text = format!("{method} {path} {query} {length}");
            Response::new(Bytes::from(text)).into_response()
        })
    }

    #[tokio::test]
    async fn every_group_passes_the_complete_request_on() {
        for path in [
            "/",
            "/v2/protected/x",
            "/v2/protected",
            "/v2/protectedx",
            "/docs/guide/",
            "/docs",
            "/%zz",
            "//",
        ] {
            for method in ["GET", "POST", "HEAD", "BREW"] {
                let request = warp::test::request()
                    .method(method)
                    .path(&format!("{path}?a=%20b"));
                let response = request.body("123").reply(&echo()).await;
                assert_eq!(response.status(), 200);
                let expected = format!("{method} {path} a=%20b 3");
                assert_eq!(response.body(), expected.as_bytes());
            }
        }
        let response = request().path("/healthz").reply(&echo()).await;
        assert_eq!(response.body(), "GET /healthz  0");
    }

    #[tokio::test]
    async fn only_the_guide_is_compressed_and_only_if_the_client_accepts_it() {
        let coding = async |path: &str, accepted: &str| {
            let request = warp::test::request()
                .path(path)
                .header("accept-encoding", accepted);
            let response = request.reply(&echo()).await;
            let vary = response.headers().get("vary").cloned();
            assert_eq!(vary.is_some(), path.starts_with("/docs/guide"), "{path}");
            response.headers().get("content-encoding").cloned()
        };
        for accepted in ["gzip", "br, GZIP;q=0.5"] {
            assert_eq!(coding("/docs/guide/x", accepted).await.unwrap(), "gzip");
            assert_eq!(coding("/docs/", accepted).await, None);
            assert_eq!(coding("/v2/protected/x", accepted).await, None);
        }
        for accepted in ["br", "gzip;q=0", "identity", ""] {
            assert_eq!(coding("/docs/guide/x", accepted).await, None, "{accepted}");
        }
        let conditional = request()
            .path("/docs/guide/")
            .header("accept-encoding", "gzip");
        let conditional = conditional
            .header("if-none-match", "\"x\"")
            .reply(&echo())
            .await;
        assert!(!conditional.headers().contains_key("content-encoding"));
    }
}
