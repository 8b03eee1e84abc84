//! Kept versions of tables in SQL: `select … from dvf for version as of 12`, and versions set for a whole session.
//!
//! The parser supports the clause only in other dialects. So the clause is found among the tokens of the query and
//! replaced with spaces, which keeps the positions in later error messages correct. In the parsed statement the table
//! then gets the name `dvf@12`, under which the session opens that version of it, and keeps its own name as an alias.

use std::collections::{BTreeMap, BTreeSet};
use std::io::ErrorKind;
use std::ops::ControlFlow;
use std::sync::Arc;

use datafusion::error::DataFusionError;
use datafusion::prelude::SessionContext;
use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::{
    Ident, ObjectName, ObjectNamePart, Query, TableAlias, TableFactor, VisitMut, VisitorMut,
};
use datafusion::sql::sqlparser::dialect::GenericDialect;
use datafusion::sql::sqlparser::tokenizer::{Location, Token, TokenWithSpan, Tokenizer};
use url::Url;

use super::data_file_store::{DataFileStore, data_file_table};
use super::view::TableView;
use super::{Engine, Error};
use toise_lake::schema::TableSchema;
use toise_lake::{self as lake, Lake};

/// The words of the clause, before the version.
const CLAUSE: [&str; 4] = ["FOR", "VERSION", "AS", "OF"];

/// The tables of a session whose kept versions can be read, and the versions that it reads by default.
#[derive(Debug)]
pub(super) struct TimeTravel {
    lake: Lake,
    schemas: Vec<&'static TableSchema>,
    as_of: BTreeMap<String, u64>,
}

impl TimeTravel {
    /// Creates a state in which queries read the current versions by default.
    pub(super) fn new(engine: &Engine) -> Self {
        Self {
            lake: engine.lake().clone(),
            schemas: engine.schemas().collect(),
            as_of: BTreeMap::new(),
        }
    }

    /// Makes queries read a table as of a version unless they name another.
    ///
    /// # Errors
    /// There is no such table, or the version is not kept.
    pub(super) fn set(&mut self, table: &str, version: u64) -> Result<(), Error> {
        self.lake.snapshot_at(self.schema(table)?, version)?;
        self.as_of.insert(table.to_owned(), version);
        Ok(())
    }

    fn schema(&self, table: &str) -> Result<&'static TableSchema, Error> {
        let found = self.schemas.iter().find(|schema| schema.name == table);
        found
            .copied()
            .ok_or_else(|| Error::UnknownTable(table.to_owned()))
    }

    /// Parses a query and opens the versions of tables that it reads.
    ///
    /// # Errors
    /// The query cannot be parsed, or a version is not kept or cannot be read.
    pub(super) async fn statement(
        &self,
        context: &SessionContext,
        sql: &str,
    ) -> Result<Statement, Error> {
        let (text, clauses) = cut_clauses(sql)?;
        let state = context.state();
        let dialect = state.config_options().sql_parser.dialect;
        let mut statement = state.sql_to_statement(&text, &dialect)?;
        let mut rename = RenameTables {
            clauses: clauses
                .iter()
                .map(|clause| (clause.table, clause.version))
                .collect(),
            as_of: &self.as_of,
            local: BTreeSet::new(),
            read: BTreeSet::new(),
        };
        rename.all(&mut statement);
        if let Some(left) = rename.clauses.keys().next() {
            return Err(misplaced(*left));
        }
        for (table, version) in rename.read {
            self.open(context, &table, version).await?;
        }
        Ok(statement)
    }

    /// Registers a version of a table under its name, once per session.
    async fn open(&self, context: &SessionContext, table: &str, version: u64) -> Result<(), Error> {
        let name = versioned(table, version);
        if context.table_exist(name.as_str())? {
            return Ok(());
        }
        let (lake, schema) = (self.lake.clone(), self.schema(table)?);
        let opened = tokio::task::spawn_blocking(move || {
            match TableView::open_version(&lake, schema, version) {
                // It was deleted in the meantime: the second attempt reports which versions are kept.
                Err(lake::Error::Io { source, .. }) if source.kind() == ErrorKind::NotFound => {
                    TableView::open_version(&lake, schema, version)
                }
                opened => opened,
            }
        });
        let view = opened
            .await
            .map_err(|error| DataFusionError::External(error.into()))??;
        let url = Url::parse(&format!("toise://{table}-{version}/"))
            .map_err(|error| DataFusionError::External(error.into()))?;
        let mut store = DataFileStore::default();
        let places = store.add(&view);
        let files = data_file_table(&view, &url, &places)?;
        context.register_object_store(&url, Arc::new(store));
        context.register_table(name.as_str(), files)?;
        Ok(())
    }
}

/// Returns the name of a version of a table in the session; quoted in SQL.
fn versioned(table: &str, version: u64) -> String {
    format!("\"{table}@{version}\"")
}

/// Line and column in a query, counted from 1.
type Place = (u64, u64);

/// A clause of a query.
#[derive(Debug, PartialEq, Eq)]
struct Clause {
    /// Where the last part of its table's name begins (`dvf` in `public.dvf`).
    table: Place,
    version: u64,
}

fn place(location: Location) -> Place {
    (location.line, location.column)
}

/// Returns the query with every clause replaced by as many spaces, and the clauses.
fn cut_clauses(sql: &str) -> Result<(String, Vec<Clause>), Error> {
    // A text that cannot be tokenised is refused by the parser, with its message.
    let Ok(tokens) = Tokenizer::new(&GenericDialect {}, sql).tokenize_with_location() else {
        return Ok((sql.to_owned(), Vec::new()));
    };
    let tokens: Vec<TokenWithSpan> = tokens
        .into_iter()
        .filter(|token| !matches!(token.token, Token::Whitespace(_)))
        .collect();
    let (mut clauses, mut blanks) = (Vec::new(), Vec::new());
    for (at, words) in tokens.windows(CLAUSE.len()).enumerate() {
        let is_clause = words.iter().zip(CLAUSE).all(|(token, word)| {
            matches!(&token.token, Token::Word(it)
                if it.quote_style.is_none() && it.value.eq_ignore_ascii_case(word))
        });
        if !is_clause {
            continue;
        }
        let start = place(words[0].span.start);
        let table = at.checked_sub(1).map(|before| &tokens[before]);
        let table = table.filter(|token| matches!(token.token, Token::Word(_)));
        let number = tokens.get(at + CLAUSE.len());
        let version = number.and_then(|token| match &token.token {
            Token::Number(digits, _) => digits.parse().ok(),
            _ => None,
        });
        let (Some(table), Some(number), Some(version)) = (table, number, version) else {
            return Err(misplaced(start));
        };
        clauses.push(Clause {
            table: place(table.span.start),
            version,
        });
        blanks.push((start, place(number.span.end)));
    }
    Ok((blanked(sql, &blanks), clauses))
}

fn misplaced((line, column): Place) -> Error {
    Error::Version(format!(
        "line {line}, column {column}: write TABLE for version as of NUMBER"
    ))
}

/// Returns the text with the ranges replaced by spaces. The ranges must be in order.
fn blanked(sql: &str, ranges: &[(Place, Place)]) -> String {
    let (mut line, mut column) = (1, 1);
    let mut ranges = ranges.iter().peekable();
    let mut text = String::with_capacity(sql.len());
    for letter in sql.chars() {
        let here = (line, column);
        while ranges.peek().is_some_and(|(_, to)| *to <= here) {
            ranges.next();
        }
        let is_cut = ranges.peek().is_some_and(|(from, _)| *from <= here);
        text.push(if is_cut && letter != '\n' {
            ' '
        } else {
            letter
        });
        if letter == '\n' {
            (line, column) = (line + 1, 1);
        } else {
            column += 1;
        }
    }
    text
}

/// Gives the tables of a statement the names of their versions.
struct RenameTables<'t> {
    /// Version by position of the table's name; entries are removed when found.
    clauses: BTreeMap<Place, u64>,
    as_of: &'t BTreeMap<String, u64>,
    /// Names that the statement itself defines with `with`.
    local: BTreeSet<String>,
    /// Tables and versions that the statement reads.
    read: BTreeSet<(String, u64)>,
}

impl RenameTables<'_> {
    fn all(&mut self, statement: &mut Statement) {
        match statement {
            Statement::Statement(statement) => {
                let ControlFlow::Continue(()) = statement.as_mut().visit(self);
            }
            Statement::Explain(explained) => self.all(&mut explained.statement),
            Statement::CreateExternalTable(_) | Statement::CopyTo(_) | Statement::Reset(_) => {}
        }
    }
}

/// Returns the normalised name of an identifier.
fn named(ident: &Ident) -> String {
    match ident.quote_style {
        Some(_) => ident.value.clone(),
        None => ident.value.to_lowercase(),
    }
}

impl VisitorMut for RenameTables<'_> {
    type Break = std::convert::Infallible;

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<Self::Break> {
        let with = query.with.iter().flat_map(|with| &with.cte_tables);
        self.local
            .extend(with.map(|table| named(&table.alias.name)));
        ControlFlow::Continue(())
    }

    fn pre_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<Self::Break> {
        let TableFactor::Table { name, alias, .. } = factor else {
            return ControlFlow::Continue(());
        };
        let Some(ObjectNamePart::Identifier(ident)) = name.0.last() else {
            return ControlFlow::Continue(());
        };
        let table = named(ident);
        let is_local = name.0.len() == 1 && self.local.contains(&table);
        let by_default = self.as_of.get(&table).filter(|_| !is_local).copied();
        let Some(version) = self.clauses.remove(&place(ident.span.start)).or(by_default) else {
            return ControlFlow::Continue(());
        };
        let own = Ident::with_quote('"', table.clone());
        alias.get_or_insert_with(|| TableAlias {
            explicit: true,
            name: own,
            columns: Vec::new(),
            at: None,
        });
        let renamed = Ident::with_quote('"', format!("{table}@{version}"));
        *name = ObjectName(vec![ObjectNamePart::Identifier(renamed)]);
        self.read.insert((table, version));
        ControlFlow::Continue(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clauses_become_blanks_of_the_same_length() {
        let sql = "select *\nfrom dvf FOR version\nas of 12 d join \"dpe\" for version as of 3 using (id)";
        let (text, clauses) = cut_clauses(sql).unwrap();
        assert_eq!(text.len(), sql.len());
        let words: Vec<&str> = text.split_whitespace().collect();
        assert_eq!(
            words.join(" "),
            "select * from dvf d join \"dpe\" using (id)"
        );
        let expected = [((2, 6), 12), ((3, 17), 3)];
        let expected = expected.map(|(table, version)| Clause { table, version });
        assert_eq!(clauses, expected);
    }

    #[test]
    fn texts_and_comments_are_no_clauses_and_a_clause_needs_a_table_and_a_number() {
        for sql in [
            "select 'dvf for version as of 12'",
            "select 1 -- dvf for version as of 12",
            "select \"for\" version from dvf",
            "select 'unfinished",
        ] {
            assert_eq!(cut_clauses(sql).unwrap(), (sql.to_owned(), Vec::new()));
        }
        for sql in [
            "for version as of 12",
            "select * from dvf for version as of",
            "select * from dvf for version as of now()",
            "select * from dvf for version as of 1.5",
        ] {
            assert!(matches!(cut_clauses(sql), Err(Error::Version(_))), "{sql}");
        }
    }
}
