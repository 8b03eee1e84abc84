//! `toise --help`, mistyped commands, and errors that end with the command that helps.

use std::path::Path;
use std::process::{Command, Output};

use crate::support::process::{errors, executable};

/// Runs the command as a person does, without `--json`.
fn typed(data: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(executable());
    command.arg("--data").arg(data).args(arguments);
    command.output().unwrap()
}

#[test]
fn help_lists_every_command_once_in_a_group_after_an_example() {
    let folder = tempfile::tempdir().unwrap();
    let output = typed(folder.path(), &["--help"]);
    assert!(output.status.success());
    let help = String::from_utf8(output.stdout).unwrap();
    let places = [
        "Examples:", "Usage:", "Data:", "Ask:", "Serve:", "Operate:", "Options:",
    ];
    let places = places.map(|title| {
        help.find(title)
            .unwrap_or_else(|| panic!("{title}\n{help}"))
    });
    assert!(places.is_sorted(), "{help}");

    // Every command has a manual page, so the pages are the list of commands.
    let pages = folder.path().join("man");
    typed(folder.path(), &["man", pages.to_str().unwrap()]);
    let mut commands = 0;
    for page in std::fs::read_dir(&pages).unwrap() {
        let name = page.unwrap().file_name().into_string().unwrap();
        let name = name.trim_start_matches("toise-").trim_end_matches(".1");
        let is_inner = name.contains('-');
        if name == "toise" || is_inner {
            continue;
        }
        let start = format!("  {name} ");
        let lines = help.lines().filter(|line| line.starts_with(&start));
        assert_eq!(lines.count(), 1, "{name}\n{help}");
        commands += 1;
    }
    assert!(commands > 30, "{commands}");
}

#[test]
fn an_error_ends_with_the_command_that_helps() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    std::fs::create_dir(&data).unwrap();
    for (arguments, help) in [
        (&["check"][..], "toise start --departments 48"),
        (&["compact"], "toise start --departments 48"),
        (&["train"], "toise demo"),
        (&["refresh"], "toise refresh --departments 48"),
        (&["import", "dvf"], "--departments 48"),
        (&["audit"], "toise keys create"),
        (&["ingst"], "'--help'"),
    ] {
        let output = typed(&data, arguments);
        let said = errors(&output);
        assert!(!output.status.success(), "{arguments:?}");
        let last = said.lines().rfind(|line| !line.is_empty()).unwrap();
        let last = last.trim_end_matches('.');
        assert!(last.ends_with(help), "{arguments:?}: {said}");
    }
    for (arguments, any_of) in [
        (&["erase"][..], "<--phone <N>|--email <E>|--name <TEXT>>"),
        (
            &["reports", "resolve", "01a22a5b-4240-7222-9071-f80cbf042ea5"],
            "<--merge <PROPERTY>|--split <ADVERT>",
        ),
    ] {
        let said = errors(&typed(&data, arguments));
        assert!(said.contains(any_of), "{arguments:?}: {said}");
    }
    let mistyped = errors(&typed(&data, &["ingst"]));
    assert!(mistyped.contains("'ingest'"), "{mistyped}");
    let missing = errors(&typed(&folder.path().join("typo"), &["check"]));
    assert!(
        missing.trim_end().ends_with("toise start --departments 48"),
        "{missing}"
    );
    let none = typed(&data, &["keys", "list"]);
    let none = String::from_utf8(none.stdout).unwrap();
    assert!(none.contains("toise keys create"), "{none}");
}
