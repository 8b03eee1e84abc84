//! Prepared statements: remembered for a while under an identifier, with the parameters bound to them.

use std::sync::Arc;
use std::time::Duration;

use arrow::array::RecordBatch;
use datafusion::common::ParamValues;
use datafusion::common::metadata::ScalarAndMetadata;
use datafusion::scalar::ScalarValue;
use moka::sync::Cache;
use tonic::Status;
use uuid::Uuid;

use toise_sql::parameters::PARAMETERS_MAX;

/// Maximum prepared statements of all keys; those used least go first.
const STATEMENTS_MAX: u64 = 10_000;
/// How long a statement is remembered after its last use.
const IDLE_TTL: Duration = Duration::from_secs(60 * 60);

/// A prepared statement.
#[derive(Clone, Debug)]
pub(super) struct PreparedStatement {
    /// The key that prepared it; no other may use it.
    pub key_id: Uuid,
    /// Its text.
    pub sql: Arc<str>,
    /// Values of its placeholders, if any were bound.
    pub parameters: Option<ParamValues>,
}

/// The prepared statements of all keys.
pub(super) struct PreparedStatements(Cache<Uuid, PreparedStatement>);

impl Default for PreparedStatements {
    fn default() -> Self {
        let cache = Cache::builder()
            .max_capacity(STATEMENTS_MAX)
            .time_to_idle(IDLE_TTL);
        Self(cache.build())
    }
}

impl PreparedStatements {
    /// Remembers a statement and returns its identifier.
    pub fn insert(&self, statement: PreparedStatement) -> Uuid {
        let id = Uuid::now_v7();
        self.0.insert(id, statement);
        id
    }

    /// The statement that a key has prepared.
    pub fn get(&self, handle: &[u8], key_id: Uuid) -> Result<(Uuid, PreparedStatement), Status> {
        let unknown = || Status::not_found("no such prepared statement");
        let id = Uuid::from_slice(handle).map_err(|_| unknown())?;
        let found = self
            .0
            .get(&id)
            .filter(|statement| statement.key_id == key_id);
        Ok((id, found.ok_or_else(unknown)?))
    }

    /// Binds values to the placeholders of a statement.
    pub fn bind(&self, handle: &[u8], key_id: Uuid, rows: &[RecordBatch]) -> Result<(), Status> {
        let (id, statement) = self.get(handle, key_id)?;
        let parameters = Some(values(rows)?);
        self.0.insert(
            id,
            PreparedStatement {
                parameters,
                ..statement
            },
        );
        Ok(())
    }

    /// Forgets a statement.
    pub fn remove(&self, handle: &[u8], key_id: Uuid) -> Result<(), Status> {
        let (id, _) = self.get(handle, key_id)?;
        self.0.invalidate(&id);
        Ok(())
    }
}

/// The values of the only row, in order.
fn values(rows: &[RecordBatch]) -> Result<ParamValues, Status> {
    let mut rows = rows.iter().filter(|batch| batch.num_rows() > 0);
    let only = rows.next().filter(|batch| batch.num_rows() == 1);
    let (Some(row), None) = (only, rows.next()) else {
        return Err(Status::invalid_argument(
            "bind one row of parameters: a query runs once",
        ));
    };
    if row.num_columns() > PARAMETERS_MAX {
        let message = format!("at most {PARAMETERS_MAX} parameters");
        return Err(Status::invalid_argument(message));
    }
    let scalars = row.columns().iter().map(|column| {
        let scalar = ScalarValue::try_from_array(column, 0);
        scalar.map(ScalarAndMetadata::from)
    });
    let scalars: Result<Vec<_>, _> = scalars.collect();
    let scalars = scalars.map_err(|error| Status::invalid_argument(error.to_string()))?;
    Ok(ParamValues::List(scalars))
}
