//! What ingestion relies on: pairs judged as a person would judge them, results independent of order, and encoded bytes
//! that are read back or refused.

use serde_json::{Value, json};
use uuid::Uuid;

use super::*;
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

fn judged(other: &Value) -> Comparison {
    compare(&fingerprint(&flat()), &fingerprint(other))
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
    assert_eq!(copy.verdict(), DedupVerdict::Same);
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
    assert_eq!(judged(&other).verdict(), DedupVerdict::Same);
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
    assert_eq!(judged(&other).verdict(), DedupVerdict::Same);
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
    assert_ne!(judged(&twin).verdict(), DedupVerdict::Same);
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
    assert_ne!(judged(&together).verdict(), DedupVerdict::Same);
    // A shared reference of the agency is strong evidence.
    let numbered = with(flat(), &apart);
    assert_eq!(judged(&numbered).verdict(), DedupVerdict::Same);
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
    assert_eq!(judged(&second).verdict(), DedupVerdict::Same);
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
        compare(&first, &fingerprint(&next)).bar,
        Some(Veto::Programme)
    );
    let copy = fingerprint(&lot(elsewhere(&[])));
    assert_eq!(compare(&first, &copy).verdict(), DedupVerdict::Same);
    // A portal shows a lot under the programme's class; the programme itself is not one of its flats.
    let shown = [("/type", json!("CLASS_PROGRAM"))];
    let own_lot = fingerprint(&lot(elsewhere(&shown)));
    assert_eq!(compare(&first, &own_lot).bar, None);
    let without_area = with(
        elsewhere(&shown),
        &[
            ("/habitation/surface", Value::Null),
            ("/habitation/floor", Value::Null),
        ],
    );
    let programme = fingerprint(&lot(without_area));
    assert_eq!(compare(&first, &programme).bar, Some(Veto::Programme));
}

#[test]
fn sale_and_rental_of_one_flat_are_two_assets() {
    let rent = elsewhere(&[("/offer", json!({"type": "OFFER_RENT"}))]);
    assert_eq!(judged(&rent).bar, Some(Veto::Kind));
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
    for other in [
        without_position,
        without_postal_code,
        position_alone,
        without_area,
    ] {
        assert!(share_a_block(&flat(), &other), "{other}");
        assert!(share_a_block(&other, &flat()), "{other}");
    }
}

fn candidate(property: u128, advert: u128, document: &Value) -> AssignmentCandidate {
    AssignmentCandidate {
        property: FlxId(Uuid::from_u128(property)),
        advert: FlxId(Uuid::from_u128(advert)),
        fingerprint: fingerprint(document),
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
    assert!(matches!(
        assign(&new, &alone, &Surroundings::default()),
        Assignment::Join { .. }
    ));
    assert_eq!(
        assign(&new, &both, &Surroundings::default()),
        Assignment::New
    );
}

#[test]
fn equally_good_properties_are_returned_as_bridged() {
    let copies = [
        candidate(7, 1, &elsewhere(&[])),
        candidate(3, 2, &elsewhere(&[])),
    ];
    let Assignment::Join { property, bridged } =
        assign(&fingerprint(&flat()), &copies, &Surroundings::default())
    else {
        panic!("not joined");
    };
    assert_eq!(property, FlxId(Uuid::from_u128(3)));
    assert_eq!(bridged, [FlxId(Uuid::from_u128(7))]);
}

#[test]
fn merging_known_properties_requires_more_evidence_than_assigning_a_new_advert() {
    let likely = elsewhere(&[
        ("/habitation/floor", Value::Null),
        ("/description", Value::Null),
        ("/medias", Value::Null),
        ("/habitation/climate", Value::Null),
        ("/location/locationCoordinate", Value::Null),
    ]);
    let (new, sure) = (fingerprint(&flat()), elsewhere(&[]));
    let likely_alone = [candidate(3, 1, &likely)];
    assert!(matches!(
        assign(&new, &likely_alone, &Surroundings::default()),
        Assignment::Join { .. }
    ));
    assert_eq!(
        assign_known(&new, &likely_alone, &Surroundings::default()),
        Assignment::New
    );
    let sure_alone = [candidate(3, 1, &sure)];
    assert!(matches!(
        assign_known(&new, &sure_alone, &Surroundings::default()),
        Assignment::Join { .. }
    ));
    let Assignment::Join { property, bridged } = assign(
        &new,
        &[candidate(3, 1, &likely), candidate(7, 2, &sure)],
        &Surroundings::default(),
    ) else {
        panic!("not joined");
    };
    assert_eq!((property, bridged), (FlxId(Uuid::from_u128(7)), Vec::new()));
}

#[test]
fn an_advert_without_candidates_becomes_a_new_property() {
    assert_eq!(
        assign(&fingerprint(&flat()), &[], &Surroundings::default()),
        Assignment::New
    );
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
