//! Tests of what ingestion relies on: pairs judged as a person would judge them, results independent of order, and
//! encoded bytes that are read back or refused.

use serde_json::{Value, json};
use uuid::Uuid;

use super::*;
use crate::weights::ComparedField;
use toise_contract::listings::Advert;
use toise_contract::listings::codes::FlxId;
use toise_contract::read::read;

/// A complete advert of an agency's flat.
pub(super) fn flat() -> Value {
    json!({
        "url": "https://toits-et-murs.example/annonce/1", "source": "toits-et-murs.example", "type": "CLASS_FLAT",
        "offer": {"type": "OFFER_BUY"}, "currentPrice": {"value": 312_000},
        "title": "Appartement 3 pièces",
        "description": "Au cœur de la Butte-aux-Cailles, au 3e étage d'un immeuble de 1932 bien tenu, appartement \
            traversant de trois pièces de 61,35 m² Carrez : entrée, séjour de 24 m² sur rue calme, cuisine équipée de \
            9,5 m², deux chambres de 12,4 et 10,8 m² sur cour arborée. Réf. VA-4812",
        "location": {
            "postalCode": "75013", "inseeCode": "75113",
            "locationCoordinate": {"location": [2.358_123, 48.826_241]},
        },
        "habitation": {
            "roomCount": 3, "bedroomCount": 2, "floor": 3, "surface": {"total": 61.35},
            "features": {"propertyTotalFloor": 6}, "propertyCondition": {"constructionYear": 1932},
            "climate": {
                "epcEnergy": "ENERGY_CLASSIFICATION_D", "epcEnergyScore": 214,
                "epcClimate": "GREENHOUSE_CLASSIFICATION_D", "epcClimateScore": 38,
            },
        },
        "medias": {"images": [
            {"gaussianHash": "b9b0b2f131b82769", "imageId": "1", "meanHash": "0dd9a1cb4b27de72",
             "perceptualHash": "e4097545c922a10e", "differenceHash": "d090cd2b470706f0"},
            {"gaussianHash": "f30aee80f2a735f2", "imageId": "2", "meanHash": "614c8ef911f52a99",
             "perceptualHash": "a8780601c93e7be1", "differenceHash": "d1b4271e463a1c66"},
            {"gaussianHash": "97d91896c816f6b7", "imageId": "3", "meanHash": "115b2e80235e71b5",
             "perceptualHash": "5449dac18f512a1c", "differenceHash": "9f7fde96e71fa9cb"},
        ]},
        "isPro": true, "seller": {"name": "Agence des Cinq Diamants", "siren": "123456780", "type": "SELLER_TYPE_AGENCY"},
        "firstSeenAt": "2026-01-12T07:41:09Z", "lastSeenAt": "2026-03-20T06:12:44Z", "isOnline": true,
    })
}

/// A document with some of its fields replaced.
fn with(mut document: Value, changes: &[(&str, Value)]) -> Value {
    for (pointer, value) in changes {
        let (parent, key) = pointer.rsplit_once('/').unwrap();
        let parent = document.pointer_mut(parent).unwrap();
        parent
            .as_object_mut()
            .unwrap()
            .insert(key.to_owned(), value.clone());
    }
    document
}

/// The same flat on another portal.
fn elsewhere(changes: &[(&str, Value)]) -> Value {
    let moved = [
        ("/url", json!("https://immo-cle.example/annonce/9")),
        ("/source", json!("immo-cle.example")),
    ];
    with(with(flat(), &moved), changes)
}

pub(super) fn fingerprint(document: &Value) -> Fingerprint {
    Fingerprint::from_advert(&read::<Advert>(document).unwrap())
}

fn assigned(advert: &Fingerprint, candidates: &[AssignmentCandidate]) -> Assignment {
    let around = Surroundings::default();
    assign(advert, candidates, &around, Thresholds::default())
}

fn joined(property: u128) -> Option<FlxId> {
    Some(FlxId(Uuid::from_u128(property)))
}

fn judged(other: &Value) -> Comparison {
    compare(&fingerprint(&flat()), &fingerprint(other))
}

#[track_caller]
fn assert_same(found: &Comparison) {
    assert_eq!(verdict(found), DedupVerdict::Same, "{found:?}");
}

#[track_caller]
fn assert_not_same(found: &Comparison) {
    assert_ne!(verdict(found), DedupVerdict::Same, "{found:?}");
}

fn verdict(found: &Comparison) -> DedupVerdict {
    found.verdict(Thresholds::default())
}

/// Returns the evidence of a field.
fn evidence(found: &Comparison, field: ComparedField) -> Option<FieldEvidence> {
    let mut all = found.evidence.iter().copied();
    all.find(|one| one.field == field)
}

fn share_a_block(one: &Value, other: &Value) -> bool {
    let blocks = fingerprint(one).blocks();
    fingerprint(other)
        .probes()
        .iter()
        .any(|key| blocks.contains(key))
}

#[test]
fn a_copy_on_another_portal_is_the_same_asset() {
    let copy = judged(&elsewhere(&[]));
    assert_same(&copy);
    assert!(copy.probability() > 0.999);
}

#[test]
fn rounding_blurring_a_late_price_cut_and_a_truncated_text_do_not_prevent_a_match() {
    let other = elsewhere(&[
        ("/habitation/surface", json!({"total": 61})),
        ("/currentPrice", json!({"value": 319_000})),
        (
            "/location",
            json!({
                "inseeCode": "75113", "locationCoordinate": {"location": [2.361_3, 48.828_0]}
            }),
        ),
        (
            "/description",
            json!(
                "Au cœur de la Butte-aux-Cailles, au 3e étage d'un immeuble de 1932 bien tenu, \
            appartement traversant de trois pièces de 61,35 m² Carrez : entrée, séjour de 24 m² sur…"
            ),
        ),
    ]);
    assert!(share_a_block(&flat(), &other) && share_a_block(&other, &flat()));
    assert_same(&judged(&other));
}

#[test]
fn another_agencys_own_words_and_pictures_do_not_prevent_a_match() {
    let other = elsewhere(&[
        (
            "/seller",
            json!({"name": "Étude Vauban", "siren": "987654320", "type": "SELLER_TYPE_AGENCY"}),
        ),
        (
            "/description",
            json!(
                "Proche du métro, venez visiter ce bel appartement lumineux de 61,35 m² au troisième, \
            séjour de 24 m², chambres de 12,4 et 10,8 m². Mandat n° 99120"
            ),
        ),
        ("/medias", Value::Null),
    ]);
    assert_same(&judged(&other));
}

#[test]
fn a_twin_on_another_floor_of_the_building_is_another_asset() {
    let description = flat()["description"]
        .as_str()
        .unwrap()
        .replace("3e étage", "5e étage")
        .replace("4812", "4813");
    let twin = elsewhere(&[
        ("/habitation/floor", json!(5)),
        ("/description", json!(description)),
        ("/currentPrice", json!({"value": 318_000})),
    ]);
    assert!(share_a_block(&flat(), &twin));
    // Same agency, pictures and scores: too similar to rule out, not enough to merge.
    assert_not_same(&judged(&twin));
}

#[test]
fn two_adverts_of_one_agency_online_together_on_one_portal_need_strong_evidence() {
    let apart = [
        ("/url", json!("https://toits-et-murs.example/annonce/2")),
        ("/medias", Value::Null),
        ("/habitation/floor", Value::Null),
        ("/habitation/climate", Value::Null),
        ("/location/locationCoordinate", Value::Null),
    ];
    let words = json!("Appartement de trois pièces à la Butte-aux-Cailles, au calme.");
    let together = with(with(flat(), &apart), &[("/description", words)]);
    assert_not_same(&judged(&together));
    // A shared reference of the agency is strong evidence.
    let numbered = with(flat(), &apart);
    assert_same(&judged(&numbered));
}

#[test]
fn consecutive_references_show_two_homes_even_if_the_seller_is_unknown() {
    let numbered = |reference: &str| {
        let changes = [
            ("/reference", json!(reference)),
            ("/description", Value::Null),
            ("/seller", Value::Null),
        ];
        fingerprint(&with(flat(), &changes))
    };
    let bits = |one: &str, other: &str| {
        let found = compare(&numbered(one), &numbered(other));
        assert!(!found.one_seller);
        evidence(&found, ComparedField::Reference).unwrap().bits
    };
    assert!(bits("6138MS", "6139 MS") < -3.0);
    assert!(bits("6138MS", "7139MS") > 0.0);
    assert!(bits("6138MS", "6138-MS") > 0.0);
}

#[test]
fn texts_without_a_common_figure_show_nothing_if_both_have_one_diagnostic() {
    let words =
        "Bel appartement lumineux et calme, à 250 m du parc et à 600 m du métro, avec cave.";
    let changes = [
        ("/description", json!(words)),
        ("/seller", json!({"name": "Agence du Canal"})),
    ];
    let copy = elsewhere(&changes);
    let bits = |other: &Value| {
        let figures = evidence(&judged(other), ComparedField::Figures);
        figures.unwrap().bits
    };
    assert_eq!(bits(&copy), 0.0);
    let score = ("/habitation/climate/epcEnergyScore", json!(180));
    assert!(bits(&with(copy, &[score])) < -1.0);
}

#[test]
fn two_agencies_may_show_one_home_on_one_portal_at_the_same_time() {
    let second = with(
        elsewhere(&[("/seller", json!({"name": "Agence du Canal"}))]),
        &[
            ("/source", json!("toits-et-murs.example")),
            ("/url", json!("https://toits-et-murs.example/annonce/2")),
            ("/contactInCharge", Value::Null),
        ],
    );
    assert_same(&judged(&second));
}

#[test]
fn flats_of_a_programme_stay_apart_despite_equal_texts_and_pictures() {
    let new =
        json!({"constructionYear": 2027, "generalConditions": ["GENERAL_CONDITION_TO_BE_BUILT"]});
    let words = json!(
        "Nouveau programme : des appartements du studio au quatre pièces, livraison en 2027."
    );
    let lot = |document: Value| {
        with(
            document,
            &[
                ("/habitation/propertyCondition", new.clone()),
                ("/description", words.clone()),
            ],
        )
    };
    let next = lot(elsewhere(&[
        ("/habitation/floor", json!(4)),
        ("/currentPrice", json!({"value": 315_000})),
    ]));
    let first = fingerprint(&lot(flat()));
    assert_eq!(
        compare(&first, &fingerprint(&next)).veto,
        Some(Veto::Programme)
    );
    let copy = fingerprint(&lot(elsewhere(&[])));
    assert_same(&compare(&first, &copy));
    // A portal shows a lot under the programme's class; the programme itself is not one of its flats.
    let shown = [("/type", json!("CLASS_PROGRAM"))];
    let own_lot = fingerprint(&lot(elsewhere(&shown)));
    assert_eq!(compare(&first, &own_lot).veto, None);
    let without_area = with(
        elsewhere(&shown),
        &[
            ("/habitation/surface", Value::Null),
            ("/habitation/floor", Value::Null),
        ],
    );
    let programme = fingerprint(&lot(without_area));
    assert_eq!(compare(&first, &programme).veto, Some(Veto::Programme));
}

/// A thin advert of one unit of a programme, without text: price, surface and rooms.
fn unit(address: &str, title: &str) -> Fingerprint {
    fingerprint(&json!({
        "url": address, "source": "neuf.example", "type": "CLASS_FLAT", "title": title,
        "offer": {"type": "OFFER_BUY"}, "currentPrice": {"value": 181_538},
        "location": {"postalCode": "33000", "inseeCode": "33063"},
        "habitation": {"roomCount": 2, "surface": {"total": 47}},
        "firstSeenAt": "2026-01-12T07:41:09Z", "lastSeenAt": "2026-03-20T06:12:44Z", "isOnline": true,
    }))
}

#[test]
fn units_that_one_page_shows_are_two_homes() {
    let page = "https://www.a.example/programme/bordeaux-33/264725651/?view=list&unitId=";
    let title = "Appartement à vendre - neuf - Bordeaux - 181 538 € - 2 pièces, 47 m²";
    let one = unit(&format!("{page}264725859"), title);
    let other = unit(&format!("{page}264725863"), title);
    assert_eq!(compare(&one, &other).veto, Some(Veto::Programme));
    assert_eq!(compare(&one, &one).veto, None);
    // They show that the price is not rare here.
    let around: Surroundings = [other; 9]
        .iter()
        .map(|other| Agreements::between(&one, other))
        .collect();
    assert_eq!(around.lookalikes(), 9);
    assert_eq!(Fingerprint::decode(&one.encode()), Ok(one));
    let outlined = Outline::decode(&other.outline()).unwrap();
    assert_eq!(outlined.agreements(&one), Agreements::between(&one, &other));
}

#[test]
fn lots_of_one_price_that_a_portal_shows_together_are_not_merged() {
    let title = "Appartement à vendre - neuf - Bordeaux - 181 538 € - 2 pièces, 47 m²";
    let of = |page: &str, title: &str| unit(&format!("https://a.example/{page}"), title);
    let (one, other) = (of("biens/1", title), of("biens/2", title));
    assert!(one.new_build && of("programme/1", "Appartement").new_build);
    assert!(!of("biens/1", "Appartement à vendre").new_build);
    let found = compare(&one, &other);
    assert_not_same(&found);
    let on = |storey: &str| of("biens/3", &format!("{title}, {storey}"));
    let (third, fourth) = (on("3ème étage"), on("Étage 4/5"));
    assert_eq!((third.floor, fourth.floor), (Some(3), Some(4)));
    assert_eq!(compare(&third, &fourth).veto, Some(Veto::Programme));
}

#[test]
fn homes_of_one_text_that_names_several_count_as_lots() {
    let of = |text: &str, price: u32| {
        let url = json!(format!("https://toits-et-murs.example/annonce/{price}"));
        let changes = [
            ("/url", url),
            ("/description", json!(text)),
            ("/currentPrice", json!({"value": price})),
            ("/seller", Value::Null),
            ("/medias", Value::Null),
        ];
        fingerprint(&with(flat(), &changes))
    };
    let text = "Au sein de l'écoquartier des Docks, la nouvelle résidence propose des appartements avec balcon, cave et \
        stationnement, à deux pas des écoles, des commerces et du tramway.";
    let lots = compare(&of(text, 249_000), &of(text, 256_000));
    assert_eq!(lots.veto, Some(Veto::Programme));
    assert!(compare(&of(text, 249_000), &of(text, 249_000)).programme);
    assert!(
        !of(
            "Copropriété de 45 lots, charges annuelles de 900 euros.",
            249_000
        )
        .names_lots
    );
    assert!(!of("Copropriété de 14 logements, sans procédure.", 249_000).names_lots);
    assert!(!of("Une résidence intime de 14 logements.", 249_000).names_lots);
    let building = [
        ("/type", json!("CLASS_BUILDING")),
        (
            "/description",
            json!("Immeuble de rapport composé de 4 logements."),
        ),
    ];
    assert!(!fingerprint(&with(flat(), &building)).names_lots);
    let one_home = text.replace("écoquartier", "îlot").replace("nouvelle ", "");
    let repriced = compare(&of(&one_home, 249_000), &of(&one_home, 247_000));
    assert!(!repriced.programme);
}

#[test]
fn rooms_of_one_shared_flat_stay_apart_despite_one_text_and_one_surface() {
    let text = "Chambre dans une colocation de quatorze personnes : grande maison rénovée avec jardin, cuisine équipée, \
        trois salles de bains, buanderie et local pour les vélos, proche du tramway et de l'université.";
    let room = |number: u32, rent: u32| {
        fingerprint(&with(
            flat(),
            &[
                (
                    "/url",
                    json!(format!("https://toits-et-murs.example/annonce/{number}")),
                ),
                ("/offer", json!({"type": "OFFER_RENT"})),
                ("/currentPrice", json!({"value": rent})),
                ("/habitation/surface", json!({"total": 340})),
                ("/title", json!("Maison à louer")),
                ("/description", json!(text)),
                ("/seller", Value::Null),
            ],
        ))
    };
    let first = room(1, 579);
    assert!(first.is_room);
    for other in [room(2, 545), room(3, 579)] {
        assert_eq!(compare(&first, &other).veto, Some(Veto::Programme));
    }
}

#[test]
fn parking_places_of_one_text_and_price_stay_apart_unless_a_reference_identifies_them() {
    let place = |changes: &[(&str, Value)]| {
        let of_place = [
            ("/type", json!("CLASS_PARKING")),
            ("/currentPrice", json!({"value": 18_500})),
            ("/habitation", Value::Null),
            (
                "/description",
                json!(
                    "Place en sous-sol d'une résidence sécurisée, accès par badge, proche du métro et des commerces."
                ),
            ),
        ];
        fingerprint(&with(with(flat(), &of_place), changes))
    };
    let numbered = |number: u32| json!(format!("https://toits-et-murs.example/annonce/{number}"));
    let one = place(&[]);
    let next = place(&[("/url", numbered(2))]);
    assert_eq!(compare(&one, &next).veto, Some(Veto::Programme));
    let referred = |number: u32| {
        place(&[
            ("/url", numbered(number)),
            ("/reference", json!("VA-48127")),
        ])
    };
    assert_same(&compare(&referred(1), &referred(2)));
    // Another portal shows the copy of one at its price.
    let on_another_portal = |price: u32| {
        place(&[
            ("/source", json!("immo-cle.example")),
            ("/url", json!("https://immo-cle.example/annonce/9")),
            ("/currentPrice", json!({"value": price})),
        ])
    };
    assert_same(&compare(&one, &on_another_portal(18_500)));
    assert_eq!(
        compare(&one, &on_another_portal(18_000)).veto,
        Some(Veto::Programme)
    );
}

#[test]
fn adverts_of_one_portal_whose_titles_differ_in_a_number_are_two_homes() {
    let titled = |number: u32, title: &str| {
        fingerprint(&with(
            flat(),
            &[
                (
                    "/url",
                    json!(format!("https://toits-et-murs.example/annonce/{number}")),
                ),
                ("/offer", json!({"type": "OFFER_RENT"})),
                ("/currentPrice", json!({"value": 850})),
                ("/title", json!(title)),
                ("/habitation/surface", json!({"total": 20})),
                ("/habitation/floor", Value::Null),
                ("/habitation/climate", Value::Null),
                (
                    "/description",
                    json!("Studios meublés avec services, au pied du métro et des commerces."),
                ),
                ("/seller", Value::Null),
                ("/medias", Value::Null),
            ],
        ))
    };
    let first = titled(1, "Zenith - Private Studio (15)");
    let verdict = |title: &str| compare(&first, &titled(2, title)).verdict(Thresholds::default());
    assert_eq!(verdict("Zenith - Private Studio (15)"), DedupVerdict::Same);
    assert_ne!(verdict("Zenith - Private Studio (5)"), DedupVerdict::Same);
    // The comparison shows the common text too, which adds nothing.
    let found = compare(&first, &titled(2, "Zenith - Private Studio (5)"));
    let text = evidence(&found, ComparedField::Text);
    assert_eq!(
        text.map(|one| (one.about(), one.bits)),
        Some(("the same text", 0.0))
    );
    assert!(found.is_series() && !found.is_one_text);
    // Nor do figures of the text, and the price may be rare only because the seller asks it for all of them.
    let [mut one, mut other] = [
        titled(3, "Studio BEL-MOD Bugey"),
        titled(4, "Studio BEL-MOD Montdor"),
    ];
    (one.price_eur, other.price_eur) = (Some(853), Some(853));
    for figure in [96, 185, 220] {
        one.figures.push(figure);
        other.figures.push(figure);
    }
    let found = compare(&one, &other);
    let bits = |field: ComparedField| evidence(&found, field).unwrap().bits;
    assert_eq!(found.level(ComparedField::Title), Some(1));
    assert_eq!(bits(ComparedField::Figures), 0.0);
    let price = evidence(&found, ComparedField::Price).unwrap();
    assert_eq!(price.rarity_bits, Some(0.0));
}

#[test]
fn a_summary_of_the_fields_is_no_evidence() {
    let described = |number: u32, text: &str| {
        let url = json!(format!("https://toits-et-murs.example/annonce/{number}"));
        fingerprint(&with(
            flat(),
            &[("/url", url), ("/description", json!(text))],
        ))
    };
    for text in ["2 pièce - 29 m² - s", "60 m2 3"] {
        let found = compare(&described(1, text), &described(2, text));
        assert_eq!(found.level(ComparedField::Text), None, "{text}");
        assert_eq!(found.level(ComparedField::Figures), None, "{text}");
    }
}

#[test]
fn two_long_texts_of_one_seller_that_a_portal_shows_together_are_of_two_homes() {
    let mezzanine = "T1 bis sous les toits avec une mezzanine de seize mètres carrés, poutres apparentes, cuisine \
        ouverte équipée, salle de bains avec baignoire, double vitrage, chauffage individuel au gaz, au dernier étage \
        sans ascenseur, à deux minutes du métro Jean Macé et des commerces.";
    let garden = "En rez-de-jardin d'une résidence récente et sécurisée, logement avec jardin privatif clos sans \
        vis-à-vis, séjour donnant sur la terrasse, kitchenette, douche à l'italienne, placards, local à vélos, place de \
        stationnement en option, proche de l'université et du tramway.";
    let shown = |offer: &str, number: u32, text: &str, seller: Value| {
        let url = json!(format!("https://toits-et-murs.example/annonce/{number}"));
        let changes = [
            ("/url", url),
            ("/offer", json!({"type": offer})),
            ("/currentPrice", json!({"value": 655})),
            ("/habitation", json!({"surface": {"total": 27}})),
            ("/location", json!({"inseeCode": "69387"})),
            ("/description", json!(text)),
            ("/seller", seller),
            ("/medias", Value::Null),
        ];
        fingerprint(&with(flat(), &changes))
    };
    let text = |offer: &str, one: Value, other: Value| {
        let found = compare(
            &shown(offer, 1, mezzanine, one),
            &shown(offer, 2, garden, other),
        );
        let text = evidence(&found, ComparedField::Text);
        text.unwrap().bits
    };
    let agency = |name: &str| json!({"name": name, "type": "SELLER_TYPE_AGENCY"});
    let (rent, sale) = ("OFFER_RENT", "OFFER_BUY");
    assert!(text(rent, Value::Null, Value::Null) < -1.0);
    // Several agencies often sell one home.
    assert!(text(sale, Value::Null, Value::Null) > 0.0);
    let (vauban, canal) = (agency("Étude Vauban"), agency("Agence du Canal"));
    for offer in [rent, sale] {
        assert!(text(offer, vauban.clone(), vauban.clone()) < -1.0);
        assert!(text(offer, vauban.clone(), canal.clone()) > 0.0);
    }
    // One seller also writes similar texts for two homes.
    let similar = |offer: &str| {
        let one = shown(offer, 1, mezzanine, Value::Null);
        let mut other = shown(offer, 2, mezzanine, Value::Null);
        for lane in &mut other.text.as_mut().unwrap().lanes[..12] {
            *lane ^= 1;
        }
        let text = evidence(&compare(&one, &other), ComparedField::Text).unwrap();
        (text.about(), text.bits)
    };
    assert_eq!(similar(rent), ("more than 70 % in common", 0.2));
    assert_eq!(similar(sale), ("more than 70 % in common", 1.3));
}

#[test]
fn sale_and_rental_of_one_flat_are_two_assets() {
    let rent = elsewhere(&[("/offer", json!({"type": "OFFER_RENT"}))]);
    assert_eq!(judged(&rent).veto, Some(Veto::Kind));
    assert!(!share_a_block(&flat(), &rent));
}

#[test]
fn adverts_share_a_block_even_if_one_lacks_position_postal_code_or_area() {
    let without_position = elsewhere(&[("/location", json!({"postalCode": "75013"}))]);
    let without_postal_code = elsewhere(&[("/location", json!({"inseeCode": "75113"}))]);
    let position_alone = elsewhere(&[(
        "/location",
        json!({"locationCoordinate": {"location": [2.354_2, 48.823_7]}}),
    )]);
    let without_area = elsewhere(&[("/habitation/surface", Value::Null)]);
    let without_area_and_rooms = elsewhere(&[("/habitation", json!({"floor": 3}))]);
    for other in [
        without_position,
        without_postal_code,
        position_alone,
        without_area,
        without_area_and_rooms,
    ] {
        assert!(share_a_block(&flat(), &other), "{other}");
        assert!(share_a_block(&other, &flat()), "{other}");
    }
}

fn candidate(property: u128, advert: u128, document: &Value) -> AssignmentCandidate {
    candidate_of(property, advert, fingerprint(document))
}

fn candidate_of(property: u128, advert: u128, fingerprint: Fingerprint) -> AssignmentCandidate {
    AssignmentCandidate {
        property: FlxId(Uuid::from_u128(property)),
        advert: FlxId(Uuid::from_u128(advert)),
        fingerprint,
        is_held: false,
    }
}

#[test]
fn a_property_whose_other_adverts_contradict_is_not_joined() {
    let new = fingerprint(&flat());
    // Without a floor the copy matches; together with an advert that gives another floor it does not.
    let vague = elsewhere(&[
        ("/habitation/floor", Value::Null),
        ("/habitation/climate", Value::Null),
        ("/location/locationCoordinate", Value::Null),
        ("/description", Value::Null),
        ("/medias", Value::Null),
    ]);
    let other_floor = with(
        elsewhere(&[
            ("/habitation/floor", json!(6)),
            ("/habitation/climate", Value::Null),
            ("/location/locationCoordinate", Value::Null),
            ("/description", Value::Null),
        ]),
        &[
            ("/source", json!("toits-et-murs.example")),
            ("/medias", Value::Null),
        ],
    );
    let alone = [candidate(1, 1, &vague)];
    let both = [candidate(1, 1, &vague), candidate(1, 2, &other_floor)];
    assert_eq!(assigned(&new, &alone).property, joined(1));
    let refused = assigned(&new, &both);
    assert_eq!(refused.property, None);
    // It is shown to a person instead.
    assert_eq!(refused.likely.len(), 1);
}

#[test]
fn equally_good_properties_are_returned_as_bridged() {
    let copies = [
        candidate(7, 1, &elsewhere(&[])),
        candidate(3, 2, &elsewhere(&[])),
    ];
    let assignment = assigned(&fingerprint(&flat()), &copies);
    assert_eq!(assignment.property, joined(3));
    assert_eq!(assignment.bridged, [FlxId(Uuid::from_u128(7))]);
}

/// A thin advert: price, surface and rooms, on one portal.
fn thin(price: u32, surface_dm2: u32, insee: &[u8; 5]) -> Fingerprint {
    Fingerprint {
        commune: Some(*insee),
        postal_code: None,
        spot: None,
        price_eur: Some(price),
        net_price_eur: None,
        surface_dm2: Some(surface_dm2),
        rooms: Some(1),
        address_number: None,
        ..fingerprint(&json!({
            "url": "https://thin.example/1", "source": "thin.example", "type": "CLASS_FLAT",
            "offer": {"type": "OFFER_BUY"}, "lastSeenAt": "2026-03-10T08:00:00Z",
        }))
    }
}

/// Compares an advert with another one among many of other prices and surfaces.
fn among_many(one: &Fingerprint, other: &Fingerprint, lookalikes: u32) -> Comparison {
    let others = (0..200).map(|number| {
        thin(
            150_000 + 1_000 * (number % 80),
            1_400 + 100 * (number % 4),
            b"75111",
        )
    });
    let alike = (0..lookalikes).map(|number| Fingerprint {
        floor: Some(number as i16 + 10),
        ..*one
    });
    let around: Vec<Fingerprint> = others.chain(alike).chain([*other]).collect();
    let around = around
        .iter()
        .map(|advert| Agreements::between(one, advert))
        .collect();
    compare_among(one, other, &around)
}

#[test]
fn studios_of_one_round_price_and_surface_in_a_dense_city_are_not_merged() {
    let one = thin(160_000, 1_500, b"75111");
    let verdict = |other: &Fingerprint, lookalikes: u32| {
        among_many(&one, other, lookalikes).verdict(Thresholds::default())
    };
    assert_ne!(
        verdict(&thin(160_000, 1_500, b"75111"), 0),
        DedupVerdict::Same
    );
    // In another arrondissement they are not even a possible pair.
    assert_eq!(
        verdict(&thin(160_000, 1_500, b"75115"), 0),
        DedupVerdict::Different
    );
    // An odd price and hundredths of square metres rarely coincide.
    let odd = thin(163_470, 1_537, b"75111");
    let again = thin(163_470, 1_537, b"75111");
    let found = among_many(&odd, &again, 0);
    assert_same(&found);
    // Unless other homes around have them too, as in a new building.
    let common = among_many(
        &Fingerprint {
            floor: Some(2),
            ..odd
        },
        &again,
        6,
    );
    assert_not_same(&common);
}

#[test]
fn homes_of_different_addresses_stay_apart_and_one_address_counts_by_its_rarity() {
    let at = |address: &str| {
        let advert = json!({"location": {"address": address}});
        Fingerprint {
            street_address: fingerprint(&advert).street_address,
            ..thin(163_470, 1_537, b"75111")
        }
    };
    let (one, other) = (at("12 rue Foch"), at("14, rue Foch"));
    let verdict = |other: &Fingerprint| among_many(&one, other, 0).verdict(Thresholds::default());
    assert_ne!(verdict(&other), DedupVerdict::Same);
    assert_eq!(verdict(&one), DedupVerdict::Same);
    let apart = evidence(&compare(&one, &other), ComparedField::Address);
    assert_eq!(apart.unwrap().about(), "another number");
    // About 200 m apart: the position shows the address already.
    let [here, there] = [48_850_000, 48_851_800].map(|lat_e6| {
        let mut placed = one;
        placed.spot = Some(ApproximatePosition {
            lat_e6,
            lon_e6: 2_350_000,
            blur_m: 0,
        });
        placed
    });
    assert_eq!(
        compare(&here, &there).level(ComparedField::Address),
        Some(1)
    );
    let lot = Fingerprint {
        new_build: true,
        ..one
    };
    let of_programme = compare(&lot, &lot);
    let address = evidence(&of_programme, ComparedField::Address);
    assert_eq!(address.unwrap().bits, 0.0);
    let rarity = |around: &[Fingerprint]| {
        let agreements = around.iter().map(|other| Agreements::between(&one, other));
        let found = compare_among(&one, &one, &agreements.collect::<Surroundings>());
        let found = evidence(&found, ComparedField::Address);
        found.and_then(|one| one.rarity_bits)
    };
    // Many flats of other prices and surfaces have the same address.
    let neighbour = Fingerprint {
        price_eur: Some(300_000),
        surface_dm2: Some(1_700),
        ..one
    };
    assert!(rarity(&[neighbour; 40]) < rarity(&[]));
    let outlined = Outline::decode(&other.outline()).unwrap();
    assert_eq!(outlined.agreements(&one), Agreements::between(&one, &other));
    assert_eq!(Fingerprint::decode(&one.encode()), Ok(one));
}

#[test]
fn a_near_surface_or_price_is_that_of_another_home_if_nothing_else_is_known() {
    let one = thin(163_470, 1_537, b"75111");
    let bits = |changed: Fingerprint, field: ComparedField| {
        evidence(&compare(&changed, &one), field).unwrap().bits
    };
    let other_surface = Fingerprint {
        surface_dm2: Some(1_562),
        ..one
    };
    let other_price = Fingerprint {
        price_eur: Some(162_900),
        ..one
    };
    assert!(bits(other_surface, ComparedField::Surface) < -2.0);
    assert!(bits(other_price, ComparedField::Price) < -1.5);
    // A storey distinguishes homes too.
    let storeys = compare(
        &Fingerprint {
            floor: Some(4),
            ..other_surface
        },
        &Fingerprint {
            floor: Some(4),
            ..one
        },
    );
    let surface = evidence(&storeys, ComparedField::Surface);
    assert!(surface.unwrap().bits > 0.0);
    // Another storey does not make a near surface stronger.
    let on = |storey: i16, advert: Fingerprint| Fingerprint {
        floor: Some(storey),
        ..advert
    };
    let apart = compare(&on(4, other_surface), &on(7, one));
    assert!(apart.bits < compare(&other_surface, &one).bits - 5.0);
}

#[test]
fn a_surface_that_is_rounded_or_truncated_is_equal_to_the_exact_one() {
    let level = |one: u32, other: u32| {
        let [one, other] = [one, other].map(|surface| thin(163_470, surface, b"75111"));
        compare(&one, &other).level(ComparedField::Surface)
    };
    assert_eq!(level(6_709, 6_710), Some(2));
    assert_eq!(level(6_719, 6_710), Some(2), "truncated");
    assert_eq!(level(6_709, 6_700), Some(2));
    assert_eq!(level(6_709, 6_720), Some(3));
    assert_eq!(level(6_650, 6_700), Some(2), "rounded up from the middle");
    assert_eq!(level(6_611, 6_700), Some(3), "rounded up from below it");
    assert_eq!(level(3_310, 3_400), Some(4));
    assert_eq!(level(6_709, 6_712), Some(3), "neither is rounded");
}

#[test]
fn columns_that_repeat_others_are_no_evidence() {
    let one = thin(160_000, 1_500, b"75111");
    let level = |change: fn(&mut Fingerprint), field: weights::ComparedField| {
        let mut changed = one;
        change(&mut changed);
        compare(&changed, &changed).level(field)
    };
    // The surface repeated as land, and the rooms repeated as storey.
    let land = |advert: &mut Fingerprint| advert.land_m2 = Some(15);
    assert_eq!(level(land, weights::ComparedField::Land), None);
    let floor = |advert: &mut Fingerprint| advert.floor = Some(1);
    assert_eq!(level(floor, weights::ComparedField::Floor), None);
    let real = |advert: &mut Fingerprint| advert.floor = Some(4);
    assert_eq!(level(real, weights::ComparedField::Floor), Some(0));
}

#[test]
fn a_whole_city_does_not_contradict_its_arrondissements() {
    let of = |insee: &[u8; 5]| thin(163_470, 1_537, insee);
    let found =
        |one: &[u8; 5], other: &[u8; 5]| contradictions(&of(one), &of(other)).collect::<Vec<_>>();
    assert_eq!(found(b"75056", b"75111"), []);
    assert_eq!(found(b"13201", b"13055"), []);
    assert_eq!(found(b"75111", b"75112"), [Contradiction::Commune]);
}

#[test]
fn near_matches_do_not_form_a_chain() {
    let first = thin(163_470, 1_537, b"75111");
    let second = Fingerprint {
        surface_dm2: Some(1_580),
        portal: 7,
        ..first
    };
    let third = Fingerprint {
        surface_dm2: Some(1_640),
        portal: 9,
        ..first
    };
    let property = [candidate_of(1, 1, first), candidate_of(1, 2, second)];
    let assignment = assigned(&third, &property);
    assert_eq!(assignment.property, None, "{assignment:?}");
}

#[test]
fn an_advert_with_few_fields_does_not_keep_out_a_copy_that_differs_a_little() {
    let listed = Fingerprint {
        rooms: Some(3),
        ..thin(312_000, 6_135, b"75113")
    };
    let copy = fingerprint(&elsewhere(&[
        ("/habitation/surface/total", json!(62.0)),
        ("/currentPrice", json!({"value": 311_500})),
    ]));
    let compared = compare(&copy, &listed);
    assert!(compared.thin_bits < -4.0 && compared.member_bits() > 0.0);
    let property = [candidate(1, 1, &flat()), candidate_of(1, 2, listed)];
    assert_eq!(assigned(&copy, &property).property, joined(1));
}

#[test]
fn adverts_that_a_person_put_together_do_not_keep_out_what_fits_one_of_them() {
    let new = fingerprint(&flat());
    let copy = candidate(1, 1, &elsewhere(&[]));
    let unlike = with(
        flat(),
        &[
            ("/habitation/floor", json!(9)),
            ("/currentPrice", json!({"value": 500_000})),
        ],
    );
    let unlike = candidate(1, 2, &unlike);
    assert_eq!(assigned(&new, &[copy, unlike]).property, None);
    let held = [copy, unlike].map(|one| AssignmentCandidate {
        is_held: true,
        ..one
    });
    assert_eq!(assigned(&new, &held).property, joined(1));
}

#[test]
fn an_advert_that_stays_may_show_that_two_properties_are_one() {
    let known = fingerprint(&flat());
    let companions = [candidate(1, 1, &elsewhere(&[]))];
    let copy = [
        ("/source", json!("third.example")),
        ("/url", json!("https://third.example/3")),
    ];
    let others = [candidate(2, 2, &elsewhere(&copy))];
    let around = Surroundings::default();
    let kept = reassign(&known, &companions, &others, &around, Thresholds::default());
    assert!(!kept.leaves);
    assert_eq!(kept.assignment.property, joined(2));
}

#[test]
fn an_advert_without_candidates_becomes_a_new_property() {
    assert_eq!(assigned(&fingerprint(&flat()), &[]), Assignment::default());
}

#[test]
fn damaged_bytes_are_refused() {
    let bytes = fingerprint(&flat()).encode();
    for at in 0..bytes.len() {
        let mut damaged = bytes.clone();
        damaged[at] ^= 0x10;
        assert!(Fingerprint::decode(&damaged).is_err(), "byte {at}");
        assert!(Fingerprint::decode(&bytes[..at]).is_err(), "cut at {at}");
    }
    let mut longer = bytes;
    longer.push(0);
    assert!(Fingerprint::decode(&longer).is_err());
    assert_eq!(Fingerprint::decode(&[9, 0]), Err(DecodeError::Version(9)));
}

#[test]
fn flats_of_different_storeys_stay_apart_although_only_their_texts_name_them() {
    let text = flat()["description"].as_str().unwrap().to_owned();
    let on = |storey: &str| {
        let other = elsewhere(&[
            ("/habitation/floor", Value::Null),
            ("/description", json!(text.replace("3e étage", storey))),
        ]);
        fingerprint(&other)
    };
    let (second, third) = (on("2ème étage"), on("troisième étage"));
    assert_eq!((second.floor, third.floor), (Some(2), Some(3)));
    let found: Vec<_> = contradictions(&second, &third).collect();
    assert_eq!(found, [Contradiction::Floor]);
}

#[test]
fn one_long_text_and_price_outweigh_a_wrong_commune() {
    let text = "Bel appartement familial dans un immeuble ancien de bon standing, proche des commerces et des \
        transports, comprenant une entrée, un vaste séjour lumineux, une cuisine séparée et équipée, quatre chambres, \
        deux salles de bains et de nombreux rangements, avec une cave et un local pour les vélos.";
    let is_one_text = |text: &str| {
        let moved = [
            ("/location/inseeCode", json!("75114")),
            ("/location/postalCode", json!("75014")),
        ];
        let one = elsewhere(&[("/description", json!(text))]);
        let other = with(one.clone(), &moved);
        compare(&fingerprint(&one), &fingerprint(&other)).is_one_text
    };
    assert!(is_one_text(text));
    assert!(
        !is_one_text("Studio lumineux à vendre"),
        "many adverts say so"
    );
    // A few other words do not matter between houses of one surface and plot.
    let house = fingerprint(&with(
        elsewhere(&[("/description", json!(text))]),
        &[
            ("/type", json!("CLASS_HOUSE")),
            ("/land", json!({"surface": 577})),
            ("/medias", Value::Null),
        ],
    ));
    let mut moved = house;
    moved.commune = Some(*b"75114");
    moved.spot = None;
    moved.text.as_mut().unwrap().lanes[0] ^= 1;
    assert!(compare(&house, &moved).is_one_text);
    assert!(may_share(&house, &moved));
    moved.land_m2 = None;
    assert!(!compare(&house, &moved).is_one_text);
}

#[test]
fn a_reference_counts_if_one_long_text_shows_that_the_seller_is_one() {
    let nameless = elsewhere(&[("/seller", Value::Null), ("/medias", Value::Null)]);
    let one = fingerprint(&nameless);
    let mut other = one;
    (other.portal, other.address_number) = (7, None);
    assert!(one.text.unwrap().is_long() && !one.references.is_empty());
    assert!(compare(&one, &other).is_identified());
    other.price_eur = Some(300_000);
    assert!(!compare(&one, &other).is_identified());
    other.price_eur = one.price_eur;
    other.text = None;
    assert!(!compare(&one, &other).is_identified());
}

#[test]
fn one_plot_and_price_outweigh_a_second_measurement_of_a_house() {
    let house = |surface_dm2: u32, land_m2: u32| Fingerprint {
        class: toise_contract::enums::EnumPropertyClass::House,
        land_m2: Some(land_m2),
        ..thin(615_000, surface_dm2, b"33550")
    };
    let one = house(14_500, 769);
    assert_eq!(
        contradictions(&one, &house(15_000, 769)).collect::<Vec<_>>(),
        [Contradiction::Surface]
    );
    assert!(may_share(&one, &house(15_000, 769)));
    assert!(!may_share(&one, &house(16_000, 769)), "too far apart");
    assert!(
        !may_share(&house(14_500, 750), &house(15_000, 750)),
        "round"
    );
    let cheaper = Fingerprint {
        price_eur: Some(609_000),
        ..house(15_000, 769)
    };
    assert!(!may_share(&one, &cheaper));
    // A seller may sell several plots of one area.
    let sold = |surface_dm2: u32| {
        let mut sold = house(surface_dm2, 769);
        sold.seller.push(7);
        sold
    };
    assert!(!may_share(&sold(14_500), &sold(15_000)));
}

#[test]
fn one_storey_price_and_surface_outweigh_another_diagnostic_of_a_flat() {
    let words =
        "Bel appartement lumineux et calme, proche du parc et du métro, avec cave et balcon.";
    let climate = json!({"epcEnergy": "ENERGY_CLASSIFICATION_F", "epcEnergyScore": 340});
    let other = elsewhere(&[
        ("/medias", Value::Null),
        ("/description", json!(words)),
        ("/habitation/climate", climate),
        ("/habitation/floor", json!(2)),
    ]);
    let on_second = with(flat(), &[("/habitation/floor", json!(2))]);
    let is_admitted = |other: &Value| {
        let (one, other) = (fingerprint(&on_second), fingerprint(other));
        admits(&one, &other, &compare(&one, &other))
    };
    let of_another = with(
        other.clone(),
        &[("/seller", json!({"name": "Agence du Canal"}))],
    );
    assert!(is_admitted(&of_another));
    assert!(!is_admitted(&other), "one seller");
    let dearer = with(of_another, &[("/currentPrice", json!({"value": 315_000}))]);
    assert!(!is_admitted(&dearer));
}

#[test]
fn pictures_on_one_portal_identify_a_home_only_if_two_known_sellers_show_them() {
    let nameless = [("/seller", Value::Null), ("/isPro", Value::Null)];
    let one = with(flat(), &nameless);
    let url = json!("https://toits-et-murs.example/annonce/77");
    let on_one_portal = with(one.clone(), &[("/url", url)]);
    let on_another = with(elsewhere(&[]), &nameless);
    let compared = |other: &Value| compare(&fingerprint(&one), &fingerprint(other));
    assert!(compared(&on_one_portal).shares_pictures());
    assert_eq!(compared(&on_one_portal).level(ComparedField::Seller), None);
    // The reference in the text counts only with a common seller, or with one long text and one price.
    let dearer = with(
        on_one_portal.clone(),
        &[("/currentPrice", json!({"value": 315_000}))],
    );
    assert!(!compared(&dearer).is_identified());
    assert!(compared(&on_one_portal).is_identified());
    assert!(compared(&on_another).is_identified());
}

#[test]
fn another_class_weighs_little_if_one_long_text_and_one_surface_agree() {
    let bits = |changes: &[(&str, Value)]| {
        let of_kind = [("/type", json!("CLASS_HOUSE"))];
        let compared = judged(&with(elsewhere(&of_kind), changes));
        let kind = evidence(&compared, ComparedField::Kind);
        kind.unwrap().bits
    };
    assert!(bits(&[]) > -0.5);
    let other_text =
        json!("Charmante maison de ville au calme, proche des commerces et des écoles.");
    assert!(bits(&[("/description", other_text)]) < -3.0);
    assert!(bits(&[("/habitation/surface", json!({"total": 66}))]) < -3.0);
}

#[test]
fn bedrooms_that_differ_as_the_rooms_do_add_nothing() {
    let smaller = elsewhere(&[
        ("/habitation/roomCount", json!(2)),
        ("/habitation/bedroomCount", json!(1)),
    ]);
    let compared = judged(&smaller);
    assert_eq!(compared.level(ComparedField::Rooms), Some(1));
    assert_eq!(compared.level(ComparedField::Bedrooms), None);
}
