//! Writes the two pages of a report, as lists of blocks, in French or English.
//!
//! The first page is about the value: the interval, its parts, comparables with their map, prices over time. The second
//! is about the place (`place`).

mod place;

use crate::charts::{interval, map, parts, prices};
use crate::document::{Block, Document, Table, TableColumn};
use crate::language::Language;
use crate::model::{HomeReport, ReportedSale};

/// Width of the text of a page, points.
pub const PAGE_WIDTH: f32 = 499.0;
/// Space between two columns, points.
pub const GUTTER: f32 = 19.0;
/// Share of the left column on the first page.
const LEFT: f32 = 0.5;
/// Height of the map, points.
const MAP_HEIGHT: f32 = 148.0;

/// Writes a report in a language.
pub fn write(report: &HomeReport, language: Language) -> Document {
    let home = &report.home;
    let subject = match &home.address {
        Some(address) => address.clone(),
        None => format!(
            "{:.5}, {:.5} ({})",
            home.latitude, home.longitude, home.commune
        ),
    };
    let title = language.choose("Estimation d’un bien immobilier", "Estimate of a home");
    let footer = language.choose(
        "Estimation statistique, établie automatiquement à partir de données publiques. Elle ne remplace ni une visite ni une expertise.",
        "A statistical estimate, computed from public data. It replaces neither a visit nor an expert’s appraisal.",
    );
    Document {
        language,
        title: title.to_owned(),
        subject,
        facts: facts(report, language),
        pages: [value(report, language), place::page(report, language)],
        footer: footer.to_owned(),
    }
}

/// Returns the facts of a home in one line.
fn facts(report: &HomeReport, language: Language) -> String {
    let home = &report.home;
    let class = match home.class {
        "CLASS_HOUSE" => language.choose("Maison", "House"),
        _ => language.choose("Appartement", "Flat"),
    };
    let mut facts = vec![class.to_owned(), language.surface(home.surface_m2)];
    if let Some(rooms) = home.room_count {
        let words = language.choose(["pièce", "pièces"], ["room", "rooms"]);
        facts.push(counted(rooms, words));
    }
    if let Some(bedrooms) = home.bedroom_count {
        let words = language.choose(["chambre", "chambres"], ["bedroom", "bedrooms"]);
        facts.push(counted(bedrooms, words));
    }
    if let Some(land) = home.land_surface_m2 {
        let surface = language.surface(land);
        facts.push(format!("{} {surface}", language.choose("terrain", "land")));
    }
    if let Some(floor) = home.floor {
        facts.push(storey(floor, language));
    }
    if let Some(year) = home.construction_year {
        let built = language.choose("construit en", "built in");
        facts.push(format!("{built} {year}"));
    }
    if let Some(class) = home.energy {
        facts.push(format!(
            "{} {class}",
            language.choose("DPE", "energy class")
        ));
    }
    facts.join(" · ")
}

fn counted(number: f64, [one, many]: [&str; 2]) -> String {
    let word = if number < 2.0 { one } else { many };
    format!("{number:.0} {word}")
}

fn storey(floor: f64, language: Language) -> String {
    match (language, floor as i64) {
        (Language::French, 0) => "rez-de-chaussée".to_owned(),
        (Language::English, 0) => "ground floor".to_owned(),
        (Language::French, 1) => "1er étage".to_owned(),
        (Language::French, floor) => format!("{floor}e étage"),
        (Language::English, floor) => format!("storey {floor}"),
    }
}

/// Returns the first page.
fn value(report: &HomeReport, language: Language) -> Vec<Block> {
    let estimate = &report.estimate;
    let column = (PAGE_WIDTH - GUTTER) * LEFT;
    let per_m2 = language.euros_per_m2(estimate.price_per_m2);
    let confidence = match estimate.confidence {
        "HIGH" => language.choose("confiance élevée", "high confidence"),
        "MEDIUM" => language.choose("confiance moyenne", "medium confidence"),
        _ => language.choose("confiance faible", "low confidence"),
    };
    let [lower, upper] = [estimate.lower, estimate.upper].map(|eur| language.euros(eur));
    let interval_text = language.choose(
        format!(
            "Quatre ventes de biens semblables sur cinq se concluent entre {lower} et {upper}."
        ),
        format!("Four in five similar homes sell for a price between {lower} and {upper}."),
    );
    let mut left = vec![
        Block::Key {
            label: language
                .choose("Valeur estimée", "Estimated value")
                .to_owned(),
            value: language.euros(estimate.price),
            more: format!("{per_m2} · {confidence}"),
        },
        Block::Figure(interval::draw(estimate, column, language)),
        paragraph(interval_text),
    ];
    left.extend(caution(report, language).map(paragraph));
    let parts_title = language.choose("Composition de la valeur", "What the value is made of");
    let parts = parts::draw(&estimate.contributions, estimate.price, column, language);
    let right = vec![heading(parts_title), Block::Figure(parts)];
    let comparables = language.choose("Ventes comparables", "Comparable sales");
    let mut blocks = vec![
        Block::Columns {
            left_share: LEFT,
            left,
            right,
        },
        heading(comparables),
    ];
    if report.comparables.is_empty() {
        let none = language.choose(
            "Aucune vente semblable n’est connue dans les environs.",
            "No sale of this kind is known around the home.",
        );
        blocks.push(paragraph(none));
    } else {
        blocks.push(comparable_table(&report.comparables, language));
        let map = map::draw(report, PAGE_WIDTH, MAP_HEIGHT, language);
        blocks.push(Block::Figure(map));
        let key = language.choose(
            "Point bleu : le bien. Points numérotés : les ventes du tableau. Points gris : adresses. Lignes : limites de communes.",
            "Blue: the home. Numbers: the sales of the table. Grey dots: addresses. Lines: borders of communes.",
        );
        blocks.push(small(key));
    }
    if let Some(figure) = prices::draw(&report.price_path, PAGE_WIDTH, language) {
        let title = language.choose(
            "Prix médian au m² par trimestre",
            "Median price per m² by quarter",
        );
        blocks.push(heading(title));
        blocks.push(Block::Figure(figure));
    }
    blocks
}

/// Returns why an estimate is less certain than usual.
fn caution(report: &HomeReport, language: Language) -> Option<String> {
    let text = match (report.estimate.warning, report.home.precision) {
        (Some("no_sale_within_reach"), _) => language.choose(
            "Aucune vente n’est connue à proximité : la valeur est celle d’un lieu moyen.",
            "No sale is known nearby: the value is that of an average place.",
        ),
        (Some("few_sales_within_reach"), _) => language.choose(
            "Peu de ventes sont connues à proximité : la valeur est moins sûre.",
            "Few sales are known nearby: the value is less certain.",
        ),
        (Some("sales_far_away"), _) => language.choose(
            "Les ventes connues les plus proches sont éloignées : la valeur est moins sûre.",
            "The nearest known sales are far away: the value is less certain.",
        ),
        (_, "TOWN") => language.choose(
            "Seule la commune du bien est connue : la valeur est calculée en son centre.",
            "Only the town of the home is known: it is valued at its centre.",
        ),
        (_, "STREET") => language.choose(
            "Seule la rue du bien est connue : la valeur est calculée en son milieu.",
            "Only the street of the home is known: it is valued at its middle.",
        ),
        _ => return None,
    };
    Some(text.to_owned())
}

fn comparable_table(sales: &[ReportedSale], language: Language) -> Block {
    let choose = |french, english| language.choose(french, english);
    let columns = vec![
        TableColumn::text("", 0.04),
        TableColumn::text(choose("Adresse", "Address"), 0.32),
        TableColumn::text(choose("Date", "Date"), 0.12),
        TableColumn::number(choose("Distance", "Distance"), 0.09),
        TableColumn::number(choose("Surface", "Surface"), 0.09),
        TableColumn::number(choose("Pièces", "Rooms"), 0.07),
        TableColumn::number(choose("Prix", "Price"), 0.27),
    ];
    let rows = sales.iter().enumerate().map(|(nth, sale)| {
        vec![
            (nth + 1).to_string(),
            sale.address.clone().unwrap_or_default(),
            language.day(sale.date),
            value_or_dash(sale.distance_m, |metres| language.distance(metres)),
            value_or_dash(sale.surface_m2, |m2| language.surface(m2)),
            value_or_dash(sale.room_count, |rooms| format!("{rooms:.0}")),
            price(sale, language),
        ]
    });
    table(columns, rows)
}

/// Returns the price of a sale, with the price per square metre.
fn price(sale: &ReportedSale, language: Language) -> String {
    let price = value_or_dash(sale.price, |eur| language.euros(eur));
    match sale.price_per_m2 {
        Some(per_m2) => format!("{price} ({})", language.euros_per_m2(per_m2.round())),
        None => price,
    }
}

/// Formats a value with `write`; a missing one becomes a dash.
fn value_or_dash(value: Option<f64>, write: impl Fn(f64) -> String) -> String {
    value.map_or_else(|| "–".to_owned(), write)
}

fn heading(text: impl Into<String>) -> Block {
    Block::Heading(text.into())
}

fn paragraph(text: impl Into<String>) -> Block {
    Block::Paragraph(text.into())
}

fn small(text: impl Into<String>) -> Block {
    Block::Small(text.into())
}

fn table(columns: Vec<TableColumn>, rows: impl Iterator<Item = Vec<String>>) -> Block {
    let rows = rows.collect();
    Block::Table(Table { columns, rows })
}
