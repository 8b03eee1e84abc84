//! Tests that every setting has a default and a field, that layers take precedence in order, and that unknown keys are
//! refused.

use super::print::{OriginComments, as_json, as_toml};
use super::settings::SETTINGS;
use super::*;

fn load(
    data: &Path,
    environment: &[(&str, &str)],
    flags: &[Flag],
) -> Result<EffectiveConfig, Error> {
    let pairs = environment.iter();
    let sources = ConfigSources {
        file: None,
        environment: pairs.map(|(a, b)| ((*a).into(), (*b).into())).collect(),
        flags: flags.to_vec(),
    };
    EffectiveConfig::load(data, &sources)
}

fn folder_with(text: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join(FILE_NAME), text).unwrap();
    folder
}

fn refusal(text: &str) -> String {
    let folder = folder_with(text);
    let error = load(folder.path(), &[], &[]).unwrap_err().to_string();
    let place = format!("{}:", folder.path().join(FILE_NAME).display());
    error.strip_prefix(&place).unwrap_or(&error).to_owned()
}

fn from(effective: &EffectiveConfig, path: &str) -> String {
    let value = effective
        .values
        .iter()
        .find(|value| value.setting.path() == path);
    value.unwrap().origin.to_string()
}

#[test]
fn the_table_and_the_structure_have_the_same_settings() {
    let defaults = toml::Table::try_from(Config::default()).unwrap();
    let mut fields: Vec<String> = Vec::new();
    for (section, keys) in &defaults {
        for key in keys.as_table().unwrap().keys() {
            fields.push(format!("{section}.{key}"));
        }
    }
    let mut settings: Vec<String> = SETTINGS.iter().map(|setting| setting.path()).collect();
    fields.sort();
    settings.sort();
    assert_eq!(fields, settings);
    for setting in SETTINGS.iter() {
        let value = &defaults[setting.section][setting.key];
        assert_eq!(setting.kind.check(value), Ok(()), "{}", setting.path());
    }
}

#[test]
fn defaults_apply_and_their_printed_file_is_equal() {
    let folder = tempfile::tempdir().unwrap();
    let nothing = load(folder.path(), &[], &[]).unwrap();
    assert_eq!(nothing.config, Config::default());
    let printed = folder_with(&as_toml(&nothing, OriginComments::Hidden));
    let read_back = load(printed.path(), &[], &[]).unwrap();
    assert_eq!(read_back.config, Config::default());
    assert!(from(&read_back, "server.listen").contains("toise.toml:"));
    for line in as_toml(&nothing, OriginComments::Shown).lines() {
        assert!(line.chars().count() <= 120, "{line}");
    }
}

#[test]
fn flags_override_the_environment_which_overrides_the_file() {
    let folder = folder_with(
        "[server]\nlisten = \"0.0.0.0:1\"\nconnections_max = 10\ndrain_timeout_s = 1\n\
         [prices]\nAPI_ANALYTICS = 3\n",
    );
    let environment = [
        ("TOISE_SERVER__LISTEN", "0.0.0.0:2"),
        ("TOISE_SERVER__CONNECTIONS_MAX", "20"),
        ("TOISE_PRICES__API_ESTIMATE_PROPERTY_LITE", "5"),
        ("TOISE_REAL_DATA", "belongs to another part"),
        ("HOME", "/root"),
    ];
    let flag = |name, path: &str, text: &str| Flag {
        name,
        path: path.into(),
        text: text.into(),
    };
    let flags = [
        flag("--set", "server.listen", "0.0.0.0:4"),
        flag("--listen", "server.listen", "0.0.0.0:3"),
    ];
    let effective = load(folder.path(), &environment, &flags).unwrap();
    let config = &effective.config;
    assert_eq!(config.server.listen, "0.0.0.0:3");
    assert_eq!(config.server.connections_max, 20);
    assert_eq!(config.server.drain_timeout_s, 1);
    assert_eq!(config.prices["API_ANALYTICS"], 3);
    assert_eq!(config.prices["API_ESTIMATE_PROPERTY_LITE"], 5);
    assert_eq!(config.prices["API_PROPERTIES_CHECK"], 1);
    assert_eq!(from(&effective, "server.listen"), "flag --listen");
    let place = format!("{}:4", folder.path().join(FILE_NAME).display());
    assert_eq!(from(&effective, "server.drain_timeout_s"), place);
    assert_eq!(from(&effective, "log.level"), "default");
    let json = as_json(&effective);
    assert_eq!(json["server"]["connections_max"]["value"], 20);
    assert_eq!(
        json["server"]["connections_max"]["from"],
        "environment TOISE_SERVER__CONNECTIONS_MAX"
    );
}

#[test]
fn a_fault_in_the_file_is_reported_with_its_line_and_the_nearest_known_key() {
    let cases = [
        (
            "[server]\nlisen = \"x:1\"",
            "2: unknown key server.lisen; the nearest known one is server.listen",
        ),
        (
            "\n[sever]\n",
            "2: unknown section [sever]; the nearest known one is [server]",
        ),
        (
            "listen = \"x:1\"",
            "1: listen must be in its section [server]",
        ),
        ("server = 3", "1: server is a section; write [server]"),
        (
            "[prices]\nAPI_ESTIMATE = 2",
            "2: unknown key prices.API_ESTIMATE; the nearest known one is prices.API_ESTIMATE_RENT",
        ),
        (
            "[server]\n\nconnections_max = 0",
            "3: server.connections_max must be a whole number from 1 to 1000000; found 0",
        ),
        (
            "[server]\nconnections_max = \"9\"",
            "2: server.connections_max must be a whole number from 1 to 1000000; found \"9\"",
        ),
        (
            "[log]\nformat = \"xml\"",
            "2: log.format must be one of: text, json; found \"xml\"",
        ),
        (
            "[log]\nformat = [1]",
            "2: log.format must be one of: text, json; found array",
        ),
        (
            "[server]\nlisten = \"8080\"",
            "2: server.listen must be HOST:PORT with a port from 0 to 65535, as in \"127.0.0.1:8080\"; found \"8080\"",
        ),
        (
            "[server]\nlisten = 8080",
            "2: server.listen must be text in quotes: HOST:PORT with a port from 0 to 65535, as in \"127.0.0.1:8080\"; \
             found 8080",
        ),
        (
            "[geocoding]\nupstream = \"data.geopf.fr\"",
            "2: geocoding.upstream must be an http or https address without user and query, empty for none; \
             found \"data.geopf.fr\"",
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(refusal(text), expected);
    }
    assert!(
        refusal("[server]\nlisten = ").starts_with("2: "),
        "{}",
        refusal("[server]\nlisten = ")
    );
    assert!(refusal("[log]\nlevel = \"a\"\nlevel = \"b\"").starts_with("3: "));
}

#[test]
fn a_fault_elsewhere_names_the_variable_or_the_flag() {
    let folder = tempfile::tempdir().unwrap();
    let by = |name: &str, text: &str| {
        let error = load(folder.path(), &[(name, text)], &[]).unwrap_err();
        error.to_string()
    };
    assert_eq!(
        by("TOISE_SERVER__LISEN", "x:1"),
        "environment TOISE_SERVER__LISEN: unknown setting; the nearest known one is TOISE_SERVER__LISTEN"
    );
    assert!(by("TOISE_SERVER_LISTEN", "x:1").ends_with("is TOISE_SERVER__LISTEN"));
    assert!(by("TOISE_LIMITS__TEST_RATE_PER_S", "many").contains("a whole number from 1"));
    let by_flag = |name, path: &str, text: &str| {
        let flag = Flag {
            name,
            path: path.into(),
            text: text.into(),
        };
        let error = load(folder.path(), &[], &[flag]).unwrap_err();
        error.to_string()
    };
    let unknown = by_flag("--price", "prices.API_PROPERTY_CHECK", "1");
    assert!(
        unknown.ends_with("the nearest known one is prices.API_PROPERTIES_CHECK"),
        "{unknown}"
    );
    let port = "must be HOST:PORT with a port from 0 to 65535, as in \"127.0.0.1:8080\"; found \"127.0.0.1:99999\"";
    for (name, place) in [("--listen", "--listen"), ("--set", "--set server.listen")] {
        assert_eq!(
            by_flag(name, "server.listen", "127.0.0.1:99999"),
            format!("{place}: {port}")
        );
    }
}

#[test]
fn thresholds_of_deduplication_are_probabilities_in_order() {
    let folder = folder_with("[dedup]\nsame_probability = 0.9\n");
    let environment = [("TOISE_DEDUP__POSSIBLE_PROBABILITY", "0.6")];
    let effective = load(folder.path(), &environment, &[]).unwrap();
    let dedup = effective.config.dedup;
    assert_eq!(
        (dedup.same_probability, dedup.possible_probability),
        (0.9, 0.6)
    );
    for (text, expected) in [
        (
            "same_probability = 1",
            "must be a number from 0.25 up to but not including 1, as in 0.98; found 1",
        ),
        (
            "same_probability = 1.0",
            "must be a number from 0.25 up to but not including 1, as in 0.98; found 1.0",
        ),
        (
            "same_probability = nan",
            "must be a number from 0.25 up to but not including 1, as in 0.98; found nan",
        ),
        (
            "same_probability = \"0.9\"",
            "must be a number from 0.25 up to but not including 1, as in 0.98; found \"0.9\"",
        ),
    ] {
        let refused = refusal(&format!("[dedup]\n{text}"));
        assert_eq!(refused, format!("2: dedup.same_probability {expected}"));
    }
    let below = refusal("[dedup]\npossible_probability = 0.2");
    assert!(below.contains("must be a number from 0.25"), "{below}");
    let crossed = refusal("[dedup]\nsame_probability = 0.6\npossible_probability = 0.7");
    assert!(
        crossed.contains("possible_probability must not exceed"),
        "{crossed}"
    );
}

#[test]
fn a_certificate_without_its_key_is_refused() {
    assert!(refusal("[server]\ntls_certificate = \"c.pem\"").contains("go together"));
    let missing = ConfigSources {
        file: Some("/nowhere/toise.toml".into()),
        ..ConfigSources::default()
    };
    let error = EffectiveConfig::load(Path::new("."), &missing).unwrap_err();
    assert!(error.to_string().starts_with("/nowhere/toise.toml: "));
}
