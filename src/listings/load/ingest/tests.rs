//! Tests of the stored adverts and properties after sequences of sightings.

use proptest::prelude::{Just, Strategy, any, prop_assert_eq, proptest};
use serde_json::{Value, json};

use super::*;
use toise_base::clock::Clock;
use toise_base::splitmix;
use toise_contract::listings::filters::ListingKind;
use toise_contract::listings::{Advert, Property};
use toise_store::Store;

/// Listings in a temporary folder, with the clock at noon of 31 March 2026.
struct IngestFixture {
    listings: Listings,
    clock: Clock,
    _folder: tempfile::TempDir,
}

impl IngestFixture {
    fn open() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let clock = Clock::steered("2026-03-31T12:00:00Z".parse().unwrap());
        let store = Store::open(folder.path()).unwrap();
        Self {
            listings: Listings::new(store, clock.clone()),
            clock,
            _folder: folder,
        }
    }

    fn ingest(&self, adverts: Vec<Value>) -> Vec<IngestOutcome> {
        self.listings.ingest(adverts).unwrap()
    }

    fn ingest_one(&self, advert: Value) -> IngestReceipt {
        self.ingest(vec![advert]).remove(0).unwrap()
    }

    fn advert(&self, id: FlxId) -> Value {
        serde_json::from_slice(&self.listings.advert(id).unwrap().unwrap()).unwrap()
    }

    fn property(&self, id: FlxId) -> Value {
        serde_json::from_slice(&self.listings.property(id).unwrap().unwrap()).unwrap()
    }

    fn advert_count(&self, property: FlxId) -> usize {
        self.property(property)["adverts"].as_array().unwrap().len()
    }

    fn count(&self, table: &str) -> i64 {
        let sql = format!("SELECT count(*) FROM {table}");
        let reading =
            |connection: &rusqlite::Connection| connection.query_row(&sql, [], |row| row.get(0));
        self.listings.store.read(reading).unwrap()
    }
}

/// A flat in Lyon, of 61.5 m² for asset 0; `asset` determines its texts, pictures, price, position and surface.
fn flat(portal: &str, number: u64, asset: u64) -> Value {
    let hash = |salt: u64| {
        format!(
            "{:016x}",
            splitmix::spread(asset + 1).rotate_left(salt as u32 * 7)
        )
    };
    let images: Vec<Value> = (0..4)
        .map(|n| {
            json!({"imageId": format!("{asset}-{n}"), "gaussianHash": hash(n), "meanHash": hash(n + 4),
                "perceptualHash": hash(n + 8), "differenceHash": hash(n + 12)})
        })
        .collect();
    json!({
        "url": format!("https://{portal}.example/annonce/{number}"), "source": format!("{portal}.example"),
        "type": "CLASS_FLAT", "offer": {"type": "OFFER_BUY"}, "currentPrice": {"value": 250_000 + asset * 40_000},
        "title": format!("Appartement {asset}"),
        "description": format!("Au coeur du quartier {asset}, appartement lumineux de trois pieces avec cuisine {} \
            equipee, sejour de {} metres carres ouvrant sur {} et deux chambres au calme sur jardin, cave {}",
            hash(1), 20 + asset, hash(2), hash(3)),
        "location": {"postalCode": "69003", "city": "Lyon",
            "locationCoordinate": {"location": [4.8512 + asset as f64 * 0.02, 45.7598]}},
        "habitation": {"roomCount": 3, "bedroomCount": 2, "floor": 2, "surface": {"total": 61.5 + asset as f64 * 9.0},
            "climate": {"epcEnergy": "ENERGY_CLASSIFICATION_D", "epcEnergyScore": 214}},
        "medias": {"images": images},
        "seller": {"name": "Agence du Parc", "siren": "123456780"},
        "lastSeenAt": "2026-03-01T08:00:00Z",
    })
}

fn with(mut advert: Value, fields: Value) -> Value {
    for (field, value) in fields.as_object().unwrap() {
        advert[field] = value.clone();
    }
    advert
}

fn types(receipt: &IngestReceipt) -> Vec<&'static str> {
    use toise_contract::enums::WireEnum;
    receipt
        .events
        .iter()
        .map(|event| event.event_type.as_str())
        .collect()
}

#[test]
fn an_impossible_position_is_left_out_with_a_warning() {
    let fixture = IngestFixture::open();
    let first = fixture.ingest_one(flat("a", 1, 0));
    let known = fixture.advert(first.flx_id)["location"]["locationCoordinate"].clone();
    let place = |advert: &mut Value, position: Value| {
        advert["location"]["locationCoordinate"] = json!({"location": position});
    };
    for (number, position, name) in [
        (2, json!([-0.1278, 51.5074]), "outside_france"),
        (3, json!([45.7598, 4.8512]), "coordinates_swapped?"),
    ] {
        let mut advert = flat("a", number, number);
        place(&mut advert, position.clone());
        let receipt = fixture.ingest_one(advert.clone());
        let expected = format!("location.locationCoordinate.location: {name}: ");
        assert!(
            receipt.warnings[0].starts_with(&expected),
            "{:?}",
            receipt.warnings
        );
        let stored = fixture.advert(receipt.flx_id);
        assert_ne!(
            stored["location"]["locationCoordinate"]["location"],
            position
        );
        // When it is seen again, the advert is unchanged, and the warning is repeated.
        let again = fixture.ingest_one(advert);
        assert_eq!(again.change, ContentChange::Unchanged);
        assert!(
            again.warnings[0].starts_with(&expected),
            "{:?}",
            again.warnings
        );
    }
    // A known position stays.
    let mut moved = flat("a", 1, 0);
    place(&mut moved, json!([-6.0, 46.0]));
    moved["lastSeenAt"] = json!("2026-03-02T08:00:00Z");
    fixture.ingest_one(moved.clone());
    assert_eq!(
        fixture.advert(first.flx_id)["location"]["locationCoordinate"],
        known
    );
    // An advert without any other place is refused for its position.
    moved["url"] = json!("https://a.example/annonce/9");
    moved["location"] = json!({"locationCoordinate": {"location": [-6.0, 46.0]}});
    let fault = fixture.ingest(vec![moved]).remove(0).unwrap_err();
    assert_eq!(fault.path, "location.locationCoordinate.location");
    assert!(fault.message.starts_with("outside_france: "), "{fault}");
}

#[test]
fn an_advert_is_read_back_complete_with_its_property() {
    let fixture = IngestFixture::open();
    let receipt = fixture.ingest_one(flat("a", 1, 0));
    assert_eq!(receipt.change, ContentChange::Created);
    assert_eq!(receipt.flx_id, receipt.property_flx_id);
    assert!(receipt.warnings.is_empty(), "{:?}", receipt.warnings);
    let advert = fixture.advert(receipt.flx_id);
    assert_eq!(advert["propertyFlxId"], json!(receipt.property_flx_id));
    assert_eq!(advert["mainPropertyAdFlxId"], advert["propertyFlxId"]);
    assert_eq!(advert["location"]["inseeCode"], "69383");
    assert_eq!(advert["currentPrice"]["valuePerArea"], 4065.04);
    assert_eq!(advert["isOnline"], true);
    assert_eq!(advert["hasAnomaly"], false);
    assert_eq!(
        advert["meta"]["lastPublishedAt"],
        "2026-03-01T08:00:00.000Z"
    );
    let _: Advert = serde_json::from_value(advert).unwrap();
    let property = fixture.property(receipt.property_flx_id);
    assert_eq!(property["adverts"][0]["flxId"], json!(receipt.flx_id));
    let _: Property = serde_json::from_value(property.clone()).unwrap();
    let of_advert = fixture
        .listings
        .property_of_advert(receipt.flx_id)
        .unwrap()
        .unwrap();
    assert_eq!(
        serde_json::from_slice::<Value>(&of_advert).unwrap(),
        property
    );
    assert_eq!(
        fixture.listings.advert(FlxId(uuid::Uuid::nil())).unwrap(),
        None
    );
}

#[test]
fn only_price_and_availability_changes_cause_events() {
    let fixture = IngestFixture::open();
    let url = flat("a", 1, 0)["url"].clone();
    let first = fixture.ingest_one(flat("a", 1, 0));
    let seen = |day: u32, fields: Value| {
        let moment = format!("2026-03-{day:02}T08:00:00Z");
        fixture.ingest_one(with(json!({"url": url, "lastSeenAt": moment}), fields))
    };
    let same = seen(2, json!({}));
    assert_eq!(
        (same.change, types(&same)),
        (ContentChange::Unchanged, vec![])
    );
    let cheaper = seen(3, json!({"currentPrice": {"value": 249_999}}));
    assert_eq!(
        (cheaper.change, types(&cheaper)),
        (ContentChange::Updated, vec!["PRICE"])
    );
    let gone = seen(4, json!({"isOnline": false}));
    assert_eq!(types(&gone), ["UNPUBLISHED"]);
    let property = fixture.property(first.property_flx_id);
    assert_eq!(property["meta"]["isTotallyOffline"], true);
    assert_eq!(
        property["meta"]["totallyOfflineAt"],
        "2026-03-04T08:00:00.000Z"
    );
    let back = seen(
        6,
        json!({"isOnline": true, "currentPrice": {"value": 240_000}}),
    );
    assert_eq!(types(&back), ["REPUBLISHED", "PRICE"]);
    let advert = fixture.advert(first.flx_id);
    assert_eq!(advert["firstSeenAt"], "2026-03-01T08:00:00.000Z");
    assert_eq!(advert["lastModifiedAt"], "2026-03-06T08:00:00.000Z");
    assert_eq!(
        advert["meta"]["lastPublishedAt"],
        "2026-03-06T08:00:00.000Z"
    );
    let property = fixture.property(first.property_flx_id);
    assert_eq!(property["meta"]["isTotallyOffline"], false);
    assert_eq!(property["price"]["initial"]["value"], 250_000);
    assert_eq!(property["price"]["latest"]["value"], 240_000);
    assert_eq!(
        property["price"]["variation"]["absoluteSinceLastModified"],
        -9_999
    );
    assert_eq!(fixture.count("advert_events"), 4);
    let text = seen(7, json!({"description": "Autre"}));
    assert_eq!(
        (text.change, types(&text)),
        (ContentChange::Updated, vec![])
    );
    assert_eq!(text.flx_id, first.flx_id);
}

#[test]
fn repeated_and_older_sightings_change_no_content_and_two_in_one_group_both_apply() {
    let fixture = IngestFixture::open();
    let first = fixture.ingest_one(flat("a", 1, 0));
    let before = fixture.listings.last_sequence().unwrap();
    let again = fixture.ingest_one(flat("a", 1, 0));
    assert_eq!(
        (again.flx_id, again.change),
        (first.flx_id, ContentChange::Unchanged)
    );
    assert_eq!(
        fixture.listings.last_sequence().unwrap(),
        before,
        "nothing was written"
    );
    let older = with(
        flat("a", 1, 0),
        json!({
            "lastSeenAt": "2026-02-01T00:00:00Z", "currentPrice": {"value": 300_000}, "isOnline": false, "title": "Ancien",
        }),
    );
    let older = fixture.ingest_one(older);
    assert_eq!(
        (older.change, types(&older)),
        (ContentChange::Unchanged, vec!["REPUBLISHED", "PRICE"]),
        "changes since then are reported late"
    );
    let property = fixture.property(older.property_flx_id);
    assert_eq!(property["price"]["initial"]["value"], 300_000);
    assert_eq!(
        property["price"]["variation"]["absoluteSincePublished"],
        -50_000
    );
    let advert = fixture.advert(first.flx_id);
    assert_eq!(advert["firstSeenAt"], "2026-02-01T00:00:00.000Z");
    assert_eq!(advert["lastSeenAt"], "2026-03-01T08:00:00.000Z");
    assert_eq!(
        (&advert["title"], &advert["currentPrice"]["value"]),
        (&json!("Appartement 0"), &json!(250_000))
    );
    let twice = fixture.ingest(vec![
        with(
            flat("a", 1, 0),
            json!({"lastSeenAt": "2026-03-02", "currentPrice": {"value": 1_000_000}}),
        ),
        with(
            flat("a", 1, 0),
            json!({"lastSeenAt": "2026-03-03", "currentPrice": {"value": 1_000_001}}),
        ),
    ]);
    assert_eq!(types(twice[0].as_ref().unwrap()), ["PRICE"]);
    assert_eq!(types(twice[1].as_ref().unwrap()), ["PRICE"]);
    assert_eq!(fixture.count("adverts"), 1);
}

#[test]
fn a_derived_value_is_replaced_with_its_source() {
    let fixture = IngestFixture::open();
    let first = fixture.ingest_one(with(
        flat("a", 1, 0),
        json!({"location": {"postalCode": "69003", "city": "Lyon"}}),
    ));
    assert_eq!(
        fixture.advert(first.flx_id)["location"]["inseeCode"],
        "69383"
    );
    let url = flat("a", 1, 0)["url"].clone();
    fixture.ingest_one(json!({"url": url, "location": {"postalCode": "48000", "city": "Mende"}}));
    let place = fixture.advert(first.flx_id)["location"].clone();
    assert_eq!(
        (&place["inseeCode"], &place["department"]),
        (&json!("48095"), &json!("48"))
    );
    assert_eq!(place["locationCoordinate"], place["cityCoordinate"]);
    fixture.clock.advance_ms(1);
    fixture.ingest_one(json!({"url": url, "currentPrice": null}));
    assert!(fixture.advert(first.flx_id).get("currentPrice").is_none());
}

#[test]
fn an_invalid_advert_is_refused_with_its_path_and_the_others_are_ingested() {
    let fixture = IngestFixture::open();
    let without = |field: &str| {
        let mut advert = flat("b", 2, 1);
        advert.as_object_mut().unwrap().remove(field);
        advert
    };
    let outcomes = fixture.ingest(vec![
        json!("x"),
        without("url"),
        without("source"),
        without("type"),
        without("offer"),
        without("currentPrice"),
        without("location"),
        with(
            flat("b", 2, 1),
            json!({"habitation": {"roomCount": "trois"}}),
        ),
        with(flat("b", 2, 1), json!({"prix": 3})),
        flat("a", 1, 0),
        with(
            flat("a", 1, 0),
            json!({"source": null, "lastSeenAt": "2026-03-09"}),
        ),
        with(flat("c", 3, 2), json!({"currentPrice": null})),
    ]);
    let faults: Vec<String> = outcomes
        .iter()
        .filter_map(|outcome| outcome.as_ref().err())
        .map(|fault| fault.to_string().chars().take(60).collect())
        .collect();
    assert_eq!(
        faults,
        [
            "body: must be an object",
            "url: is required",
            "source: is required",
            "type: is required",
            "offer.type: is required",
            "currentPrice.value: is required; null for a price on request",
            "location: must hold postalCode, inseeCode or locationCoordin",
            "habitation.roomCount: must be an integer between 0 and 10000",
            "prix: unknown field; must be one of: currency, currentPrice,",
            "source: is required",
        ]
    );
    assert!(outcomes[9].is_ok() && outcomes[11].is_ok(), "{outcomes:?}");
    assert_eq!(fixture.count("adverts"), 2);
}

#[test]
fn adverts_of_one_asset_form_one_property_and_others_their_own() {
    let fixture = IngestFixture::open();
    let first = fixture.ingest_one(flat("a", 1, 0));
    let second = fixture.ingest_one(flat("b", 7, 0));
    let other = fixture.ingest_one(flat("b", 8, 5));
    assert_eq!(
        second.property_flx_id, first.flx_id,
        "the first advert's identifier is inherited"
    );
    assert_ne!(second.flx_id, first.flx_id);
    assert_eq!(other.property_flx_id, other.flx_id);
    let property = fixture.property(first.property_flx_id);
    assert_eq!(property["adverts"].as_array().unwrap().len(), 2);
    assert_eq!(
        property["medias"]["images"].as_array().unwrap().len(),
        4,
        "each picture once"
    );
    assert_eq!(
        fixture.advert(second.flx_id)["propertyFlxId"],
        json!(first.flx_id)
    );
}

#[test]
fn a_split_is_permanent_and_identifiers_stay() {
    let fixture = IngestFixture::open();
    let first = fixture.ingest_one(flat("a", 1, 0));
    let second = fixture.ingest_one(flat("b", 7, 0));
    let third = fixture.ingest_one(flat("c", 9, 0));
    assert_eq!(third.property_flx_id, first.flx_id);
    let split_off = fixture
        .listings
        .split(first.flx_id, &[second.flx_id])
        .unwrap();
    assert_eq!(
        split_off, second.flx_id,
        "a property has its first advert's identifier"
    );
    assert_eq!(fixture.advert_count(first.flx_id), 2);
    assert_eq!(fixture.advert_count(split_off), 1);
    let seen_again = with(
        flat("b", 7, 0),
        json!({"lastSeenAt": "2026-03-09", "title": "Autre titre"}),
    );
    assert_eq!(
        fixture.ingest_one(seen_again).property_flx_id,
        split_off,
        "never joined again"
    );
    let explanation = fixture
        .listings
        .explain(&first.flx_id.to_string(), "http://www.b.example/annonce/7/")
        .unwrap();
    assert!(explanation.split && !explanation.together);
    // The founding advert leaves: the property it founded keeps the identifier.
    let split_off = fixture
        .listings
        .split(first.flx_id, &[first.flx_id])
        .unwrap();
    assert!(split_off != first.flx_id && split_off != third.flx_id);
    assert_eq!(
        fixture.property(first.flx_id)["adverts"][0]["flxId"],
        json!(third.flx_id)
    );
    assert_eq!(
        fixture.advert(first.flx_id)["propertyFlxId"],
        json!(split_off)
    );
    for (property, adverts) in [
        (split_off, vec![first.flx_id]),
        (split_off, vec![]),
        (split_off, vec![third.flx_id]),
    ] {
        assert!(matches!(
            fixture.listings.split(property, &adverts),
            Err(crate::Error::Order(_))
        ));
    }
}

#[test]
fn an_advert_corrected_to_another_asset_moves_with_its_property() {
    let fixture = IngestFixture::open();
    let first = fixture.ingest_one(flat("a", 1, 0));
    let alone = fixture.ingest_one(flat("b", 7, 5));
    assert_eq!(alone.property_flx_id, alone.flx_id);
    let corrected = with(flat("b", 7, 0), json!({"lastSeenAt": "2026-03-05"}));
    let corrected = fixture.ingest_one(corrected);
    assert_eq!(corrected.property_flx_id, first.flx_id);
    assert_eq!(
        fixture.property(alone.flx_id),
        fixture.property(first.flx_id),
        "the former identifier redirects"
    );
    let changes = fixture
        .listings
        .changes_since(ListingKind::Property, 0, 100)
        .unwrap();
    let gone = changes.records.iter();
    let gone = gone.filter(|change| change.id == alone.flx_id && change.record.is_none());
    assert_eq!(gone.count(), 1);
    // After the split, the property has its identifier again.
    assert_eq!(
        fixture
            .listings
            .split(first.flx_id, &[alone.flx_id])
            .unwrap(),
        alone.flx_id
    );
    assert_eq!(fixture.property(alone.flx_id)["flxId"], json!(alone.flx_id));
}

#[test]
fn adverts_split_off_together_keep_the_identifiers_of_their_properties() {
    let fixture = IngestFixture::open();
    let [first, second, third] = [("a", 0), ("b", 5), ("c", 9)]
        .map(|(portal, asset)| fixture.ingest_one(flat(portal, 1, asset)));
    // Corrections show one after the other that both are the first asset.
    for (portal, day) in [("b", "2026-03-05"), ("c", "2026-03-06")] {
        let corrected = with(flat(portal, 1, 0), json!({"lastSeenAt": day}));
        assert_eq!(fixture.ingest_one(corrected).property_flx_id, first.flx_id);
    }
    let leaving = [second.flx_id, third.flx_id];
    let split_off = fixture.listings.split(first.flx_id, &leaving).unwrap();
    assert_eq!(split_off, second.flx_id);
    assert_eq!(
        fixture.property(third.flx_id),
        fixture.property(split_off),
        "the identifier follows its advert"
    );
    assert_eq!(fixture.property(first.flx_id)["flxId"], json!(first.flx_id));
}

/// Sighting of one of two flats of the same price, size and postal code: a list shows little, a page more.
fn twin(portal: &str, asset: u64, is_page: bool, day: u64) -> Value {
    let page = flat(portal, 1, asset);
    let mut twin = with(
        page.clone(),
        json!({"currentPrice": {"value": 187_430}, "location": {"postalCode": "69003", "city": "Lyon"},
            "habitation": {"roomCount": 3, "surface": {"total": 61.5}}, "seller": null, "title": null,
            "description": null, "medias": null, "lastSeenAt": format!("2026-03-{day:02}")}),
    );
    if is_page {
        twin["description"] = page["description"].clone();
        twin["medias"] = page["medias"].clone();
        twin["habitation"]["floor"] = json!(asset);
        twin["habitation"]["climate"] = json!({"epcEnergyScore": 150 + asset * 10});
    }
    twin
}

#[test]
fn an_advert_leaves_a_property_that_it_joined_when_little_was_known() {
    let fixture = IngestFixture::open();
    let first = fixture.ingest_one(twin("a", 0, false, 1));
    let second = fixture.ingest_one(twin("b", 5, false, 2));
    assert_eq!(second.property_flx_id, first.property_flx_id);
    // The page of one advert contradicts nothing known of the other; the two pages contradict each other.
    let seen = fixture.ingest_one(twin("a", 0, true, 3));
    assert_eq!(seen.property_flx_id, first.property_flx_id);
    let moved = fixture.ingest_one(twin("b", 5, true, 4));
    assert_ne!(moved.property_flx_id, first.property_flx_id);
    for (property, advert) in [
        (first.property_flx_id, first.flx_id),
        (moved.property_flx_id, second.flx_id),
    ] {
        let adverts = fixture.property(property)["adverts"].clone();
        assert_eq!(adverts.as_array().unwrap().len(), 1);
        assert_eq!(adverts[0]["flxId"], json!(advert));
    }
    let again = fixture.ingest_one(twin("b", 5, true, 5));
    assert_eq!(again.property_flx_id, moved.property_flx_id);
}

#[test]
fn an_advert_moves_to_the_property_that_its_page_shows() {
    let fixture = IngestFixture::open();
    let own = fixture.ingest_one(twin("c", 5, true, 1));
    let other = fixture.ingest_one(twin("a", 0, true, 1));
    assert_ne!(own.property_flx_id, other.property_flx_id);
    // The lists fit both properties and join one of them; the pages show which is right.
    for (portal, asset, home) in [("b", 5, &own), ("d", 0, &other)] {
        fixture.ingest_one(twin(portal, asset, false, 2));
        let moved = fixture.ingest_one(twin(portal, asset, true, 3));
        assert_eq!(moved.property_flx_id, home.property_flx_id);
    }
}

#[test]
fn what_a_person_joined_does_not_leave_by_itself() {
    let fixture = IngestFixture::open();
    let first = fixture.ingest_one(twin("a", 0, true, 1));
    let second = fixture.ingest_one(flat("b", 1, 7));
    let ids = (first.property_flx_id, second.property_flx_id);
    let merged = fixture.listings.merge(ids.0, ids.1).unwrap();
    let year = json!({"constructionYear": 1932});
    let mut seen = with(flat("b", 1, 7), json!({"lastSeenAt": "2026-03-04"}));
    seen["habitation"]["propertyCondition"] = year;
    assert_eq!(fixture.ingest_one(seen).property_flx_id, merged);
}

#[test]
fn a_relisting_before_the_first_advert_was_found_offline_is_not_vetoed() {
    let fixture = IngestFixture::open();
    // Without pictures, nothing would outweigh one portal showing both adverts at the same time.
    let seen = |day: &str, is_online: bool| json!({"lastSeenAt": day, "isOnline": is_online, "medias": null});
    let first = fixture.ingest_one(with(flat("a", 1, 0), seen("2026-03-01", true)));
    // Offline since some day before the 10th, and relisted under another URL on the 3rd.
    fixture.ingest_one(with(flat("a", 1, 0), seen("2026-03-10", false)));
    let relisted = with(flat("a", 2, 0), seen("2026-03-12", true));
    let relisted = with(relisted, json!({"firstSeenAt": "2026-03-03"}));
    let relisted = fixture.ingest_one(relisted);
    let [one, other] = [first.flx_id, relisted.flx_id].map(|id| id.to_string());
    let comparison = fixture.listings.explain(&one, &other).unwrap().comparison;
    assert_eq!(comparison.veto, None, "{comparison:?}");
}

#[test]
fn changes_are_numbered_and_a_reader_that_continues_misses_none() {
    let fixture = IngestFixture::open();
    let outcomes = fixture.ingest((0..150).map(|n| flat("a", n, n * 3)).collect());
    assert!(outcomes.iter().all(|outcome| outcome.is_ok()));
    let last = fixture.listings.last_sequence().unwrap();
    for of in [ListingKind::Advert, ListingKind::Property] {
        let (mut after, mut count) = (0, 0);
        while after < last {
            let changes = fixture.listings.changes_since(of, after, 37).unwrap();
            let numbers: Vec<i64> = changes
                .records
                .iter()
                .map(|change| change.sequence)
                .collect();
            assert!(numbers.is_sorted_by(|one, next| one < next));
            assert!(
                numbers
                    .iter()
                    .all(|number| *number > after && *number <= changes.through)
            );
            assert!(changes.through > after);
            count += numbers.len();
            after = changes.through;
        }
        assert_eq!(after, last);
        assert_eq!(
            count,
            fixture.listings.count_since(of, 0, usize::MAX).unwrap()
        );
        assert!(count >= 100, "{count}");
    }
    fixture.ingest_one(with(flat("a", 3, 9), json!({"lastSeenAt": "2026-03-02"})));
    for of in [ListingKind::Advert, ListingKind::Property] {
        let changes = fixture.listings.changes_since(of, last, 10).unwrap();
        assert_eq!(changes.records.len(), 1);
        assert_eq!(changes.through, fixture.listings.last_sequence().unwrap());
    }
}

#[test]
fn concurrent_ingestion_of_the_same_adverts_creates_each_once() {
    let fixture = IngestFixture::open();
    let path = fixture._folder.path();
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                let listings = Listings::new(Store::open(path).unwrap(), fixture.clock.clone());
                for start in 0..4 {
                    let group = (start * 5..start * 5 + 10)
                        .map(|n| flat("a", n, n * 3))
                        .collect();
                    listings.ingest(group).unwrap();
                }
            });
        }
    });
    assert_eq!(fixture.count("adverts"), 25);
    assert_eq!(fixture.count("fingerprints"), 25);
}

/// Removes from a record what depends on the order of sightings: identifiers, change timestamps, price history.
fn without_history(record: Value) -> Value {
    const HISTORY: [&str; 12] = [
        "flxId",
        "propertyFlxId",
        "mainPropertyAdFlxId",
        "lastModifiedAt",
        "lastUpdatedAt",
        "lastPublishedAt",
        "offlineAt",
        "totallyOfflineAt",
        "initial",
        "variation",
        "source",
        "latest",
    ];
    match record {
        Value::Object(fields) => fields
            .into_iter()
            .filter(|(field, _)| !HISTORY.contains(&field.as_str()))
            .map(|(field, value)| (field, without_history(value)))
            .collect(),
        Value::Array(items) => items.into_iter().map(without_history).collect(),
        other => other,
    }
}

/// Whole sightings of a flat on two portals, in order of time.
fn sightings() -> impl Strategy<Value = Vec<Value>> {
    let fact = (any::<bool>(), 0..1_000u32, any::<bool>());
    proptest::collection::vec(fact, 1..8).prop_map(|facts| {
        let one = |(at, (portal, price, is_online))| {
            let portal = if portal { "a" } else { "b" };
            with(flat(portal, 1, 0), json!({
                "lastSeenAt": format!("2026-03-{:02}T08:00:00Z", at + 1), "title": format!("De {portal}"),
                "currentPrice": {"value": 200_000 + price}, "isOnline": is_online,
            }))
        };
        (0..).zip(facts).map(one).collect()
    })
}

proptest! {
    #![proptest_config(proptest::test_runner::Config::with_cases(32))]
    #[test]
    fn sightings_in_any_order_and_grouping_give_the_same_records(
        (in_order, shuffled, group) in sightings()
            .prop_flat_map(|sightings| (Just(sightings.clone()), Just(sightings).prop_shuffle(), 1..8usize))
    ) {
        let end = |sightings: &[Value], group: usize| {
            let fixture = IngestFixture::open();
            let receipts: Vec<IngestReceipt> = sightings
                .chunks(group)
                .flat_map(|group| fixture.ingest(group.to_vec()))
                .map(|outcome| outcome.unwrap())
                .collect();
            let adverts: std::collections::BTreeMap<String, Value> = receipts
                .iter()
                .map(|receipt| fixture.advert(receipt.flx_id))
                .map(|advert| (advert["url"].to_string(), advert))
                .collect();
            let prices: Vec<Value> = adverts.values().map(|advert| advert["currentPrice"].clone()).collect();
            let property = without_history(fixture.property(receipts[0].property_flx_id));
            let adverts: Vec<Value> = adverts.into_values().map(without_history).collect();
            (adverts, prices, property, fixture.count("adverts"), fixture.count("properties"))
        };
        prop_assert_eq!(end(&shuffled, group), end(&in_order, 1));
    }
}

/// A flat whose seller is a person with a telephone number.
fn of_a_person(number: u64) -> Value {
    let mut advert = flat("un.example", number, number);
    advert["isPro"] = json!(false);
    advert["contactInCharge"] = json!({"phoneNumber": "06 12 34 56 78"});
    advert["description"] = json!("Appeler le 0612345678");
    advert
}

fn erase(fixture: &IngestFixture) {
    let list = fixture.listings.erased_contacts().unwrap();
    let number = crate::adverts::contacts::Contact::phone("+33612345678").unwrap();
    let digest = list.contacts.digest(&number);
    let insert = "INSERT INTO erased_contacts (digest, erased_at_ms) VALUES (?1, 0)";
    let change = move |transaction: &rusqlite::Transaction<'_>| {
        transaction.execute(insert, [digest.as_slice()])
    };
    fixture.listings.store.write(change).unwrap();
}

#[test]
fn a_contact_that_is_erased_while_its_advert_is_prepared_is_not_written() {
    let fixture = IngestFixture::open();
    let known = fixture.ingest_one(of_a_person(1)).flx_id;
    assert_eq!(
        fixture.advert(known)["contactInCharge"]["phoneNumber"],
        "06 12 34 56 78"
    );
    let prepared = fixture
        .listings
        .prepare_group(vec![of_a_person(1), of_a_person(2)])
        .unwrap();
    erase(&fixture);
    let written = fixture.listings.write_group(prepared).unwrap();
    for outcome in written {
        let advert = fixture.advert(outcome.unwrap().flx_id);
        assert_eq!(advert.get("contactInCharge"), None, "{advert}");
        assert_eq!(advert["description"], "Appeler le […]");
    }
    let later = fixture.ingest_one(of_a_person(3)).flx_id;
    assert_eq!(fixture.advert(later).get("contactInCharge"), None);
}
