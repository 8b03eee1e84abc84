//! Tests extraction on complete pages as portals write them; ingestion must accept the adverts.

use super::*;
use serde_json::json;
use toise_listings::adverts::identity::IdentityRules;
use toise_listings::adverts::incoming::IncomingAdvert;

const URL: &str = "https://portail.example/annonce/12";
pub(super) const ENERGY_CLASS: &str = "habitation.climate.epcEnergy";
pub(super) const CLIMATE_CLASS: &str = "habitation.climate.epcClimate";

fn page(html: &str) -> Extraction {
    page_at(URL, html)
}

/// Extracts a page in UTF-8 with a URL.
pub(super) fn page_at(url: &str, html: &str) -> Extraction {
    let page = PageInput {
        url,
        content_type: Some("text/html; charset=utf-8"),
        bytes: html.as_bytes(),
    };
    extract(&page, None)
}

/// Returns whether ingestion accepts the advert of a page.
fn is_accepted(findings: &PageFindings) -> bool {
    let mut advert = findings.advert();
    advert.insert("url".into(), json!(URL));
    let advert = Value::Object(advert);
    IncomingAdvert::read(advert, chrono::Utc::now(), &IdentityRules::default()).is_ok()
}

fn listing(html: &str) -> PageFindings {
    let Extraction { verdict, findings } = page(html);
    assert_eq!(verdict, PageVerdict::Listing, "{findings:#?}");
    assert!(is_accepted(&findings), "{findings:#?}");
    findings
}

fn assert_found(findings: &PageFindings, expected: &[(&str, Value)]) {
    for (path, value) in expected {
        assert_eq!(findings.get(path), Some(value), "{path}");
    }
}

fn json_ld_page(node: &Value) -> String {
    format!(
        "<html><head><script type=\"application/ld+json\">{node}</script></head><body><h1>Annonce</h1></body></html>"
    )
}

/// Returns whether two values are the same; a whole number may also be written with decimals.
pub(super) fn is_same(one: &Value, other: &Value) -> bool {
    one == other || one.as_f64().is_some() && one.as_f64() == other.as_f64()
}

/// Asserts that the flat, described in any format, has the expected findings.
fn assert_flat(findings: &PageFindings, origin: FieldOrigin) {
    for (path, value) in [
        ("type", json!("CLASS_FLAT")),
        ("offer.type", json!("OFFER_BUY")),
        ("currentPrice.value", json!(350_000.0)),
        ("habitation.surface.total", json!(61.5)),
        ("habitation.roomCount", json!(3.0)),
        ("location.postalCode", json!("69003")),
    ] {
        let found = findings.iter().find(|(found, _)| *found == path);
        let (_, found) = found.unwrap_or_else(|| panic!("{path} of {findings:#?}"));
        assert!(is_same(&found.value, &value), "{path}: {found:?}");
        let is_told = !["offer.type", "type"].contains(&path);
        assert!(!is_told || found.origin == origin, "{path}: {found:?}");
    }
}

#[test]
fn json_ld_is_read_in_every_structure_portals_use() {
    let dwelling = json!({
        "@type": "Apartment", "floorSize": {"@type": "QuantitativeValue", "value": 61.5, "unitCode": "MTK"},
        "numberOfRooms": 3, "address": {"@type": "PostalAddress", "postalCode": "69003", "addressLocality": "Lyon"},
        "geo": {"latitude": "45.7598", "longitude": "4.8512"},
    });
    let offer = json!({"@type": "Offer", "price": "350000", "priceCurrency": "EUR", "businessFunction": "http://purl.org/goodrelations/v1#Sell",
        "seller": {"@type": "RealEstateAgent", "name": "Agence du Parc"}});
    let with = |mut node: Value, more: Value| {
        for (key, value) in more.as_object().unwrap() {
            node[key] = value.clone();
        }
        node
    };
    let shapes = [
        json!({"@context": "https://schema.org", "@type": "RealEstateListing", "name": "T3", "about": dwelling, "offers": offer}),
        json!([{"@type": "BreadcrumbList"}, {"@type": ["Product", "Apartment"], "name": "T3", "offers": [offer],
            "floorSize": "61,5 m²", "numberOfRooms": "3", "address": "12 rue Mazenod, 69003 Lyon"}]),
        json!({"@graph": [
            {"@type": "WebPage", "mainEntity": {"@id": "#offer"}},
            with(offer.clone(), json!({"@id": "#offer", "itemOffered": {"@id": "#flat"}})),
            with(dwelling.clone(), json!({"@id": "#flat"})),
        ]}),
        with(
            dwelling.clone(),
            json!({"@type": "http://schema.org/Apartment", "offers": {"@type": "AggregateOffer", "lowPrice": 350000},
            "potentialAction": {"@type": "BuyAction"}, "description": "Appartement à vendre"}),
        ),
        json!({"@type": "Product", "name": "Vente appartement", "offers": with(offer.clone(), json!({"price": "350 000,00"})),
            "additionalProperty": [
                {"@type": "PropertyValue", "name": "Surface", "value": 61.5, "unitText": "m²"},
                {"@type": "PropertyValue", "name": "Pièces", "value": "3"},
                {"@type": "PropertyValue", "name": "Code postal", "value": "69003"},
            ],
            "isSimilarTo": [{"@type": "Product", "name": "autre", "offers": {"price": 1}}]}),
    ];
    for shape in shapes {
        let findings = listing(&json_ld_page(&shape));
        assert_flat(&findings, FieldOrigin::JsonLd);
    }
}

#[test]
fn houses_and_rents_are_recognised_by_type_and_unit() {
    for (kind, class) in [
        ("House", "CLASS_HOUSE"),
        ("SingleFamilyResidence", "CLASS_HOUSE"),
        ("Residence", "CLASS_HOUSE"),
    ] {
        let node = json!({"@type": kind, "name": "Maison", "address": {"postalCode": "48000"},
            "hasEnergyConsumptionDetails": {"hasEnergyEfficiencyCategory": "https://schema.org/EUEnergyEfficiencyCategoryD"},
            "amenityFeature": [{"name": "Piscine", "value": true}, {"name": "Ascenseur", "value": false}],
            "offers": {"priceSpecification": {"@type": "UnitPriceSpecification", "price": 850, "unitCode": "MON"},
                "offeredBy": {"@type": "Person", "name": "Jean", "telephone": "01 02 03 04 05"}}});
        let findings = listing(&json_ld_page(&node));
        let expected = [
            ("type", json!(class)),
            ("offer.type", json!("OFFER_RENT")),
            (ENERGY_CLASS, json!("ENERGY_CLASSIFICATION_D")),
            ("habitation.characteristics.hasPool", json!(true)),
            ("isPro", json!(false)),
            ("contactInCharge.phoneNumber", json!("01 02 03 04 05")),
        ];
        assert_found(&findings, &expected);
        assert!(!findings.has("habitation.characteristics.hasLift"));
    }
}

const MICRODATA: &str = r#"<div itemscope itemtype="https://schema.org/Product"><h1 itemprop="name">Vente appartement</h1>
    <div itemprop="offers" itemscope itemtype="https://schema.org/Offer"><meta itemprop="priceCurrency" content="EUR">
      <b itemprop="price" content="350000">350 000 €</b>
      <div itemprop="itemOffered" itemscope itemtype="https://schema.org/Apartment">
        <span itemprop="floorSize">61,5 m²</span><span itemprop="numberOfRooms">3 pièces</span>
        <p itemprop="address" itemscope itemtype="https://schema.org/PostalAddress">
          <span itemprop="postalCode">69003</span> <span itemprop="addressLocality">Lyon</span></p></div></div></div>"#;

#[test]
fn microdata_is_read_next_to_broken_json_ld() {
    assert_flat(&listing(MICRODATA), FieldOrigin::Microdata);
    let broken = format!(
        "<script type='application/ld+json'>{{\"@type\": \"Product\", \"offers\": {{</script>{MICRODATA}"
    );
    assert_flat(&listing(&broken), FieldOrigin::Microdata);
}

#[test]
fn json_ld_with_raw_line_breaks_and_comments_is_accepted() {
    let node = "<!-- {\"@type\": \"Apartment\", \"description\": \"à vendre\nau calme\", \"address\": {\"postalCode\": \"69003\"},
        \"offers\": {\"price\": 350000}}; -->";
    let findings = listing(&format!("<script type=application/ld+json>{node}</script>"));
    assert_found(&findings, &[("description", json!("à vendre au calme"))]);
}

#[test]
fn open_graph_and_text_fill_fields_without_a_better_source() {
    let findings = listing(
        "<head><meta property='og:title' content='Vente appartement T3 61,5 m² - Lyon 3 (69003)'>
         <meta property='product:price:amount' content='350000.00'></head><body><nav>Location 1 000 € / mois</nav>",
    );
    assert_found(&findings, &[(PRICE, json!(350_000.0))]);
    for path in ["title", PRICE] {
        let (_, found) = findings.iter().find(|(found, _)| *found == path).unwrap();
        assert_eq!(found.origin, FieldOrigin::OpenGraph, "{path}");
    }
    let text = "<title>Appartement 3 pièces à vendre - Lyon 3e</title><nav><a>Louer</a> 1 000 €/mois</nav>
        <main><h1>Appartement 3 pièces 61,5 m² à Lyon (69003)</h1><p class=price><b>350 000</b> €</p>
        <p>Au 2ème étage avec ascenseur, cave. DPE : D. GES : B. Charges de copropriété : 1 200 € / an.</p>
        <p>Réf. 12345</p></main><footer>Maison 990 000 €</footer>";
    let findings = listing(text);
    assert_flat(&findings, FieldOrigin::Text);
    let expected = [
        ("habitation.floor", json!(2)),
        (ENERGY_CLASS, json!("ENERGY_CLASSIFICATION_D")),
        (CLIMATE_CLASS, json!("GREENHOUSE_CLASSIFICATION_B")),
        ("charges.yearlyCondoniumFees", json!(1_200.0)),
    ];
    assert_found(&findings, &expected);
}

#[test]
fn pages_in_other_encodings_are_read() {
    let text = "<title>Appartement 3 pi\u{e8}ces \u{e0} vendre 69003 Lyon</title><p>350 000 \u{20ac} 61,5 m\u{b2}";
    let (bytes, ..) = encoding_rs::WINDOWS_1252.encode(text);
    let page = PageInput {
        url: URL,
        content_type: Some("text/html; charset=ISO-8859-1"),
        bytes: &bytes,
    };
    let extraction = extract(&page, None);
    assert_eq!(extraction.verdict, PageVerdict::Listing);
    assert_flat(&extraction.findings, FieldOrigin::Text);
}

#[test]
fn pages_without_a_listing_are_rejected_with_a_reason() {
    let rejected = |html: &str| match page(html).verdict {
        PageVerdict::Rejected(rejection) => rejection,
        other => panic!("{html}: {other:?}"),
    };
    let list: String = (1..9)
        .map(|n| format!("<p>Vente appartement 69003 Lyon {n}50 000 €"))
        .collect();
    for (html, start, part) in [
        (
            "<form>Mot de passe <input type=password>",
            "login_required: ",
            "",
        ),
        ("<title>Just a moment...</title>", "refused: ", ""),
        ("<h1>Bienvenue</h1>", "not_a_listing: ", "a price"),
        (
            list.as_str(),
            "not_a_listing: the page holds several listings",
            "",
        ),
        ("  ", "unparsable: ", ""),
    ] {
        let why = rejected(html).to_string();
        assert!(why.starts_with(start) && why.contains(part), "{why}");
    }
    let pdf = PageInput {
        url: URL,
        content_type: Some("application/pdf"),
        bytes: b"%PDF",
    };
    assert!(matches!(
        extract(&pdf, None).verdict,
        PageVerdict::Rejected(Rejection::Unparsable(_))
    ));
    let sold = json!({"@type": "Apartment", "address": {"postalCode": "69003"},
        "offers": {"price": 350000, "availability": "https://schema.org/SoldOut"}});
    for gone in [
        json_ld_page(&sold),
        "<h1>Cette annonce n'est plus disponible</h1>".into(),
        "<title>Page introuvable</title>".into(),
    ] {
        assert_eq!(page(&gone).verdict, PageVerdict::Offline, "{gone}");
    }
}

#[test]
fn a_listing_with_a_price_on_request_has_no_price() {
    let findings = listing("<h1>Maison à vendre à Mende (48000)</h1><p>Prix : nous consulter");
    assert_eq!(findings.get("currentPrice.value"), Some(&Value::Null));
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(200))]

    #[test]
    fn mangled_pages_are_read_without_harm(
        cuts in proptest::collection::vec((0usize..4_000, 0usize..60, 0usize..12), 0..12)
    ) {
        let pieces = ["<", ">", "\"", "<div ", "</", "<!--", "{", "}", "\u{0}", "é€", "<script>", "<table><td>"];
        let flat = json!({"@type": "Apartment", "name": "T3", "offers": {"price": 350000}});
        let mut bytes = format!("{}{MICRODATA}<p>Appartement 3 pièces 350 000 € Lyon (69003)", json_ld_page(&flat)).into_bytes();
        for (at, length, piece) in cuts {
            let at = at.min(bytes.len());
            let end = (at + length).min(bytes.len());
            bytes.splice(at..end, pieces[piece].bytes());
        }
        let extraction = extract(&PageInput { url: URL, content_type: None, bytes: &bytes }, None);
        proptest::prop_assert!(extraction.verdict != PageVerdict::Listing || is_accepted(&extraction.findings));
    }
}

#[test]
fn hostile_pages_cost_no_more_than_their_size() {
    let hostile = [
        "<div>".repeat(80_000),
        (0..20_000)
            .map(|n| format!("<b x={n}>"))
            .collect::<String>()
            + &"<p>a".repeat(40_000),
        "<a".to_owned() + &(0..100_000).map(|n| format!(" a{n}")).collect::<String>() + ">",
        "<table><td>".repeat(40_000),
        "<svg><b></svg>".repeat(30_000),
        "<div itemscope itemprop=a>".repeat(20_000),
        "<div itemscope><div itemprop='a b c' itemscope>".to_owned()
            + &"<div itemprop='a b c d e f g h' itemscope><p itemprop=x>1</p>".repeat(120),
        format!(
            "<div itemscope><p itemprop='{}'>{}",
            (0..100_000).map(|n| format!("a{n} ")).collect::<String>(),
            "a".repeat(20_000)
        ),
        format!(
            "<div itemscope>{}",
            ("<b itemprop=a>".repeat(120) + &"a".repeat(20_000) + &"</b>".repeat(120)).repeat(10)
        ),
        "[".repeat(400_000),
        format!(
            "<script type=application/ld+json>{}</script>",
            "[".repeat(400_000)
        ),
        "9 ".repeat(200_000) + "€",
        "€".repeat(150_000),
        "</div>".repeat(80_000),
        "<!--".repeat(100_000),
        "<p>".to_owned() + &"&amp;lt;".repeat(60_000),
    ];
    for html in hostile {
        let started = std::time::Instant::now();
        page(&html);
        let (took, start) = (started.elapsed(), html.chars().take(20));
        let said = format!("{took:?} for {}…", start.collect::<String>());
        println!("{said}");
        // The limit is ten times the duration in an unoptimised build.
        assert!(took.as_secs() < 10, "{said}");
    }
}

fn offer_of(html: &str) -> Option<Value> {
    page(html).findings.get("offer.type").cloned()
}

#[test]
fn an_offer_that_does_not_say_what_it_is_for_is_a_sale_unless_something_says_rent() {
    let with = |price: u32, heading: &str, more: &Value| {
        let mut node = json!({"@type": "Product", "name": "Bel appartement", "offers":
            {"@type": "Offer", "price": price, "priceCurrency": "EUR"}});
        for (key, value) in more.as_object().unwrap() {
            node["offers"][key] = value.clone();
        }
        format!(
            "<html lang=fr><head><script type=\"application/ld+json\">{node}</script></head><body><h1>{heading}</h1></body></html>"
        )
    };
    let annuity = Some("OFFER_LIFE_ANNUITY_SALE");
    let plain = json!({});
    let monthly = json!({"priceSpecification": {"unitCode": "MON"}});
    let lease = json!({"@type": "OfferForLease"});
    let purchase = json!({"@type": "OfferForPurchase"});
    for (price, heading, more, expected) in [
        (350_000, "Bel appartement", &plain, Some("OFFER_BUY")),
        (9_000, "Parking en sous-sol", &plain, None),
        (850, "Bel appartement", &plain, None),
        (850, "Appartement à louer", &plain, Some("OFFER_RENT")),
        (350_000, "Viager occupé", &plain, annuity),
        (850, "Bel appartement", &monthly, Some("OFFER_RENT")),
        (850, "Bel appartement", &lease, Some("OFFER_RENT")),
        (35_000, "Studio", &purchase, Some("OFFER_BUY")),
    ] {
        let html = with(price, heading, more);
        assert_eq!(
            offer_of(&html),
            expected.map(|offer| json!(offer)),
            "{html}"
        );
    }
    let parking = json!({"@type": "Product", "name": "Parking", "offers": {"price": 9_000, "priceCurrency": "EUR"}});
    assert_eq!(offer_of(&json_ld_page(&parking)), Some(json!("OFFER_BUY")));
}

#[test]
fn labels_and_values_are_read_whatever_the_line_breaks_of_the_source() {
    let findings = listing(
        "<html><body><h1>Maison 110 m²</h1><div>\n\t<span>Prix :</span>\n\t\t<span>240 000\n €</span>\n</div>
        <table><tr>\n\n<th>\n Ville : \n</th>\n\n<td>\n Mende\n</td></tr><tr><th>Code postal :</th>\n\n\n<td>\n\n48000\n</td></tr>
        <tr><th>Classe énergie :</th>\n\n\t<td>\n D (de 151 à 230)</td></tr></table><p>Maison à vendre</p></body></html>",
    );
    let expected = [
        ("location.postalCode", json!("48000")),
        ("location.city", json!("Mende")),
        (ENERGY_CLASS, json!("ENERGY_CLASSIFICATION_D")),
        ("offer.type", json!("OFFER_BUY")),
        (PRICE, json!(240_000.0)),
    ];
    assert_found(&findings, &expected);
}

#[test]
fn a_login_beside_a_listing_does_not_hide_it() {
    let form = "<form><input type=text name=login><input type=password></form>";
    let described = format!("<html><body>{form}<h1>Appartement 61 m² à vendre</h1></body></html>");
    let verdict = page(&described).verdict;
    let is_login_ignored = matches!(verdict, PageVerdict::Rejected(Rejection::NotAListing(_)));
    assert!(is_login_ignored, "{verdict:?}");
    let login = format!("<html><body>{form}<h1>Bienvenue</h1></body></html>");
    assert_eq!(
        page(&login).verdict,
        PageVerdict::Rejected(Rejection::LoginRequired)
    );
}

#[test]
fn french_words_are_not_read_into_other_languages() {
    let text = "The property is in a quiet location with parking and an office. Bureau de change, 3 chambers.";
    for html in [
        format!("<html lang=en-GB><body><h1>3 bedroom flat</h1><p>{text}</p></body></html>"),
        format!(
            "<html><body><h1>3 bedroom flat</h1><p>{}</p></body></html>",
            text.repeat(3)
        ),
    ] {
        let findings = page(&html).findings;
        assert_eq!(findings.get("offer.type"), None);
        assert_eq!(findings.get("type"), Some(&json!("CLASS_FLAT")));
        assert_eq!(findings.get("habitation.bedroomCount"), None);
    }
}

#[test]
fn the_place_is_read_from_the_address_and_the_position_from_the_map() {
    let html = "<html lang=fr><head><title>Les Jardins - Programme neuf</title></head><body><h1>Les Jardins</h1>
        <script>var map = new Map({lat: 44.51, lng: 3.4991}); marker(44.5);</script><script>{\"lat\":44.5181,\"lng\":3.4991}</script>
        <p>Appartement à partir de 180 000 €, 2 000 € offerts</p></body></html>";
    let found = |path: &str| page_at(&format!("https://portail.example/{path}"), html).findings;
    for (path, code, city) in [
        ("annonces/mende-48/12", "48095", "Mende"),
        ("annonces/saint-etienne-42/12", "42218", "Saint-Étienne"),
    ] {
        let expected = [
            ("location.inseeCode", json!(code)),
            ("location.city", json!(city)),
            (PRICE, json!(180_000.0)),
        ];
        assert_found(&found(path), &expected);
    }
    let paris = found("achat/paris-14eme-75/12.htm");
    assert_found(&paris, &[("location.postalCode", json!("75014"))]);
    let position = paris.iter().find(|(path, _)| *path == POSITION);
    let (_, position) = position.unwrap();
    assert_eq!(position.value, json!([3.4991, 44.5181]));
    assert_eq!(position.origin, FieldOrigin::Script);
}
