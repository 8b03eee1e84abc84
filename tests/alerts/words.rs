//! Alerts on words: they are notified of exactly what a search for the same words finds.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};
use toise::contract::enums::EnumSearchRequestSortBy;
use toise::contract::filter::Filter;
use toise::contract::listings::codes::FlxId;
use toise::contract::listings::filters::{
    ListingKind, ListingSearch, PropertySearchRequest, parse_saved_search,
};
use toise::engine::cancellation::Interrupt;
use toise::listings::search::preview::ITEMS_MAX;
use toise::listings::search::projection::Projection;

use crate::support::alerts::{AlertFixture, flat, with};
use crate::support::draw::Draw;
use crate::support::projection;

const CREATED: &str = "ALERT_MATCH_CREATED";

/// Words of texts and searches that differ in accents, forms and typing errors, and unrelated ones.
const WORDS: [&str; 16] = [
    "jardin", "Jardins", "jradin", "gardien", "vue", "vues", "mer", "clos", "Cheminée",
    "cheminees", "chemniée", "appartement", "aparttement", "l'entrée", "- ! -", "T3",
];

fn text(most: usize, draw: &mut Draw) -> String {
    let words = (0..1 + draw.below(most)).map(|_| *draw.one_of(&WORDS));
    words.collect::<Vec<&str>>().join(" ")
}

fn texts(most: usize, words: usize, draw: &mut Draw) -> Vec<String> {
    let count = draw.below(most + 1);
    (0..count).map(|_| text(words, draw)).collect()
}

fn found(projection: &Projection, search: &ListingSearch) -> BTreeSet<FlxId> {
    let request = PropertySearchRequest {
        search: search.clone(),
        sort_by: EnumSearchRequestSortBy::FirstSeenAt,
        descending: false,
        size: 100,
        after: None,
    };
    let page = projection.search(&request, &Interrupt::default()).unwrap();
    assert_eq!(page.items.len() as u64, page.count);
    page.items.into_iter().map(|found| found.id).collect()
}

#[test]
fn an_alert_on_words_is_told_of_what_a_search_of_these_words_finds() {
    let fixture = AlertFixture::open();
    let projection = projection(fixture.folder.path(), fixture.listings.clone());
    let mut draw = Draw::new(47);
    let mut alerts = Vec::new();
    for _ in 0..60 {
        let keywords = texts(2, 2, &mut draw);
        let mut query = json!({"keywords": keywords, "fullTexts": texts(2, 3, &mut draw)});
        if keywords.is_empty() && draw.once_in(2) {
            query["keywords"] = Value::Null;
        }
        let filter = if draw.once_in(3) {
            json!({"location": [{"postalCode": "69003"}]})
        } else {
            json!({})
        };
        let of_adverts =
            json!({"keywords": query["keywords"], "fullTexts": query["fullTexts"], "filterAd": {}});
        query["filterProperty"] = filter;
        let search = parse_saved_search(ListingKind::Property, &query).unwrap();
        let told = [
            (ListingKind::Property, &query),
            (ListingKind::Advert, &of_adverts),
        ];
        let told = told.map(|(kind, query)| {
            let address = fixture.alert_of_query(kind, query, &[CREATED]);
            (kind, fixture.alerts.get(address).unwrap().number)
        });
        alerts.push((search, told, BTreeSet::new()));
    }
    let (mut told_of, mut last_told) = (BTreeMap::<i64, BTreeSet<FlxId>>::new(), 0);
    for day in 1..=4 {
        // Each flat at most once, new or with other texts.
        let adverts = (0..50).filter(|_| !draw.once_in(3)).collect::<Vec<u64>>();
        let adverts = adverts.into_iter().map(|number| {
            let fields = json!({"title": text(4, &mut draw), "description": text(12, &mut draw),
                "tags": texts(2, 2, &mut draw), "lastSeenAt": format!("2026-11-{day:02}T08:00:00Z")});
            with(flat("a", number, number), fields)
        });
        fixture.take(adverts.collect());
        projection.refresh().unwrap();
        let (more, last) = fixture.notifications_after(last_told);
        last_told = last;
        for told in more {
            assert_eq!(told.branch, "created");
            let is_new = told_of.entry(told.alert).or_default().insert(told.item);
            assert!(is_new, "each once");
        }
        for (search, told, matched) in &mut alerts {
            let now = found(&projection, search);
            // Each flat has one advert.
            for listing in [ListingKind::Property, ListingKind::Advert] {
                let of_all = ListingSearch {
                    filter: Filter::default(),
                    ..search.clone()
                };
                let search = match listing {
                    ListingKind::Property => search,
                    ListingKind::Advert => &of_all,
                };
                let preview = projection.preview(listing, search, 30, &Interrupt::default());
                let preview = preview.unwrap();
                assert_eq!(preview.count(), now.len() as u64, "{listing:?} {search:?}");
                assert_eq!(preview.items.len(), now.len().min(ITEMS_MAX));
            }
            matched.extend(now);
            for (listing, number) in told {
                let items = told_of.entry(*number).or_default();
                assert_eq!(items, matched, "{listing:?} {search:?}");
            }
        }
    }
    let counts: Vec<usize> = alerts.iter().map(|(.., matched)| matched.len()).collect();
    let selective = counts.iter().filter(|count| (1..50).contains(*count));
    assert!(selective.count() > 20, "{counts:?}");
}

#[test]
fn words_that_were_there_before_the_alert_are_not_new_and_those_that_come_are() {
    let fixture = AlertFixture::open();
    let old = fixture.take_one(flat("a", 1, 0)).flx_id;
    let asks = |words: Value| {
        let query = json!({"filterProperty": {}, "keywords": words});
        fixture.alert_of_query(ListingKind::Property, &query, &[CREATED])
    };
    let (known, comes) = (asks(json!(["lumineux"])), asks(json!(["Piscine"])));
    let seen = |day: u32, fields: Value| {
        let moment = format!("2026-11-{day:02}T08:00:00Z");
        fixture.take_one(with(
            with(flat("a", 1, 0), fields),
            json!({"lastSeenAt": moment}),
        ));
    };
    seen(3, json!({"currentPrice": {"value": 240_000}}));
    assert_eq!(fixture.notifications(known), []);
    seen(4, json!({"title": "Appartement avec piscine"}));
    seen(5, json!({"title": "Appartement, belle piscine"}));
    assert_eq!(fixture.notifications(comes), [("created".into(), old)]);
    assert_eq!(fixture.notifications(known), []);
}
