//! Bounds the memory that a JSON body takes once it is parsed. A parsed value takes about 100 bytes, however short its
//! text is.
//!
//! Usual bodies take up to eight times their length when parsed, which the budget for bodies allows for. A body that is
//! nearly all brackets and commas takes fifty times its length. The difference counts against the budget before the
//! body is parsed.

use bytes::Bytes;
use uuid::Uuid;

use crate::endpoint::call::SHORT_BODY_BYTES;
use toise_contract::Fault;
use toise_engine::pool::{Load, QueryPool};
use toise_service::error::ApiError;
use toise_transport::body_budget::BodyLease;

/// Bytes of a parsed value, its part of an array or object included.
const VALUE_BYTES: usize = 100;
/// Memory that a usual body takes once it is parsed, as a multiple of its length.
const USUAL_FACTOR: usize = 8;
/// Maximum values of a body.
const VALUES_MAX: usize = 1_000_000;

/// Returns a body that may be parsed, and charges its lease for the memory that it takes beyond the usual. A short body
/// is not checked. The values of a long one are counted on the query pool, as work of its key, where they delay no
/// other call.
///
/// # Errors
/// It has too many values, its client has too much in memory, or the pool is full.
pub async fn bounded(
    body: Bytes,
    lease: &mut BodyLease,
    pool: &QueryPool,
    key: Option<Uuid>,
) -> Result<Bytes, ApiError> {
    if body.len() <= SHORT_BODY_BYTES {
        return Ok(body);
    }
    let counting = move |_: &_| {
        // Each value but the first follows a comma or a bracket. Texts have these too, so the count may be too high.
        let values = match surplus(&body, marks(&body)) {
            0 => 0,
            _ => values(&body),
        };
        (body, values)
    };
    let client = key.unwrap_or(Uuid::nil());
    let (body, values) = pool.run(client, Load::Batch, counting).await?;
    if values > VALUES_MAX {
        let message = format!("must not hold more than {VALUES_MAX} values");
        return Err(ApiError::Invalid(Fault::new("", message)));
    }
    lease.grow(surplus(&body, values))?;
    Ok(body)
}

/// Returns how many bytes the values take beyond what a body of that length usually takes.
fn surplus(body: &[u8], values: usize) -> usize {
    (values * VALUE_BYTES).saturating_sub(body.len() * USUAL_FACTOR)
}

/// Counts the bytes that may begin a value.
fn marks(body: &[u8]) -> usize {
    let is_mark = |byte: &&u8| matches!(**byte, b',' | b'[' | b'{');
    body.iter().filter(is_mark).count()
}

/// Counts the values of a body. A text counts as one, an empty array or object as two.
fn values(body: &[u8]) -> usize {
    let mut values = 1;
    let mut rest = body;
    while let Some(begin) = memchr::memchr(b'"', rest) {
        values += marks(&rest[..begin]);
        rest = &rest[begin + 1..];
        // Skips to the end of the text.
        while let Some(end) = memchr::memchr2(b'"', b'\\', rest) {
            let is_end = rest[end] == b'"';
            rest = rest.get(end + 1 + usize::from(!is_end)..).unwrap_or(&[]);
            if is_end {
                break;
            }
        }
    }
    values + marks(rest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use toise_transport::body_budget::BodyBudget;

    #[test]
    fn values_are_counted_outside_of_texts() {
        assert_eq!(values(b"[0,0,0]"), 4);
        assert_eq!(values(br#"{"a":"[,{\"[,","b\\":[1,[2]]}"#), 6);
        assert_eq!(values(br#""never ends,,,\"#), 1);
        assert_eq!(values(b""), 1);
    }

    async fn held(body: String) -> Result<usize, ApiError> {
        let budget = BodyBudget::new(256 << 20);
        let mut lease = budget.lease(None, None);
        let pool = QueryPool::new(1, 0).unwrap();
        bounded(body.into(), &mut lease, &pool, None).await?;
        Ok(budget.held())
    }

    #[tokio::test]
    async fn what_a_body_unfolds_to_counts_and_what_is_usual_does_not() {
        let short = format!("[{}0]", "0,".repeat(10_000));
        assert_eq!(held(short).await.unwrap(), 0);
        let text = format!("[\"{}\"]", ",[{".repeat(100_000));
        assert_eq!(held(text).await.unwrap(), 0);
        let adverts = format!("[{}]", vec![r#"{"city":"Paris","price":250000,"rooms":3,"surface":62.5,"title":"Bright flat near the park, fourth floor with lift and balcony"}"#; 5_000].join(","));
        assert_eq!(held(adverts).await.unwrap(), 0);
        let zeros = format!("[{}0]", "0,".repeat(900_000));
        assert!(held(zeros).await.unwrap() > 70 << 20);
        let many = format!("[{}0]", "0,".repeat(VALUES_MAX));
        assert!(matches!(held(many).await, Err(ApiError::Invalid(_))));
    }
}
