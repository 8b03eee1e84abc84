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
    assert_eq!(findings.get("currentPrice.value"), Some(&json!(350_000.0)));
    assert_eq!(findings.get("type"), Some(&json!("CLASS_FLAT")));
    assert_eq!(findings.get("habitation.surface.total"), Some(&json!(61.5)));
    assert_eq!(
        findings.get("habitation.characteristics.hasLift"),
        Some(&json!(true))
    );
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
        "2ème étage",
        "1er étage",
        "2e",
        "2E ÉTAGE",
        "3° étage",
        "RDC/2",
        "2 RDC",
        "3 pièces",
        "3 p.",
        "2 chambres",
        "1er",
        "Étage 2 RDC",
    ] {
        assert_eq!(cell("habitation.surface.total", text), None, "{text}");
        assert_eq!(cell("land.surface", text), None, "{text}");
        assert_eq!(cell("currentPrice.value", text), None, "{text}");
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
    for text in [
        "Bouquet 220 000 €",
        "Bouquet : 220 000 €",
        "Viager 220 000 €",
        "À partir de 220 000 €",
    ] {
        assert_eq!(price(text), Some(220_000.0), "{text}");
    }
    for text in [
        "Bouquet 45 000 € + rente 650 €/mois",
        "Rente 650 €",
        "Viager 45 000 € 650 €",
    ] {
        assert_eq!(price(text), None, "{text}");
    }
}

#[test]
fn urls_lose_parts_that_do_not_identify() {
    let portals = portals(PORTAL).unwrap();
    let canonical = portals.canonical("https://annonces.portail.example/12?from=home&id=3#x");
    assert_eq!(canonical, "https://annonces.portail.example/12?id=3#x");
    let foreign = "https://autre.example/12?from=home";
    assert_eq!(portals.canonical(foreign), foreign);
    assert_eq!(portals.source("www.autre.example"), "autre.example");
    assert_eq!(
        portals.source("annonces.portail.example"),
        "portail.example"
    );
}

#[test]
fn an_invalid_file_is_rejected_with_name_and_position() {
    for (from, to, fault) in [
        (
            ".prix\"",
            ".prix[\"",
            "portail.toml: field[0]: selector \".prix[\": ",
        ),
        (
            "currentPrice.value",
            "price",
            "portail.toml: field[0]: path: \"price\" is not a field of an advert",
        ),
        (
            "CLASS_FLAT",
            "FLAT",
            "portail.toml: field[1]: map: type does not take \"FLAT\"",
        ),
        (
            "scale = 0.01",
            "scale = 0",
            "portail.toml: field[2]: scale: must be a number above 0",
        ),
        (
            "as = \"amount\"",
            "as = \"price\"",
            "portail.toml: TOML parse error at line 16",
        ),
        (
            "hosts = [",
            "host = [",
            "portail.toml: TOML parse error at line 3",
        ),
        (
            "\"annonces.portail.example\"",
            "\"Portail/x\"",
            "portail.toml: \"Portail/x\" must be a host in lower case",
        ),
    ] {
        let error = portals(&PORTAL.replace(from, to)).unwrap_err().to_string();
        assert!(error.starts_with(fault), "{error}");
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
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../data/portals");
    let mut files: Vec<String> = own_files(&folder)
        .unwrap()
        .iter()
        .map(|path| path.file_name().unwrap().to_string_lossy().into_owned())
        .collect();
    files.sort();
    assert_eq!(files, EMBEDDED.map(|(name, _)| name));
}
