//! What an operator's key may do to other keys: it can neither give nor take what it does not hold itself.
//!
//! The scope `admin` holds everything. A key with single endpoints of `admin`, such as `admin.keys.create`, holds what it
//! is granted, so that whoever finds it gains nothing beyond that.

use super::super::endpoints;
use crate::endpoint::Access;
use crate::error::ApiError;
use toise_accounts::grants::{Grant, Grants};
use toise_accounts::key::KeyRecord;
use toise_accounts::scopes::Scope;

/// What a key may hand out, change and revoke.
#[derive(Clone, Copy, Debug)]
pub(super) struct OperatorRights(Grants);

impl OperatorRights {
    /// The rights of a caller.
    pub(super) fn of(caller: &KeyRecord) -> Self {
        Self(caller.grants())
    }

    /// Refuses a call that gives or takes some grants.
    ///
    /// # Errors
    /// 403 that names the first grant that the caller does not hold.
    pub(super) fn require(self, grants: Grants) -> Result<(), ApiError> {
        match grants.iter().find(|grant| !self.holds(*grant)) {
            None => Ok(()),
            Some(missing) => Err(ApiError::Forbidden {
                scope: Scope::Admin,
                endpoint: missing.as_str(),
            }),
        }
    }

    fn holds(self, grant: Grant) -> bool {
        if self.0.scopes.contains(Scope::Admin) {
            return true;
        }
        match grant {
            Grant::Scope(scope) => self.0.scopes.contains(scope),
            Grant::Endpoint(name) => {
                let scope = endpoints().find_map(|endpoint| match endpoint.access {
                    Access::Scoped(scope, granted) if granted == name => Some(scope),
                    _ => None,
                });
                scope.is_some_and(|scope| self.0.allow(scope, name))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_hands_out_what_it_holds_and_the_scope_admin_everything() {
        let may = |held: &str, grants: &str| {
            let rights = OperatorRights(Grants::parse(held).unwrap());
            rights.require(Grants::parse(grants).unwrap()).is_ok()
        };
        assert!(may("admin", "admin,search,sql.query"));
        assert!(may("admin.keys.create,search", "search,properties.search"));
        assert!(may("admin.keys.create", "admin.keys.create"));
        for grants in ["search", "properties.search", "admin", "admin.usage"] {
            assert!(!may("admin.keys.create", grants), "{grants}");
        }
        assert!(!may("admin.keys.create,properties.search", "search"));
    }
}
