//! The SQL shell: reads statements that end with a semicolon, on one or more lines, and commands that begin with a dot.
//!
//! Ctrl-C stops a running query, or clears the line; Ctrl-D leaves.

use std::path::PathBuf;

use arrow::array::AsArray;
use arrow::compute::cast;
use arrow::datatypes::DataType;
use futures::StreamExt;
use rustyline::completion::Completer;
use rustyline::error::ReadlineError;
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::history::DefaultHistory;
use rustyline::validate::{ValidationContext, ValidationResult, Validator};
use rustyline::{Context, Editor, Helper};
use tokio::runtime::Runtime;

use super::show::Display;
use super::source::SqlSource;
use super::{Failure, SqlFormat, answer, row_count};
use crate::CommandResult;
use toise_sql::functions::aliases;
use toise_sql::text;

/// Maximum lines of history that are kept.
const HISTORY_MAX: usize = 1_000;
/// Path of the history file in the user's state folder.
const HISTORY_FILE: &str = "toise/sql_history";
const TABLES: &str =
    "select table_name from information_schema.tables where table_schema = 'public' order by 1";
const NAMES: &str = "select distinct column_name from information_schema.columns where table_schema = 'public' \
                     union select table_name from information_schema.tables where table_schema = 'public' \
                     union select distinct routine_name from information_schema.routines";
const HELP: &str = "\
.tables            the tables
.schema [TABLE]    the columns of a table, or of all
.mode FORMAT       table, csv, json or ndjson
.width N           maximum characters of a printed column; 0 for no maximum
.help              this
.quit              leave; so does Ctrl-D
Statements end with a semicolon. `summarize TABLE;` shows what the columns hold.";

/// Keywords of SQL that are completed.
const KEYWORDS: [&str; 40] = [
    "select", "from", "where", "group by", "order by", "limit", "having", "join", "left join",
    "on", "using", "with", "as", "and", "or", "not", "in", "is null", "is not null", "between",
    "like", "ilike", "case", "when", "then", "else", "end", "distinct", "union all", "over",
    "partition by", "filter", "exclude", "qualify", "describe", "summarize", "explain", "count(*)",
    "desc", "asc",
];

/// Runs the shell until the user leaves it.
pub(super) fn run(runtime: &Runtime, source: &SqlSource, mut display: Display) -> CommandResult {
    let config = rustyline::Config::builder()
        .max_history_size(HISTORY_MAX)?
        .auto_add_history(true)
        .build();
    let mut editor: Editor<SqlHelper, DefaultHistory> = Editor::with_config(config)?;
    let words = runtime.block_on(words(source));
    editor.set_helper(Some(SqlHelper { words }));
    let history = history_file();
    if let Some(history) = &history {
        // There is none on the first run.
        let _ = editor.load_history(history);
    }
    println!("toise sql; .help lists the commands");
    loop {
        match editor.readline("toise> ") {
            Ok(line) if line.trim_start().starts_with('.') => {
                match command(runtime, source, &mut display, line.trim()) {
                    Ok(true) => {}
                    Ok(false) => break,
                    Err(error) => eprintln!("error: {error}"),
                }
            }
            Ok(line) => statements(runtime, source, &display, &line),
            Err(ReadlineError::Interrupted) => {}
            Err(ReadlineError::Eof) => break,
            Err(error) => return Err(error.into()),
        }
    }
    if let Some(history) = history {
        // Failing to save the history is not an error.
        let _ = editor.save_history(&history);
    }
    Ok(())
}

/// Runs a command. Returns `false` to leave the shell.
fn command(
    runtime: &Runtime,
    source: &SqlSource,
    display: &mut Display,
    line: &str,
) -> Result<bool, Failure> {
    let (name, argument) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let argument = argument.trim().trim_end_matches(';');
    match name.trim_end_matches(';') {
        ".quit" | ".exit" => return Ok(false),
        ".help" => println!("{HELP}"),
        ".tables" => statements(runtime, source, display, TABLES),
        ".schema" => statements(runtime, source, display, &columns_of(argument)),
        ".width" => display.width_max = Some(argument.parse()?).filter(|width| *width > 0),
        ".mode" => {
            let format = <SqlFormat as clap::ValueEnum>::from_str(argument, true);
            display.format = format.map_err(|_| "the modes are table, csv, json and ndjson")?;
        }
        unknown => return Err(format!("no command {unknown}; .help lists them").into()),
    }
    Ok(true)
}

/// Returns the query that lists the columns of a table, or of all tables.
fn columns_of(table: &str) -> String {
    let of = match table {
        "" => String::new(),
        table => format!(
            " and table_name = '{}'",
            table.replace('\'', "''").to_lowercase()
        ),
    };
    format!(
        "select table_name, column_name, data_type, is_nullable from information_schema.columns \
         where table_schema = 'public'{of} order by table_name, ordinal_position"
    )
}

/// Runs statements one after the other, until one fails or Ctrl-C stops them.
fn statements(runtime: &Runtime, source: &SqlSource, display: &Display, text: &str) {
    let run = async {
        for statement in text::statements(text)? {
            tokio::select! {
                answered = answer(source, &statement, display) => {
                    let (rows, seconds) = answered?;
                    eprintln!("{}", row_count(rows, seconds));
                }
                _ = tokio::signal::ctrl_c() => {
                    eprintln!("stopped");
                    break;
                }
            }
        }
        Ok::<(), Failure>(())
    };
    if let Err(error) = runtime.block_on(run) {
        eprintln!("error: {error}");
    }
}

/// Returns the words that are completed: keywords, tables, columns and functions; only keywords and function aliases if
/// the rest cannot be read.
async fn words(source: &SqlSource) -> Vec<String> {
    let mut words: Vec<String> = KEYWORDS.iter().map(|word| (*word).to_owned()).collect();
    words.extend(aliases::names().map(str::to_owned));
    if let Ok(mut rows) = source.ask(NAMES).await {
        while let Some(Ok(batch)) = rows.batches.next().await {
            let names = batch
                .columns()
                .first()
                .map(|column| cast(column, &DataType::Utf8));
            if let Some(Ok(names)) = names {
                let names = names.as_string::<i32>().iter().flatten();
                words.extend(names.map(str::to_owned));
            }
        }
    }
    words.sort();
    words.dedup();
    words
}

/// Returns the path of the history file and creates its folder; `None` if the user has no home or the folder cannot be
/// created.
fn history_file() -> Option<PathBuf> {
    let state = match std::env::var_os("XDG_STATE_HOME") {
        Some(state) => PathBuf::from(state),
        None => PathBuf::from(std::env::var_os("HOME")?).join(".local/state"),
    };
    let file = state.join(HISTORY_FILE);
    std::fs::create_dir_all(file.parent()?).ok()?;
    Some(file)
}

/// Completes words, and asks for more lines until a statement ends.
struct SqlHelper {
    words: Vec<String>,
}

impl Completer for SqlHelper {
    type Candidate = String;

    fn complete(
        &self,
        line: &str,
        place: usize,
        _context: &Context<'_>,
    ) -> rustyline::Result<(usize, Vec<String>)> {
        Ok(completed(&self.words, line, place))
    }
}

/// Returns the position where the word before `place` begins, and the known words that begin with it.
fn completed(words: &[String], line: &str, place: usize) -> (usize, Vec<String>) {
    let before = &line[..place];
    let is_part = |c: char| c.is_alphanumeric() || c == '_' || c == '.';
    let start = before.rfind(|c| !is_part(c)).map_or(0, |at| {
        at + before[at..].chars().next().map_or(1, char::len_utf8)
    });
    // After `table.` a column follows.
    let start = before[start..]
        .rfind('.')
        .map_or(start, |dot| start + dot + 1);
    let word = before[start..].to_lowercase();
    if word.is_empty() {
        return (start, Vec::new());
    }
    let matching = words
        .iter()
        .filter(|known| known.to_lowercase().starts_with(&word));
    (start, matching.cloned().collect())
}

impl Hinter for SqlHelper {
    type Hint = String;
}

impl Highlighter for SqlHelper {}

impl Validator for SqlHelper {
    fn validate(&self, context: &mut ValidationContext<'_>) -> rustyline::Result<ValidationResult> {
        let input = context.input();
        let is_whole = input.trim_start().starts_with('.') || text::is_complete(input);
        Ok(if is_whole {
            ValidationResult::Valid(None)
        } else {
            ValidationResult::Incomplete
        })
    }
}

impl Helper for SqlHelper {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_completed_where_they_begin() {
        let words = [
            "price_eur".to_owned(),
            "select".to_owned(),
            "prix".to_owned(),
        ];
        let found = completed(&words, "select dvf.PRI", 14);
        assert_eq!(found, (11, vec!["price_eur".to_owned(), "prix".to_owned()]));
        assert_eq!(completed(&words, "sel", 3), (0, vec!["select".to_owned()]));
        assert_eq!(completed(&words, "é(", 3).0, 3);
        assert!(completed(&words, "select ", 7).1.is_empty());
    }
}
