//! Tests that reports of the largest size fit in both languages, and that nothing overlaps.

use chrono::NaiveDate;
use serde_json::json;

use crate::figure::{Align, Item};
use crate::fonts::MeasuredFont;
use crate::letterhead::Letterhead;
use crate::model::*;
use crate::{Language, content, html, pdf};

/// Number of points by which boxes of texts may overlap, since letters rarely fill them.
const TOLERANCE: f32 = 1.0;

fn day(year: i32, month: u32) -> NaiveDate {
    NaiveDate::from_ymd_opt(year, month, 15).unwrap()
}

fn sale(nth: usize) -> ReportedSale {
    ReportedSale {
        id: format!("sale-{nth}"),
        date: day(2024, 1 + nth as u32),
        price: Some(1_250_000.0 + nth as f64),
        price_per_m2: Some(10_120.0),
        class: Some("FLAT".into()),
        surface_m2: Some(123.5),
        room_count: Some(5.0),
        land_surface_m2: Some(1_250.0),
        address: Some("128 BIS AVENUE DU GENERAL DE GAULLE RESIDENCE DES OLIVIERS".into()),
        insee_code: Some("83137".into()),
        is_sold_together: nth == 1,
        distance_m: Some(100.0 * nth as f64),
        location: Some(SalePosition {
            lat: 43.12 + nth as f64 * 0.001,
            lon: 5.93,
        }),
    }
}

/// Returns a report in which every list is as long as it can be.
fn full() -> HomeReport {
    let part = |feature, eur| ValuePart { feature, eur };
    let quarters = |level| PricePath {
        level,
        name: "Saint-Remy-en-Bouzemont-Saint-Genest-et-Isson".into(),
        quarters: (0..32)
            .map(|nth| QuarterPrice {
                period: format!("{}-Q{}", 2018 + nth / 4, nth % 4 + 1),
                median: 3_000.0 + 50.0 * f64::from(nth),
                sales: 12,
            })
            .collect(),
    };
    HomeReport {
        date: day(2026, 11),
        home: ReportedHome {
            address: Some(
                "128 bis Avenue du Général de Gaulle 51290 Saint-Remy-en-Bouzemont".into(),
            ),
            address_id: Some("83137_1234_00128_bis".into()),
            precision: "ADDRESS",
            latitude: 43.12,
            longitude: 5.93,
            insee_code: "83137".into(),
            commune: "Toulon".into(),
            department: "83".into(),
            class: "CLASS_FLAT",
            surface_m2: 123.5,
            room_count: Some(5.0),
            bedroom_count: Some(3.0),
            land_surface_m2: Some(40.0),
            construction_year: Some(1974),
            floor: Some(3.0),
            energy: Some('D'),
        },
        estimate: ReportedEstimate {
            price: 1_234_567.0,
            lower: 1_100_000.0,
            upper: 1_400_000.0,
            price_per_m2: 9_996.0,
            confidence: "LOW",
            fallback: "none",
            warning: Some("sales_far_away"),
            contributions: vec![
                part("typicalHome", 300_000.0),
                part("location", 650_000.0),
                part("comparables", -40_000.0),
                part("surface", 250_000.0),
                part("roomCount", 12_000.0),
                part("landSurface", 5_000.0),
                part("epcEnergy", -9_000.0),
                part("constructionYear", 20_000.0),
                part("date", 30_000.0),
                part("hasLift", 16_567.0),
            ],
            model: "b4821555d7599883".into(),
            data_through: "2026-06-30".into(),
            model_sales: 4_812_345,
        },
        comparables: (0..5).map(sale).collect(),
        price_path: vec![quarters("commune"), quarters("department")],
        diagnostics: BuildingDiagnostics {
            total: 1_234,
            classes: ('A'..='G').zip([1, 4, 20, 50, 15, 7, 3]).collect(),
            latest: (0..5)
                .map(|nth| ReportedDiagnostic {
                    numero_dpe: format!("2483E00000{nth}"),
                    date: Some(day(2024, 1 + nth)),
                    energy: Some('D'),
                    climate: Some('B'),
                    surface_m2: Some(61.3),
                    floor: Some(2.0),
                    energy_kwh_m2: Some(234.0),
                })
                .collect(),
        },
        parcel: ParcelSales {
            ids: vec!["83137000CM0123".into(), "83137000CM0124".into()],
            total: 42,
            latest: (0..6).map(sale).collect(),
        },
        market: Some(PlaceMarket {
            name: "Toulon".into(),
            from: Some(day(2025, 7)),
            to: Some(day(2026, 6)),
            sales: Some(3_456.0),
            price_per_m2_q1: Some(2_300.0),
            price_per_m2_median: Some(3_100.0),
            price_per_m2_q3: Some(4_200.0),
            stock: Some(1_210.0),
            asking_price_per_m2: Some(3_350.0),
            days_on_market: Some(74.0),
            rent_per_m2: Some(13.4),
            gross_yield: Some(5.2),
        }),
        layers: (0..6)
            .map(|nth| LayerNearby {
                name: format!("layer_with_a_long_name_{nth}"),
                is_inside: nth == 0,
                distance_m: 350.0 * f64::from(nth),
                attributes:
                    json!({"name": "Zone rouge du plan de prévention des risques", "level": 3})
                        .as_object()
                        .unwrap()
                        .clone(),
            })
            .collect(),
        sources: (0..9)
            .map(|nth| ReportSource {
                dataset: format!("layer_with_a_long_name_{nth}"),
                name: "https://files.example/opendata/zones-inondables-2026.geojson".into(),
                licence: "Licence Ouverte 2.0".into(),
                imported_at: "2026-11-15T10:00:00.000Z".into(),
            })
            .collect(),
        surroundings: Surroundings::default(),
    }
}

fn letterhead() -> Letterhead {
    Letterhead {
        logo: None,
        text: "Agence du Port\n12 quai Cronstadt, 83000 Toulon\n04 94 00 00 00".into(),
    }
}

#[test]
fn the_largest_report_fits_on_two_pages_without_overlaps() {
    for language in [Language::French, Language::English] {
        let document = content::write(&full(), language);
        let (pages, is_complete) = pdf::layout(&document, &letterhead(), "28 novembre 2026");
        assert!(is_complete, "{language:?}: the pages are too long");
        for page in &pages {
            let mut boxes: Vec<([f32; 4], &str)> = Vec::new();
            for item in &page.items {
                let Item::Text(text) = item else { continue };
                let width = MeasuredFont::of(text.is_bold).width(&text.text, text.size);
                let left = match text.align {
                    Align::Start => text.at[0],
                    Align::Middle => text.at[0] - width / 2.0,
                    Align::End => text.at[0] - width,
                };
                let own = [
                    left + TOLERANCE,
                    text.at[1] - text.size * 0.7,
                    left + width - TOLERANCE,
                    text.at[1],
                ];
                let is_on_page = own[0] > 30.0 && own[2] < 565.0 && own[1] > 20.0 && own[3] < 830.0;
                assert!(is_on_page, "{:?} is at {own:?}", text.text);
                for (other, words) in &boxes {
                    let is_apart = own[2] <= other[0]
                        || other[2] <= own[0]
                        || own[3] <= other[1]
                        || other[3] <= own[1];
                    assert!(is_apart, "{language:?}: {:?} overlaps {words:?}", text.text);
                }
                boxes.push((own, &text.text));
            }
        }
    }
}

#[test]
fn both_languages_say_the_value_and_every_section() {
    for (language, expected) in [
        (
            Language::French,
            [
                "1\u{202f}234\u{202f}567\u{a0}€",
                "Ventes comparables",
                "Diagnostics",
                "Alentours",
                "noindex",
            ],
        ),
        (
            Language::English,
            [
                "€1,234,567",
                "Comparable sales",
                "Energy diagnostics",
                "Around the home",
                "noindex",
            ],
        ),
    ] {
        let document = content::write(&full(), language);
        let page = html::write(&document, &letterhead(), "day");
        for text in expected {
            assert!(page.contains(text), "{text:?} is not in the page");
        }
        assert!(!page.contains("<script"), "no page needs scripts");
    }
}

#[test]
fn texts_of_others_are_escaped() {
    let mut report = full();
    report.home.address = Some("<img src=x onerror=alert(1)>".into());
    report.layers[0].name = "<b>".into();
    let page = html::write(
        &content::write(&report, Language::English),
        &Letterhead {
            logo: None,
            text: "<i>".into(),
        },
        "day",
    );
    for markup in ["<img src=x", "<b>", "<i>"] {
        assert!(!page.contains(markup), "{markup}");
    }
}

#[test]
fn a_pdf_is_the_same_for_the_same_report() {
    let document = content::write(&full(), Language::French);
    let date = day(2026, 11);
    let write = || pdf::write(&document, &letterhead(), date, "15 novembre 2026").unwrap();
    let bytes = write();
    assert!(bytes.starts_with(b"%PDF-"));
    assert_eq!(bytes, write());
}

#[test]
fn a_report_of_an_unknown_place_says_so() {
    let report = HomeReport {
        comparables: Vec::new(),
        price_path: Vec::new(),
        diagnostics: BuildingDiagnostics::default(),
        parcel: ParcelSales::default(),
        market: None,
        layers: Vec::new(),
        sources: Vec::new(),
        home: ReportedHome {
            address: None,
            address_id: None,
            precision: "POSITION",
            ..full().home
        },
        ..full()
    };
    let page = html::write(
        &content::write(&report, Language::French),
        &Letterhead::default(),
        "jour",
    );
    for text in [
        "43.12000, 5.93000 (Toulon)",
        "Aucune vente semblable",
        "L’adresse exacte n’est pas connue",
        "La parcelle du bien n’est pas connue",
        "Rien n’est connu de ce marché",
    ] {
        assert!(page.contains(text), "{text:?} is not in the page");
    }
}
