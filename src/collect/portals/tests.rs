//! Tests portal files: valid rules, and the errors for invalid ones.

use super::*;
use serde_json::json;

const PORTAL: &str = r#"
name = "portail.example"
hosts = ["portail.example", "annonces.portail.example"]

[identity]
ignore_parameters = ["from"]

[offline]
texts = ["Ce bien a trouvé preneur"]
selectors = [".vendu"]
redirects_to = ["/"]

[[field]]
path = "currentPrice.value"
selector = ".prix"
as = "amount"

[[field]]
path = "type"
selector = "[data-type]"
attribute = "data-type"
map = { "Appartement" = "CLASS_FLAT", "Maison" = "CLASS_HOUSE" }

[[field]]
path = "habitation.surface.total"
selector = "dd.surface"
as = "number"
scale = 0.01

[[field]]
path = "habitation.characteristics.hasLift"
selector = ".ascenseur"
as = "presence"
"#;

fn portals(text: &str) -> Result<Portals, Error> {
    Portals::new(vec![Portal::parse("portail.toml", text)?])
}

#[test]
fn rules_find_fields_and_ended_listings() {
    let portals = portals(PORTAL).unwrap();
    let portal = portals
        .find_by_url("https://www.portail.example/12")
        .unwrap();
    let read = |page: &str| {
        let html = Html::parse_document(page);
        let document = toise_page::document::walk(&html);
        let mut findings = PageFindings::default();
        let is_offline = portal.read(&html, &document, &mut findings);
        (findings, is_offline)
    };
    let (findings, is_offline) = read(
        "<p class=prix>sur demande</p><p class=prix>350 000 €<p><b data-type='Bel Appartement ancien'></b>
         <dl><dd class=surface>6150</dd></dl><i class=ascenseur></i>",
    );
    assert!(!is_offline);
    for (path, value) in [
        ("currentPrice.value", json!(350_000.0)),
        ("type", json!("CLASS_FLAT")),
        ("habitation.surface.total", json!(61.5)),
        ("habitation.characteristics.hasLift", json!(true)),
    ] {
        assert_eq!(findings.get(path), Some(&value), "{path}");
    }
    assert!(read("<p>Ce bien a trouvé preneur !").1);
    assert!(read("<p class=vendu>Vendu").1);
    assert!(portal.is_gone_redirect("/") && !portal.is_gone_redirect("/annonce/12"));
}

/// Reads a cell as the value of a field.
fn cell(path: &str, text: &str) -> Option<f64> {
    let rule = value::RuleSpec {
        path: path.into(),
        ..value::RuleSpec::default()
    };
    let read = value::ValueRule::new(&rule).unwrap().read_text(text);
    read.and_then(|value| value.as_f64())
}

#[test]
fn a_storey_or_a_count_is_neither_an_area_nor_a_price() {
    for text in [
        "2ème étage", "1er étage", "2e", "2E ÉTAGE", "3° étage", "RDC/2", "2 RDC", "3 pièces",
        "3 p.", "2 chambres", "1er", "Étage 2 RDC",
    ] {
        for path in [
            "habitation.surface.total",
            "land.surface",
            "currentPrice.value",
        ] {
            assert_eq!(cell(path, text), None, "{path} {text}");
        }
    }
    for (text, area) in [
        ("61,5 m² Carrez", 61.5),
        ("RDC 60 m²", 60.0),
        ("60 m² RDC", 60.0),
        ("150 E", 150.0),
        ("environ 45", 45.0),
        ("Surface : 45 m2", 45.0),
    ] {
        assert_eq!(cell("habitation.surface.total", text), Some(area), "{text}");
    }
    assert_eq!(cell("habitation.roomCount", "3 pièces"), Some(3.0));
    assert_eq!(cell("habitation.floor", "2ème étage"), Some(2.0));
}

#[test]
fn a_bouquet_alone_is_a_price() {
    let price = |text: &str| cell("currentPrice.value", text);
    for (text, expected) in [
        ("Bouquet 220 000 €", Some(220_000.0)),
        ("Bouquet : 220 000 €", Some(220_000.0)),
        ("Viager 220 000 €", Some(220_000.0)),
        ("À partir de 220 000 €", Some(220_000.0)),
        ("Bouquet 45 000 € + rente 650 €/mois", None),
        ("Rente 650 €", None),
        ("Viager 45 000 € 650 €", None),
    ] {
        assert_eq!(price(text), expected, "{text}");
    }
}

#[test]
fn a_discount_next_to_a_price_is_no_price() {
    let price = |text: &str| cell("currentPrice.value", text);
    for text in [
        "1 040 €\n-4%",
        "1 040 € -4,5 %",
        "-4% 1 040 €",
        "1 040 € −4%",
    ] {
        assert_eq!(price(text), Some(1_040.0), "{text}");
    }
    assert_eq!(price("1 040 € -4% 1 083 €"), None);
    assert_eq!(price("-4%"), None);
}

#[test]
fn a_yearly_or_weekly_rent_and_a_range_are_no_price() {
    let price = |text: &str| cell("currentPrice.value", text);
    for text in [
        "15 000 €/an",
        "18 500 € HT HC/an",
        "18 500 € HT/an (50 m²)",
        "450 € / semaine",
        "2 500 € par nuit",
        "Loyer annuel : 15 000 €",
        "de 1.1M à 1.7M €",
        "3 000 000 € à 10 000 000 €",
        "De 250 000 à 300 000 €",
        "250 k€ - 300 k€",
        "entre 250 000 € et 300 000 €",
    ] {
        assert_eq!(price(text), None, "{text}");
    }
    for (text, expected) in [
        ("850 €/mois", 850.0),
        ("850 € par mois", 850.0),
        ("850 € CC/mois", 850.0),
        ("850 €/mois, 10 200 €/an", 850.0),
        ("245 000 € - 65 m²", 245_000.0),
        ("245 000 € (charges 1 200 €/an)", 245_000.0),
    ] {
        assert_eq!(price(text), Some(expected), "{text}");
    }
    let charges = cell("charges.yearlyRentalFees", "600 €/an");
    assert_eq!(charges, Some(600.0));
}

#[test]
fn urls_lose_parts_that_do_not_identify() {
    let portals = portals(PORTAL).unwrap();
    let canonical = portals.canonical("https://annonces.portail.example/12?from=home&id=3#x");
    assert_eq!(canonical, "https://annonces.portail.example/12?id=3#x");
    let foreign = "https://autre.example/12?from=home";
    assert_eq!(portals.canonical(foreign), foreign);
    for (host, source) in [
        ("www.autre.example", "autre.example"),
        ("annonces.portail.example", "portail.example"),
    ] {
        assert_eq!(portals.source(host), source);
    }
}

#[test]
fn an_invalid_file_is_rejected_with_name_and_position() {
    for (change, fault) in [
        ([".prix\"", ".prix[\""], "field[0]: selector \".prix[\": "),
        (
            ["currentPrice.value", "price"],
            "field[0]: path: \"price\" is not a field of an advert",
        ),
        (
            ["CLASS_FLAT", "FLAT"],
            "field[1]: map: type does not take \"FLAT\"",
        ),
        (
            ["= 0.01", "= 0"],
            "field[2]: scale: must be a number above 0",
        ),
        (["\"amount\"", "\"price\""], "TOML parse error at line 16"),
        (["hosts = [", "host = ["], "TOML parse error at line 3"),
        (
            ["\"annonces.portail.example\"", "\"Portail/x\""],
            "\"Portail/x\" must be a host in lower case",
        ),
    ] {
        let text = PORTAL.replace(change[0], change[1]);
        let error = portals(&text).unwrap_err().to_string();
        assert!(
            error.starts_with(&format!("portail.toml: {fault}")),
            "{error}"
        );
    }
    let twice = Portals::new(vec![
        Portal::parse("un.toml", PORTAL).unwrap(),
        Portal::parse("deux.toml", PORTAL).unwrap(),
    ]);
    let error = twice.unwrap_err().to_string();
    assert!(error.contains("already belongs to un.toml"), "{error}");
}

#[test]
fn files_in_the_data_folder_replace_those_of_the_same_name() {
    let folder = tempfile::tempdir().unwrap();
    let embedded = Portals::load(folder.path()).unwrap();
    assert!(!embedded.all().is_empty());
    let own = folder.path().join(FOLDER);
    std::fs::create_dir(&own).unwrap();
    std::fs::write(own.join("mine.toml"), PORTAL).unwrap();
    let (replaced, _) = EMBEDDED[0];
    let other = PORTAL.replace("portail.example", "autre.example");
    std::fs::write(own.join(replaced), other).unwrap();
    let portals = Portals::load(folder.path()).unwrap();
    assert_eq!(portals.all().len(), embedded.all().len() + 1);
    assert_eq!(
        portals.find_by_host("www.autre.example").unwrap().name,
        "autre.example"
    );
    std::fs::write(own.join("broken.toml"), "name = 3").unwrap();
    let error = Portals::load(folder.path()).unwrap_err().to_string();
    assert!(error.contains("broken.toml: TOML parse error"), "{error}");
}

#[test]
fn every_file_of_the_folder_is_in_the_executable() {
    assert_eq!(files_in("data/portals"), EMBEDDED.map(|(name, _)| name));
}

/// Returns the names of the files of rules in a folder of the repository, sorted.
pub(crate) fn files_in(folder: &str) -> Vec<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let files = own_files(&root.join(folder)).unwrap();
    let name = |path: &PathBuf| path.file_name().unwrap().to_string_lossy().into_owned();
    files.iter().map(name).collect()
}
