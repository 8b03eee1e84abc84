//! Parcels and buildings: what is known about one, in time order. Records of open data are copied into responses as the
//! tables store them; properties and adverts are in short form.

use bytes::{BufMut, Bytes, BytesMut};

use crate::endpoint::call::Call;
use crate::endpoint::response::ApiResponse;
use crate::endpoint::{Access, Endpoint, endpoints};
use crate::openapi::Operation;
use crate::openapi::admin::data_of;
use toise_accounts::prices::Consumption;
use toise_accounts::scopes::Scope;
use toise_contract::cursor::CursorKey;
use toise_contract::enums::EnumSearchRequestSortBy;
use toise_contract::fields::schema::parameters;
use toise_contract::filter::{Clause, ClauseTest, POSITION};
use toise_contract::listings::codes::{FlxId, Timestamp};
use toise_contract::listings::filters::{ListingSearch, PropertySearchRequest};
use toise_contract::listings::{LiteProperty, Property};
use toise_contract::query::pairs;
use toise_engine::cancellation::Interrupt;
use toise_engine::pool::Load;
use toise_estimate::model::days;
use toise_opendata::history::{Event, EventKind, History, LINKS_MAX, Link, Place};
use toise_opendata::request::history::PAGE;
use toise_opendata::request::parse_history;
use toise_opendata::rnb::REACH_M;
use toise_service::App;
use toise_service::error::ApiError;

/// The endpoints of parcels and buildings.
pub const ENDPOINTS: &[Endpoint] = endpoints! {
    GET "/v2/protected/parcels/{parcel_id}", Access::scoped(Scope::Search, "parcels.get"), Reads, parcel(call)
        .counted_as(Consumption::ParcelsGetById)
        .with_operation(|| {
            Operation::new("parcelHistory", "What happened on a parcel, in time order")
                .with_description(format!(
                    "Sales that name the parcel, also by the identifier that it had before its commune joined another, \
                     and sales of parcels that it was made from according to the documents of filiation; diagnostics \
                     whose address is on it according to the national address base, or whose building \
                     is on it according to the register of buildings, superseded diagnostics included; if the key may \
                     search properties, the first sightings of at most {LISTED_MAX} properties whose adverts name an \
                     address on it, and of these adverts. At most {LINKS_MAX} addresses and buildings count. 404 if nothing \
                     is known about the parcel"
                ))
                .with_query(parameters(&PAGE))
                .with_response(data_of("PlaceHistory"))
        });
    GET "/v2/protected/buildings/{id_rnb}", Access::scoped(Scope::Search, "buildings.get"), Reads, building(call)
        .counted_as(Consumption::BuildingsGetById)
        .with_operation(|| {
            Operation::new("buildingHistory", "What happened in a building, in time order")
                .with_description(format!(
                    "Diagnostics that name the building, superseded ones included, and sales of its parcels. If the \
                     register of buildings was imported, its parcels are those of the register, and diagnostics that name \
                     no building are those of the largest building at their address or, if the register has none there, of \
                     the most likely one at most {REACH_M} m from their position, with a score. Otherwise its parcels \
                     are those on which the addresses of its diagnostics are. A sale may belong to another building on the \
                     same parcel. If the key may search properties, the first sightings of at most {LISTED_MAX} properties \
                     whose adverts name an address of the building, and of these adverts. At most {LINKS_MAX} addresses \
                     and parcels count. 404 if nothing is known about the building"
                ))
                .with_query(parameters(&PAGE))
                .with_response(data_of("PlaceHistory"))
        });
};

/// Endpoint that a key without the scope must be granted to see properties.
const PROPERTIES_SEARCH: &str = "properties.search.lite";
/// Maximum properties in the list of a response.
const PROPERTIES: usize = 20;
/// Maximum properties whose first sighting is an event, and whose adverts are.
const LISTED_MAX: usize = 200;
/// Maximum difference between two positions of one address, degrees: about a metre.
const SAME_DEG: f64 = 0.000_01;
/// Bytes of a response in addition to its events.
const ENVELOPE_BYTES: usize = 512;
/// Bytes of an event in addition to its record.
const EVENT_BYTES: usize = 96;

/// `GET /v2/protected/parcels/{parcel_id}`: a page of the history of a parcel.
async fn parcel(call: &Call<'_>) -> Result<ApiResponse, ApiError> {
    let place = Place::parcel(call.param(0))?;
    history(
        call,
        place,
        "parcel in the sales, diagnostics and buildings",
    )
    .await
}

/// `GET /v2/protected/buildings/{id_rnb}`: a page of the history of a building.
async fn building(call: &Call<'_>) -> Result<ApiResponse, ApiError> {
    let place = Place::building(call.param(0))?;
    history(
        call,
        place,
        "building in the diagnostics and the register of buildings",
    )
    .await
}

async fn history(
    call: &Call<'_>,
    place: Place,
    what: &'static str,
) -> Result<ApiResponse, ApiError> {
    let cursors = call.cursors()?;
    let request = parse_history(place, &pairs(call.query)?, &cursors)?;
    let may_search = call.key()?.allows(Scope::Search, PROPERTIES_SEARCH);
    call.on_pool(Load::Single, move |app, _, interrupt| {
        let found = app.data.open_data.history(&request, interrupt);
        let mut found = found.map_err(ApiError::internal)?;
        let listed = if may_search {
            listed_at(app, &found.place.positions, interrupt)?
        } else {
            None
        };
        let properties = listed.map(|listed| {
            found.add(&request, listed.events);
            listed.properties
        });
        if found.total == 0 && found.place.is_unknown() {
            return Err(ApiError::NotFound(what));
        }
        page(&request.place, &found, properties, &cursors)
    })
    .await
}

/// The properties at a place.
struct Listed {
    /// The first of them, and their number, as JSON.
    properties: Vec<u8>,
    /// Their first sightings, and those of their adverts.
    events: Vec<Event>,
}

/// Returns the properties that were located at an address of the place; `None` if there are none. An advert that names
/// an address has exactly its position.
fn listed_at(
    app: &App,
    positions: &[(f64, f64)],
    interrupt: &Interrupt,
) -> Result<Option<Listed>, ApiError> {
    if positions.is_empty() {
        return Ok(None);
    }
    let boxes = positions.iter().map(|(lat, lon)| {
        let around = ClauseTest::InBox {
            top: lat + SAME_DEG,
            left: lon - SAME_DEG,
            bottom: lat - SAME_DEG,
            right: lon + SAME_DEG,
        };
        vec![Clause::new(POSITION, around)]
    });
    let request = PropertySearchRequest {
        search: ListingSearch {
            filter: Clause::any(boxes.collect()),
            keywords: Vec::new(),
            full_texts: Vec::new(),
        },
        sort_by: EnumSearchRequestSortBy::FirstSeenAt,
        descending: false,
        size: LISTED_MAX,
        after: None,
    };
    let page = app.data.properties.search(&request, interrupt)?;
    if page.count == 0 {
        return Ok(None);
    }
    let keys: Vec<_> = page.items.iter().map(|found| found.key).collect();
    let records = app.data.properties.listings().properties_by_key(&keys)?;
    let mut properties = Vec::from(br#"{"items":["#);
    let mut events = Vec::new();
    for (nth, record) in records.into_iter().enumerate() {
        let property: Property = serde_json::from_slice(&record).map_err(ApiError::internal)?;
        let lite = LiteProperty::from(&property);
        let text = serde_json::to_vec(&lite).map_err(ApiError::internal)?;
        if nth < PROPERTIES {
            if nth > 0 {
                properties.push(b',');
            }
            properties.extend_from_slice(&text);
        }
        let seen = property.meta.and_then(|meta| meta.first_seen_at);
        events.push(sighting(EventKind::Property, property.flx_id, seen, text));
        for (advert, short) in property.adverts.iter().zip(&lite.adverts) {
            let text = serde_json::to_vec(short).map_err(ApiError::internal)?;
            let (id, seen) = (advert.flx_id, advert.first_seen_at);
            events.push(sighting(EventKind::Advert, id, seen, text));
        }
    }
    properties.extend_from_slice(format!(r#"],"count":{}}}"#, page.count).as_bytes());
    Ok(Some(Listed { properties, events }))
}

/// Returns the event of a first sighting.
fn sighting(kind: EventKind, id: Option<FlxId>, seen: Option<Timestamp>, text: Vec<u8>) -> Event {
    Event {
        kind,
        day: seen.map(|seen| days(seen.get().date_naive())),
        link: Link::Address,
        score: None,
        id: id.map_or_else(String::new, |id| id.0.to_string()),
        record: text.into(),
    }
}

fn page(
    place: &Place,
    found: &History,
    properties: Option<Vec<u8>>,
    cursors: &CursorKey,
) -> Result<Bytes, ApiError> {
    let events = found.events.iter();
    let length: usize = events.map(|event| event.record.len() + EVENT_BYTES).sum();
    let mut bytes = BytesMut::with_capacity(length + ENVELOPE_BYTES);
    // Neither identifiers nor cursors have characters that JSON escapes.
    bytes.put_slice(format!(r#"{{"data":{{"id":"{}","#, place.id()).as_bytes());
    let facts = [
        ("buildings", serde_json::to_vec(&found.place.buildings)),
        (
            "formerParcels",
            serde_json::to_vec(&found.place.former_parcels),
        ),
        (
            "laterParcels",
            serde_json::to_vec(&found.place.later_parcels),
        ),
    ];
    for (name, list) in facts {
        let list = list.map_err(ApiError::internal)?;
        if list != b"[]" {
            bytes.put_slice(format!(r#""{name}":"#).as_bytes());
            bytes.put_slice(&list);
            bytes.put_u8(b',');
        }
    }
    if let Some(properties) = properties {
        bytes.put_slice(br#""properties":"#);
        bytes.put_slice(&properties);
        bytes.put_u8(b',');
    }
    bytes.put_slice(br#""events":["#);
    for (nth, event) in found.events.iter().enumerate() {
        let (kind, link) = (event.kind.as_str(), event.link.as_str());
        if nth > 0 {
            bytes.put_u8(b',');
        }
        bytes.put_u8(b'{');
        if let Some(date) = event.date() {
            bytes.put_slice(format!(r#""date":"{date}","#).as_bytes());
        }
        bytes.put_slice(format!(r#""kind":"{kind}","link":"{link}","#).as_bytes());
        if let Some(score) = event.score {
            bytes.put_slice(format!(r#""score":{score},"#).as_bytes());
        }
        bytes.put_slice(br#""record":"#);
        bytes.put_slice(&event.record);
        bytes.put_u8(b'}');
    }
    let (total, has_more) = (found.total, found.next.is_some());
    bytes.put_slice(format!(r#"],"total":{total},"hasMore":{has_more}"#).as_bytes());
    if let Some(next) = &found.next {
        let cursor = cursors.encode(next, &place.digest());
        bytes.put_slice(format!(r#","cursor":"{cursor}""#).as_bytes());
    }
    bytes.put_slice(b"}}");
    Ok(bytes.freeze())
}
