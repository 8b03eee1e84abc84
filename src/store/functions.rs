//! Registers an SQL function for statements that change a stored response together with its checksum.

use rusqlite::Connection;
use rusqlite::functions::{Context, FunctionFlags};
use rusqlite::types::ValueRef;

use super::checksum::of_answer;

/// Registers `answer_checksum(request_digest, status, content_type, bytes, body)`.
pub(super) fn register(connection: &Connection) -> rusqlite::Result<()> {
    let flags = FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DETERMINISTIC;
    connection.create_scalar_function("answer_checksum", 5, flags, |context| {
        let content_type: String = context.get(2)?;
        let (digest, body) = (blob(context, 0)?, blob(context, 4)?);
        let checksum = of_answer(
            digest,
            context.get(1)?,
            &content_type,
            context.get(3)?,
            body,
        );
        Ok(checksum.to_vec())
    })
}

fn blob<'c>(context: &'c Context<'_>, index: usize) -> rusqlite::Result<&'c [u8]> {
    match context.get_raw(index) {
        ValueRef::Blob(bytes) | ValueRef::Text(bytes) => Ok(bytes),
        _ => Ok(&[]),
    }
}
