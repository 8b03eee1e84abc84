//! Vector tiles of sales, diagnostics and properties, and the TileJSON that leads maps to them.

use bytes::Bytes;
use futures::FutureExt;
use serde_json::{Value, json};
use warp::http::Method;
use warp::http::header::CACHE_CONTROL;

use crate::App;
use crate::call::{Call, read_json};
use crate::endpoint::{Access, BodyRule, Counting, Endpoint, PROTECTED_PREFIX, Time};
use crate::error::ApiError;
use crate::openapi::Operation;
use crate::response::ApiResponse;
use toise_accounts::scopes::Scope;
use toise_contract::fault::Fault;
use toise_contract::filter::Filter;
use toise_contract::listings::filters::{ListingKind, parse_search_query};
use toise_contract::query::pairs;
use toise_engine::pool::Load;
use toise_opendata::Dataset;
use toise_opendata::request::parse_search;
use toise_tiles::mercator::{TileId, ZOOM_MAX};
use toise_tiles::{MEDIA_TYPE, POINTS_MAX, POINTS_ZOOM, TileSource};

/// Names of what there are tiles of.
const DATASETS: [&str; 3] = ["dvf", "dpe", "properties"];
/// Query parameter with the filters, as JSON.
const FILTERS: &str = "filters";
/// Query parameter with the version that a tile is asked for.
const VERSION: &str = "version";
/// A tile of a named version never changes.
const VERSIONED_CACHE: &str = "private, max-age=86400, immutable";
/// Any other may change with the next import.
const CURRENT_CACHE: &str = "private, max-age=10";

/// The endpoints of tiles.
pub const ENDPOINTS: &[Endpoint] = &[
    Endpoint {
        method: Method::GET,
        path: "/v2/protected/tiles/{dataset}",
        access: Access::scoped(Scope::Search, "tiles.set"),
        counting: Counting::Free,
        body: BodyRule::None,
        time: Time::Request,
        handler: |call| async { about(call) }.boxed(),
        operation: Some(|| {
            Operation::new("tileSet", "Where the vector tiles of a dataset are, as TileJSON")
                .with_description("`tiles` holds the version of the table, so that maps may keep what they have loaded")
                .with_answer(tile_json_schema())
        }),
    },
    Endpoint {
        method: Method::GET,
        path: "/v2/protected/tiles/{dataset}/{z}/{x}/{y}",
        access: Access::scoped(Scope::Search, "tiles.get"),
        counting: Counting::Free,
        body: BodyRule::None,
        time: Time::Request,
        handler: |call| tile(call).boxed(),
        operation: Some(|| {
            Operation::new("tile", "A vector tile")
                .with_description(format!(
                    "Mapbox Vector Tile. From zoom {POINTS_ZOOM} on, the layer `points` has each row with its `id`, at most \
                     {POINTS_MAX}; at lower zooms, the layer `hexagons` has their `count`. Both have the figure of the \
                     dataset: `price_per_m2` of sales and properties (of a hexagon the median), `energy` of diagnostics \
                     (1 for A to 7 for G; of a hexagon `poor_share`, the percentage of F and G)"
                ))
                .with_query(query_parameters())
                .answering_as(MEDIA_TYPE, json!({"type": "string", "format": "binary"}))
        }),
    },
];

fn query_parameters() -> Vec<Value> {
    vec![
        json!({
            "name": FILTERS,
            "in": "query",
            "description": "JSON text of the `filters` of a search of sales or diagnostics, or of the `search` of a search \
                            of properties (`{\"filterProperty\": …}`)",
            "schema": {"type": "string", "contentMediaType": "application/json"},
        }),
        json!({
            "name": VERSION,
            "in": "query",
            "description": "Version that the tile set names; the answer may then be kept",
            "schema": {"type": "integer", "minimum": 0},
        }),
    ]
}

fn tile_json_schema() -> Value {
    let text = |about: &str| json!({"type": "string", "description": about});
    let zoom = |about: &str| json!({"type": "integer", "description": about});
    json!({
        "type": "object",
        "required": ["tilejson", "name", "tiles", "minzoom", "maxzoom", "vector_layers"],
        "properties": {
            "tilejson": text("Version of TileJSON"),
            "name": text("Name of the dataset"),
            "tiles": {
                "type": "array",
                "description": "Path of the tiles, with {z}, {x} and {y} to fill in",
                "items": {"type": "string"},
            },
            "minzoom": zoom("Lowest zoom"),
            "maxzoom": zoom("Zoom beyond which maps enlarge tiles"),
            "vector_layers": {
                "type": "array",
                "description": "Layers with their fields",
                "items": {
                    "type": "object",
                    "required": ["id", "fields", "minzoom", "maxzoom"],
                    "properties": {
                        "id": text("Name of the layer"),
                        "fields": {
                            "type": "object",
                            "description": "Type of each field",
                            "additionalProperties": {"type": "string"},
                        },
                        "minzoom": zoom("Lowest zoom that has it"),
                        "maxzoom": zoom("Highest zoom that has it"),
                    },
                },
            },
        },
    })
}

/// The source of a dataset, as it is now.
fn source(app: &App, name: &str) -> Result<TileSource, ApiError> {
    match DATASETS.iter().position(|known| *known == name) {
        Some(0) => Ok(TileSource::OpenData(Dataset::Dvf)),
        Some(1) => Ok(TileSource::OpenData(Dataset::Dpe)),
        Some(2) => Ok(TileSource::Properties(app.properties.view())),
        _ => Err(ApiError::NotFound("dataset")),
    }
}

fn about(call: &Call<'_>) -> Result<ApiResponse, ApiError> {
    let source = source(call.app, call.param(0))?;
    let version = call
        .app
        .tiles
        .version(&source)
        .map_err(ApiError::internal)?;
    let name = source.name();
    let (row, hexagon) = source.figures();
    let tiles = format!("{PROTECTED_PREFIX}tiles/{name}/{{z}}/{{x}}/{{y}}?{VERSION}={version}");
    let answer = json!({
        "tilejson": "3.0.0",
        "name": name,
        "tiles": [tiles],
        "minzoom": 0,
        "maxzoom": ZOOM_MAX,
        "vector_layers": [
            {"id": "hexagons", "fields": {"count": "Number", hexagon: "Number"}, "minzoom": 0, "maxzoom": POINTS_ZOOM - 1},
            {"id": "points", "fields": {"id": "String", row: "Number"}, "minzoom": POINTS_ZOOM, "maxzoom": ZOOM_MAX},
        ],
    });
    Ok(ApiResponse::json(answer.to_string()))
}

async fn tile(call: &Call<'_>) -> Result<ApiResponse, ApiError> {
    let source = source(call.app, call.param(0))?;
    let id = TileId::parse(call.param(1), call.param(2), call.param(3));
    let id = id.ok_or(ApiError::NotFound("tile"))?;
    let (mut filter, mut is_versioned) = (Filter::new(), false);
    for (name, value) in pairs(call.query)? {
        match name.as_str() {
            FILTERS => filter = parse_filters(call.app, &source, &value)?,
            VERSION if value.parse::<u64>().is_ok() => is_versioned = true,
            VERSION => return Err(Fault::new(VERSION, "must be a whole number").into()),
            _ => {
                let message = format!("is not known; must be one of: {FILTERS}, {VERSION}");
                return Err(Fault::new(name, message).into());
            }
        }
    }
    let app = call.app.clone();
    let load = if id.z < POINTS_ZOOM {
        Load::Batch
    } else {
        Load::Single
    };
    let made = call
        .app
        .pool
        .run(call.key()?.key_id, load, move |interrupt| {
            app.tiles.tile(&source, id, &filter, interrupt)
        });
    let made: Bytes = made.await?.map_err(ApiError::internal)?;
    let cache = if is_versioned {
        VERSIONED_CACHE
    } else {
        CURRENT_CACHE
    };
    Ok(ApiResponse::typed(MEDIA_TYPE, made).with_header(CACHE_CONTROL, cache))
}

fn parse_filters(app: &App, source: &TileSource, text: &str) -> Result<Filter, ApiError> {
    let given = read_json(text.as_bytes())?;
    Ok(match source {
        TileSource::OpenData(dataset) => {
            parse_search(*dataset, &json!({ FILTERS: given }), &app.cursors)?.filter
        }
        TileSource::Properties(_) => parse_search_query(ListingKind::Property, &given)?,
    })
}
