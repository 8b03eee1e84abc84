//! Prepared statements, kept under an identifier with the parameters bound to them, for an hour after their last use.
//!
//! A client that never closes its statements loses its least recently used ones, and does not affect other clients.

use std::sync::Arc;
use std::time::Duration;

use datafusion::common::ParamValues;
use moka::policy::EvictionPolicy;
use moka::sync::Cache;
use tonic::Status;
use uuid::Uuid;

use toise_sql::parameters;

/// Maximum keys whose statements are kept; the least recently used keys are dropped first.
const KEYS_MAX: u64 = 64;
/// Maximum bytes of the prepared statements of a key, with the values bound to them.
const KEY_BYTES_MAX: u64 = 1 << 20;
/// Approximate bytes of a statement without its text and values.
const STATEMENT_BYTES: usize = 512;
/// How long a statement is kept after its last use.
const IDLE_TTL: Duration = Duration::from_secs(60 * 60);

/// A prepared statement.
#[derive(Clone, Debug)]
pub(super) struct PreparedStatement {
    /// Its text.
    pub sql: Arc<str>,
    /// Values of its placeholders, if any were bound.
    pub parameters: Option<Arc<ParamValues>>,
}

impl PreparedStatement {
    fn bytes(&self) -> u32 {
        let parameters = self.parameters.as_deref().map_or(0, parameters::bytes);
        let bytes = STATEMENT_BYTES + self.sql.len() + parameters;
        u32::try_from(bytes).unwrap_or(u32::MAX)
    }
}

type KeyStatements = Cache<Uuid, PreparedStatement>;

/// The prepared statements of all keys.
pub(super) struct PreparedStatements(Cache<Uuid, KeyStatements>);

impl Default for PreparedStatements {
    fn default() -> Self {
        let keys = Cache::builder()
            .max_capacity(KEYS_MAX)
            .eviction_policy(EvictionPolicy::lru())
            .time_to_idle(IDLE_TTL);
        Self(keys.build())
    }
}

impl PreparedStatements {
    /// Returns the statements of a key. No other key can use them.
    fn for_key(&self, key_id: Uuid) -> KeyStatements {
        let statements = self.0.get_with(key_id, || {
            Cache::builder()
                .max_capacity(KEY_BYTES_MAX)
                .weigher(|_, statement: &PreparedStatement| statement.bytes())
                .eviction_policy(EvictionPolicy::lru())
                .time_to_idle(IDLE_TTL)
                .build()
        });
        self.0.run_pending_tasks();
        statements
    }

    /// Stores a statement and returns its identifier.
    pub fn insert(&self, key_id: Uuid, statement: PreparedStatement) -> Uuid {
        let id = Uuid::now_v7();
        self.put(key_id, id, statement);
        id
    }

    fn put(&self, key_id: Uuid, id: Uuid, statement: PreparedStatement) {
        let statements = self.for_key(key_id);
        statements.insert(id, statement);
        // Drops statements beyond the bound immediately, instead of at the next maintenance of the cache.
        statements.run_pending_tasks();
    }

    /// Returns a statement that a key has prepared.
    pub fn get(&self, handle: &[u8], key_id: Uuid) -> Result<(Uuid, PreparedStatement), Status> {
        let unknown = || Status::not_found("no such prepared statement");
        let id = Uuid::from_slice(handle).map_err(|_| unknown())?;
        let found = self
            .0
            .get(&key_id)
            .and_then(|statements| statements.get(&id));
        Ok((id, found.ok_or_else(unknown)?))
    }

    /// Binds values to the placeholders of a statement.
    pub fn bind(&self, handle: &[u8], key_id: Uuid, values: ParamValues) -> Result<(), Status> {
        let (id, statement) = self.get(handle, key_id)?;
        let bound = PreparedStatement {
            parameters: Some(Arc::new(values)),
            ..statement
        };
        self.put(key_id, id, bound);
        Ok(())
    }

    /// Removes a statement.
    pub fn remove(&self, handle: &[u8], key_id: Uuid) -> Result<(), Status> {
        let (id, _) = self.get(handle, key_id)?;
        self.for_key(key_id).invalidate(&id);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::common::metadata::ScalarAndMetadata;
    use datafusion::scalar::ScalarValue;

    fn statement(bytes: usize) -> PreparedStatement {
        let text = ScalarValue::from("x".repeat(bytes).as_str());
        PreparedStatement {
            sql: "select $1".into(),
            parameters: Some(Arc::new(ParamValues::List(vec![ScalarAndMetadata::from(
                text,
            )]))),
        }
    }

    #[test]
    fn a_client_that_closes_nothing_loses_its_own_statements_and_no_others() {
        let prepared = PreparedStatements::default();
        let (leaking, other) = (Uuid::now_v7(), Uuid::now_v7());
        let kept = prepared.insert(other, statement(10));
        for _ in 0..100 {
            let last = prepared.insert(leaking, statement(200_000));
            assert!(prepared.get(last.as_bytes(), leaking).is_ok());
            assert!(prepared.get(last.as_bytes(), other).is_err());
        }
        let statements = prepared.for_key(leaking);
        assert!(statements.weighted_size() <= KEY_BYTES_MAX);
        assert!(statements.entry_count() > 1);
        assert!(prepared.get(kept.as_bytes(), other).is_ok());
        prepared.remove(kept.as_bytes(), other).unwrap();
        assert!(prepared.get(kept.as_bytes(), other).is_err());
    }

    #[test]
    fn keys_are_bounded_in_number() {
        let prepared = PreparedStatements::default();
        for _ in 0..2 * KEYS_MAX {
            prepared.insert(Uuid::now_v7(), statement(10));
        }
        prepared.0.run_pending_tasks();
        assert!(prepared.0.entry_count() <= KEYS_MAX);
    }
}
