//! Pairs of properties that may be one home, and an operator's decisions about them: merge them, keep them apart, or
//! split adverts off. [`toise_listings::placement`] does the work.

use serde_json::{Value, json};

use super::{operator, private};
use crate::endpoint::call::{Call, read_json};
use crate::endpoint::response::ApiResponse;
use crate::endpoint::{Endpoint, JSON_BODY, endpoints};
use crate::openapi::admin::data_of;
use crate::openapi::{Failure, Operation, reference};
use toise_contract::Fault;
use toise_contract::fields::schema;
use toise_contract::listings::codes::FlxId;
use toise_contract::query::pairs;
use toise_listings::placement::request::{
    ADVERTS_KEY, CANDIDATES, OTHER_KEY, parse_candidates, parse_other, parse_split,
};
use toise_listings::{self as listings, Listings, OrderRefused};
use toise_service::error::ApiError;

/// Operators' endpoints for decisions about properties.
pub const ENDPOINTS: &[Endpoint] = endpoints! {
    GET "/v2/protected/admin/properties/candidates",
        operator("admin.properties.candidates"), ReadsOnWriter, candidates(call)
        .with_operation(|| {
            Operation::new(
                "propertiesCandidates",
                "Pairs of properties that may be the same home, likeliest first",
            )
            .with_description(
                "Each pair is shown by the two of its adverts that are most alike, with what agrees, what differs \
                 and what keeps them apart. A pair stays listed until the two are merged or kept apart, or until a \
                 later sighting or other adverts of the area settle the question",
            )
            .with_query(schema::parameters(&CANDIDATES))
            .with_response(data_of("CandidatePairs"))
        });
    POST "/v2/protected/admin/properties/{flxId}/merge", operator("admin.properties.merge"), Administers, merge(call)
        .with_body(JSON_BODY)
        .with_operation(|| {
                Operation::new("propertiesMerge", "Declare that two properties are the same home")
                    .with_description(
                        "The older identifier stays, and the other one then returns the same record. Only a split \
                         separates their adverts again. 409 if they are already one property",
                    )
                    .with_request(reference("OtherProperty"))
                    .with_response(data_of("DecidedProperty"))
                    .failing(Failure::WrongState)
            });
    POST "/v2/protected/admin/properties/{flxId}/keep-apart",
        operator("admin.properties.keep_apart"), Administers, keep_apart(call)
        .with_body(JSON_BODY)
        .with_operation(|| {
                Operation::new("propertiesKeepApart", "Declare that two properties are different homes")
                    .with_description(
                        "Their adverts are no longer merged automatically, and the pair is no longer listed. A later \
                         merge overrides this. 409 if they are already one property",
                    )
                    .with_request(reference("OtherProperty"))
                    .with_response(data_of("KeptApart"))
                    .failing(Failure::WrongState)
            });
    POST "/v2/protected/admin/properties/{flxId}/split", operator("admin.properties.split"), Administers, split(call)
        .with_body(JSON_BODY)
        .with_operation(|| {
                Operation::new(
                    "propertiesSplit",
                    "Move adverts out of a property into a new one",
                )
                .with_description(
                    "They are not merged with the remaining adverts again, unless an operator merges them later",
                )
                .with_request(reference("SplitRequest"))
                .with_response(data_of("DecidedProperty"))
            });
};

/// `GET /v2/protected/admin/properties/candidates`: the most likely pairs, and the number of pairs waiting for a
/// decision.
async fn candidates(call: &Call<'_>) -> Result<ApiResponse, ApiError> {
    let limit = parse_candidates(&pairs(call.query)?)?;
    call.blocking(move |app| {
        let listings = app.data.properties.listings();
        let (pairs, waiting) = (listings.likely_pairs(limit)?, listings.likely_pair_count()?);
        Ok(private(json!({"pairs": pairs, "waiting": waiting})))
    })
    .await
}

/// `POST /v2/protected/admin/properties/{flxId}/merge`: merges two properties.
async fn merge(call: &Call<'_>) -> Result<ApiResponse, ApiError> {
    decide(call, parse_other, |listings, property, other| {
        let kept = listings.merge(property, *other)?;
        let about = format!("properties {property} and {other} are {kept}");
        Ok((json!({"propertyFlxId": kept}), about))
    })
    .await
}

/// `POST /v2/protected/admin/properties/{flxId}/keep-apart`: keeps two properties apart.
async fn keep_apart(call: &Call<'_>) -> Result<ApiResponse, ApiError> {
    decide(call, parse_other, |listings, property, other| {
        listings.keep_apart(property, *other)?;
        let about = format!("properties {property} and {other}");
        Ok((json!({"keptApart": [property, other]}), about))
    })
    .await
}

/// `POST /v2/protected/admin/properties/{flxId}/split`: moves adverts to a new property.
async fn split(call: &Call<'_>) -> Result<ApiResponse, ApiError> {
    decide(call, parse_split, |listings, property, adverts| {
        let parted = listings.split(property, adverts)?;
        let moved: Vec<String> = adverts.iter().map(ToString::to_string).collect();
        let moved = moved.join(", ");
        let about = format!("property {property}; adverts {moved} moved to property {parted}");
        Ok((json!({"propertyFlxId": parted}), about))
    })
    .await
}

/// Applies the decision in the body to the property in the path; `act` returns the answer, and what the act was about.
async fn decide<T: 'static>(
    call: &Call<'_>,
    parse: fn(&Value) -> Result<T, Fault>,
    act: fn(&Listings, FlxId, &T) -> listings::Result<(Value, String)>,
) -> Result<ApiResponse, ApiError> {
    let property = call.flx_id("property")?;
    let body = call.body.clone();
    call.blocking(move |app| {
        let asked = parse(&read_json(&body)?)?;
        let decided = act(app.data.properties.listings(), property, &asked);
        let (answer, about) = decided.map_err(|error| refusal(error, property))?;
        Ok(private(answer).about(about))
    })
    .await
}

/// Returns the error for a decision about the property in the path that is refused.
fn refusal(error: listings::Error, property: FlxId) -> ApiError {
    let listings::Error::Order(refused) = error else {
        return error.into();
    };
    let message = refused.to_string();
    match refused {
        OrderRefused::NoProperty(id) if id == property => ApiError::NotFound("property"),
        OrderRefused::NoProperty(_) => Fault::new(OTHER_KEY, "must be a property").into(),
        OrderRefused::OneProperty(..) => ApiError::WrongState(message),
        OrderRefused::NoAdvert { .. } | OrderRefused::NothingToSplit => {
            Fault::new(ADVERTS_KEY, message).into()
        }
    }
}
