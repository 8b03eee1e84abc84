//! The examples that `toise … --help` and the documentation print run as they are printed.
//!
//! An example of help is a line that calls toise; one of the documentation a command in a shell block (```` ```sh
//! ````), or the query in a block of SQL. The examples of one command or page run in order in a separate folder, with a
//! small data folder and the files that they name ([`stage`]); requests go to a server ([`requests`]). Examples that
//! cannot run in a test are skipped by a rule below, and listed. The pages `docs/for-*.md` go from nothing to a result;
//! `tests/guides/run.sh` runs their steps.

mod requests;
mod stage;

use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::support::process::{errors, executable};
use stage::Stage;

/// Examples that cannot run here, by what they contain, and why.
const SKIPPED: [(&[&str], &str); 9] = [
    (
        &[
            "toise serve", "toise demo", "toise worker", "toise mcp", "toise webhook",
        ],
        "runs until it is stopped",
    ),
    (
        &["toise start", "toise refresh"],
        "asks the official sources",
    ),
    (&["--url ", "curl "], "asks a server"),
    (&["s3://"], "needs object storage"),
    (&["--workers "], "needs workers"),
    (&["portals test https://"], "fetches a page of the web"),
    (
        &["REPORT_ID", "ALERT_ID", "alerts replay"],
        "needs a report or an alert of an account, which only a server takes",
    ),
    (&["OUT/"], "needs adverts that are not published"),
    (
        &["--mapping poliris"],
        "needs an export of an agency's program",
    ),
];
/// Examples that train many models, which takes minutes without optimisation. So does `evaluate estimate` without
/// options.
const SLOW: [&str; 2] = ["--origins", "--leave-out"];
/// Maximum time of an example, in seconds.
const TIME_S_MAX: &str = "300";
/// Minimum number of examples of help and of the documentation that run: fewer mean that they are not found.
const RUN_MIN: usize = 40;

/// The examples of one command or page.
struct Source {
    name: String,
    examples: Vec<String>,
}

#[test]
fn the_examples_of_help_run() {
    let mut found = Vec::new();
    gather_help(&[], &mut found);
    run_all(&found);
}

#[test]
fn the_examples_of_the_documentation_run() {
    run_all(&documentation());
}

/// Returns the examples of the pages that have no steps.
fn documentation() -> Vec<Source> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let pages = fs::read_dir(root.join("docs"))
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let has_steps = |path: &Path| {
        path.file_name()
            .is_some_and(|name| name.to_string_lossy().starts_with("for-"))
    };
    let mut pages: Vec<_> = pages
        .filter(|path| path.extension().is_some_and(|end| end == "md") && !has_steps(path))
        .collect();
    pages.sort();
    pages.push(root.join("README.md"));
    pages
        .iter()
        .map(|page| Source {
            name: page.file_name().unwrap().to_string_lossy().into_owned(),
            examples: examples_of_page(&fs::read_to_string(page).unwrap()),
        })
        .collect()
}

#[test]
fn examples_are_found_and_joined() {
    let page = "Text `toise x`.\n\n```sh\n# first\ntoise sql \"select 1,\n  2\"   # isn't one line\nA=b \\\n  toise keys list\n\
                ```\n\n- Item:\n\n  ```sh\n  toise check\n  ```\n\n```toml\ntoise = 1\n```\n\n```sql\nselect 'a';\n```\n";
    assert_eq!(
        examples_of_page(page),
        [
            "toise sql \"select 1,\n  2\"   # isn't one line",
            "A=b \\\n  toise keys list",
            "toise check",
            "toise sql 'select '\\''a'\\'';'",
        ]
    );
    let help = "Work\n\nUsage: toise x\n\ntoise helps\nExamples: a, b\n\n  toise x 1      (all of it)\n  cat a | toise x \\\n    --b\n";
    assert_eq!(
        examples_of_help(help),
        ["toise x 1", "cat a | toise x \\\n--b"]
    );
}

/// Adds the examples of a command and of the commands below it.
fn gather_help(path: &[String], found: &mut Vec<Source>) {
    let output = Command::new(executable())
        .args(path)
        .arg("--help")
        .output()
        .unwrap();
    let help = String::from_utf8(output.stdout).unwrap();
    found.push(Source {
        name: [&["toise".to_owned()][..], path].concat().join(" "),
        examples: examples_of_help(&help),
    });
    // `toise --help` lists its commands in groups, the others under one title.
    let (first, last) = match path {
        [] => ("Data:", "Options:"),
        _ => ("Commands:", ""),
    };
    let listed = help.lines().skip_while(|line| *line != first).skip(1);
    for line in listed.take_while(|line| *line != last) {
        let is_name = line.starts_with("  ") && !line.starts_with("   ");
        let name = line
            .split_whitespace()
            .next()
            .filter(|name| is_name && *name != "help");
        if let Some(name) = name {
            gather_help(&[path, &[name.to_owned()][..]].concat(), found);
        }
    }
}

/// Returns the examples of a help text: the indented lines after the heading of examples.
fn examples_of_help(help: &str) -> Vec<String> {
    let after = help
        .lines()
        .skip_while(|line| !line.trim_start().starts_with("Example"));
    let mut is_open = false;
    let lines = after.filter_map(|line| {
        let text = line.trim_start();
        let calls = text.starts_with("toise ")
            || text.contains("| toise ")
            || text.contains(" toise ") && text.contains('=');
        let is_example = is_open || line.starts_with("  ") && calls;
        // Text after several spaces explains the example.
        let text = text.split("     ").next().unwrap_or_default().trim_end();
        is_open = is_example && text.ends_with('\\');
        is_example.then_some(text)
    });
    joined(lines)
}

/// Returns the commands in the shell blocks of a page, and its queries as commands.
fn examples_of_page(page: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut lines = page.lines();
    while let Some(line) = lines.next() {
        let Some(language) = line.trim_start().strip_prefix("```") else {
            continue;
        };
        // The block of an item of a list is indented.
        let indent = line.len() - line.trim_start().len();
        let block: Vec<&str> = lines
            .by_ref()
            .map(|line| line.get(indent..).unwrap_or_default())
            .take_while(|line| !line.starts_with("```"))
            .collect();
        match language {
            "sh" => found.extend(joined(
                block.into_iter().filter(|line| !line.starts_with('#')),
            )),
            "sql" => found.push(format!(
                "toise sql '{}'",
                block.join("\n").replace('\'', "'\\''")
            )),
            _ => {}
        }
    }
    found
}

/// Joins the lines of each command: one that ends in a backslash or in an open quotation goes on.
fn joined<'l>(lines: impl Iterator<Item = &'l str>) -> Vec<String> {
    let (mut found, mut open) = (Vec::new(), String::new());
    for line in lines.filter(|line| !line.is_empty()) {
        open.push_str(line);
        if line.ends_with('\\') || !is_closed(&open) {
            open.push('\n');
        } else {
            found.push(std::mem::take(&mut open));
        }
    }
    found
}

/// Returns whether every quotation of a command is closed.
fn is_closed(command: &str) -> bool {
    let (mut quote, mut before) = (None, ' ');
    let mut signs = command.chars();
    while let Some(sign) = signs.next() {
        match (quote, sign) {
            (None | Some('"'), '\\') => {
                signs.next();
            }
            (None, '\'' | '"') => quote = Some(sign),
            (None, '#') if before.is_whitespace() => {
                let _ = signs.by_ref().find(|sign| *sign == '\n');
            }
            (Some(open), _) if open == sign => quote = None,
            _ => {}
        }
        before = sign;
    }
    quote.is_none()
}

/// Returns why an example cannot run here.
fn reason_to_skip(example: &str) -> Option<&'static str> {
    if requests::is_request(example) {
        return Some("is a request, which another test sends");
    }
    let calls_toise = example.starts_with("toise ") || example.contains("| toise ");
    if !calls_toise {
        return Some("another program, or one that serves");
    }
    let rule = SKIPPED
        .iter()
        .find(|(parts, _)| parts.iter().any(|part| example.contains(part)));
    if let Some((_, reason)) = rule {
        return Some(reason);
    }
    if SLOW.iter().any(|part| example.contains(part)) {
        return Some("trains many models");
    }
    let words: Vec<&str> = example
        .split_whitespace()
        .take_while(|word| !word.starts_with('#'))
        .collect();
    let is_option = |word: &str| word.starts_with("--");
    let has_file = words
        .iter()
        .enumerate()
        .skip(3)
        .any(|(nth, word)| !is_option(word) && !is_option(words[nth - 1]));
    match words.as_slice() {
        ["toise", "import", ..] if !has_file => Some("downloads from the official source"),
        ["toise", "evaluate", "estimate"] => Some("trains many models"),
        ["toise", "sql"] => Some("is a shell"),
        _ => None,
    }
}

/// Runs the examples of all sources, and fails with those that fail.
fn run_all(sources: &[Source]) {
    let first = Stage::build();
    let (mut failed, mut left_out, mut run) = (Vec::new(), BTreeSet::new(), 0);
    for source in sources.iter().filter(|source| !source.examples.is_empty()) {
        let mut stage: Option<Stage> = None;
        for example in &source.examples {
            if let Some(reason) = reason_to_skip(example) {
                left_out.insert(format!("{}: {reason}: {example}", source.name));
                continue;
            }
            let stage = stage.get_or_insert_with(|| first.copy());
            let command = stage.prepared(example);
            let mut shell = Command::new("timeout");
            shell.args([TIME_S_MAX, "sh", "-c", &command]);
            shell.stdin(Stdio::null());
            let output = stage.within(&mut shell).output().unwrap();
            run += 1;
            if !output.status.success() {
                let told = errors(&output);
                failed.push(format!(
                    "{}: {example}\n  run as: {command}\n  {}",
                    source.name,
                    told.trim_end()
                ));
            }
        }
    }
    // Not `eprintln!`: the test harness hides what a test prints through it when it passes.
    for line in &left_out {
        let _ = writeln!(std::io::stderr(), "not run: {line}");
    }
    assert!(
        failed.is_empty(),
        "{} of {run} examples fail:\n{}",
        failed.len(),
        failed.join("\n")
    );
    assert!(run >= RUN_MIN, "only {run} examples run");
}
