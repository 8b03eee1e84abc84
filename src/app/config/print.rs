//! The configuration as people and programs read it: commented TOML that can be used as a file, or JSON.

use serde_json::json;

use super::settings::SECTIONS;
use super::{Effective, Origin, Value};

/// Columns a comment takes at most.
const COMMENT_COLUMNS: usize = 116;

const HEAD: &str = "\
# Configuration of toise. `toise serve` reads it from toise.toml in the data folder, or from --config FILE.
# An environment variable goes before this file: TOISE_SERVER__LISTEN sets listen in [server], and so on for every
# section and key. A flag goes before both: --listen HOST:PORT, --price TYPE=CREDITS, --set SECTION.KEY=VALUE.
";

/// What is told of where values came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origins {
    /// Nothing: the text is a file to start from.
    Hidden,
    /// At the end of each line.
    Shown,
}

/// Commented TOML with every setting.
pub fn as_toml(effective: &Effective, origins: Origins) -> String {
    let mut text = HEAD.to_owned();
    for (section, about) in SECTIONS {
        text.push_str(&format!("\n# {about}.\n[{section}]\n"));
        for value in of_section(effective, section) {
            let setting = value.setting;
            for line in wrapped(&setting.doc) {
                text.push_str(&format!("# {line}\n"));
            }
            let origin = match (origins, &value.origin) {
                (Origins::Hidden, _) => String::new(),
                (Origins::Shown, Origin::Default) => "  # default".into(),
                (Origins::Shown, origin) => format!("  # from {origin}"),
            };
            text.push_str(&format!("{} = {}{origin}\n", setting.key, value.value));
        }
    }
    text
}

/// `{section: {key: {value, from}}}`.
pub fn as_json(effective: &Effective) -> serde_json::Value {
    let mut sections = serde_json::Map::new();
    for (section, _) in SECTIONS {
        let keys = of_section(effective, section).map(|value| {
            let entry = json!({"value": value.value, "from": value.origin.to_string()});
            (value.setting.key.to_owned(), entry)
        });
        sections.insert(
            section.into(),
            keys.collect::<serde_json::Map<_, _>>().into(),
        );
    }
    sections.into()
}

fn of_section<'e>(effective: &'e Effective, section: &str) -> impl Iterator<Item = &'e Value> {
    effective
        .values
        .iter()
        .filter(move |value| value.setting.section == section)
}

/// A sentence cut into lines at spaces, with its full stop.
fn wrapped(sentence: &str) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in sentence.split(' ') {
        match lines.last_mut() {
            Some(line) if line.len() + 1 + word.len() <= COMMENT_COLUMNS => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    if let Some(line) = lines.last_mut() {
        line.push('.');
    }
    lines
}
