//! A parcel of a commune that joined another, and a building: imported, found by filters over HTTP, in SQL and on
//! tiles, and read as a history.

use std::path::Path;

use reqwest::Method;
use serde_json::{Value, json};

use crate::support::assertions::{assert_begins, pick};
use crate::support::client::Client;
use crate::support::process::{new_key, run, sql_number, write_file};

/// A parcel of La Faute-sur-Mer, before and after its commune joined L'Aiguillon-la-Presqu'île.
const FORMER: &str = "85307000AB0012";
const PARCEL: &str = "85001307AB0012";
const BUILDING: &str = "8XBEW7VVWG47";

const SALES: &str = "id_mutation,date_mutation,nature_mutation,valeur_fonciere,code_postal,code_commune,nom_commune,\
code_departement,id_parcelle,type_local,surface_reelle_bati,nombre_pieces_principales,longitude,latitude\n\
2021-1,2021-05-03,Vente,150000,85460,85307,La Faute-sur-Mer,85,85307000AB0012,Maison,80,4,-1.3201,46.3301\n\
2023-2,2023-02-10,Vente,210000,85460,85001,L'Aiguillon-la-Presqu'île,85,85001307AB0012,Maison,80,4,-1.3201,46.3301\n\
2023-3,2023-03-01,Vente,250000,85460,85001,L'Aiguillon-la-Presqu'île,85,85001000CD0001,Maison,90,4,-1.3101,46.3401\n\
2023-3,2023-03-01,Vente,250000,85460,85001,L'Aiguillon-la-Presqu'île,85,85001307AB0012,Dépendance,,0,-1.3201,46.3301\n\
2023-4,2023-04-01,Vente,99000,85460,85001,L'Aiguillon-la-Presqu'île,85,85001000CD0002,Appartement,40,2,-1.3105,46.3405\n";

const ADDRESSES: &str = "id;id_fantoir;numero;rep;nom_voie;code_postal;code_insee;nom_commune;\
code_insee_ancienne_commune;nom_ancienne_commune;x;y;lon;lat;type_position;alias;nom_ld;libelle_acheminement;nom_afnor;\
source_position;source_nom_voie;certification_commune;cad_parcelles\n\
85001_0100_00005;;5;;Rue du Port;85460;85001;L'Aiguillon-la-Presqu'île;;;;;-1.3201;46.3301;entrée;;;;;commune;commune;1;85001307AB0012\n\
85001_0100_00007;;7;;Rue du Port;85460;85001;L'Aiguillon-la-Presqu'île;;;;;-1.3105;46.3405;entrée;;;;;commune;commune;1;85001000CD0002|85001000CD0003\n";

const DIAGNOSTICS: &str = "numero_dpe,date_etablissement_dpe,etiquette_dpe,code_departement_ban,code_insee_ban,identifiant_ban,id_rnb,_geopoint\n\
A,2022-06-01,F,85,85001,85001_0100_00005,8XBEW7VVWG47,\n\
B,2024-01-01,C,85,85001,85001_0100_00005,8XBEW7VVWG47,\n\
C,2022-01-01,D,85,85001,85001_0100_00007,8XBEW7VVWG48,\n\
D,2023-02-10,E,85,85001,85001_0100_00005,,\n\
E,2023-06-01,B,85,85001,85001_0100_00009,,\"46.3301,-1.3200\"\n\
F,2023-07-01,B,85,85001,85001_0100,,\"46.3301,-1.3200\"\n";

/// The register: a house and its garage, which have one address.
const REGISTER: &str = r#"rnb_id;point;shape;status;ext_ids;addresses;plots;validated_by
8XBEW7VVWG47;"SRID=4326;POINT(-1.3201 46.3301)";"SRID=4326;POLYGON((-1.3202 46.3301,-1.3200 46.3301,-1.3200 46.3302,-1.3202 46.3302,-1.3202 46.3301))";constructed;[];"[{""cle_interop_ban"": ""85001_0100_00005""}]";"[{""id"": ""85001307AB0012"", ""bdg_cover_ratio"": 1.0}]";[]
8XBEW7VVWG49;"SRID=4326;POINT(-1.3203 46.3301)";"SRID=4326;POLYGON((-1.3204 46.3301,-1.3203 46.3301,-1.3203 46.3302,-1.3204 46.3302,-1.3204 46.3301))";constructed;[];"[{""cle_interop_ban"": ""85001_0100_00005""}]";;[]
"#;

/// Adverts of a flat with its address, and of another with only its town.
const ADVERTS: &str = r#"{"url": "https://portail.example/annonce/1", "source": "portail.example", "type": "CLASS_FLAT", "offer": {"type": "OFFER_BUY"}, "currentPrice": {"value": 150000}, "location": {"address": "5 rue du Port", "postalCode": "85460", "city": "L'Aiguillon-la-Presqu'île"}, "habitation": {"surface": {"total": 45}}}
{"url": "https://portail.example/annonce/2", "source": "portail.example", "type": "CLASS_FLAT", "offer": {"type": "OFFER_BUY"}, "currentPrice": {"value": 250000}, "location": {"postalCode": "85460", "city": "L'Aiguillon-la-Presqu'île"}, "habitation": {"surface": {"total": 75}}}
"#;

/// A parcel that was made from its neighbour.
const CHANGES: &str = "850;001;000;0000012;1;20220601;XXXXXXXX;XNUMX;00001;1;CD0001;\n\
850;001;000;0000012;1;20220601;XXXXXXXX;XNUMX;00001;2;CD0002;CD0003;\n";

fn import(data: &Path, folder: &Path) {
    for (table, name, text) in [
        ("dvf", "dvf.csv", SALES),
        ("ban", "adresses-85.csv", ADDRESSES),
        ("dpe", "dpe.csv", DIAGNOSTICS),
    ] {
        let file = write_file(folder, name, text);
        let partial = (table == "dpe").then_some("--allow-partial");
        let arguments = ["import", table, &file].into_iter().chain(partial);
        run(data, &arguments.collect::<Vec<_>>());
    }
}

/// Day, kind and link of each event of open data, and the mutation or the number of its record.
fn shown(history: &Value) -> Vec<[&str; 4]> {
    let events = history["events"].as_array().unwrap().iter();
    events
        .filter(|event| event["kind"] == "SALE" || event["kind"] == "DIAGNOSTIC")
        .map(|event| {
            let record = &event["record"];
            let named = record["mutation_id"]
                .as_str()
                .or(record["numero_dpe"].as_str());
            let of = |name: &str| event[name].as_str().unwrap();
            [&of("date")[..10], of("kind"), of("link"), named.unwrap()]
        })
        .collect()
}

/// The answer once it has a field, or as it is after ten seconds.
async fn once_it_has(field: &str, ask: impl AsyncFn() -> Value) -> Value {
    for _ in 0..100 {
        let answer = ask().await;
        if answer.get(field).is_some() {
            return answer;
        }
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }
    ask().await
}

#[tokio::test]
async fn a_parcel_and_a_building_are_found_and_have_a_history() {
    let folder = tempfile::tempdir().unwrap();
    let data = &folder.path().join("data");
    import(data, folder.path());
    let adverts = write_file(folder.path(), "adverts.ndjson", ADVERTS);
    let report = run(data, &["ingest", &adverts]);
    assert_eq!(report["created"], 2, "{report}");
    let key = &new_key(data, &[]);
    let (_server, client) = Client::start(data, key);
    let get = async |path: &str| {
        let answer = client.request(Method::GET, path).send().await.unwrap();
        let status = answer.status().as_u16();
        if status == 200 {
            assert_eq!(answer.headers()["x-credits"], "0");
        }
        (status, answer.bytes().await.unwrap())
    };
    let json_of = async |path: &str| {
        let (status, bytes) = get(path).await;
        (status, serde_json::from_slice::<Value>(&bytes).unwrap())
    };
    let total = async |dataset: &str, filters: Value| {
        let path = format!("opendata/{dataset}/search");
        let (_, answer) = client.post(&path, json!({ "filters": filters })).await;
        answer
            .get("total")
            .cloned()
            .unwrap_or_else(|| answer["error"]["message"].clone())
    };

    // Filters, over HTTP and in SQL.
    let parcels = async |ids: &[&str]| total("dvf", json!({"parcel_ids": ids})).await;
    for id in [FORMER, PARCEL] {
        assert_eq!(parcels(&[id]).await, 3, "{id}");
    }
    assert_eq!(parcels(&["85001000CD0001", "85001000CD0002"]).await, 2);
    assert_eq!(parcels(&["85001000CD0009"]).await, 0);
    assert_eq!(parcels(&[]).await, 4);
    assert_eq!(total("dvf", json!({"mutation_id": "2023-3"})).await, 1);
    assert_eq!(total("dpe", json!({"id_rnb": [BUILDING]})).await, 2);
    let count = |table: &str, condition: &str| {
        sql_number(
            data,
            &format!("select count(*) from {table} where {condition}"),
        )
    };
    assert_eq!(
        count("dvf", &format!("array_has(parcel_ids, '{PARCEL}')")),
        3
    );
    assert_eq!(count("dvf", "mutation_id = '2023-3'"), 1);
    assert_eq!(count("dpe", &format!("id_rnb = '{BUILDING}'")), 2);
    let refused = total("dvf", json!({"parcel_ids": [PARCEL, "85001"]})).await;
    let begin = "filters.parcel_ids[1]: must be the identifier of a parcel";
    assert_begins(refused.as_str().unwrap(), begin);
    let refused = total("dpe", json!({"id_rnb": ["8XBE-W7VV-WG47"]})).await;
    assert_begins(
        refused.as_str().unwrap(),
        "filters.id_rnb[0]: must be the RNB",
    );

    // Tiles.
    let tile = async |filters: Value| {
        let filters: String =
            url::form_urlencoded::byte_serialize(filters.to_string().as_bytes()).collect();
        get(&format!("tiles/dvf/0/0/0?filters={filters}")).await
    };
    let (status, of_parcel) = tile(json!({"parcel_ids": ["85001000CD0002"]})).await;
    assert_eq!(status, 200);
    assert_eq!(of_parcel, tile(json!({"mutation_id": "2023-4"})).await.1);
    assert_ne!(of_parcel, tile(json!({})).await.1);

    // Histories.
    let on_parcel = [
        ["2021-05-03", "SALE", "PARCEL", "2021-1"],
        ["2022-06-01", "DIAGNOSTIC", "ADDRESS", "A"],
        ["2023-02-10", "SALE", "PARCEL", "2023-2"],
        ["2023-02-10", "DIAGNOSTIC", "ADDRESS", "D"],
        ["2023-03-01", "SALE", "PARCEL", "2023-3"],
        ["2024-01-01", "DIAGNOSTIC", "ADDRESS", "B"],
    ];
    for id in [PARCEL, FORMER] {
        let (status, answer) = json_of(&format!("parcels/{id}")).await;
        let history = &answer["data"];
        assert_eq!((status, &history["id"]), (200, &json!(id)), "{answer}");
        assert_eq!(shown(history), on_parcel);
        assert_eq!(pick(history, ["total", "hasMore"]), json!([8, false]));
        assert!(history.get("cursor").is_none());
    }
    for place in [format!("parcels/{PARCEL}"), format!("buildings/{BUILDING}")] {
        let (_, answer) = json_of(&place).await;
        let properties = &answer["data"]["properties"];
        assert_eq!(properties["count"], 1, "{place}: {answer}");
        assert_eq!(
            properties["items"][0]["price"]["latest"]["value"], 150_000,
            "{properties}"
        );
        // Their first sightings are the latest events.
        let events = answer["data"]["events"].as_array().unwrap();
        let [property, advert] = &events[events.len() - 2..] else {
            panic!("{answer}");
        };
        for (event, kind) in [(property, "PROPERTY"), (advert, "ADVERT")] {
            assert_eq!(event["kind"], kind, "{place}");
            assert_eq!(event["link"], "ADDRESS");
        }
        assert_eq!(property["record"], properties["items"][0]);
        assert_eq!(advert["record"], properties["items"][0]["adverts"][0]);
    }
    let (mut read, mut query) = (Vec::new(), String::new());
    let mut pages = 0;
    loop {
        let (status, answer) = json_of(&format!("parcels/{PARCEL}?size=4{query}")).await;
        assert_eq!(status, 200, "{answer}");
        read.extend(
            shown(&answer["data"])
                .into_iter()
                .map(|event| event.map(str::to_owned)),
        );
        pages += 1;
        let Some(cursor) = answer["data"]["cursor"].as_str() else {
            break;
        };
        query = format!("&cursor={cursor}");
    }
    assert_eq!(pages, 2);
    assert_eq!(read, on_parcel);
    let (_, answer) = json_of(&format!("buildings/{BUILDING}")).await;
    assert_eq!(
        shown(&answer["data"]),
        [
            ["2021-05-03", "SALE", "ADDRESS", "2021-1"],
            ["2022-06-01", "DIAGNOSTIC", "BUILDING", "A"],
            ["2023-02-10", "SALE", "ADDRESS", "2023-2"],
            ["2023-03-01", "SALE", "ADDRESS", "2023-3"],
            ["2024-01-01", "DIAGNOSTIC", "BUILDING", "B"],
        ]
    );
    let (_, answer) = json_of("buildings/8XBEW7VVWG48").await;
    assert_eq!(answer["data"]["total"], 2);

    // The register of buildings, imported while the server runs.
    let file = write_file(folder.path(), "RNB_85.csv", REGISTER);
    let report = run(data, &["import", "rnb", &file]);
    assert_eq!(report["rows_kept"], 2, "{report}");
    let house = async || json_of(&format!("buildings/{BUILDING}")).await.1["data"].take();
    let of_house = once_it_has("buildings", house).await;
    assert_eq!(
        shown(&of_house),
        [
            ["2021-05-03", "SALE", "PARCEL", "2021-1"],
            ["2022-06-01", "DIAGNOSTIC", "BUILDING", "A"],
            ["2023-02-10", "SALE", "PARCEL", "2023-2"],
            ["2023-02-10", "DIAGNOSTIC", "ADDRESS", "D"],
            ["2023-03-01", "SALE", "PARCEL", "2023-3"],
            ["2023-06-01", "DIAGNOSTIC", "POSITION", "E"],
            ["2024-01-01", "DIAGNOSTIC", "BUILDING", "B"],
        ]
    );
    assert_eq!(of_house["events"][3]["score"], 0.67);
    // The house is nearer than its garage; the position of a street attaches nothing.
    let score = of_house["events"][5]["score"].as_f64().unwrap();
    assert!((0.5..0.7).contains(&score), "{score}");
    assert!(of_house["events"][1].get("score").is_none());
    let registered = &of_house["buildings"][0];
    assert_eq!(registered["parcel_ids"], json!([PARCEL]));
    assert_eq!(registered["status"], "constructed");
    let (_, answer) = json_of(&format!("parcels/{PARCEL}")).await;
    assert_eq!(answer["data"]["buildings"], of_house["buildings"]);
    assert_eq!(answer["data"]["events"][1]["link"], "BUILDING");
    // The garage has neither sales nor diagnostics, but is known.
    let (status, answer) = json_of("buildings/8XBEW7VVWG49").await;
    assert_eq!((status, &answer["data"]["total"]), (200, &json!(2)));
    assert!(shown(&answer["data"]).is_empty());
    assert_eq!(count("rnb", "ground_m2 > 150"), 1);

    // Changes of parcels.
    let file = write_file(folder.path(), "dfianc-dep850.txt", CHANGES);
    let report = run(data, &["import", "dfi", &file]);
    assert_eq!(
        pick(&report, ["rows_kept", "rows_read"]),
        json!([1, 1]),
        "{report}"
    );
    let made = async || json_of("parcels/85001000CD0002").await.1["data"].take();
    let found = once_it_has("formerParcels", made).await;
    assert_eq!(found["formerParcels"], json!(["85001000CD0001"]));
    assert_eq!(
        shown(&found),
        [
            ["2022-01-01", "DIAGNOSTIC", "ADDRESS", "C"],
            ["2023-03-01", "SALE", "FORMER_PARCEL", "2023-3"],
            ["2023-04-01", "SALE", "PARCEL", "2023-4"],
        ]
    );
    let (_, answer) = json_of("parcels/85001000CD0001").await;
    assert_eq!(
        answer["data"]["laterParcels"],
        json!(["85001000CD0002", "85001000CD0003"])
    );
    assert_eq!(
        count("dfi", "array_has(later_parcel_ids, '85001000CD0003')"),
        1
    );

    // Faults.
    for (path, status, message) in [
        (
            "parcels/85001000CD0009",
            404,
            "no such parcel in the sales, diagnostics and buildings",
        ),
        (
            "buildings/9XBEW7VVWG47",
            404,
            "no such building in the diagnostics and the register of buildings",
        ),
        (
            "parcels/85001",
            422,
            "parcel_id: must be the identifier of a parcel",
        ),
        (
            "buildings/8XBE-W7VV-WG47",
            422,
            "id_rnb: must be the RNB identifier",
        ),
        (
            "parcels/85001307AB0012?size=0",
            422,
            "size: must be an integer between 1 and 100",
        ),
        (
            "parcels/85001307AB0012?page=2",
            422,
            "page: unknown parameter",
        ),
        (
            "parcels/85001307AB0012?cursor=x",
            422,
            "cursor: must be the cursor",
        ),
    ] {
        let (found, answer) = json_of(path).await;
        let (error, code) = (&answer["error"], if status == 404 { 10003 } else { 10002 });
        assert_eq!((found, &error["code"]), (status, &json!(code)), "{path}");
        assert_begins(error["message"].as_str().unwrap(), message);
    }
}
