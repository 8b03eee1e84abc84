//! Tests the evaluation with one saved page that the truth file lists under several sites.

use super::*;
use serde_json::json;

const FLAT: &str = r#"<html><head><title>Vente appartement 3 pièces Lyon 3e</title></head><body><main>
    <h1>Vente appartement 3 pièces Lyon 3e</h1><p>Prix : 350 000 €</p><p>Surface : 61 m²</p><p>Étage : 2</p></main></body></html>"#;

fn evaluate(truth: &[Value], half: Option<SiteHalf>) -> Result<ExtractionReport, Error> {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("flat.html"), FLAT).unwrap();
    let lines: Vec<String> = truth.iter().map(Value::to_string).collect();
    let file = folder.path().join("truth.ndjson");
    std::fs::write(&file, lines.join("\n")).unwrap();
    let portals = Portals::load(folder.path()).unwrap();
    let options = ExtractionOptions {
        pages: folder.path().to_owned(),
        truth: file,
        half,
        mistakes_max: 10,
    };
    run(&portals, &options)
}

fn page(site: &str, truth: Value) -> Value {
    json!({"file": "flat.html", "url": format!("https://{site}/1"), "site": site, "truth": truth})
}

#[test]
fn recall_counts_stated_values_and_precision_found_ones() {
    let stated = json!({"currentPrice.value": 350_000, "habitation.surface.total": 61});
    let silent = json!({"currentPrice.value": 340_000, "habitation.surface.total": null});
    let pages = [page("a.example", stated), page("b.example", silent)];
    let report = evaluate(&pages, None).unwrap();
    let counts = (report.pages, report.sites, report.verdicts["listing"]);
    assert_eq!(counts, (2, 2, 2));
    let [price, surface] = &report.fields[..] else {
        panic!("{:?}", report.fields)
    };
    let counts = (price.stated, price.right, price.wrong, price.invented);
    assert_eq!(counts, (2, 1, 1, 0));
    assert_eq!((price.recall, price.precision), (Some(0.5), Some(0.5)));
    assert_eq!((surface.stated, surface.right, surface.invented), (1, 1, 1));
    assert_eq!((surface.recall, surface.precision), (Some(1.0), Some(0.5)));
    let by_site = (surface.recall_by_site, surface.precision_by_site);
    assert_eq!(by_site, (Some(1.0), Some(0.5)));
    let fields = report.mistakes.iter().map(|one| one.field.as_str());
    let expected = ["currentPrice.value", "habitation.surface.total"];
    assert_eq!(fields.collect::<Vec<_>>(), expected);
}

#[test]
fn each_site_belongs_to_one_half() {
    let sites = (0..40).map(|number| format!("site{number}.example"));
    let truth: Vec<Value> = sites
        .map(|site| page(&site, json!({"type": "CLASS_FLAT"})))
        .collect();
    let [tuning, judged] = [SiteHalf::Tuning, SiteHalf::Report]
        .map(|half| evaluate(&truth, Some(half)).unwrap().sites);
    assert!(tuning > 0 && judged > 0 && tuning + judged == truth.len());
}

#[test]
fn a_faulty_truth_names_its_line() {
    for (fault, said) in [
        (
            page("a.example", json!({"currentPrice.value": "much"})),
            "line 2: truth: no advert has",
        ),
        (
            json!({"file": "../x.html", "url": "", "site": "", "truth": {}}),
            "must be below",
        ),
        (json!({"file": "x.html"}), "line 2: missing field"),
    ] {
        let error = evaluate(&[page("a.example", json!({})), fault], None).unwrap_err();
        assert!(error.to_string().contains(said), "{error}");
    }
    assert!(matches!(evaluate(&[], None), Err(Error::Empty)));
}
