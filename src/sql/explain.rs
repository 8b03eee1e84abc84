//! Explains DataFusion's errors to the author of a query: what is wrong, at which line and column, and which names
//! exist if one is unknown.

use std::error::Error;

use datafusion::common::SchemaError;
use datafusion::error::DataFusionError;
use datafusion::sql::sqlparser::parser::ParserError;

use crate::error::{Position, SqlError};
use crate::limits::Limit;
use crate::names::{KnownNames, nearest};
use crate::text;

/// Maximum names suggested instead of one that does not exist.
const SUGGESTED_MAX: usize = 3;
/// Maximum characters of a message: a plan may quote the whole query.
const MESSAGE_CHARS_MAX: usize = 600;

/// Text of the engine's error for a pattern that it cannot compile.
const INVALID_PATTERN: &str = "Invalid regex";
/// Text of the standard library's error when memory cannot be reserved.
const NO_MEMORY: &str = "memory allocation failed because";
/// Text that the engine adds to the message of an internal error.
const BUG_REPORT: &str = ".\nThis issue was likely caused by a bug in DataFusion's code";
/// Text of the engine's error for a call whose argument types do not match the function's. It comes after the types
/// that the engine tried.
const NO_FUNCTION: &str = "No function matches the given name and argument types";
/// Prefixes that the engine adds to the messages of its parts.
const PREFIXES: [&str; 10] = [
    "Error during planning: ",
    "Execution error: ",
    "Arrow error: ",
    "Cast error: ",
    "Parser error: ",
    "This feature is not implemented: ",
    "Schema error: ",
    "External error: ",
    "Internal error: ",
    "type_coercion\n",
];

/// Explains an error of planning or execution to the author of the query `sql`.
pub(crate) fn explain(error: DataFusionError, sql: &str, known: &KnownNames) -> SqlError {
    let span = error.diagnostic().and_then(|diagnostic| diagnostic.span);
    let position = span.map(|span| Position {
        line: span.start.line,
        column: span.start.column,
    });
    let error = match error.find_root() {
        DataFusionError::ExecutionJoin(ended) if ended.is_panic() => return SqlError::crashed(),
        DataFusionError::SchemaError(schema, _) => {
            return unknown_column(schema, sql, position);
        }
        DataFusionError::ResourcesExhausted(_) => return SqlError::Limit(Limit::Memory),
        DataFusionError::SQL(parser, _) => return syntax(parser, sql),
        // The engine refuses some expressions late and with an internal error, such as comparisons of types that have
        // no order and patterns that do not compile. The query causes these errors, not the service.
        DataFusionError::Internal(message) => {
            format!("the engine cannot compute this: {}", plain(message))
        }
        _ if let Some(fault) = pattern_fault(&error) => fault,
        root if is_internal(root) => return SqlError::internal(error),
        root => root.strip_backtrace(),
    };
    if error.contains(NO_MEMORY) {
        return SqlError::Limit(Limit::Memory);
    }
    named(&error, sql, known, position)
}

/// Returns the fault of a regular expression that does not compile. The engine wraps it in another error.
fn pattern_fault(error: &DataFusionError) -> Option<String> {
    let error: &(dyn Error + 'static) = error;
    std::iter::successors(Some(error), |error| (*error).source()).find_map(|error| {
        if let Some(DataFusionError::Context(about, pattern)) = error.downcast_ref()
            && about == INVALID_PATTERN
        {
            return Some(pattern.strip_backtrace());
        }
        error.downcast_ref().map(regex::Error::to_string)
    })
}

/// Returns whether an error is a failure of the service or its files.
pub(crate) fn is_internal(error: &DataFusionError) -> bool {
    matches!(
        error,
        DataFusionError::IoError(_)
            | DataFusionError::ParquetError(_)
            | DataFusionError::ObjectStore(_)
            | DataFusionError::ExecutionJoin(_)
            | DataFusionError::External(_)
    )
}

/// Explains a syntax error. The parser's message ends with the position, unless the error is at the end of the query.
fn syntax(error: &ParserError, sql: &str) -> SqlError {
    let message = match error {
        ParserError::TokenizerError(message) | ParserError::ParserError(message) => message.clone(),
        ParserError::RecursionLimitExceeded => "the query is nested too deeply".to_owned(),
    };
    let Some((fault, place)) = message.rsplit_once(" at Line: ") else {
        let is_at_end = message.ends_with("found: EOF");
        return SqlError::Invalid {
            message: cut(&message),
            position: is_at_end.then(|| text::end_of(sql)),
        };
    };
    let numbers = place.split_once(", Column: ");
    let position = numbers.and_then(|(line, column)| {
        Some(Position {
            line: line.trim().parse().ok()?,
            column: column.trim().parse().ok()?,
        })
    });
    SqlError::Invalid {
        message: cut(fault),
        position,
    }
}

/// Explains a column that does not exist, is in several tables or occurs twice.
fn unknown_column(error: &SchemaError, sql: &str, position: Option<Position>) -> SqlError {
    let (name, message) = match error {
        SchemaError::FieldNotFound {
            field,
            valid_fields,
        } => {
            let message = format!("there is no column {:?} here", field.flat_name());
            let names = valid_fields.iter().map(|column| column.name.clone());
            let message = message + &suggestion(&field.name, names);
            (field.name.clone(), message)
        }
        SchemaError::AmbiguousReference { field } => (
            field.name.clone(),
            format!(
                "{:?} is a column of several tables: write the table before it",
                field.name
            ),
        ),
        SchemaError::DuplicateQualifiedField { name, .. }
        | SchemaError::DuplicateUnqualifiedField { name } => (
            name.clone(),
            format!("{name:?} occurs twice: rename one of them"),
        ),
    };
    SqlError::Invalid {
        message: cut(&message),
        position: position.or_else(|| text::position_of(sql, &name)),
    }
}

fn suggestion(name: &str, names: impl Iterator<Item = String>) -> String {
    let near = nearest(name, names, SUGGESTED_MAX);
    if near.is_empty() {
        String::new()
    } else {
        format!("; there is {}", near.join(", "))
    }
}

/// Explains an error whose text names a table or function that does not exist, and any other error.
fn named(message: &str, sql: &str, known: &KnownNames, position: Option<Position>) -> SqlError {
    let message = plain(message);
    if let Some(name) = between(message, "table '", "' not found") {
        let table = name.rsplit('.').next().unwrap_or(name);
        let tables = known.tables.join(", ");
        return SqlError::Invalid {
            message: cut(&format!(
                "there is no table {table:?}; the tables are {tables}"
            )),
            position: position.or_else(|| text::position_of(sql, table)),
        };
    }
    if let Some(name) = between(message, "Invalid function '", "'") {
        let near = suggestion(name, known.functions.iter().cloned());
        return SqlError::Invalid {
            message: cut(&format!("there is no function {name:?}{near}")),
            position: position.or_else(|| text::position_of(sql, name)),
        };
    }
    if let Some((_, refused)) = message.split_once(" not supported: ") {
        return SqlError::ReadOnly(cut(refused));
    }
    SqlError::Invalid {
        message: cut(&message.replace("\n\t", " ")),
        position: position.or_else(|| text::position_of_quoted(sql, message)),
    }
}

/// Returns the part of a message that describes the fault, without the location in the engine.
fn plain(message: &str) -> &str {
    let mut rest = message.rsplit("caused by\n").next().unwrap_or(message);
    if let Some(start) = rest.find(NO_FUNCTION) {
        rest = &rest[start..];
    }
    rest = rest.split(BUG_REPORT).next().unwrap_or(rest);
    while let Some(shorter) = PREFIXES.iter().find_map(|prefix| rest.strip_prefix(prefix)) {
        rest = shorter;
    }
    rest
}

fn between<'t>(text: &'t str, start: &str, end: &str) -> Option<&'t str> {
    let (_, rest) = text.split_once(start)?;
    rest.split_once(end).map(|(found, _)| found)
}

fn cut(message: &str) -> String {
    text::cut(message, MESSAGE_CHARS_MAX)
}
