//! Refuses what an operator's key may not do to other keys ([`toise_accounts::operators`]).

use super::super::endpoints;
use crate::endpoint::Access;
use toise_accounts::grants::Grants;
use toise_accounts::operators::OperatorRights;
use toise_accounts::scopes::Scope;
use toise_service::error::ApiError;

/// Refuses a call that grants or revokes grants that the caller does not hold.
///
/// # Errors
/// 403 that names the first grant that the caller does not hold.
pub(super) fn require(rights: OperatorRights, grants: Grants) -> Result<(), ApiError> {
    let scope_of = |endpoint: &str| {
        endpoints().find_map(|known| match known.access {
            Access::Scoped(scope, granted) if granted == endpoint => Some(scope),
            _ => None,
        })
    };
    rights
        .require(grants, scope_of)
        .map_err(|missing| ApiError::Forbidden {
            scope: Scope::Admin,
            endpoint: missing.as_str(),
        })
}
