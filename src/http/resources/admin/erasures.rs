//! Erasure of a person's contacts. [`toise_erasure`] does the work.

use super::{operator, private};
use crate::endpoint::call::{Call, read_json};
use crate::endpoint::response::ApiResponse;
use crate::endpoint::{Endpoint, JSON_BODY, Time, endpoints};
use crate::openapi::admin::data_of;
use crate::openapi::{Failure, Operation, reference};
use toise_erasure::Eraser;
use toise_erasure::request::parse_erasure;
use toise_service::error::ApiError;

/// Description of the operation.
const ABOUT: &str = "Removes a telephone number, an email address and a name from everything that is stored: adverts \
                     and properties with all kept versions of their tables, deliveries of alerts, stored responses, \
                     pages and reports. A contact person with one of these is removed as a whole, and so are the \
                     given contacts in texts. From then on, the contacts are removed from every advert that arrives. \
                     The answer names the records of each place. With dryRun nothing is changed. The call takes as \
                     long as reading everything that is stored; if it is cut off, repeat it. 409 while another \
                     erasure is running";

/// The operators' endpoint for erasures.
pub const ENDPOINTS: &[Endpoint] = endpoints! {
    POST "/v2/protected/admin/erasures", operator("admin.erasures"), Administers, erase(call)
        .with_body(JSON_BODY)
    .with_time(Time::Upload)
    .with_operation(|| {
        Operation::new(
            "erasuresCreate",
            "Remove the contacts of a person from everything that is stored",
        )
        .with_description(ABOUT)
        .with_request(reference("ErasureRequest"))
        .with_response(data_of("Erasure"))
        .failing(Failure::WrongState)
    });
};

/// `POST /v2/protected/admin/erasures`: erases contacts, and returns what was found once it is gone.
async fn erase(call: &Call<'_>) -> Result<ApiResponse, ApiError> {
    let body = call.body.clone();
    call.blocking(move |app| {
        let request = parse_erasure(&read_json(&body)?)?;
        let properties = &app.data.properties;
        let (listings, lake) = (properties.listings().clone(), properties.lake().clone());
        let report = Eraser::new(app.store.clone(), listings, lake)
            .erase(&request.contacts, request.mode)?;
        Ok(private(report.answer()).about(report.subject()))
    })
    .await
}
