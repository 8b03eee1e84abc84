//! The layers of configuration values: defaults, file, environment, flags. Later layers take precedence.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use toml::de::{DeTable, DeValue};

use super::settings::{self, SECTIONS, SETTINGS, Setting};
use super::{Config, ENVIRONMENT_PREFIX, Error, FILE_NAME, SettingOrigin, SettingValue};

/// Sources of configuration values other than the defaults.
#[derive(Clone, Debug, Default)]
pub struct ConfigSources {
    /// Configuration file; `None` for `toise.toml` in the data folder, if it exists.
    pub file: Option<PathBuf>,
    /// Environment variables; those without the prefix are ignored.
    pub environment: Vec<(String, String)>,
    /// Flags in the order given; the last one takes precedence.
    pub flags: Vec<Flag>,
}

impl ConfigSources {
    /// Returns sources with only the environment of the process.
    pub fn from_process() -> Self {
        let environment = std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value)))
            .filter(|(name, _)| name.starts_with(ENVIRONMENT_PREFIX))
            .map(|(name, value)| (name, value.to_string_lossy().into_owned()));
        Self {
            environment: environment.collect(),
            ..Self::default()
        }
    }
}

/// A value given on the command line.
#[derive(Clone, Debug)]
pub struct Flag {
    /// The flag, as in `--listen`.
    pub name: &'static str,
    /// `section.key`.
    pub path: String,
    /// The value as given.
    pub text: String,
}

/// Returns every setting with its value, in the order of the table. Without a data folder, no file is read from it.
pub(super) fn apply(
    data: Option<&Path>,
    sources: &ConfigSources,
) -> Result<Vec<SettingValue>, Error> {
    let mut values = Values::defaults()?;
    let in_data = data.map(|data| data.join(FILE_NAME));
    match (&sources.file, &in_data) {
        (Some(file), _) => values.apply_file(file)?,
        (None, Some(file)) if file.exists() => values.apply_file(file)?,
        (None, _) => {}
    }
    values.apply_environment(&sources.environment)?;
    for flag in &sources.flags {
        let place = || match flag.name {
            name @ ("--set" | "--price") => format!("{name} {}", flag.path),
            name => name.to_owned(),
        };
        let setting = settings::find(&flag.path)
            .ok_or_else(|| unknown_key(flag.name.to_owned(), &flag.path))?;
        values.read(
            setting,
            &flag.text,
            SettingOrigin::Flag(flag.name.into()),
            place,
        )?;
    }
    Ok(SETTINGS
        .iter()
        .filter_map(|setting| values.0.remove(&setting.path()))
        .collect())
}

struct Values(HashMap<String, SettingValue>);

impl Values {
    fn defaults() -> Result<Self, Error> {
        let table = toml::Table::try_from(Config::default())
            .map_err(|error| Error::Structure(error.to_string()))?;
        let mut values = HashMap::new();
        for setting in SETTINGS.iter() {
            let value = table
                .get(setting.section)
                .and_then(|section| section.get(setting.key))
                .ok_or_else(|| Error::Structure(format!("{} has no default", setting.path())))?;
            let value = SettingValue {
                setting,
                value: value.clone(),
                origin: SettingOrigin::Default,
            };
            values.insert(setting.path(), value);
        }
        Ok(Self(values))
    }

    fn set(&mut self, setting: &'static Setting, value: toml::Value, origin: SettingOrigin) {
        let value = SettingValue {
            setting,
            value,
            origin,
        };
        self.0.insert(setting.path(), value);
    }

    /// Parses and sets a value given as text.
    fn read(
        &mut self,
        setting: &'static Setting,
        text: &str,
        origin: SettingOrigin,
        place: impl Fn() -> String,
    ) -> Result<(), Error> {
        let value = setting
            .kind
            .read(text)
            .map_err(|fault| refused(place(), fault))?;
        self.set(setting, value, origin);
        Ok(())
    }

    fn apply_file(&mut self, path: &Path) -> Result<(), Error> {
        let text = std::fs::read_to_string(path).map_err(|source| Error::Io {
            path: path.display().to_string(),
            source,
        })?;
        let line_of = |offset: usize| {
            let before = text.get(..offset).unwrap_or(&text);
            before.matches('\n').count() + 1
        };
        let place = |offset: usize| format!("{}:{}", path.display(), line_of(offset));
        let document = DeTable::parse(&text).map_err(|error| {
            let offset = error.span().map_or(0, |span| span.start);
            refused(place(offset), error.message().to_owned())
        })?;
        for (section, content) in document.get_ref() {
            let at = place(section.span().start);
            let name = section.get_ref().as_ref();
            if !SECTIONS.iter().any(|(known, _)| *known == name) {
                return Err(unknown_section(at, name));
            }
            let DeValue::Table(keys) = content.get_ref() else {
                return Err(refused(at, format!("{name} is a section; write [{name}]")));
            };
            for (key, value) in keys {
                let at = place(key.span().start);
                let dotted = format!("{name}.{}", key.get_ref());
                let setting =
                    settings::find(&dotted).ok_or_else(|| unknown_key(at.clone(), &dotted))?;
                let value = plain(value.get_ref())
                    .ok_or_else(|| setting.kind.refusal(value.get_ref().type_str()))
                    .and_then(|value| setting.kind.check(&value).map(|()| value))
                    .map_err(|fault| refused(at, format!("{dotted} {fault}")))?;
                let origin = SettingOrigin::File {
                    path: path.to_owned(),
                    line: line_of(key.span().start),
                };
                self.set(setting, value, origin);
            }
        }
        Ok(())
    }

    fn apply_environment(&mut self, variables: &[(String, String)]) -> Result<(), Error> {
        let known: HashMap<String, &'static Setting> = SETTINGS
            .iter()
            .map(|setting| (setting.environment(), setting))
            .collect();
        for (name, text) in variables {
            let Some(rest) = name.strip_prefix(ENVIRONMENT_PREFIX) else {
                continue;
            };
            if let Some(setting) = known.get(name) {
                let origin = SettingOrigin::Environment(name.clone());
                self.read(setting, text, origin, || format!("environment {name}"))?;
                continue;
            }
            // Variables of other programs do not name a section. A name that differs only by a missing underscore
            // counts as a typo.
            let single = |name: &str| name.replace("__", "_");
            let lacks_one = known.keys().any(|other| single(other) == single(name));
            if rest.contains("__") || lacks_one {
                let nearest = nearest(name, known.keys().cloned());
                let fault = format!("unknown setting; the nearest known one is {nearest}");
                return Err(refused(format!("environment {name}"), fault));
            }
        }
        Ok(())
    }
}

/// Returns a value without its position; `None` for a type that no setting has.
fn plain(value: &DeValue<'_>) -> Option<toml::Value> {
    match value {
        DeValue::String(text) => Some(toml::Value::String(text.to_string())),
        DeValue::Integer(number) => i64::from_str_radix(number.as_str(), number.radix())
            .ok()
            .map(toml::Value::Integer),
        DeValue::Float(number) => number.as_str().parse().ok().map(toml::Value::Float),
        DeValue::Boolean(flag) => Some(toml::Value::Boolean(*flag)),
        _ => None,
    }
}

fn refused(place: String, fault: String) -> Error {
    Error::Refused { place, fault }
}

fn unknown_key(place: String, dotted: &str) -> Error {
    // If the section is known, suggest only keys of that section.
    let section = dotted.split('.').next().unwrap_or_default();
    let is_known = SECTIONS.iter().any(|(known, _)| *known == section);
    let candidates = SETTINGS
        .iter()
        .filter(|setting| !is_known || setting.section == section);
    let nearest = nearest(dotted, candidates.map(Setting::path));
    let fault = format!("unknown key {dotted}; the nearest known one is {nearest}");
    refused(place, fault)
}

fn unknown_section(place: String, name: &str) -> Error {
    let known = SECTIONS.iter().map(|(section, _)| (*section).to_owned());
    // A key written before the first section header.
    let as_key = SETTINGS.iter().find(|setting| setting.key == name);
    let fault = match as_key {
        Some(setting) => format!("{name} must be in its section [{}]", setting.section),
        None => {
            let nearest = nearest(name, known);
            format!("unknown section [{name}]; the nearest known one is [{nearest}]")
        }
    };
    refused(place, fault)
}

/// Returns the known text nearest to a mistyped one: the one with the fewest changes of letters (Levenshtein), ignoring
/// case.
fn nearest(mistyped: &str, known: impl Iterator<Item = String>) -> String {
    known
        .min_by_key(|name| strsim::levenshtein(&mistyped.to_lowercase(), &name.to_lowercase()))
        .unwrap_or_default()
}
