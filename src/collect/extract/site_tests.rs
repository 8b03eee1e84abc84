//! Tests extraction on handwritten pages in `pages/`, which imitate faults seen on pages of real sites.

use super::tests::{CLIMATE_CLASS, ENERGY_CLASS, is_same, page_at};
use super::*;

const URL: &str = "https://agence.example/12";
const LIFT: &str = "habitation.characteristics.hasLift";

/// Asserts that a page is a listing with these values; null means that the field is not found.
fn assert_listing(html: &str, url: &str, expected: &[(&str, Value)]) {
    let Extraction { verdict, findings } = page_at(url, html);
    assert_eq!(verdict, PageVerdict::Listing, "{findings:#?}");
    for (path, value) in expected {
        let found = findings.get(path).cloned().unwrap_or_default();
        assert!(is_same(&found, value), "{path}: {found} is not {value}");
    }
}

fn rejection(html: &str) -> String {
    match page_at("https://portail.example/page/1", html).verdict {
        PageVerdict::Rejected(rejection) => rejection.to_string(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_scale_is_no_class_and_similar_listings_are_not_read() {
    assert_listing(
        include_str!("pages/sale_with_scale_and_strip.html"),
        "https://agence.example/bien/4512",
        &[
            ("currentPrice.value", json!(148_000)),
            ("habitation.roomCount", json!(3)),
            ("habitation.bedroomCount", json!(2)),
            ("habitation.surface.total", json!(64)),
            (ENERGY_CLASS, Value::Null),
            ("habitation.climate.epcEnergyScore", json!(328)),
            (CLIMATE_CLASS, json!("GREENHOUSE_CLASSIFICATION_C")),
            (LIFT, json!(false)),
            ("charges.yearlyCondoniumFees", json!(960)),
            ("location.city", json!("Mende")),
        ],
    );
}

#[test]
fn charges_of_a_rental_are_those_of_the_tenant() {
    assert_listing(
        include_str!("pages/rental_with_charges.html"),
        "https://agence.example/bien/12",
        &[
            ("offer.type", json!("OFFER_RENT")),
            ("currentPrice.value", json!(380)),
            ("charges.yearlyRentalFees", json!(180)),
            ("charges.yearlyCondoniumFees", Value::Null),
            ("warrantyDeposit", json!(380)),
            (ENERGY_CLASS, json!("ENERGY_CLASSIFICATION_C")),
            (CLIMATE_CLASS, json!("GREENHOUSE_CLASSIFICATION_A")),
            (LIFT, json!(false)),
        ],
    );
}

#[test]
fn the_text_corrects_markup_that_contradicts_it() {
    assert_listing(
        include_str!("pages/contradictory_markup.html"),
        "https://agence.example/bien/f2",
        &[
            ("offer.type", json!("OFFER_RENT")),
            ("currentPrice.value", json!(510)),
            ("currency", Value::Null),
            ("title", json!("F2 à louer – proche gare")),
            ("location.city", json!("Mende")),
            ("charges.yearlyRentalFees", json!(480)),
            ("charges.yearlyCondoniumFees", Value::Null),
            (ENERGY_CLASS, Value::Null),
        ],
    );
}

#[test]
fn the_town_is_that_of_the_listing_not_of_the_agency() {
    assert_listing(
        include_str!("pages/town_in_title_only.html"),
        "https://agence.example/bien/88",
        &[
            ("location.city", json!("Lyon")),
            ("location.postalCode", Value::Null),
        ],
    );
    assert_listing(
        include_str!("pages/town_in_address.html"),
        "https://agence.example/?p=87",
        &[
            ("location.city", json!("Nice")),
            ("location.postalCode", json!("06200")),
        ],
    );
}

#[test]
fn lists_front_pages_and_pages_of_bot_protection_are_no_listings() {
    let list = "not_a_listing: the page holds several listings";
    let wall = "refused: the page blocks programs";
    for (html, reason) in [
        (include_str!("pages/list_as_aggregate.html"), list),
        (include_str!("pages/list_of_an_agency.html"), list),
        (include_str!("pages/list_of_one.html"), list),
        (include_str!("pages/list_with_login.html"), list),
        (include_str!("pages/front_page.html"), list),
        (include_str!("pages/wall_datadome.html"), wall),
        (include_str!("pages/wall_cloudflare.html"), wall),
    ] {
        assert_eq!(rejection(html), reason, "{html}");
    }
}

/// A page of a flat to rent in Le Havre, with further HTML.
fn flat_to_rent(more: &str) -> String {
    let heading = "<h1>Appartement à louer 2 pièces 42 m² Le Havre (76600)</h1><p>490 € / mois</p>";
    let text = "Au calme, au deuxième étage d'une petite copropriété bien tenue, proche des commerces et de la plage, le séjour \
        donne sur une cour arborée et la cuisine est équipée. Libre au premier janvier, visites sur rendez-vous.";
    format!("<html lang=fr><body>{heading}<p>{text}</p>{more}</body></html>")
}

fn letters(current: &str, drawn: &str) -> String {
    let scale = ["A", "B", "C", "D", "E", "F", "G"];
    let draw = |letter: &str| {
        if letter == current {
            return drawn.to_owned();
        }
        format!("<li><span class=text-transparent>{letter}</span></li>")
    };
    scale.map(draw).concat()
}

#[test]
fn the_current_class_is_read_however_the_page_draws_it() {
    let label = "<h3>Diagnostic de performance énergétique (DPE)</h3>";
    let bold = letters("E", "<li><span class=font-bold>E</span></li>");
    let scored = "<li class='dpe--active'>E <strong>303 <span>kWh/m2.an</span></strong></li>";
    let scored = letters("E", scored).replace("class=text-transparent", "");
    for more in [
        format!("{label}<ul>{bold}</ul>"),
        format!("{label}<ul>{scored}</ul>"),
        "<div class='scale numberE'><span>303</span> <abbr>KWh/m².an</abbr></div>".to_owned(),
        "<img src='/img/etiquette_DPE-Energie_E.svg?v=2'>".to_owned(),
    ] {
        let expected = (ENERGY_CLASS, json!("ENERGY_CLASSIFICATION_E"));
        assert_listing(&flat_to_rent(&more), URL, &[expected]);
    }
}

#[test]
fn a_home_marked_as_rented_is_offline() {
    for mark in [
        "<p class=status>Loué !</p>",
        "<button>Dépôt de candidature : déjà loué</button>",
    ] {
        let html = flat_to_rent(mark);
        let verdict = page_at(URL, &html).verdict;
        assert_eq!(verdict, PageVerdict::Offline, "{mark}");
    }
    for other in [
        "<p>Nous avons loué la cave à un voisin.</p>",
        "<ul><li>Acheter</li><li>Louer</li><li>Loué</li></ul>",
        "<div><a href='/13'>Studio 20 m², 400 € par mois</a><p>Loué</p></div>",
    ] {
        assert_listing(&flat_to_rent(other), URL, &[]);
    }
}

#[test]
fn a_page_whose_subheading_counts_listings_is_a_list() {
    let cards = [("26,89", "474"), ("23,78", "450")].map(|(area, rent)| {
        format!(
            "<div><h3>{area} m², 2 pièces, Appartement F2 à louer, {rent} € par mois</h3></div>"
        )
    });
    let cards = cards.concat();
    let html = format!(
        "<html lang=fr><body><h1>Appartement à louer Le Havre (76600)</h1><h2>4 annonces immobilières :</h2>{cards}</body></html>"
    );
    let reason = "not_a_listing: the page holds several listings";
    assert_eq!(rejection(&html), reason);
    let of_agency = flat_to_rent("<h2>Cette agence propose 12 biens</h2>");
    assert_listing(&of_agency, URL, &[]);
}

#[test]
fn the_rent_includes_charges_where_the_page_states_both() {
    let more = "<p>Loyer : 490 euros + 25 euros de provisions pour charges</p>\
        <p>Loyer : 515 € par mois charges comprises</p>";
    assert_listing(&flat_to_rent(more), URL, &[(PRICE, json!(515))]);
    // The rent above the text is stated with charges, so another one is that of something else.
    let more = "<p>Loyer : 490 € CC</p><p>Avec le parking : 540 € par mois charges comprises</p>";
    assert_listing(&flat_to_rent(more), URL, &[(PRICE, json!(490))]);
}

#[test]
fn what_is_drawn_elsewhere_is_no_class() {
    let scale = [("0 - 70", "a"), ("71 - 110", "b"), ("111 - 180", "c")];
    let scale =
        scale.map(|(limits, letter)| format!("<li class='dpe-{letter}'>{limits} kWh/m²/an</li>"));
    for more in [
        scale.concat(),
        "<div class=similar><img src='/dpe_f.svg'></div>".to_owned(),
        "<footer><img src='/img/dpe-g.png'></footer>".to_owned(),
    ] {
        assert_listing(&flat_to_rent(&more), URL, &[(ENERGY_CLASS, Value::Null)]);
    }
}

#[test]
fn rooms_alone_are_a_flat_and_country_houses_are_not() {
    let of = |heading: &str| {
        let html = format!(
            "<html lang=fr><body><h1>{heading} Chamonix-Mont-Blanc (74400)</h1><p>À vendre 250 000 €</p></body></html>"
        );
        let found = page_at(URL, &html).findings;
        found.get("type").cloned().unwrap_or_default()
    };
    assert_eq!(of("Superbe 2 pièces avec parking"), json!("CLASS_FLAT"));
    assert_eq!(of("Chalet 5 pièces"), Value::Null);
    assert_eq!(of("Ferme à rénover 4 pièces"), Value::Null);
}
