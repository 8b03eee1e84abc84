//! Admits calls of Flight SQL by their API key, and maps errors to gRPC statuses.

use std::net::{IpAddr, Ipv4Addr};

use base64::Engine;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use tonic::metadata::MetadataMap;
use tonic::{Code, Request, Status};
use uuid::Uuid;

use toise_accounts::prices::Consumption;
use toise_accounts::scopes::Scope;
use toise_service::App;
use toise_service::admission::{self, Access, Admitted, CallRules, Caller, Counting, KEY_HEADER};
use toise_service::error::ApiError;
use toise_sql::SqlError;
use toise_sql::audit::{Caller as SqlCaller, Protocol};
use toise_transport::client_address::{PeerAddress, client_address};

/// The keys that may call: the same keys as for SQL over HTTP.
const ACCESS: Access = Access::scoped(Scope::Sql, "sql.query");
/// The base64 encoding of credentials; some clients omit the padding.
const CREDENTIALS: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);
/// Header with the token.
pub(super) const AUTHORIZATION: &str = "authorization";

/// How a message is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MessageKind {
    /// Runs a query: counts against the rate and the quota.
    Query,
    /// Prepares, describes or closes a query. It is not counted: a driver sends about four such messages for each
    /// query.
    PartOfQuery,
    /// A free request that is not part of a query: counts against the rate only.
    Free,
}

/// Checks key, network, scope and, unless the message is part of a query, rate of a call; makes a reservation in the
/// quota for a query.
pub(super) async fn admit<T>(
    app: &App,
    request: &Request<T>,
    kind: MessageKind,
) -> Result<Admitted, Status> {
    let text = key_text(request.metadata());
    admit_text(app, request, &text, kind).await
}

/// Checks a handshake; returns the text of the key.
pub(super) async fn check<T>(app: &App, request: &Request<T>) -> Result<String, Status> {
    let text = key_text(request.metadata());
    admit_text(app, request, &text, MessageKind::Free).await?;
    Ok(text)
}

async fn admit_text<T>(
    app: &App,
    request: &Request<T>,
    text: &str,
    kind: MessageKind,
) -> Result<Admitted, Status> {
    let caller = Caller {
        key: (!text.is_empty()).then_some(text.as_bytes()),
        address: Some(caller_address(app, request)),
    };
    let rules = CallRules {
        access: ACCESS,
        counting: match kind {
            MessageKind::Query => Counting::As(Consumption::Sql),
            MessageKind::PartOfQuery | MessageKind::Free => Counting::Free,
        },
        counts_against_rate: kind != MessageKind::PartOfQuery,
    };
    let admitted = admission::admit(app, caller, rules).await;
    admitted.map_err(|refused| status(refused.error))
}

/// Returns the caller of an admitted query, for the audit log. Each query has its own identifier.
pub(super) fn sql_caller(admitted: &Admitted) -> SqlCaller {
    SqlCaller {
        request_id: Uuid::now_v7(),
        account_id: admitted.key.account_id,
        key_id: admitted.key.key_id,
        protocol: Protocol::Flight,
    }
}

/// Returns the address that a call comes from; the unspecified address if the connection does not say.
fn caller_address<T>(app: &App, request: &Request<T>) -> IpAddr {
    let Some(PeerAddress(peer)) = request.extensions().get() else {
        return Ipv4Addr::UNSPECIFIED.into();
    };
    let headers = request.metadata().clone().into_headers();
    client_address(*peer, &headers, &app.access.proxies)
}

/// Returns the text of the key that a call carries; empty if it carries none.
fn key_text(metadata: &MetadataMap) -> String {
    let header = |name: &str| metadata.get(name).and_then(|value| value.to_str().ok());
    if let Some(key) = header(KEY_HEADER) {
        return key.to_owned();
    }
    let (scheme, rest) = header(AUTHORIZATION)
        .and_then(|header| header.split_once(' '))
        .unwrap_or_default();
    match scheme.to_ascii_lowercase().as_str() {
        "bearer" => rest.trim().to_owned(),
        "basic" => password(rest.trim()).unwrap_or_default(),
        _ => String::new(),
    }
}

/// Returns the password of basic authentication, or the user if the password is empty.
fn password(encoded: &str) -> Option<String> {
    let decoded = CREDENTIALS.decode(encoded).ok()?;
    let decoded = String::from_utf8(decoded).ok()?;
    let (user, password) = decoded.split_once(':')?;
    let key = if password.is_empty() { user } else { password };
    Some(key.to_owned())
}

/// Converts an error of the service to a status, and logs it if it is internal.
pub(super) fn status(error: ApiError) -> Status {
    let code = match error.status_and_code().0.as_u16() {
        401 => Code::Unauthenticated,
        403 => Code::PermissionDenied,
        404 => Code::NotFound,
        429 => Code::ResourceExhausted,
        503 => Code::Unavailable,
        400..500 => Code::InvalidArgument,
        _ => Code::Internal,
    };
    if let ApiError::Internal(failure) = &error {
        let backtrace = failure.backtrace();
        tracing::error!(error = %failure, backtrace, "a Flight call failed");
    }
    Status::new(code, error.to_string())
}

/// Converts an error of a query to a status.
pub(super) fn query_status(error: SqlError) -> Status {
    match error {
        SqlError::Limit(limit) => Status::resource_exhausted(limit.to_string()),
        SqlError::Cancelled => Status::cancelled("the caller has gone away"),
        error => status(ApiError::from(error)),
    }
}
