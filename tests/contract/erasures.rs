//! Erasure of contacts over HTTP: what it accepts, and answers in the fields of the OpenAPI document.

use reqwest::Method;
use serde_json::{Value, json};
use toise::http::{openapi, resources};

use crate::support::Service;

const PATH: &str = "/v2/protected/admin/erasures";

#[tokio::test]
async fn an_erasure_answers_with_every_place_and_without_the_contact() {
    let service = Service::start().await;
    let key = service.key_with("admin");
    let ask = async |path: &str, body: &Value| {
        let request = service.keyed(Method::POST, path, &key);
        let response = request.json(body).send().await.unwrap();
        (
            response.status().as_u16(),
            response.json::<Value>().await.unwrap(),
        )
    };
    let advert = json!({
        "url": "https://un.example/1", "source": "un.example", "type": "CLASS_FLAT", "isPro": false,
        "offer": {"type": "OFFER_BUY"}, "currentPrice": {"value": 310_000}, "location": {"postalCode": "75011"},
        "seller": {"name": "Hélène Lefèvre"}, "contactInCharge": {"phoneNumber": "01 99 00 41 27"},
    });
    let (_, taken) = ask("/v2/protected/admin/adverts", &json!({"adverts": [advert]})).await;
    let id = &taken["data"][0]["flxId"];
    let document = openapi::document(resources::endpoints());
    let schemas = &document["components"]["schemas"];
    let mut body = json!({"name": "lefevre helene", "dryRun": true});
    for is_dry_run in [true, false] {
        body["dryRun"] = json!(is_dry_run);
        let (status, answer) = ask(PATH, &body).await;
        assert_eq!(status, 200, "{answer}");
        let erased = &answer["data"];
        assert_eq!(erased["dryRun"], is_dry_run);
        assert_eq!(erased.get("erasureId").is_none(), is_dry_run);
        for field in erased.as_object().unwrap().keys() {
            assert!(
                schemas["Erasure"]["properties"].get(field).is_some(),
                "{field}"
            );
        }
        let places = erased["places"].as_array().unwrap();
        let names: Vec<&Value> = places.iter().map(|place| &place["place"]).collect();
        let known = schemas["ErasurePlace"]["properties"]["place"]["enum"]
            .as_array()
            .unwrap();
        assert_eq!(names, known.iter().collect::<Vec<_>>());
        let removed = u32::from(!is_dry_run);
        let adverts = json!({"place": "adverts", "found": 1, "removed": removed, "ids": [id]});
        assert_eq!(places[0], adverts);
        assert!(
            !answer.to_string().to_lowercase().contains("lef"),
            "{answer}"
        );
    }
    for (body, message) in [
        (json!({}), "body: must hold phone, email or name"),
        (
            json!({"dryRun": true}),
            "body: must hold phone, email or name",
        ),
        (
            json!({"phone": "06 12"}),
            "phone: must be a telephone number of 7 to 15 digits",
        ),
        (
            json!({"email": "helene"}),
            "email: must be an email address",
        ),
        (
            json!({"contact": "x"}),
            "contact: unknown field; must be one of: phone, email, name, dryRun",
        ),
    ] {
        let (status, answer) = ask(PATH, &body).await;
        assert_eq!(status, 422, "{answer}");
        assert!(answer.to_string().contains(message), "{answer}");
    }
}
