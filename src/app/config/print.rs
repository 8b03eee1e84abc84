//! Prints the configuration: as commented TOML that can be used as a file, or as JSON.

use serde_json::json;

use super::settings::SECTIONS;
use super::{EffectiveConfig, SettingOrigin, SettingValue};

/// Maximum columns of a comment line.
const COMMENT_COLUMNS: usize = 116;

const HEAD: &str = "\
# Configuration of toise. `toise serve` reads it from toise.toml in the data folder, or from --config FILE.
# Environment variables take precedence over this file: TOISE_SERVER__LISTEN sets listen in [server], and likewise
# every section and key. Flags take precedence over both: --listen HOST:PORT, --price TYPE=CREDITS,
# --set SECTION.KEY=VALUE.
";

/// Whether to print the origins of values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OriginComments {
    /// Not printed; the text can be used as a configuration file.
    Hidden,
    /// Printed at the end of each line.
    Shown,
}

/// Formats every setting as commented TOML.
pub fn as_toml(effective: &EffectiveConfig, origins: OriginComments) -> String {
    let mut text = HEAD.to_owned();
    for (section, about) in SECTIONS {
        text.push_str(&format!("\n# {about}.\n[{section}]\n"));
        for value in values_in_section(effective, section) {
            let setting = value.setting;
            for line in wrapped(&setting.doc) {
                text.push_str(&format!("# {line}\n"));
            }
            let origin = match (origins, &value.origin) {
                (OriginComments::Hidden, _) => String::new(),
                (OriginComments::Shown, SettingOrigin::Default) => "  # default".into(),
                (OriginComments::Shown, origin) => format!("  # from {origin}"),
            };
            text.push_str(&format!("{} = {}{origin}\n", setting.key, value.value));
        }
    }
    text
}

/// Formats the settings as `{section: {key: {value, from}}}`.
pub fn as_json(effective: &EffectiveConfig) -> serde_json::Value {
    let mut sections = serde_json::Map::new();
    for (section, _) in SECTIONS {
        let keys = values_in_section(effective, section).map(|value| {
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

fn values_in_section<'e>(
    effective: &'e EffectiveConfig,
    section: &str,
) -> impl Iterator<Item = &'e SettingValue> {
    effective
        .values
        .iter()
        .filter(move |value| value.setting.section == section)
}

/// Wraps a sentence at spaces and adds its full stop.
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
