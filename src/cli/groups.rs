//! `toise --help`: the commands in groups, after an example. clap cannot group commands, so this writes the help
//! template of the whole command line. A test fails when a command is in no group.

use std::fmt::Write;

use clap::Command;

/// Commands to try first, each with its purpose.
const EXAMPLES: &[(&str, &str)] = &[
    ("toise demo", "try everything with invented data"),
    (
        "toise start --departments 48",
        "import and serve a department",
    ),
    (
        "toise doctor",
        "what a data folder holds, and what to do next",
    ),
];

/// The groups of commands, in the order of their first use.
const GROUPS: &[(&str, &[&str])] = &[
    (
        "Data",
        &[
            "import", "refresh", "ingest", "properties", "explain", "layers", "portals", "jobs",
            "reports", "compact", "synth",
        ],
    ),
    (
        "Ask",
        &[
            "sql", "market", "match", "geocode", "estimate", "rent", "report", "portfolio",
            "train", "evaluate",
        ],
    ),
    ("Serve", &["demo", "start", "serve", "mcp", "worker"]),
    (
        "Operate",
        &[
            "doctor", "check", "backup", "restore", "erase", "publish", "gc", "config",
        ],
    ),
    (
        "Accounts and alerts",
        &["keys", "accounts", "audit", "alerts", "webhook"],
    ),
    ("This program", &["completions", "man", "version"]),
];

/// Gives the whole command line a help text in groups.
pub(super) fn grouped(toise: Command) -> Command {
    let template = template(&toise);
    toise.help_template(template)
}

fn template(toise: &Command) -> String {
    let header = toise.get_styles().get_header();
    let literal = toise.get_styles().get_literal();
    let mut text = format!("{{about-with-newline}}\n{header}Examples:{header:#}\n");
    let width = EXAMPLES.iter().map(|(line, _)| line.len()).max();
    let width = width.unwrap_or_default();
    for (line, meaning) in EXAMPLES {
        line_of(
            &mut text,
            &format!("{literal}{line:width$}{literal:#}"),
            meaning,
        );
    }
    text.push_str("\n{usage-heading} {usage}\n");
    let width = toise
        .get_subcommands()
        .map(|command| command.get_name().len())
        .max();
    let width = width.unwrap_or_default();
    for (title, names) in GROUPS {
        // Writing to a string does not fail.
        let _ = writeln!(text, "\n{header}{title}:{header:#}");
        // A build without the feature `cluster` has no `worker`.
        for command in names.iter().filter_map(|name| toise.find_subcommand(name)) {
            let name = format!("{literal}{:width$}{literal:#}", command.get_name());
            let about = command.get_about().map(ToString::to_string);
            line_of(&mut text, &name, &about.unwrap_or_default());
        }
    }
    let _ = write!(
        text,
        "\n{header}Options:{header:#}\n{{options}}\n\n\
         {literal}toise COMMAND --help{literal:#} explains a command and shows examples."
    );
    text
}

fn line_of(text: &mut String, name: &str, meaning: &str) {
    // Writing to a string does not fail.
    let _ = writeln!(text, "  {name}  {meaning}");
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use clap::CommandFactory;

    use super::*;
    use crate::Toise;

    /// Characters of a line of a terminal of the usual width.
    const TERMINAL_CHARS: usize = 80;

    #[test]
    fn every_command_is_in_one_group() {
        let toise = Toise::command();
        let commands = toise
            .get_subcommands()
            .filter(|command| !command.is_hide_set());
        let commands: BTreeSet<&str> = commands.map(Command::get_name).collect();
        let listed: Vec<&str> = GROUPS
            .iter()
            .flat_map(|(_, names)| *names)
            .copied()
            .collect();
        let grouped: BTreeSet<&str> = listed.iter().copied().collect();
        assert_eq!(listed.len(), grouped.len(), "a command is in two groups");
        let missing: Vec<_> = commands.difference(&grouped).collect();
        assert!(missing.is_empty(), "in no group of GROUPS: {missing:?}");
        let unknown: Vec<_> = grouped.difference(&commands).collect();
        let only_with_feature = [&"worker"];
        assert!(
            unknown.iter().all(|name| only_with_feature.contains(name)),
            "no such commands: {unknown:?}"
        );
    }

    #[test]
    fn each_command_has_one_line_of_help() {
        let help = grouped(Toise::command()).render_help().to_string();
        let lists = help.split("Options:").next().unwrap();
        let wide: Vec<&str> = lists
            .lines()
            .filter(|line| line.chars().count() > TERMINAL_CHARS)
            .collect();
        assert!(wide.is_empty(), "{wide:#?}");
    }
}
