//! Properties and adverts by identifier. Stored records are copied into responses without parsing.

use crate::endpoint::call::Call;
use crate::endpoint::response::{ApiResponse, list};
use crate::endpoint::{Access, Endpoint, MANY_JSON_BODY, endpoints};
use crate::openapi::admin::{data_list_of, data_of};
use crate::openapi::{Operation, reference};
use toise_accounts::prices::Consumption;
use toise_accounts::scopes::Scope;
use toise_contract::listings::codes::FlxId;
use toise_contract::listings::filters::parse_many;
use toise_service::error::ApiError;

/// The endpoints for reading by identifier.
pub const ENDPOINTS: &[Endpoint] = endpoints! {
    GET "/v2/protected/properties/{flxId}", Access::scoped(Scope::Search, "properties.get"), Reads, property(call)
        .counted_as(Consumption::PropertiesGetById)
        .with_operation(|| {
            Operation::new("propertiesGet", "A property by its identifier")
                .with_description(
                    "The identifier of a property that was merged into another one returns that other \
                                       property",
                )
                .with_response(data_of("Property"))
        });
    GET "/v2/protected/properties/advert/{flxId}",
        Access::scoped(Scope::Search, "properties.by_advert"), Reads, property_of_advert(call)
        .counted_as(Consumption::PropertiesGetByAdvertId)
        .with_operation(|| {
            Operation::new(
                "propertiesGetByAdvert",
                "The property that an advert belongs to",
            )
            .with_response(data_of("Property"))
        });
    POST "/v2/protected/properties/_many",
        Access::scoped(Scope::Search, "properties.many"), Reads, properties_many(call)
        .counted_as(Consumption::PropertiesGetById)
        .with_body(MANY_JSON_BODY)
        .with_operation(|| {
            Operation::new("propertiesMany", "Properties by their identifiers")
                .with_description(
                    "In the order of the request; unknown identifiers are left out and cost nothing",
                )
                .with_request(reference("ManyPropertiesPayload"))
                .with_response(data_list_of("Property"))
        });
    GET "/v2/protected/adverts/{flxId}", Access::scoped(Scope::Search, "adverts.get"), Reads, advert(call)
        .counted_as(Consumption::AdvertsGetById)
        .with_operation(|| {
            Operation::new("advertsGet", "An advert by its identifier").with_response(data_of("Advert"))
        });
};

/// `GET /v2/protected/properties/{flxId}`: a property.
async fn property(call: &Call<'_>) -> Result<ApiResponse, ApiError> {
    let id = call.flx_id("property")?;
    call.blocking(move |app| {
        let listings = app.data.properties.listings();
        ApiResponse::record(listings.property(id)?, "property")
    })
    .await
}

/// `GET /v2/protected/properties/advert/{flxId}`: the property that contains an advert.
async fn property_of_advert(call: &Call<'_>) -> Result<ApiResponse, ApiError> {
    let id = call.flx_id("advert")?;
    call.blocking(move |app| {
        let listings = app.data.properties.listings();
        ApiResponse::record(listings.property_of_advert(id)?, "advert")
    })
    .await
}

/// `GET /v2/protected/adverts/{flxId}`: an advert.
async fn advert(call: &Call<'_>) -> Result<ApiResponse, ApiError> {
    let id = call.flx_id("advert")?;
    call.blocking(move |app| {
        ApiResponse::record(app.data.properties.listings().advert(id)?, "advert")
    })
    .await
}

/// `POST /v2/protected/properties/_many`: properties in the requested order; one unit for each that exists.
async fn properties_many(call: &Call<'_>) -> Result<ApiResponse, ApiError> {
    let ids = call.read_on_pool(|body| Ok(parse_many(&body)?)).await?;
    call.blocking(move |app| {
        let listings = app.data.properties.listings();
        let ids: Vec<FlxId> = ids.into_iter().map(FlxId).collect();
        let records: Vec<Vec<u8>> = listings.properties(&ids)?.into_iter().flatten().collect();
        let units = records.len() as u64;
        Ok(ApiResponse::json(list(&records)).with_units(units))
    })
    .await
}
