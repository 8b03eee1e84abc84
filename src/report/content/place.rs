//! The second page of a report: diagnostics of the building, sales of the parcel, the market, layers, sources.

use serde_json::Value;

use super::{GUTTER, PAGE_WIDTH, heading, paragraph, price, small, table, value_or_dash};
use crate::charts::classes;
use crate::document::{Block, TableColumn};
use crate::language::Language;
use crate::model::{HomeReport, LayerNearby};

/// Attributes of a layer that are shown.
const ATTRIBUTES: usize = 3;
/// Characters of an attribute that are shown.
const ATTRIBUTE_CHARS: usize = 60;

/// Returns the second page.
pub(super) fn page(report: &HomeReport, language: Language) -> Vec<Block> {
    let mut blocks = diagnostics(report, language);
    blocks.extend(parcel(report, language));
    blocks.extend(market(report, language));
    blocks.extend(layers(&report.layers, language));
    blocks.extend(sources(report, language));
    blocks
}

fn diagnostics(report: &HomeReport, language: Language) -> Vec<Block> {
    let title = language.choose(
        "Diagnostics énergétiques de l’immeuble",
        "Energy diagnostics of the building",
    );
    let mut blocks = vec![heading(title)];
    let found = &report.diagnostics;
    if found.total == 0 {
        let none = match report.home.address_id {
            Some(_) => language.choose(
                "Aucun diagnostic n’est connu à cette adresse.",
                "No diagnostic is known at this address.",
            ),
            None => language.choose(
                "L’adresse exacte n’est pas connue : les diagnostics de l’immeuble ne peuvent pas être cherchés.",
                "The exact address is not known, so the diagnostics of the building cannot be looked up.",
            ),
        };
        blocks.push(paragraph(none));
        return blocks;
    }
    let choose = |french, english| language.choose(french, english);
    let columns = vec![
        TableColumn::text(choose("Date", "Date"), 0.22),
        TableColumn::text(choose("DPE", "Energy"), 0.11),
        TableColumn::text(choose("GES", "Climate"), 0.12),
        TableColumn::number(choose("Surface", "Surface"), 0.17),
        TableColumn::number(choose("kWh/m²/an", "kWh/m²/year"), 0.22),
        TableColumn::number(choose("Étage", "Storey"), 0.16),
    ];
    let class = |class: Option<char>| class.map_or_else(|| "–".to_owned(), String::from);
    let rows = found.latest.iter().map(|one| {
        vec![
            one.date
                .map_or_else(|| "–".to_owned(), |day| language.day(day)),
            class(one.energy),
            class(one.climate),
            value_or_dash(one.surface_m2, |m2| language.surface(m2)),
            value_or_dash(one.energy_kwh_m2, |kwh| language.number(kwh, 0)),
            value_or_dash(one.floor, |floor| format!("{floor:.0}")),
        ]
    });
    let counted: u64 = found.classes.values().sum();
    let count = language.number(found.total as f64, 0);
    let note = language.choose(
        format!("{count} diagnostics connus, dont remplacés. Répartition des {counted} derniers par classe."),
        format!("{count} diagnostics known, replaced ones included. The latest {counted} by class."),
    );
    let width = (PAGE_WIDTH - GUTTER) * 0.34;
    blocks.push(Block::Columns {
        left_share: 0.34,
        left: vec![
            Block::Figure(classes::draw(&found.classes, width, language)),
            small(note),
        ],
        right: vec![table(columns, rows)],
    });
    blocks
}

fn parcel(report: &HomeReport, language: Language) -> Vec<Block> {
    let parcel = &report.parcel;
    let title = language.choose("Ventes de la parcelle", "Sales of the parcel");
    let ids = parcel.ids.join(", ");
    let title = if ids.is_empty() {
        title.to_owned()
    } else {
        format!("{title} {ids}")
    };
    let mut blocks = vec![heading(title)];
    if parcel.total == 0 {
        let none = if parcel.ids.is_empty() {
            language.choose(
                "La parcelle du bien n’est pas connue.",
                "The parcel of the home is not known.",
            )
        } else {
            language.choose(
                "Aucune vente n’est enregistrée sur cette parcelle.",
                "No sale is recorded on this parcel.",
            )
        };
        blocks.push(paragraph(none));
        return blocks;
    }
    let choose = |french, english| language.choose(french, english);
    let columns = vec![
        TableColumn::text(choose("Date", "Date"), 0.14),
        TableColumn::text(choose("Bien", "Asset"), 0.22),
        TableColumn::number(choose("Surface", "Surface"), 0.13),
        TableColumn::number(choose("Pièces", "Rooms"), 0.09),
        TableColumn::number(choose("Terrain", "Land"), 0.14),
        TableColumn::number(choose("Prix", "Price"), 0.28),
    ];
    let rows = parcel.latest.iter().map(|sale| {
        let mut price = price(sale, language);
        if sale.is_sold_together {
            price.push_str(" *");
        }
        vec![
            language.day(sale.date),
            asset(sale.class.as_deref(), language),
            value_or_dash(sale.surface_m2, |m2| language.surface(m2)),
            value_or_dash(sale.room_count, |rooms| format!("{rooms:.0}")),
            value_or_dash(sale.land_surface_m2, |m2| language.surface(m2)),
            price,
        ]
    });
    blocks.push(table(columns, rows));
    let mut notes = Vec::new();
    if parcel.total > parcel.latest.len() as u64 {
        let (listed, all) = (parcel.latest.len(), language.number(parcel.total as f64, 0));
        notes.push(language.choose(
            format!("Les {listed} dernières de {all} ventes."),
            format!("The latest {listed} of {all} sales."),
        ));
    }
    if parcel.latest.iter().any(|sale| sale.is_sold_together) {
        let together = language.choose(
            "* Prix de plusieurs biens vendus ensemble.",
            "* Price of several assets sold together.",
        );
        notes.push(together.to_owned());
    }
    if !notes.is_empty() {
        blocks.push(small(notes.join(" ")));
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
    language.choose(french, english).to_owned()
}

fn market(report: &HomeReport, language: Language) -> Vec<Block> {
    let class = match report.home.class {
        "CLASS_HOUSE" => language.choose("maisons", "houses"),
        _ => language.choose("appartements", "flats"),
    };
    let commune = &report.home.commune;
    let title = language.choose(
        format!("Marché : {commune}, {class}"),
        format!("Market: {commune}, {class}"),
    );
    let mut blocks = vec![heading(title)];
    let Some(market) = &report.market else {
        let none = language.choose(
            "Rien n’est connu de ce marché.",
            "Nothing is known of this market.",
        );
        blocks.push(paragraph(none));
        return blocks;
    };
    let per_m2 = |value| value_or_dash(value, |eur| language.euros_per_m2(eur));
    let range = match (market.price_per_m2_q1, market.price_per_m2_q3) {
        (Some(low), Some(high)) => {
            format!("{} – {}", language.euros(low), language.euros(high))
        }
        _ => "–".to_owned(),
    };
    let facts = [
        (
            language.choose("Ventes", "Sales"),
            value_or_dash(market.sales, |sales| language.number(sales, 0)),
        ),
        (
            language.choose("Prix médian", "Median price"),
            per_m2(market.price_per_m2_median),
        ),
        (
            language.choose("La moitié des prix au m²", "Half of the prices per m²"),
            range,
        ),
        (
            language.choose("Biens en vente", "For sale"),
            value_or_dash(market.stock, |stock| language.number(stock, 0)),
        ),
        (
            language.choose("Prix demandé médian", "Median asking price"),
            per_m2(market.asking_price_per_m2),
        ),
        (
            language.choose("Durée de vente médiane", "Median time on the market"),
            value_or_dash(market.days_on_market, |days| {
                language.measure(days, 0, language.choose("jours", "days"))
            }),
        ),
        (
            language.choose("Loyer médian par mois", "Median rent per month"),
            value_or_dash(market.rent_per_m2, |eur| {
                let number = language.number(eur, 1);
                language.choose(format!("{number} €/m²"), format!("€{number}/m²"))
            }),
        ),
        (
            language.choose("Rendement brut", "Gross yield"),
            value_or_dash(market.gross_yield, |percent| {
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
        blocks.push(small(language.choose(
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
    let choose = |french, english| language.choose(french, english);
    let columns = vec![
        TableColumn::text(choose("Couche", "Layer"), 0.20),
        TableColumn::text(choose("Bien", "Home"), 0.18),
        TableColumn::text(choose("Objet le plus proche", "Nearest feature"), 0.62),
    ];
    let rows = layers.iter().map(|layer| {
        let place = if layer.is_inside {
            choose("à l’intérieur", "inside").to_owned()
        } else {
            let distance = language.distance(layer.distance_m);
            language.choose(format!("à {distance}"), format!("{distance} away"))
        };
        vec![layer.name.clone(), place, attributes(layer)]
    });
    let title = choose("Alentours", "Around the home");
    vec![heading(title), table(columns, rows)]
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
    let title = language.choose("Sources", "Sources");
    let mut texts: Vec<String> = Vec::new();
    for source in &report.sources {
        let dataset = match source.dataset.as_str() {
            "sales" => language.choose("Ventes (DVF)", "Sales (DVF)"),
            "diagnostics" => {
                language.choose("Diagnostics (DPE, ADEME)", "Diagnostics (DPE, ADEME)")
            }
            "addresses" => language.choose("Adresses (BAN)", "Addresses (BAN)"),
            layer => layer,
        };
        let day = source.imported_at.get(..10).unwrap_or_default();
        let day = day
            .parse()
            .map_or_else(|_| day.to_owned(), |day| language.day(day));
        texts.push(language.choose(
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
    texts.push(language.choose(
        format!("Modèle {model}, entraîné sur {sales} ventes jusqu’au {through}."),
        format!("Model {model}, trained on {sales} sales until {through}."),
    ));
    vec![heading(title), small(texts.join(" "))]
}
