//! The layers of the service, for the SQL table `layer_NAME` and the functions `within`, `nearest` and `distance_to`.

use serde_json::{Value, json};

use crate::endpoint::call::Call;
use crate::endpoint::response::ApiResponse;
use crate::endpoint::{Access, Endpoint, endpoints};
use crate::openapi::{Operation, enveloped};
use toise_accounts::scopes::Scope;
use toise_contract::fields::schema::{instant, record, text};
use toise_layers::LayerMetadata;
use toise_service::error::ApiError;

/// The endpoint of layers.
pub const ENDPOINTS: &[Endpoint] = endpoints! {
    GET "/v2/protected/layers", Access::scoped(Scope::Search, "layers.list"), Reads, list(call)
        .with_operation(operation);
};

fn operation() -> Operation {
    Operation::new("layersList", "Layers, by name: geodata that SQL can query")
        .with_description(
            "The operator imports layers, such as flood zones or schools. The attributes of a layer are the table \
             `layer_NAME` of SQL; `within(lon, lat, 'NAME')`, `nearest` and `distance_to` query its geometries",
        )
        .with_response(enveloped(json!({"type": "array", "items": schema()})))
}

fn schema() -> Value {
    let column = record(json!({
        "name": text("Name of the column"),
        "type": {
            "type": "string",
            "enum": ["text", "integer", "number", "flag", "day", "moment", "utc_moment"],
            "description": "Type of its values",
        },
    }));
    record(json!({
        "name": text("Name of the layer"),
        "table": text("Name of its table in SQL"),
        "licence": text("Licence of the data"),
        "source": text("Address or name of the file that was imported"),
        "importedAt": instant("When it was imported"),
        "count": {"type": "integer", "minimum": 1, "description": "Number of features"},
        "geometryTypes": {
            "type": "array",
            "items": {"type": "string"},
            "description": "Types of the geometries, as in GeoJSON",
        },
        "bbox": {
            "type": "array",
            "items": {"type": "number"},
            "minItems": 4,
            "maxItems": 4,
            "description": "Western, southern, eastern and northern edge of the box around all features, degrees",
        },
        "columns": {"type": "array", "items": column, "description": "Attributes of the features"},
    }))
}

async fn list(call: &Call<'_>) -> Result<ApiResponse, ApiError> {
    let found = call
        .blocking(|app| app.data.layers.list().map_err(ApiError::internal))
        .await?;
    Ok(ApiResponse::data(found.iter().map(about).collect()))
}

fn about(layer: &LayerMetadata) -> Value {
    json!({
        "name": layer.name,
        "table": layer.name.table(),
        "licence": layer.provenance.licence,
        "source": layer.provenance.name,
        "importedAt": layer.provenance.read_at,
        "count": layer.features,
        "geometryTypes": layer.geometry_types,
        "bbox": layer.bbox,
        "columns": layer.columns,
    })
}
