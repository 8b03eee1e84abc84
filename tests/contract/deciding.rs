//! Pairs that wait for a person: the response conforms to the OpenAPI document.

use reqwest::Method;
use serde_json::{Value, json};
use toise::http::{openapi, resources};

use crate::support::Service;

fn thin(number: u32, more: Value) -> Value {
    let mut advert = json!({
        "url": format!("https://portal{number}.example/annonce/1"), "source": format!("portal{number}.example"),
        "type": "CLASS_FLAT", "offer": {"type": "OFFER_BUY"}, "currentPrice": {"value": 310_000},
        "location": {"city": "Paris", "postalCode": "75011", "inseeCode": "75111"},
        "habitation": {"surface": {"total": 31}, "roomCount": 2},
        "medias": {"images": [{"url": "https://portal.example/1.jpg", "imageId": "1", "gaussianHash": "", "meanHash": "", "perceptualHash": ""}]},
    });
    for (field, value) in more.as_object().unwrap() {
        advert[field] = value.clone();
    }
    advert
}

/// Checks that an answer has exactly the fields of its schema, at every depth.
fn conforms(document: &Value, schema: &Value, answer: &Value, at: &str) {
    if let Some(reference) = schema["$ref"].as_str() {
        let schema = document.pointer(reference.trim_start_matches('#')).unwrap();
        return conforms(document, schema, answer, at);
    }
    if let (Some(fields), Some(known)) = (answer.as_object(), schema["properties"].as_object()) {
        let names: Vec<&String> = fields.keys().collect();
        let missing = known.keys().find(|name| !fields.contains_key(*name));
        assert_eq!(missing, None, "{at}: {names:?}");
        for (name, value) in fields {
            let schema = known.get(name).unwrap_or_else(|| panic!("{at}.{name}"));
            conforms(document, schema, value, &format!("{at}.{name}"));
        }
    }
    if let Some(words) = schema["enum"].as_array() {
        assert!(words.contains(answer), "{at}: {answer}");
    }
    for item in answer.as_array().into_iter().flatten() {
        conforms(document, &schema["items"], item, at);
    }
}

#[tokio::test]
async fn a_pair_names_what_keeps_it_apart_in_the_fields_of_the_document() {
    let service = Service::start().await;
    let key = service.key_with("admin");
    let agency = json!({"reference": "VA-48127", "seller": {"name": "Agence du Canal", "siren": "123456780"}});
    let mut upstairs = thin(2, agency.clone());
    upstairs["habitation"]["floor"] = json!(2);
    let mut other = thin(3, json!({"reference": "VA-48127"}));
    other["habitation"]["floor"] = json!(5);
    let adverts = json!({"adverts": [thin(1, agency), upstairs, other]});
    let ask = async |method: Method, path: &str, body: Option<&Value>| {
        let request = service.ask(method, &format!("/v2/protected/admin/{path}"));
        let mut request = request.header("x-api-key", &key);
        if let Some(body) = body {
            request = request.json(body);
        }
        let response = request.send().await.unwrap();
        assert_eq!(response.status(), 200);
        response
    };
    let taken: Value = ask(Method::POST, "adverts", Some(&adverts))
        .await
        .json()
        .await
        .unwrap();
    assert_eq!(
        taken["data"][0]["propertyFlxId"],
        taken["data"][1]["propertyFlxId"]
    );
    let response = ask(Method::GET, "properties/candidates", None).await;
    assert_eq!(response.headers()["cache-control"], "no-store");
    let listed: Value = response.json().await.unwrap();
    let document = openapi::document(resources::endpoints());
    let operation = &document["paths"]["/v2/protected/admin/properties/candidates"]["get"];
    let schema = &operation["responses"]["200"]["content"]["application/json"]["schema"];
    conforms(&document, schema, &listed, "");
    let pair = &listed["data"]["pairs"][0];
    assert_eq!(pair["dissenters"][0]["flxId"], taken["data"][1]["flxId"]);
    assert_eq!(pair["dissenters"][0]["contradictions"], json!(["floor"]));
    assert_eq!(
        pair["adverts"][0]["pictures"],
        json!(["https://portal.example/1.jpg"])
    );
}
