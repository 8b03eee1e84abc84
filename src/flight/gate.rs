//! Who calls: the API key of a call, and the error of one that may not.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use base64::Engine;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use tonic::metadata::MetadataMap;
use tonic::{Code, Request, Status};
use uuid::Uuid;

use super::parameters::MESSAGES_BYTES_MAX;
use toise_accounts::key::KeyRecord;
use toise_accounts::meter::KeyMeter;
use toise_accounts::scopes::Scope;
use toise_http::client_address::{PeerAddress, client_address};
use toise_http::endpoint::Access;
use toise_http::error::ApiError;
use toise_http::out_of_turn::{Doorkeeper, InTurn};
use toise_http::pace::PacedClient;
use toise_http::paid_reads::PaidReads;
use toise_http::{App, admission, auth};
use toise_sql::SqlError;
use toise_sql::audit::{Caller, Door};

/// What a key needs: the same as for SQL over HTTP.
const ACCESS: Access = Access::scoped(Scope::Sql, "sql.query");
/// The coding of credentials; some clients leave out the padding.
const CREDENTIALS: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);
/// Header with the token.
pub(super) const AUTHORIZATION: &str = "authorization";

/// A call that may be made.
pub(super) struct Admitted {
    /// The key.
    pub key: Arc<KeyRecord>,
    /// Its usage.
    pub meter: Arc<KeyMeter>,
}

impl Admitted {
    /// The caller, for the audit log; each query has an identifier of its own.
    pub fn caller(&self) -> Caller {
        Caller {
            request_id: Uuid::now_v7(),
            account_id: self.key.account_id,
            key_id: self.key.key_id,
            door: Door::Flight,
        }
    }
}

/// Checks key, scope and rate of a call.
pub(super) async fn admit<T>(app: &App, request: &Request<T>) -> Result<Admitted, Status> {
    let client = client_of(app, request);
    let admitted = async {
        let key = key_of(app, &key_text(request.metadata())?, client).await?;
        pay(request);
        let meter = app.meters.of(key.key_id, key.allowance);
        admission::admit(app, &meter).map_err(status)?;
        Ok(Admitted { key, meter })
    };
    paced(app, request, client, admitted.await).await
}

/// Checks key and scope of a call that only asks whether they are right; returns the text of the key.
pub(super) async fn check<T>(app: &App, request: &Request<T>) -> Result<String, Status> {
    let client = client_of(app, request);
    let checked = async {
        let text = key_text(request.metadata())?;
        key_of(app, &text, client).await?;
        pay(request);
        Ok(text)
    };
    paced(app, request, client, checked.await).await
}

/// Calls that show no key wait at the door.
pub(super) fn doorkeeper(app: &App) -> Doorkeeper {
    Doorkeeper::new(&app.pace, |_, _, headers| {
        let shows = |name: &str| headers.contains_key(name);
        !shows(AUTHORIZATION) && !shows(auth::KEY_HEADER)
    })
}

/// Pays for what the messages of a call with a valid key may have.
fn pay<T>(request: &Request<T>) {
    if let Some(paid) = request.extensions().get::<PaidReads>() {
        paid.pay(MESSAGES_BYTES_MAX as u64);
    }
}

/// Keeps the outcome of a call that is refused at the pace of its client.
async fn paced<T, O>(
    app: &App,
    request: &Request<T>,
    client: IpAddr,
    outcome: Result<O, Status>,
) -> Result<O, Status> {
    if outcome.is_err() {
        let has_waited = request.extensions().get::<InTurn>().is_some();
        let paced = PacedClient {
            address: (!has_waited).then_some(client),
            is_proxied: false,
            is_probe: false,
        };
        let kept = app.pace.keep(paced).await;
        kept.map_err(|refused| status(ApiError::TooManyUnkeyed(refused.into())))?;
    }
    outcome
}

/// The address that a call comes from; one that lies in no network if the connection does not tell.
fn client_of<T>(app: &App, request: &Request<T>) -> IpAddr {
    let Some(PeerAddress(peer)) = request.extensions().get() else {
        return Ipv4Addr::UNSPECIFIED.into();
    };
    let headers = request.metadata().clone().into_headers();
    client_address(*peer, &headers, &app.proxies)
}

/// The key with a text, if it may use SQL from where the call comes.
async fn key_of(app: &App, text: &str, client: IpAddr) -> Result<Arc<KeyRecord>, Status> {
    let key = auth::verify(app, Some(text), Some(client)).await;
    let key = key.map_err(status)?;
    if !key.may_come_from(Some(client)) {
        return Err(status(ApiError::WrongAddress));
    }
    auth::authorise(&key, ACCESS).map_err(status)?;
    Ok(key)
}

/// The text of the key that a call carries.
fn key_text(metadata: &MetadataMap) -> Result<String, Status> {
    let header = |name: &str| metadata.get(name).and_then(|value| value.to_str().ok());
    if let Some(key) = header(auth::KEY_HEADER) {
        return Ok(key.to_owned());
    }
    let missing = || Status::unauthenticated("send the API key as bearer token or in x-api-key");
    let (scheme, rest) = header(AUTHORIZATION)
        .and_then(|header| header.split_once(' '))
        .ok_or_else(missing)?;
    match scheme.to_ascii_lowercase().as_str() {
        "bearer" => Ok(rest.trim().to_owned()),
        "basic" => password(rest.trim()).ok_or_else(missing),
        _ => Err(missing()),
    }
}

/// The password of basic authentication, or its user if it has no password.
fn password(encoded: &str) -> Option<String> {
    let decoded = CREDENTIALS.decode(encoded).ok()?;
    let decoded = String::from_utf8(decoded).ok()?;
    let (user, password) = decoded.split_once(':')?;
    let key = if password.is_empty() { user } else { password };
    Some(key.to_owned())
}

/// The status of an error of the service.
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
    if let ApiError::Internal(source) = &error {
        tracing::error!(error = %source, "a Flight call failed");
    }
    Status::new(code, error.to_string())
}

/// The status of an error of a query.
pub(super) fn query_status(error: SqlError) -> Status {
    match error {
        SqlError::Limit(limit) => Status::resource_exhausted(limit.to_string()),
        SqlError::Cancelled => Status::cancelled("the caller has gone away"),
        error => status(ApiError::from(error)),
    }
}
