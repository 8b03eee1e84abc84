//! Vector tiles of sales, diagnostics and properties, of the base map below them, and the TileJSON that describes them.

use bytes::Bytes;
use serde_json::{Value, json};
use warp::http::header::CACHE_CONTROL;

use crate::endpoint::call::{Call, read_json};
use crate::endpoint::response::ApiResponse;
use crate::endpoint::{Access, Endpoint, PROTECTED_PREFIX, endpoints};
use crate::input::areas::replace_names;
use crate::input::layers;
use crate::openapi::Operation;
use toise_accounts::scopes::Scope;
use toise_contract::fault::Fault;
use toise_contract::fields::schema::{record, text};
use toise_contract::filter::Filter;
use toise_contract::listings::filters::{ListingKind, parse_search_query};
use toise_contract::query::pairs;
use toise_engine::pool::Load;
use toise_opendata::Dataset;
use toise_opendata::request::parse_search;
use toise_service::App;
use toise_service::error::ApiError;
use toise_tiles::mercator::{TileId, ZOOM_MAX};
use toise_tiles::{Gathering, MEDIA_TYPE, POINTS_MAX, POINTS_ZOOM, TileSource, areas, outlines};
use uuid::Uuid;

/// Names of the datasets that have tiles.
const DATASETS: [&str; 3] = ["dvf", "dpe", "properties"];
/// Version of the outlines; it changes with the contours in the executable.
const OUTLINES_VERSION: u32 = 1;
/// Query parameter that says how rows are grouped at lower zooms, and its values.
const GATHERING: &str = "by";
const HEXAGONS: &str = "hexagons";
const AREAS: &str = "areas";
/// Query parameter with the filters, as JSON.
const FILTERS: &str = "filters";
/// Query parameter with the version of the tile that is requested.
const VERSION: &str = "version";
/// Cache rule of a tile of a named version, which never changes.
const VERSIONED_CACHE: &str = "private, max-age=86400, immutable";
/// Cache rule of any other tile, which may change with the next import.
const CURRENT_CACHE: &str = "private, max-age=10";

/// The endpoints of tiles.
pub const ENDPOINTS: &[Endpoint] = endpoints! {
    GET "/v2/protected/tiles/{dataset}", Access::scoped(Scope::Search, "tiles.set"), Reads, about(call)
        .with_operation(|| {
            Operation::new("tileSet", "TileJSON of the vector tiles of a dataset")
                .with_description(
                    "`tiles` contains the version of the table, so maps may cache the tiles they have loaded. \
                     `outlines` has the departments and communes with labels, to draw under the other datasets",
                )
                .with_response(tile_json_schema())
        });
    GET "/v2/protected/tiles/{dataset}/{z}/{x}/{y}", Access::scoped(Scope::Search, "tiles.get"), Reads, tile(call)
        .with_operation(|| {
            Operation::new("tile", "A vector tile")
                .with_description(format!(
                    "A Mapbox Vector Tile. From zoom {POINTS_ZOOM} on, the layer `points` has each row with its \
                     `id`, at most {POINTS_MAX} rows. At lower zooms, the layer `hexagons` has the `count` of rows \
                     in each hexagon, or the layer `areas` the `count` in each commune (below zoom {communes}: \
                     department) with its `code` and `name`. All layers have the figure of the dataset. For sales \
                     and properties it is `price_per_m2`, of a hexagon or area the median. For diagnostics it is \
                     `energy`, from 1 for A to 7 for G; of a hexagon or area it is `poor_share`, the percentage of F \
                     and G. Areas of properties also have `over_sold`: the percentage by which asking prices per m² \
                     exceed those of the sales of the last {days} days, comparing flats with flats and houses with \
                     houses. `outlines` has the layers `departments`, `communes` (from zoom {communes} on) and \
                     `labels`; it takes no filters",
                    communes = outlines::COMMUNES_ZOOM,
                    days = areas::SOLD_WITHIN_DAYS,
                ))
                .with_query(query_parameters())
                .with_response_of_type(MEDIA_TYPE, json!({"type": "string", "format": "binary"}))
        });
};

fn query_parameters() -> Vec<Value> {
    vec![
        json!({
            "name": FILTERS,
            "in": "query",
            "description": "JSON text: the `filters` of a search for sales or diagnostics, or the `search` of a \
                            search for properties (`{\"filterProperty\": …}`)",
            "schema": {"type": "string", "contentMediaType": "application/json"},
        }),
        json!({
            "name": GATHERING,
            "in": "query",
            "description": "How rows are aggregated at lower zooms",
            "schema": {"type": "string", "enum": [HEXAGONS, AREAS], "default": HEXAGONS},
        }),
        json!({
            "name": VERSION,
            "in": "query",
            "description": "Version from the TileJSON; with it the answer may be cached",
            "schema": {"type": "integer", "minimum": 0},
        }),
    ]
}

fn tile_json_schema() -> Value {
    let zoom = |about: &str| json!({"type": "integer", "description": about});
    record(json!({
        "tilejson": text("Version of TileJSON"),
        "name": text("Name of the dataset"),
        "attribution?": text("Attribution of the data"),
        "tiles": {
            "type": "array",
            "description": "Path of the tiles, with placeholders {z}, {x} and {y}",
            "items": {"type": "string"},
        },
        "minzoom": zoom("Lowest zoom"),
        "maxzoom": zoom("Highest zoom; beyond it maps enlarge these tiles"),
        "vector_layers": {
            "type": "array",
            "description": "Layers with their fields",
            "items": record(json!({
                "id": text("Name of the layer"),
                "fields": {
                    "type": "object",
                    "description": "Type of each field",
                    "additionalProperties": {"type": "string"},
                },
                "minzoom": zoom("Lowest zoom with this layer"),
                "maxzoom": zoom("Highest zoom with this layer"),
            })),
        },
    }))
}

/// Returns the current source of a dataset.
fn source(app: &App, name: &str) -> Result<TileSource, ApiError> {
    match DATASETS.iter().position(|known| *known == name) {
        Some(0) => Ok(TileSource::OpenData(Dataset::Dvf)),
        Some(1) => Ok(TileSource::OpenData(Dataset::Dpe)),
        Some(2) => Ok(TileSource::Properties(app.data.properties.view())),
        _ => Err(ApiError::NotFound("dataset")),
    }
}

async fn about(call: &Call<'_>) -> Result<ApiResponse, ApiError> {
    if call.param(0) == outlines::NAME {
        return Ok(about_outlines());
    }
    let source = source(call.app, call.param(0))?;
    let version = call
        .app
        .data
        .tiles
        .version(&source)
        .map_err(ApiError::internal)?;
    let name = source.name();
    let (row, hexagon) = source.figures();
    let tiles = format!("{PROTECTED_PREFIX}tiles/{name}/{{z}}/{{x}}/{{y}}?{VERSION}={version}");
    let mut of_area =
        json!({"code": "String", "name": "String", "count": "Number", hexagon: "Number"});
    if matches!(source, TileSource::Properties(_)) {
        of_area["over_sold"] = "Number".into();
    }
    let document = json!({
        "tilejson": "3.0.0",
        "name": name,
        "tiles": [tiles],
        "minzoom": 0,
        "maxzoom": ZOOM_MAX,
        "vector_layers": [
            {"id": "hexagons", "fields": {"count": "Number", hexagon: "Number"}, "minzoom": 0, "maxzoom": POINTS_ZOOM - 1},
            {"id": "areas", "fields": of_area, "minzoom": 0, "maxzoom": POINTS_ZOOM - 1},
            {"id": "points", "fields": {"id": "String", row: "Number"}, "minzoom": POINTS_ZOOM, "maxzoom": ZOOM_MAX},
        ],
    });
    Ok(ApiResponse::json(document.to_string()))
}

/// Returns the TileJSON of the base map.
fn about_outlines() -> ApiResponse {
    let layers = outlines::LAYERS.map(|layer| {
        let fields = layer.fields.iter();
        let fields: serde_json::Map<String, Value> = fields
            .map(|(name, kind)| ((*name).to_owned(), (*kind).into()))
            .collect();
        json!({"id": layer.id, "fields": fields, "minzoom": layer.minzoom, "maxzoom": outlines::ZOOM_MAX})
    });
    let name = outlines::NAME;
    let tiles =
        format!("{PROTECTED_PREFIX}tiles/{name}/{{z}}/{{x}}/{{y}}?{VERSION}={OUTLINES_VERSION}");
    let document = json!({
        "tilejson": "3.0.0",
        "name": name,
        "tiles": [tiles],
        "minzoom": 0,
        "maxzoom": outlines::ZOOM_MAX,
        "attribution": "IGN Admin Express",
        "vector_layers": layers,
    });
    ApiResponse::json(document.to_string())
}

/// The query parameters of a tile.
struct TileQuery {
    filter: Filter,
    gathering: Gathering,
    is_versioned: bool,
}

impl TileQuery {
    /// Parses the query. The base map has no source and takes only the version.
    fn read(
        app: &App,
        account: Uuid,
        source: Option<&TileSource>,
        query: &str,
    ) -> Result<Self, ApiError> {
        let mut read = Self {
            filter: Filter::new(),
            gathering: Gathering::Hexagons,
            is_versioned: false,
        };
        for (name, value) in pairs(query)? {
            match (name.as_str(), source) {
                (FILTERS, Some(source)) => {
                    read.filter = parse_filters(app, account, source, &value)?
                }
                (GATHERING, Some(_)) => read.gathering = parse_gathering(&value)?,
                (VERSION, _) if value.parse::<u64>().is_ok() => read.is_versioned = true,
                (VERSION, _) => return Err(Fault::new(VERSION, "must be a whole number").into()),
                (_, Some(_)) => {
                    let message =
                        format!("is not known; must be one of: {FILTERS}, {GATHERING}, {VERSION}");
                    return Err(Fault::new(name, message).into());
                }
                (_, None) => {
                    return Err(Fault::new(name, format!("is not known; must be {VERSION}")).into());
                }
            }
        }
        Ok(read)
    }

    fn cache(&self) -> &'static str {
        if self.is_versioned {
            VERSIONED_CACHE
        } else {
            CURRENT_CACHE
        }
    }
}

fn parse_gathering(text: &str) -> Result<Gathering, Fault> {
    match text {
        HEXAGONS => Ok(Gathering::Hexagons),
        AREAS => Ok(Gathering::Areas),
        _ => Err(Fault::new(
            GATHERING,
            format!("must be one of: {HEXAGONS}, {AREAS}"),
        )),
    }
}

/// Returns a tile of the base map.
async fn outlines_tile(call: &Call<'_>, id: TileId) -> Result<ApiResponse, ApiError> {
    let query = TileQuery::read(call.app, call.key()?.account_id, None, call.query)?;
    // Not on the query pool: the first tile takes a second, and those that wait for it would hold up queries.
    let make = move |app: &App| app.data.tiles.outlines(id).map_err(ApiError::internal);
    let made = call.blocking(make).await?;
    Ok(ApiResponse::typed(MEDIA_TYPE, made).with_header(CACHE_CONTROL, query.cache()))
}

async fn tile(call: &Call<'_>) -> Result<ApiResponse, ApiError> {
    let id = TileId::parse(call.param(1), call.param(2), call.param(3));
    let id = id.ok_or(ApiError::NotFound("tile"))?;
    if call.param(0) == outlines::NAME {
        return outlines_tile(call, id).await;
    }
    let source = source(call.app, call.param(0))?;
    // Names of areas are looked up in the store, and layers may have to be read.
    let (of, account, query) = (
        source.clone(),
        call.key()?.account_id,
        call.query.to_owned(),
    );
    let read = move |app: &App| TileQuery::read(app, account, Some(&of), &query);
    let query = call.blocking(read).await?;
    let (cache, gathering, filter) = (query.cache(), query.gathering, query.filter);
    let _permit = match gathering {
        Gathering::Areas if id.z < POINTS_ZOOM => {
            call.app.data.tiles.scan_permit(&source, &filter).await
        }
        _ => None,
    };
    let load = if id.z < POINTS_ZOOM {
        Load::Batch
    } else {
        Load::Single
    };
    let made: Bytes = call
        .compute(load, move |app, interrupt| {
            let tiles = &app.data.tiles;
            let made = tiles.tile(&source, id, &filter, gathering, interrupt);
            made.map_err(ApiError::internal)
        })
        .await?;
    Ok(ApiResponse::typed(MEDIA_TYPE, made).with_header(CACHE_CONTROL, cache))
}

fn parse_filters(
    app: &App,
    account: Uuid,
    source: &TileSource,
    text: &str,
) -> Result<Filter, ApiError> {
    let mut given = json!({ FILTERS: read_json(text.as_bytes())? });
    replace_names(&app.store, account, &mut given)?;
    layers::check_names(&app.data.layers, &mut given)?;
    let mut filter = match source {
        TileSource::OpenData(dataset) => parse_search(*dataset, &given, &app.cursors)?.filter,
        TileSource::Properties(_) => parse_search_query(ListingKind::Property, &given[FILTERS])?,
    };
    layers::resolve(app, &mut filter)?;
    Ok(filter)
}
