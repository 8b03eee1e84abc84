//! The service as a warp filter, which passes every request to the [`pipeline`].
//!
//! The pipeline finds the [`crate::endpoint::Endpoint`] itself: warp would reject unmatched requests in plain text and
//! without the methods of a path.

use std::convert::Infallible;
use std::future::Future;
use std::sync::Arc;

use warp::filters::BoxedFilter;
use warp::http::{HeaderMap, Method};
use warp::path::FullPath;
use warp::{Filter, Reply};

use crate::endpoint::audience::Audience;
use crate::pipeline;
use crate::pipeline::head::{AlreadyCounted, Head};
use toise_service::App;
use toise_sql::audit::Protocol;
use toise_transport::body::{self, Incoming};
use toise_transport::client_address::PeerAddress;
use toise_transport::malformed::Malformed;

/// Returns the whole service as one filter that accepts every request and rejects none.
pub fn service(app: App) -> BoxedFilter<(warp::reply::Response,)> {
    // A filter clones its captured values for every request.
    let app = Arc::new(app);
    handled_by(move |head: Head, body: Incoming| {
        let app = app.clone();
        async move { pipeline::respond(&app, &head, body).await }
    })
}

/// Returns the filter that passes the head and the unread body of every request to a handler.
fn handled_by<F, R>(handle: F) -> BoxedFilter<(warp::reply::Response,)>
where
    F: Fn(Head, Incoming) -> R + Clone + Send + Sync + 'static,
    R: Future<Output = warp::reply::Response> + Send,
{
    head()
        .and(body::incoming())
        .then(handle)
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
        .and(warp::ext::optional())
        .and(warp::ext::optional())
        .and(warp::ext::optional())
        .map(
            |method: Method,
             path: FullPath,
             query: String,
             headers: HeaderMap,
             protocol: Option<Protocol>,
             peer: Option<PeerAddress>,
             audience: Option<Audience>,
             malformed: Option<Malformed>,
             counted: Option<AlreadyCounted>| Head {
                method,
                path,
                query,
                headers,
                protocol: protocol.unwrap_or(Protocol::Http),
                peer,
                audience: audience.unwrap_or_default(),
                malformed,
                is_counted: counted.is_some(),
            },
        )
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;
    use toise_transport::body_budget::BodyBudget;
    use warp::http::Response;
    use warp::test::request;

    /// Returns filters that answer with the head and the length of the body they received.
    fn echo() -> BoxedFilter<(warp::reply::Response,)> {
        handled_by(|head: Head, mut body: Incoming| async move {
            let mut lease = BodyBudget::new(100).lease(None, None);
            let length = body.read(100, None, &mut lease).await.unwrap().len();
            let (method, path, query) = (head.method, head.path.as_str().to_owned(), head.query);
            let text = format!("{method} {path} {query} {length}");
            Response::new(Bytes::from(text)).into_response()
        })
    }

    #[tokio::test]
    async fn the_complete_request_is_passed_on() {
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
}
