//! Writes the content of a report in a language, as blocks of two pages.
//!
//! The first page is about the value: the interval, its parts, comparables with their map, prices over time. The second
//! is about the place: diagnostics of the building, sales of the parcel, the market, layers, sources.

use serde_json::Value;

use crate::charts::{classes, interval, map, parts, prices};
use crate::document::{Block, Document, Table, TableColumn};
use crate::language::Language;
use crate::model::{HomeReport, LayerNearby, ReportedSale};

/// Width of the text of a page, points.
pub const PAGE_WIDTH: f32 = 499.0;
/// Space between two columns, points.
pub const GUTTER: f32 = 19.0;
/// Share of the left column on the first page.
const LEFT: f32 = 0.5;
/// Attributes of a layer that are shown.
const ATTRIBUTES: usize = 3;
/// Characters of an attribute that are shown.
const ATTRIBUTE_CHARS: usize = 60;
/// Height of the map, points.
const MAP_HEIGHT: f32 = 148.0;

/// Writes a report in a language.
pub fn say(report: &HomeReport, language: Language) -> Document {
    let home = &report.home;
    let subject = match &home.address {
        Some(address) => address.clone(),
        None => format!(
            "{:.5}, {:.5} ({})",
            home.latitude, home.longitude, home.commune
        ),
    };
    let title = language.say("Estimation d’un bien immobilier", "Estimate of a home");
    let footer = language.say(
        "Estimation statistique, établie automatiquement à partir de données publiques. Elle ne remplace ni une visite ni une expertise.",
        "A statistical estimate, computed from public data. It replaces neither a visit nor an expert’s appraisal.",
    );
    Document {
        language,
        title: title.to_owned(),
        subject,
        facts: facts(report, language),
        pages: [value(report, language), place(report, language)],
        footer: footer.to_owned(),
    }
}

/// Returns the facts of a home in one line.
fn facts(report: &HomeReport, language: Language) -> String {
    let home = &report.home;
    let class = match home.class {
        "CLASS_HOUSE" => language.say("Maison", "House"),
        _ => language.say("Appartement", "Flat"),
    };
    let mut facts = vec![class.to_owned(), language.surface(home.surface_m2)];
    if let Some(rooms) = home.room_count {
        facts.push(counted(
            rooms,
            language.say(["pièce", "pièces"], ["room", "rooms"]),
        ));
    }
    if let Some(bedrooms) = home.bedroom_count {
        let words = language.say(["chambre", "chambres"], ["bedroom", "bedrooms"]);
        facts.push(counted(bedrooms, words));
    }
    if let Some(land) = home.land_surface_m2 {
        let surface = language.surface(land);
        facts.push(format!("{} {surface}", language.say("terrain", "land")));
    }
    if let Some(floor) = home.floor {
        facts.push(storey(floor, language));
    }
    if let Some(year) = home.construction_year {
        facts.push(format!(
            "{} {year}",
            language.say("construit en", "built in")
        ));
    }
    if let Some(class) = home.energy {
        facts.push(format!("{} {class}", language.say("DPE", "energy class")));
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
        "HIGH" => language.say("confiance élevée", "high confidence"),
        "MEDIUM" => language.say("confiance moyenne", "medium confidence"),
        _ => language.say("confiance faible", "low confidence"),
    };
    let (lower, upper) = (
        language.euros(estimate.lower),
        language.euros(estimate.upper),
    );
    let interval_text = language.say(
        format!(
            "Quatre ventes de biens semblables sur cinq se concluent entre {lower} et {upper}."
        ),
        format!("Four in five sales of such homes are made between {lower} and {upper}."),
    );
    let mut left = vec![
        Block::Key {
            label: language.say("Valeur estimée", "Estimated value").to_owned(),
            value: language.euros(estimate.price),
            more: format!("{per_m2} · {confidence}"),
        },
        Block::Figure(interval::draw(estimate, column, language)),
        Block::Paragraph(interval_text),
    ];
    left.extend(caution(report, language).map(Block::Paragraph));
    let parts_title = language.say("Composition de la valeur", "What the value is made of");
    let right = vec![
        Block::Heading(parts_title.to_owned()),
        Block::Figure(parts::draw(
            &estimate.contributions,
            estimate.price,
            column,
            language,
        )),
    ];
    let comparables = language.say("Ventes comparables", "Comparable sales");
    let mut blocks = vec![
        Block::Columns {
            left_share: LEFT,
            left,
            right,
        },
        Block::Heading(comparables.to_owned()),
    ];
    if report.comparables.is_empty() {
        let none = language.say(
            "Aucune vente semblable n’est connue dans les environs.",
            "No sale of this kind is known around the home.",
        );
        blocks.push(Block::Paragraph(none.to_owned()));
    } else {
        blocks.push(Block::Table(comparable_table(
            &report.comparables,
            language,
        )));
        blocks.push(Block::Figure(map::draw(
            report, PAGE_WIDTH, MAP_HEIGHT, language,
        )));
        let key = language.say(
            "Point bleu : le bien. Points numérotés : les ventes du tableau. Points gris : adresses. Lignes : limites de communes.",
            "Blue: the home. Numbers: the sales of the table. Grey dots: addresses. Lines: borders of communes.",
        );
        blocks.push(Block::Small(key.to_owned()));
    }
    if let Some(figure) = prices::draw(&report.price_path, PAGE_WIDTH, language) {
        let title = language.say(
            "Prix médian au m² par trimestre",
            "Median price per m² by quarter",
        );
        blocks.push(Block::Heading(title.to_owned()));
        blocks.push(Block::Figure(figure));
    }
    blocks
}

/// Returns why an estimate is less certain than usual.
fn caution(report: &HomeReport, language: Language) -> Option<String> {
    let text = match (report.estimate.warning, report.home.precision) {
        (Some("no_sale_within_reach"), _) => language.say(
            "Aucune vente n’est connue à proximité : la valeur est celle d’un lieu moyen.",
            "No sale is known nearby: the value is that of an average place.",
        ),
        (Some("few_sales_within_reach"), _) => language.say(
            "Peu de ventes sont connues à proximité : la valeur est moins sûre.",
            "Few sales are known nearby: the value is less certain.",
        ),
        (Some("sales_far_away"), _) => language.say(
            "Les ventes connues les plus proches sont éloignées : la valeur est moins sûre.",
            "The nearest known sales are far away: the value is less certain.",
        ),
        (_, "TOWN") => language.say(
            "Seule la commune du bien est connue : la valeur est calculée en son centre.",
            "Only the town of the home is known: it is valued at its centre.",
        ),
        (_, "STREET") => language.say(
            "Seule la rue du bien est connue : la valeur est calculée en son milieu.",
            "Only the street of the home is known: it is valued at its middle.",
        ),
        _ => return None,
    };
    Some(text.to_owned())
}

fn comparable_table(sales: &[ReportedSale], language: Language) -> Table {
    let title = |french: &'static str, english: &'static str| language.say(french, english);
    let columns = vec![
        TableColumn::text("", 0.04),
        TableColumn::text(title("Adresse", "Address"), 0.32),
        TableColumn::text(title("Date", "Date"), 0.12),
        TableColumn::number(title("Distance", "Distance"), 0.09),
        TableColumn::number(title("Surface", "Surface"), 0.09),
        TableColumn::number(title("Pièces", "Rooms"), 0.07),
        TableColumn::number(title("Prix", "Price"), 0.27),
    ];
    let rows = sales.iter().enumerate().map(|(nth, sale)| {
        vec![
            (nth + 1).to_string(),
            sale.address.clone().unwrap_or_default(),
            language.day(sale.date),
            given(sale.distance_m, |metres| language.distance(metres)),
            given(sale.surface_m2, |m2| language.surface(m2)),
            given(sale.room_count, |rooms| format!("{rooms:.0}")),
            price(sale, language),
        ]
    });
    Table {
        columns,
        rows: rows.collect(),
    }
}

/// Returns the price of a sale, with the price per square metre.
fn price(sale: &ReportedSale, language: Language) -> String {
    let price = given(sale.price, |eur| language.euros(eur));
    match sale.price_per_m2 {
        Some(per_m2) => format!("{price} ({})", language.euros_per_m2(per_m2.round())),
        None => price,
    }
}

fn given(value: Option<f64>, write: impl Fn(f64) -> String) -> String {
    value.map_or_else(|| "–".to_owned(), write)
}

/// Returns the second page.
fn place(report: &HomeReport, language: Language) -> Vec<Block> {
    let mut blocks = diagnostics(report, language);
    blocks.extend(parcel(report, language));
    blocks.extend(market(report, language));
    blocks.extend(layers(&report.layers, language));
    blocks.extend(sources(report, language));
    blocks
}

fn diagnostics(report: &HomeReport, language: Language) -> Vec<Block> {
    let title = language.say(
        "Diagnostics énergétiques de l’immeuble",
        "Energy diagnostics of the building",
    );
    let mut blocks = vec![Block::Heading(title.to_owned())];
    let found = &report.diagnostics;
    if found.total == 0 {
        let none = match report.home.address_id {
            Some(_) => language.say(
                "Aucun diagnostic n’est connu à cette adresse.",
                "No diagnostic is known at this address.",
            ),
            None => language.say(
                "L’adresse exacte n’est pas connue : les diagnostics de l’immeuble ne peuvent pas être cherchés.",
                "The exact address is not known, so the diagnostics of the building cannot be looked up.",
            ),
        };
        blocks.push(Block::Paragraph(none.to_owned()));
        return blocks;
    }
    let title = |french: &'static str, english: &'static str| language.say(french, english);
    let columns = vec![
        TableColumn::text(title("Date", "Date"), 0.20),
        TableColumn::text(title("DPE", "Energy"), 0.11),
        TableColumn::text(title("GES", "Climate"), 0.12),
        TableColumn::number(title("Surface", "Surface"), 0.17),
        TableColumn::number(title("kWh/m²/an", "kWh/m²/year"), 0.20),
        TableColumn::number(title("Étage", "Storey"), 0.14),
    ];
    let class = |class: Option<char>| class.map_or_else(|| "–".to_owned(), String::from);
    let rows = found.latest.iter().map(|one| {
        vec![
            one.date
                .map_or_else(|| "–".to_owned(), |day| language.day(day)),
            class(one.energy),
            class(one.climate),
            given(one.surface_m2, |m2| language.surface(m2)),
            given(one.energy_kwh_m2, |kwh| language.number(kwh, 0)),
            given(one.floor, |floor| format!("{floor:.0}")),
        ]
    });
    let counted: u64 = found.classes.values().sum();
    let count = language.number(found.total as f64, 0);
    let note = language.say(
        format!("{count} diagnostics connus, dont remplacés. Répartition des {counted} derniers par classe."),
        format!("{count} diagnostics known, replaced ones included. The latest {counted} by class."),
    );
    let width = (PAGE_WIDTH - GUTTER) * 0.34;
    blocks.push(Block::Columns {
        left_share: 0.34,
        left: vec![
            Block::Figure(classes::draw(&found.classes, width, language)),
            Block::Small(note),
        ],
        right: vec![Block::Table(Table {
            columns,
            rows: rows.collect(),
        })],
    });
    blocks
}

fn parcel(report: &HomeReport, language: Language) -> Vec<Block> {
    let parcel = &report.parcel;
    let title = language.say("Ventes de la parcelle", "Sales of the parcel");
    let ids = parcel.ids.join(", ");
    let title = if ids.is_empty() {
        title.to_owned()
    } else {
        format!("{title} {ids}")
    };
    let mut blocks = vec![Block::Heading(title)];
    if parcel.total == 0 {
        let none = if parcel.ids.is_empty() {
            language.say(
                "La parcelle du bien n’est pas connue.",
                "The parcel of the home is not known.",
            )
        } else {
            language.say(
                "Aucune vente n’est enregistrée sur cette parcelle.",
                "No sale is recorded on this parcel.",
            )
        };
        blocks.push(Block::Paragraph(none.to_owned()));
        return blocks;
    }
    let title = |french: &'static str, english: &'static str| language.say(french, english);
    let columns = vec![
        TableColumn::text(title("Date", "Date"), 0.14),
        TableColumn::text(title("Bien", "Asset"), 0.22),
        TableColumn::number(title("Surface", "Surface"), 0.13),
        TableColumn::number(title("Pièces", "Rooms"), 0.09),
        TableColumn::number(title("Terrain", "Land"), 0.14),
        TableColumn::number(title("Prix", "Price"), 0.28),
    ];
    let rows = parcel.latest.iter().map(|sale| {
        let mut price = price(sale, language);
        if sale.is_sold_together {
            price.push_str(" *");
        }
        vec![
            language.day(sale.date),
            asset(sale.class.as_deref(), language),
            given(sale.surface_m2, |m2| language.surface(m2)),
            given(sale.room_count, |rooms| format!("{rooms:.0}")),
            given(sale.land_surface_m2, |m2| language.surface(m2)),
            price,
        ]
    });
    blocks.push(Block::Table(Table {
        columns,
        rows: rows.collect(),
    }));
    let mut notes = Vec::new();
    if parcel.total > parcel.latest.len() as u64 {
        let (listed, all) = (parcel.latest.len(), language.number(parcel.total as f64, 0));
        notes.push(language.say(
            format!("Les {listed} dernières de {all} ventes."),
            format!("The latest {listed} of {all} sales."),
        ));
    }
    if parcel.latest.iter().any(|sale| sale.is_sold_together) {
        let together = language.say(
            "* Prix de plusieurs biens vendus ensemble.",
            "* Price of several assets sold together.",
        );
        notes.push(together.to_owned());
    }
    if !notes.is_empty() {
        blocks.push(Block::Small(notes.join(" ")));
    }
    blocks
}

fn asset(class: Option<&str>, language: Language) -> String {
    let (french, english) = match class {
        Some("FLAT") => ("Appartement", "Flat"),
        Some("HOUSE") => ("Maison", "House"),
        Some("DEPENDENCY") => ("Dépendance", "Outbuilding"),
        Some("LAND") => ("Terrain", "Land"),
        Some("COMMERCIAL") => ("Local d’activité", "Business premises"),
        Some(other) => return other.to_owned(),
        None => ("–", "–"),
    };
    language.say(french, english).to_owned()
}

fn market(report: &HomeReport, language: Language) -> Vec<Block> {
    let class = match report.home.class {
        "CLASS_HOUSE" => language.say("maisons", "houses"),
        _ => language.say("appartements", "flats"),
    };
    let commune = &report.home.commune;
    let title = language.say(
        format!("Marché : {commune}, {class}"),
        format!("Market: {commune}, {class}"),
    );
    let mut blocks = vec![Block::Heading(title)];
    let Some(market) = &report.market else {
        let none = language.say(
            "Rien n’est connu de ce marché.",
            "Nothing is known of this market.",
        );
        blocks.push(Block::Paragraph(none.to_owned()));
        return blocks;
    };
    let per_m2 = |value| given(value, |eur| language.euros_per_m2(eur));
    let range = match (market.price_per_m2_q1, market.price_per_m2_q3) {
        (Some(low), Some(high)) => {
            format!("{} – {}", language.euros(low), language.euros(high))
        }
        _ => "–".to_owned(),
    };
    let facts = [
        (
            language.say("Ventes", "Sales"),
            given(market.sales, |sales| language.number(sales, 0)),
        ),
        (
            language.say("Prix médian", "Median price"),
            per_m2(market.price_per_m2_median),
        ),
        (
            language.say("La moitié des prix au m²", "Half of the prices per m²"),
            range,
        ),
        (
            language.say("Biens en vente", "For sale"),
            given(market.stock, |stock| language.number(stock, 0)),
        ),
        (
            language.say("Prix demandé médian", "Median asking price"),
            per_m2(market.asking_price_per_m2),
        ),
        (
            language.say("Durée de vente médiane", "Median time on the market"),
            given(market.days_on_market, |days| {
                language.measure(days, 0, language.say("jours", "days"))
            }),
        ),
        (
            language.say("Loyer médian par mois", "Median rent per month"),
            given(market.rent_per_m2, |eur| {
                let number = language.number(eur, 1);
                language.say(format!("{number} €/m²"), format!("€{number}/m²"))
            }),
        ),
        (
            language.say("Rendement brut", "Gross yield"),
            given(market.gross_yield, |percent| {
                language.measure(percent, 1, "%")
            }),
        ),
    ];
    let facts = facts
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value));
    blocks.push(Block::Facts(facts.collect()));
    if let (Some(from), Some(to)) = (market.from, market.to) {
        let (from, to) = (language.day(from), language.day(to));
        blocks.push(Block::Small(language.say(
            format!("Ventes enregistrées du {from} au {to} ; annonces connues depuis le {from}. « – » : moins de cinq ventes ou annonces."),
            format!("Sales recorded from {from} to {to}; adverts known since {from}. “–”: fewer than five sales or adverts."),
        )));
    }
    blocks
}

fn layers(layers: &[LayerNearby], language: Language) -> Vec<Block> {
    if layers.is_empty() {
        return Vec::new();
    }
    let title = |french: &'static str, english: &'static str| language.say(french, english);
    let columns = vec![
        TableColumn::text(title("Couche", "Layer"), 0.20),
        TableColumn::text(title("Bien", "Home"), 0.18),
        TableColumn::text(title("Objet le plus proche", "Nearest feature"), 0.62),
    ];
    let rows = layers.iter().map(|layer| {
        let place = if layer.is_inside {
            title("à l’intérieur", "inside").to_owned()
        } else {
            let distance = language.distance(layer.distance_m);
            language.say(format!("à {distance}"), format!("{distance} away"))
        };
        vec![layer.name.clone(), place, attributes(layer)]
    });
    let heading = title("Alentours", "Around the home").to_owned();
    vec![
        Block::Heading(heading),
        Block::Table(Table {
            columns,
            rows: rows.collect(),
        }),
    ]
}

/// Returns the first attributes of a feature that have a short value.
fn attributes(layer: &LayerNearby) -> String {
    let shown = layer.attributes.iter().filter_map(|(name, value)| {
        let value = match value {
            Value::String(text) => text.trim().to_owned(),
            Value::Number(number) => number.to_string(),
            Value::Bool(flag) => flag.to_string(),
            _ => return None,
        };
        let is_short = !value.is_empty() && value.chars().count() <= ATTRIBUTE_CHARS;
        is_short.then(|| format!("{name}: {value}"))
    });
    shown.take(ATTRIBUTES).collect::<Vec<_>>().join(" · ")
}

fn sources(report: &HomeReport, language: Language) -> Vec<Block> {
    let estimate = &report.estimate;
    let title = language.say("Sources", "Sources");
    let mut texts: Vec<String> = Vec::new();
    for source in &report.sources {
        let dataset = match source.dataset.as_str() {
            "sales" => language.say("Ventes (DVF)", "Sales (DVF)"),
            "diagnostics" => language.say("Diagnostics (DPE, ADEME)", "Diagnostics (DPE, ADEME)"),
            "addresses" => language.say("Adresses (BAN)", "Addresses (BAN)"),
            layer => layer,
        };
        let day = source.imported_at.get(..10).unwrap_or_default();
        let day = day
            .parse()
            .map_or_else(|_| day.to_owned(), |day| language.day(day));
        texts.push(language.say(
            format!(
                "{dataset} : {}, {}, importé le {day}.",
                source.name, source.licence
            ),
            format!(
                "{dataset}: {}, {}, imported on {day}.",
                source.name, source.licence
            ),
        ));
    }
    let sales = language.number(estimate.model_sales as f64, 0);
    let through = estimate.data_through.parse();
    let through = through.map_or_else(|_| estimate.data_through.clone(), |day| language.day(day));
    let model = &estimate.model;
    texts.push(language.say(
        format!("Modèle {model}, entraîné sur {sales} ventes jusqu’au {through}."),
        format!("Model {model}, trained on {sales} sales until {through}."),
    ));
    vec![
        Block::Heading(title.to_owned()),
        Block::Small(texts.join(" ")),
    ]
}
