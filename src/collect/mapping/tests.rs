//! Tests mappings: valid rules, the errors for invalid ones, and the adverts that each shipped mapping makes from
//! hand-made rows of its format.

use super::*;
use crate::portals::tests::files_in;
use toise_contract::listings::Advert;
use toise_listings::adverts::left_out::leave_out_faults;

const MAPPING: &str = r#"
name = "portail.example"
empty = ["NC"]

[[field]]
path = "url"
template = "https://portail.example/annonce/{id}"

[[field]]
path = "type"
from = "genre"
map = { "flat" = "CLASS_FLAT", "house" = "CLASS_HOUSE" }

[[field]]
path = "offer.type"
value = "OFFER_BUY"

[[field]]
path = "currentPrice.value"
from = "prix"
scale = 1000

[[field]]
path = "habitation.surface.total"
from = ["surface", "titre"]
decimal = ","

[[field]]
path = "habitation.floor"
from = "etage"
as = "floor"

[[field]]
path = "habitation.heatings"
from = "chauffage"
separator = ","
map = { "gaz" = "HEATING_GAS", "bois" = "HEATING_WOOD" }

[[field]]
path = "habitation.characteristics.hasLift"
from = "options[*].nom"
map = { "ascenseur" = true }

[[field]]
path = "description"
from = "texte"
as = "html"

[[field]]
path = "location.city"
from = "lieu"
pattern = '\(([^)]+)\)'

[[field]]
path = "location.locationCoordinate.location"
latitude = "geo.lat"
longitude = "geo.lng"

[[field]]
path = "location.precision"
value = "TOWN"
when = "geo.lat"

[[field]]
path = "lastSeenAt"
from = "vu"
format = "%d/%m/%Y"
"#;

fn read_with(mapping: &Mapping, row: Value) -> MappedAdvert {
    let read = mapping.read(row.as_object().unwrap(), &Portals::default());
    let faults = leave_out_faults(&mut read.advert.clone());
    assert_eq!(faults, Ok(Vec::new()), "{}", read.advert);
    read
}

fn read(row: Value) -> MappedAdvert {
    read_with(&Mapping::parse("essai.toml", MAPPING).unwrap(), row)
}

#[test]
fn columns_paths_and_constants_become_fields() {
    let found = read(json!({
        "id": 12, "genre": "flat", "prix": "250", "surface": "1.061,5 m²", "etage": "3ème", "chauffage": "Gaz, bois",
        "options": [{"nom": "Cave"}, {"nom": "Ascenseur"}], "texte": "<p>Beau&nbsp;T3 r&eacute;nov&eacute;</p><p>Vue</p>",
        "lieu": "Ville : (Toulon)", "geo": {"lat": "43.12", "lng": 5.93}, "vu": "09/03/2026",
    }));
    assert_eq!(found.left_out, []);
    assert_eq!(
        found.advert,
        json!({
            "url": "https://portail.example/annonce/12", "source": "portail.example", "type": "CLASS_FLAT",
            "offer": {"type": "OFFER_BUY"}, "currentPrice": {"value": 250_000.0},
            "habitation": {"surface": {"total": 1_061.5}, "floor": 3.0,
                "heatings": ["HEATING_GAS", "HEATING_WOOD"], "characteristics": {"hasLift": true}},
            "description": "Beau T3 rénové\nVue",
            "location": {"city": "Toulon", "locationCoordinate": {"location": [5.93, 43.12]}, "precision": "TOWN"},
            "lastSeenAt": "2026-03-09T00:00:00.000Z",
        })
    );
}

#[test]
fn what_a_field_does_not_take_is_left_out_and_shown() {
    let found = read(
        json!({"id": 1, "genre": "yourte", "prix": "NC", "surface": "grande", "titre": "61",
        "etage": "dernier", "geo": {"lat": 0, "lng": 0}}),
    );
    let left_out = found.left_out.iter();
    let left_out = left_out.map(|one| (one.path.as_str(), one.value.as_str()));
    let expected = [("type", "\"yourte\""), ("habitation.floor", "\"dernier\"")];
    assert_eq!(left_out.collect::<Vec<_>>(), expected);
    assert_eq!(found.left_out[0].reason, "cannot be read from column genre");
    // The area is in the second column, and the price on request.
    let surface = &found.advert["habitation"]["surface"]["total"];
    assert_eq!(*surface, 61.0);
    assert_eq!(found.advert["currentPrice"], json!({"value": null}));
    assert!(found.advert["location"].get("locationCoordinate").is_none());
    let fault = read(json!({"id": 1, "vu": "hier"})).fault().unwrap();
    let expected = "lastSeenAt: cannot be read from column vu; got \"hier\"";
    assert_eq!(fault.to_string(), expected);
}

#[test]
fn invalid_mappings_are_refused_with_file_and_place() {
    for (change, fault) in [
        (
            ["\"currentPrice.value\"", "\"price\""],
            "field[3]: path: \"price\" is not a field of an advert",
        ),
        (
            ["CLASS_FLAT", "FLAT"],
            "field[1]: map: type does not take \"FLAT\"",
        ),
        (
            ["from = \"genre\"", "selector = \".x\""],
            "field[1]: selector: is a key of portals",
        ),
        (
            ["from = \"genre\"\n", ""],
            "field[1]: must hold one of: from",
        ),
        (
            ["OFFER_BUY", "BUY"],
            "field[2]: value: offer.type does not take \"BUY\"",
        ),
        (["{id}", "{id"], "field[0]: template: "),
        (["options[*].nom", "options[*.nom"], "field[7]: from: "),
        (["\\(([^)]+)\\)", "("], "field[9]: pattern \"(\": "),
        (["%d/%m/%Y", "jj/mm"], "field[12]: format: "),
        (
            ["decimal = \",\"", "decimal = \";\""],
            "field[4]: decimal: ",
        ),
        (
            ["\"url\"", "\"title\""],
            "needs a [[field]] with path = \"url\"",
        ),
        (["empty =", "vide ="], "TOML parse error at line 3"),
    ] {
        assert!(MAPPING.contains(change[0]), "{change:?}");
        let text = MAPPING.replacen(change[0], change[1], 1);
        let error = Mapping::parse("essai.toml", &text).unwrap_err().to_string();
        assert!(
            error.starts_with(&format!("essai.toml: {fault}")),
            "{error}"
        );
    }
}

#[test]
fn pictures_are_read_from_their_addresses_and_what_is_none_is_reported() {
    let mapping = Mapping::from_columns([("url", "link"), ("medias.images", "photos")]).unwrap();
    let [one, other] = [
        "https://i.example/a,w_800/1.jpg",
        "http://i.example/2.jpg?x=1",
    ];
    let both = json!([one, other]);
    let read = |photos: &Value| {
        let row = json!({"link": "https://p.example/1", "photos": photos});
        read_with(&mapping, row)
    };
    for photos in [
        json!(format!("{one}|{other}")),
        json!(format!("{one}, {other}")),
        json!(format!("{one},{other}")),
        json!(format!("{one};\n{other};")),
        json!(format!("['{one}', '{other}']")),
        both.clone(),
    ] {
        let found = read(&photos);
        assert_eq!(found.advert["medias"]["images"], both, "{photos}");
        assert_eq!(found.left_out, [], "{photos}");
        let advert = toise_contract::read::read::<Advert>(&found.advert).unwrap();
        let first = &advert.medias.unwrap().images[0];
        assert_eq!(first.url.as_deref(), Some(one));
    }
    let captions = json!([{"url": one, "caption": "Séjour"}, {"caption": "Plan"}, "2.jpg"]);
    let found = read(&captions);
    assert_eq!(found.advert["medias"]["images"], json!([one]));
    let warnings: Vec<String> = found.left_out.iter().map(LeftOut::warning).collect();
    let expected = "medias.images: 2 of its items cannot be read from column photos; left out: \
        [{\"caption\":\"Plan\"},\"2.jpg\"]";
    assert_eq!(warnings, [expected]);
    let found = read(&json!("1.jpg"));
    assert_eq!(found.advert.get("medias"), None);
    assert_eq!(found.left_out[0].path, "medias.images");
    let found = read(&json!("[]"));
    assert_eq!(found.advert.get("medias"), None);
    assert_eq!(found.left_out, [], "a list without items, as a text");
    // Elements of XML, without attributes and with them.
    let elements = [("url", "link"), ("medias.images", "photos.photo[*]")];
    let mapping = Mapping::from_columns(elements).unwrap();
    let with_order = json!([{"ordre": "1", "text": one}, {"ordre": "2", "text": other}]);
    for photo in [both.clone(), with_order] {
        let row = json!({"link": "https://p.example/1", "photos": {"photo": photo}});
        let found = read_with(&mapping, row);
        assert_eq!(found.advert["medias"]["images"], both);
    }
}

#[test]
fn single_columns_are_read_by_the_type_of_their_field() {
    let mapping = Mapping::from_columns([
        ("url", "link"),
        ("currentPrice.value", "prix"),
        ("habitation.surface.total", "surface"),
        ("tags", "tags"),
        ("isPro", "pro"),
        ("location.locationCoordinate.location[0]", "lon"),
        ("location.locationCoordinate.location[1]", "lat"),
    ])
    .unwrap();
    let found = read_with(
        &mapping,
        json!({"link": "https://p.example/1", "prix": "250 000 €", "surface": "61,35",
        "tags": "cave | balcon", "pro": "oui", "lon": "4.85", "lat": "45.76"}),
    );
    assert_eq!(
        found.advert,
        json!({"url": "https://p.example/1", "currentPrice": {"value": 250_000.0},
            "habitation": {"surface": {"total": 61.35}}, "tags": ["cave", "balcon"], "isPro": true,
            "location": {"locationCoordinate": {"location": [4.85, 45.76]}}})
    );
    let row = json!({"link": "https://p.example/2", "prix": ""});
    let empty = mapping.read(row.as_object().unwrap(), &Portals::default());
    assert_eq!(empty.advert, json!({"url": "https://p.example/2"}));
    let error = Mapping::from_columns([("currentPrice.amount", "prix")]).unwrap_err();
    let start = "currentPrice.amount: unknown field; must be one of: value";
    assert!(error.starts_with(start), "{error}");
    let fixed = mapping
        .with_constants([("type", "CLASS_FLAT"), ("isPro", "non")])
        .unwrap();
    let found = read_with(&fixed, json!({"link": "https://p.example/1", "pro": "oui"}));
    assert_eq!(found.advert["type"], "CLASS_FLAT");
    assert_eq!(found.advert["isPro"], true);
    assert!(fixed.with_constants([("type", "YOURTE")]).is_err());
}

#[test]
fn every_shipped_mapping_is_in_the_executable_and_reads_its_shape() {
    assert_eq!(files_in("data/mappings"), EMBEDDED.map(|(name, _)| name));
    let mappings = shipped();
    let portals = Portals::load(tempfile::tempdir().unwrap().path()).unwrap();
    let rows = include_str!("../../../data/mappings/rows.ndjson");
    let mut untried: Vec<&str> = mappings.names().map(|(name, _)| name).collect();
    for line in rows.lines() {
        let case: Value = serde_json::from_str(line).unwrap();
        let name = case["mapping"].as_str().unwrap();
        let mapping = mappings.get(name).unwrap();
        let found = mapping.convert(case["row"].clone(), &portals).unwrap();
        assert_eq!(found.advert, case["advert"], "{name}");
        assert_eq!(found.left_out, [], "{name}");
        untried.retain(|other| *other != name);
    }
    assert_eq!(untried, [""; 0], "rows.ndjson needs a row of each shape");
    let fault = mappings.get("rien").unwrap_err().to_string();
    let start = "mapping: must be one of: apimo, bienici-api, ";
    assert!(fault.starts_with(start), "{fault}");
}

#[test]
fn the_transactions_of_agencies_are_read() {
    let mappings = shipped();
    let mapping = mappings.get("poliris").unwrap();
    for (text, offer) in [
        ("Location saisonnière", "OFFER_HOLIDAYS"),
        ("location meublée", "OFFER_RENT"),
        ("Cession de fonds", "OFFER_BUSINESS_TAKE_OVER"),
        ("Vente de prestige", "OFFER_BUY"),
        ("Produit d'investissement", "OFFER_BUY"),
        ("L", "OFFER_RENT"),
    ] {
        let row = json!({"identifiant_agence": "A", "reference": "1", "type_annonce": text});
        let found = mapping.convert(row, &Portals::default()).unwrap();
        assert_eq!(found.advert["offer"]["type"], offer, "{text}");
    }
    for (text, left_out) in [("Xyz", Some("\"Xyz\"")), ("", None)] {
        let row = json!({"identifiant_agence": "A", "reference": "1", "type_annonce": text});
        let found = mapping.convert(row, &Portals::default()).unwrap();
        assert_eq!(found.advert.get("offer"), None, "{text}");
        let shown = found.left_out.first().map(|one| one.value.as_str());
        assert_eq!(shown, left_out);
    }
}

#[test]
fn a_url_without_one_of_its_columns_says_which() {
    let mappings = shipped();
    let row = json!({"identifiant_agence": "", "reference": "A2", "type_annonce": "Vente"});
    let mapping = mappings.get("poliris").unwrap();
    let fault = mapping.convert(row, &Portals::default()).unwrap_err();
    let start = "url: needs a value in column identifiant_agence; ";
    assert!(fault.to_string().starts_with(start), "{fault}");
    // A value from another rule is enough.
    let mapping = Mapping::parse("essai.toml", MAPPING).unwrap();
    let mapping = mapping.with_constants([("url", "https://portail.example/1")]);
    let read = read_with(&mapping.unwrap(), json!({"genre": "flat"}));
    assert_eq!(read.left_out, []);
}

#[test]
fn a_postal_code_that_lost_its_zero_gets_it_back_with_a_warning() {
    let mapping = r#"
[[field]]
path = "url"
template = "https://a.example/{ref}"
[[field]]
path = "location.postalCode"
from = "cp"
pattern = '\b\d{5}\b'
[[field]]
path = "location.city"
from = "ville"
[[field]]
path = "reference"
from = "ref"
"#;
    let mapping = Mapping::parse("codes.toml", mapping).unwrap();
    let read = |row: Value| mapping.read(row.as_object().unwrap(), &Portals::default());
    for cell in [json!("1000"), json!(1000), json!("1000.0")] {
        let found = read(json!({"cp": cell, "ref": "0042"}));
        assert_eq!(found.advert["location"]["postalCode"], "01000", "{cell}");
        assert_eq!(found.advert["reference"], "0042");
        assert_eq!(found.warnings, [super::ZERO_RESTORED]);
    }
    let whole = read(json!({"cp": "13001 Marseille", "ref": "1000"}));
    assert_eq!(whole.advert["location"]["postalCode"], "13001");
    assert_eq!(whole.advert["reference"], "1000");
    assert!(whole.warnings.is_empty());
    assert_eq!(read(json!({"cp": "750"})).advert.get("location"), None);
    let french = read(json!({"cp": 1000, "ref": "1", "ville": "Bourg-en-Bresse"}));
    assert_eq!(french.advert["location"]["postalCode"], "01000");
    let foreign = read(json!({"cp": 1000, "ref": "1", "ville": "Bruxelles"}));
    assert_eq!(foreign.advert["location"], json!({"city": "Bruxelles"}));
    assert!(foreign.warnings.is_empty());
    assert_eq!(foreign.left_out[0].path, "location.postalCode");
    assert_eq!(foreign.left_out[0].value, "\"1000\"");
}

#[test]
fn a_mapping_of_the_data_folder_replaces_one_of_the_same_name() {
    let data = tempfile::tempdir().unwrap();
    let own = data.path().join(FOLDER);
    std::fs::create_dir(&own).unwrap();
    std::fs::write(own.join("french-csv.toml"), MAPPING).unwrap();
    std::fs::write(own.join("mine.toml"), MAPPING).unwrap();
    let mappings = Mappings::load(data.path()).unwrap();
    assert_eq!(mappings.names().count(), EMBEDDED.len() + 1);
    let genre = ["genre".to_owned()];
    let reads = |name: &str| mappings.get(name).unwrap().columns(&genre) == ["genre"];
    assert!(reads("mine"));
    assert!(reads("french-csv"));
    std::fs::write(own.join("broken.toml"), "name = 3").unwrap();
    let error = Mappings::load(data.path()).unwrap_err().to_string();
    assert!(error.contains("broken.toml: TOML parse error"), "{error}");
}

/// Returns the mappings of the executable.
fn shipped() -> Mappings {
    Mappings::load(tempfile::tempdir().unwrap().path()).unwrap()
}

/// Reads a row of a CSV file with the mapping `french-csv`, given as columns and their cells.
fn read_french(cells: &str) -> Value {
    let mappings = shipped();
    let mut row = json!({"url": "https://p.example/1", "surface": "40", "cp": "83000"});
    for (column, cell) in cells.split('|').filter_map(|cell| cell.split_once('=')) {
        row[column] = json!(cell);
    }
    let mapping = mappings.get("french-csv").unwrap();
    read_with(mapping, row).advert
}

#[test]
fn rents_and_transactions_are_not_read_as_sales() {
    let (buy, rent, annuity) = ("OFFER_BUY", "OFFER_RENT", "OFFER_LIFE_ANNUITY_SALE");
    for (offer, price, cells) in [
        (rent, 850.0, "loyer=850"),
        (rent, 850.0, "Loyer CC (€/mois)=850 €"),
        (rent, 800.0, "loyer_hc=800"),
        (rent, 850.0, "Monthly rent=850"),
        (rent, 850.0, "prix=0|loyer=850"),
        (rent, 850.0, "Prix=0,00 €|Loyer=850"),
        (rent, 850.0, "PRIX=|LOYER=850"),
        (rent, 800.0, "prix=850|loyer=800"),
        (rent, 1_000.0, "Loyer annuel=12 000 €"),
        (rent, 850.0, "loyer=850|Loyer annuel=10200"),
        (rent, 850.0, "transaction=location|Loyer annuel HC=10200"),
        (buy, 250_000.0, "prix=250000|Loyer annuel=12000"),
        (buy, 250_000.0, "prix=250000|loyer=0"),
        (buy, 250_000.0, "prix=250000|loyer="),
        (buy, 250_000.0, "Prix de vente=250000"),
        (rent, 850.0, "prix=850|type_transaction=location"),
        (rent, 850.0, "prix=850|transaction=Locations"),
        (rent, 850.0, "prix=850|Type d'offre=x|type_annonce=à louer"),
        (rent, 850.0, "prix=850|type_offre=Rent"),
        (rent, 850.0, "prix=850|Type d'annonce=Location"),
        (rent, 850.0, "price=850|offer_type=rental"),
        (rent, 850.0, "prix=850|Nature=LOCATION"),
        (rent, 850.0, "prix=850|Transaction Type=for rent"),
        (rent, 850.0, "prix=850|transaction=location|loyer=0"),
        (annuity, 90_000.0, "prix=90000|nature=Vente en viager"),
        (annuity, 90_000.0, "prix=90000|transaction=viager"),
        (buy, 250_000.0, "prix=250000|transaction=vente|loyer=850"),
        (buy, 250_000.0, "prix=250000|offer_type=for sale"),
        (buy, 250_000.0, "prix=250000|type_annonce=À vendre"),
    ] {
        let advert = read_french(cells);
        assert_eq!(advert["offer"]["type"], offer, "{cells}");
        assert_eq!(advert["currentPrice"]["value"], price, "{cells}");
    }
    let sale = read_french("titre=Immeuble de rapport à vendre|prix=|loyer annuel=24000");
    assert_eq!(sale["offer"]["type"], buy);
    assert_eq!(sale["currentPrice"]["value"], json!(null));
}

#[test]
fn an_amount_in_another_currency_is_left_out_and_shown() {
    let mappings = shipped();
    let read = |name: &str, cells: Value| {
        let mut row = json!({"url": "https://p.example/1", "id": 1, "agency": 7});
        row.as_object_mut()
            .unwrap()
            .extend(cells.as_object().unwrap().clone());
        let mapping = mappings.get(name).unwrap();
        mapping.read(row.as_object().unwrap(), &Portals::default())
    };
    let apimo = |currency: &str| json!({"price": {"value": 490_000, "currency": currency}});
    for (name, cells, shown) in [
        (
            "french-csv",
            json!({"prix": "490000", "Devise": "CHF"}),
            "\"490000 CHF\"",
        ),
        (
            "french-csv",
            json!({"Prix": {"devise": "USD", "text": "490000"}}),
            "\"490000 USD\"",
        ),
        ("french-csv", json!({"prix": "490 000 F"}), "\"490 000 F\""),
        ("french-csv", json!({"prix": "490 kF"}), "\"490 kF\""),
        ("french-csv", json!({"prix": "11 000 DH"}), "\"11 000 DH\""),
        ("apimo", apimo("CHF"), "\"490000 CHF\""),
        (
            "french-csv",
            json!({"loyer": "18500", "LoyerUnite": "€/an"}),
            "\"18500 €/an\"",
        ),
        (
            "french-csv",
            json!({"prix": "3500", "prix_unite": "€/m2"}),
            "\"3500 €/m2\"",
        ),
        (
            "french-csv",
            json!({"transaction": "location", "prix": {"period": "weekly", "text": "450"}}),
            "\"450 weekly\"",
        ),
    ] {
        let found = read(name, cells);
        assert_eq!(
            found.advert["currentPrice"],
            json!({"value": null}),
            "{shown}"
        );
        assert_eq!(found.left_out.len(), 1, "{shown}");
        assert_eq!(found.left_out[0].path, PRICE);
        assert_eq!(found.left_out[0].value, shown);
    }
    for (name, cells) in [
        ("french-csv", json!({"prix": "490000", "devise": "EUR"})),
        (
            "french-csv",
            json!({"prix": "490000", "loyer": "", "loyer_unite": "€/an"}),
        ),
        ("french-csv", json!({"prix": "490000", "devise": "nan"})),
        ("french-csv", json!({"prix_eur": "490000", "devise": "CHF"})),
        ("french-csv", json!({"prix": "490 000 €", "devise": "CHF"})),
        ("french-csv", json!({"prix": "490 000 € F.A.I."})),
        (
            "french-csv",
            json!({"prix": "490000", "prix_unite": "€", "loyer_periode": "mois", "location": "un an"}),
        ),
        ("apimo", apimo("EUR")),
        ("apimo", apimo("eur")),
    ] {
        let found = read(name, cells.clone());
        assert_eq!(found.advert["currentPrice"]["value"], 490_000.0, "{cells}");
    }
}

#[test]
fn an_area_of_apimo_is_read_only_in_square_metres() {
    let mappings = shipped();
    let read = |kind: u32, area: Value| {
        let row = json!({"id": 1, "agency": 7, "type": kind, "area": area});
        let mapping = mappings.get("apimo").unwrap();
        mapping.read(row.as_object().unwrap(), &Portals::default())
    };
    for area in [
        json!({"unit": 1, "value": 65.125}),
        json!({"unit": null, "value": 65.125}),
        json!({"unit": 0, "value": "65.125"}),
        json!({"unit": {"id": 1, "name": "m²"}, "value": 65.125}),
        json!({"value": 65.125}),
    ] {
        let found = read(1, area.clone());
        assert_eq!(
            found.advert["habitation"]["surface"]["total"], 65.125,
            "{area}"
        );
        assert!(found.left_out.is_empty(), "{area}");
        assert_eq!(read(3, area).advert["land"]["surface"], 65.125);
    }
    let other = read(1, json!({"unit": 2, "value": 700}));
    assert!(other.advert["habitation"]["surface"].is_null());
    assert_eq!(other.left_out[0].path, "habitation.surface.total");
    assert_eq!(other.left_out[0].value, "\"unit 2: 700\"");
    assert!(read(1, json!({"unit": 2, "value": 0})).left_out.is_empty());
}

#[test]
fn a_rent_of_apimo_is_that_of_a_month_whatever_its_period() {
    let mappings = shipped();
    let read = |category: u32, price: Value| {
        let row = json!({"id": 1, "agency": 7, "category": category, "price": price});
        let mapping = mappings.get("apimo").unwrap();
        mapping.read(row.as_object().unwrap(), &Portals::default())
    };
    let price =
        |category: u32, price: Value| read(category, price).advert["currentPrice"]["value"].clone();
    for (period, value, monthly) in [
        (json!(null), 950, json!(950.0)),
        (json!(4), 950, json!(950.0)),
        (json!("4"), 950, json!(950.0)),
        (json!(1), 36, json!(1_095.0)),
        (json!(2), 300, json!(1_300.0)),
        (json!(5), 3_000, json!(1_000.0)),
        (json!(7), 6_000, json!(1_000.0)),
        (json!(8), 12_000, json!(1_000.0)),
        (json!("8"), 12_000, json!(1_000.0)),
        (json!(0), 950, json!(950.0)),
        (json!(6), 950, Value::Null),
        (json!(9), 950, Value::Null),
        (json!(8), 0, Value::Null),
    ] {
        let found = price(
            2,
            json!({"value": value, "currency": "EUR", "period": period}),
        );
        assert_eq!(found, monthly, "{period}");
    }
    let hidden = json!({"value": 12_000, "period": 8, "hide": true});
    assert_eq!(price(2, hidden), Value::Null);
    assert_eq!(
        price(2, json!({"value": 12_000, "period": 8, "currency": "CHF"})),
        Value::Null
    );
    assert_eq!(price(1, json!({"value": 245_000, "period": 8})), 245_000.0);
    assert_eq!(price(3, json!({"value": 700, "period": 2})), 700.0);
    let left_out = |period: u32, value: u32| {
        let found = read(2, json!({"value": value, "period": period}));
        let shown = found.left_out.iter().map(|one| one.value.clone());
        shown.collect::<Vec<_>>()
    };
    assert_eq!(left_out(6, 950), ["\"period 6: 950\""]);
    assert_eq!(left_out(9, 950), ["\"period 9: 950\""]);
    assert!(left_out(9, 0).is_empty() && left_out(4, 950).is_empty());
}

#[test]
fn classes_are_read_in_every_usual_spelling() {
    let flats = "Appartement|Appt|APT|App.|T2|F3|studio|duplex|loft";
    for (class, cells) in [
        ("CLASS_FLAT", flats),
        ("CLASS_HOUSE", "villa|pavillon|Maison|Chalet"),
        ("CLASS_PREMISES", "local commercial"),
        ("CLASS_OFFICE", "bureaux"),
        ("CLASS_LAND", "terrain"),
        ("CLASS_ROOM", "Chambre"),
        ("CLASS_PARKING", "parking|box"),
        ("CLASS_BUILDING", "immeuble"),
        ("CLASS_OTHER", "Yourte"),
    ] {
        for cell in cells.split('|') {
            let advert = read_french(&format!("type={cell}"));
            assert_eq!(advert["type"], class, "{cell}");
        }
    }
}

#[test]
fn a_quarter_before_its_town_is_no_street() {
    let place = json!({"district": "Chartrons", "city": "Bordeaux", "postalCode": "33300"});
    for column in ["localisation", "lieu", "ville", "adresse"] {
        let cells = format!("{column}=Chartrons, Bordeaux (33300)|cp=");
        assert_eq!(read_french(&cells)["location"], place, "{column}");
    }
    let street = read_french("adresse=Rue Notre-Dame, Bordeaux (33300)|cp=");
    assert_eq!(
        street["location"]["address"],
        "Rue Notre-Dame, Bordeaux (33300)"
    );
    assert_eq!(street["location"].get("district"), None);
    let named = Mapping::from_columns([("url", "url"), ("location.address", "lieu")]).unwrap();
    let row = json!({"url": "https://p.example/1", "lieu": "Chartrons, Bordeaux (33300)"});
    assert_eq!(read_with(&named, row).advert["location"], place);
}

#[test]
fn an_arrondissement_in_the_column_of_quarters_belongs_to_the_town() {
    let columns = [
        ("url", "url"),
        ("location.city", "ville"),
        ("location.district", "quartier"),
    ];
    let mapping = Mapping::from_columns(columns).unwrap();
    for (city, district, expected) in [
        (
            "Lyon",
            "1er arrondissement",
            json!({"city": "Lyon 1er Arrondissement"}),
        ),
        (
            "Paris",
            "Bastille",
            json!({"city": "Paris", "district": "Bastille"}),
        ),
    ] {
        let row = json!({"url": "https://p.example/1", "ville": city, "quartier": district});
        assert_eq!(read_with(&mapping, row).advert["location"], expected);
    }
}

#[test]
fn the_class_is_read_from_the_heading_that_means_it_first() {
    for (class, cells) in [
        ("CLASS_HOUSE", "type_local=Grand (T4+)|type=Maison"),
        ("CLASS_FLAT", "type_local=Studio/T1|type=Studio"),
        ("CLASS_HOUSE", "type_local=Maison|type=Vente"),
        ("CLASS_HOUSE", "type=Appartement|type_de_bien=Maison"),
    ] {
        assert_eq!(read_french(cells)["type"], class, "{cells}");
    }
}

#[test]
fn a_room_as_the_kind_of_home_is_one_of_a_shared_flat() {
    for (cells, shared) in [
        ("type=Chambre", json!(true)),
        ("type_bien=Chambre meublée", json!(true)),
        ("type=Appartement|type_annonce=Colocation", json!(true)),
        ("type=Chambre de bonne", json!(false)),
        ("type=Appartement 1 chambre", Value::Null),
        ("type=Appartement|nb_chambres=1", Value::Null),
    ] {
        let advert = read_french(&format!("loyer=450|{cells}"));
        assert_eq!(
            advert["offer"]["renting"]["isColocation"], shared,
            "{cells}"
        );
    }
    let sale = read_french("prix=45000|type=Chambre");
    assert_eq!(sale["offer"], json!({"type": "OFFER_BUY"}));
}

#[test]
fn a_column_nature_gives_the_class_if_a_column_type_holds_only_rooms() {
    for (class, cells) in [
        ("CLASS_HOUSE", "Nature=Maison|Type=T4"),
        ("CLASS_HOUSE", "nature=Villa|type=F5"),
        ("CLASS_HOUSE", "NATURE=Maison|TYPE=Ancien"),
        ("CLASS_HOUSE", "Nature=Maison"),
        ("CLASS_FLAT", "Nature=Appartement|Type=T2"),
        ("CLASS_FLAT", "Nature=Vente|Type=T2"),
        ("CLASS_FLAT", "Nature=T2|Type=T2"),
        ("CLASS_HOUSE", "Nature=Appartement|Type=Villa"),
        ("CLASS_HOUSE", "Nature=Vente|Type de bien=T4 Chalet"),
    ] {
        let advert = read_french(&format!("prix=250000|{cells}"));
        assert_eq!(advert["type"], class, "{cells}");
        assert_eq!(advert["offer"]["type"], "OFFER_BUY", "{cells}");
    }
}

#[test]
fn a_cell_of_classes_that_names_none_is_noted_unless_another_column_does() {
    let mappings = shipped();
    let mapping = mappings.get("french-csv").unwrap();
    let unread = |row: Value| {
        let read = mapping.read(row.as_object().unwrap(), &Portals::default());
        let unread = read.unread_class;
        unread.map(|cell| (cell.column, cell.value))
    };
    let old = json!({"url": "https://p.example/1", "Type": "Ancien"});
    assert_eq!(unread(old), Some(("Type".into(), "Ancien".into())));
    for row in [
        json!({"Type": "Ancien", "titre": "Appartement T3"}),
        json!({"Type": "Villa"}),
        json!({"Nature": "Maison", "Type": "Ancien"}),
        json!({"titre": "À saisir"}),
        json!({"titre": "À saisir", "nature": "Vente"}),
        json!({"titre": "À saisir", "transaction": "V"}),
    ] {
        assert_eq!(unread(row), None);
    }
}

#[test]
fn number_and_street_in_columns_of_their_own_make_an_address() {
    for (cells, expected) in [
        ("N°=12|Rue=avenue Foch", json!("12 avenue Foch")),
        ("N°=12.0|Rue=avenue Foch", json!("12 avenue Foch")),
        (
            "numero=12|rep=bis|type_voie=avenue|voie=Foch",
            json!("12 bis avenue Foch"),
        ),
        ("rue=avenue Foch", json!("avenue Foch")),
        ("N°=7|Adresse=12 avenue Foch", json!("12 avenue Foch")),
        ("N°=7", Value::Null),
    ] {
        let address = read_french(cells)["location"]["address"].clone();
        assert_eq!(address, expected, "{cells}");
    }
    let mappings = shipped();
    let mapping = mappings.get("french-csv").unwrap();
    let header = ["N°", "Adresse", "URL"].map(str::to_owned);
    assert!(!mapping.columns(&header).contains(&"N°"));
    let used = mapping.columns_used(&header);
    let used: Vec<&str> = used.iter().map(|one| one.column.as_str()).collect();
    assert_eq!(used, ["Adresse", "URL"]);
}

#[test]
fn conditions_look_at_columns_and_at_earlier_fields() {
    let text = r#"
[[field]]
path = "url"
from = "url"
[[field]]
path = "offer.type"
value = "OFFER_RENT"
when = ["loyer", "charges"]
unless = "prix"
[[field]]
path = "isPro"
value = true
when = "offer.type=OFFER_RENT"
"#;
    let mapping = Mapping::parse("when.toml", text).unwrap();
    for (row, is_pro) in [
        (json!({"charges": 5}), true),
        (json!({"loyer": "0 €", "charges": 0}), false),
        (json!({"loyer": "NON", "charges": false}), false),
        (json!({"loyer": 5, "prix": "non"}), true),
        (json!({"charges": true}), true),
        (json!({"loyer": 5, "prix": 6}), false),
    ] {
        let mut with_url = row.clone();
        with_url["url"] = json!("https://p.example/1");
        let read = read_with(&mapping, with_url);
        assert_eq!(read.advert["isPro"] == true, is_pro, "{row}");
    }
    let error = Mapping::parse("when.toml", &text.replace("=OFFER_RENT", "=RENT"));
    let error = error.unwrap_err().to_string();
    let fault = "field[2]: when: \"offer.type=RENT\": offer.type does not take \"RENT\"";
    assert!(error.contains(fault), "{error}");
}

#[test]
fn a_condition_may_bound_a_number() {
    let text = r#"
[[field]]
path = "url"
from = "url"
[[field]]
path = "currentPrice.value"
from = "prix"
[[field]]
path = "offer.type"
value = "OFFER_RENT"
when = "currentPrice.value<=8000"
[[field]]
path = "offer.type"
value = "OFFER_BUY"
when = "currentPrice.value >= 20000"
"#;
    let mapping = Mapping::parse("when.toml", text).unwrap();
    let offer = |price: &str| {
        let row = json!({"url": "https://p.example/1", "prix": price});
        read_with(&mapping, row).advert["offer"]["type"].clone()
    };
    assert_eq!(offer("850"), "OFFER_RENT");
    assert_eq!(offer("8000"), "OFFER_RENT");
    assert_eq!(offer("20 000 €"), "OFFER_BUY");
    assert_eq!(offer("12000"), Value::Null);
    assert_eq!(offer(""), Value::Null);
}

/// Returns a mapping that sets `isPro` under a condition.
fn pro_when(when: &str) -> Result<Mapping, Error> {
    let text = format!(
        r#"
[[field]]
path = "url"
from = "url"
[[field]]
path = "currentPrice.value"
from = "prix"
[[field]]
path = "habitation.characteristics.hasLift"
from = "ascenseur"
[[field]]
path = "location.locationCoordinate.location"
latitude = "lat"
longitude = "lng"
[[field]]
path = "isPro"
value = true
when = "{when}"
"#
    );
    Mapping::parse("when.toml", &text)
}

#[test]
fn every_comparison_of_a_condition_works() {
    let row = json!({"url": "https://p.example/1", "prix": "8000", "ascenseur": "oui", "lat": "45.7", "lng": "4.8",
        "attributes": [{"key": "rooms", "value": "3"}]});
    for (when, holds) in [
        ("currentPrice.value<8000", false),
        ("currentPrice.value<8001", true),
        ("currentPrice.value <= 8000", true),
        ("currentPrice.value>8000", false),
        ("currentPrice.value > 7999.5", true),
        ("currentPrice.value>=8000", true),
        ("currentPrice.value=8000", true),
        ("currentPrice.value = 8001", false),
        ("habitation.roomCount<8000", false),
        ("habitation.characteristics.hasLift=true", true),
        ("habitation.characteristics.hasLift=false", false),
        ("location.locationCoordinate.location[1]>40", true),
        ("attributes[key=rooms].value", true),
        ("attributes[key=square].value", false),
    ] {
        let read = read_with(&pro_when(when).unwrap(), row.clone());
        assert_eq!(read.advert["isPro"] == true, holds, "{when}");
    }
}

#[test]
fn a_condition_that_can_never_hold_is_refused_with_its_rule() {
    for (when, fault) in [
        ("currentPrice.value<dear", "\"dear\" must be a number"),
        ("currentPrice.value<nan", "\"nan\" must be a number"),
        ("currentPrice.value>=inf", "\"inf\" must be a number"),
        ("currentPrice.value<", "\"\" must be a number"),
        ("currentPrice.value==8000", "\"=8000\" must be a number"),
        ("currentPrice.value=<8000", "\"<8000\" must be a number"),
        (
            "currentPrice.amount<8000",
            "\"currentPrice.amount\" is not a field",
        ),
        ("prix<8000", "\"prix\" is not a field"),
        ("offer.type!=OFFER_RENT", "\"offer.type!\" is not a field"),
        ("offer.type<5", "offer.type is not a number"),
        ("title==Studio", "title does not take \"=Studio\""),
        ("title=", "title does not take \"\""),
        ("isPro=oui", "isPro does not take \"oui\""),
        ("tags=cave", "tags must be a number"),
        ("lastSeenAt=2026-03-09", "lastSeenAt must be a number"),
    ] {
        let error = pro_when(when).unwrap_err().to_string();
        let start = format!("when.toml: field[4]: when: {when:?}: {fault}");
        assert!(error.starts_with(&start), "{error}");
    }
}

#[test]
fn a_rent_is_a_price_for_a_mapping_that_knows_no_rents() {
    let mapping = Mapping::from_columns([("url", "url"), ("currentPrice.value", "prix")]).unwrap();
    let row = json!({"url": "https://p.example/1", "Loyer": "850"});
    let found = read_with(&mapping, row);
    assert_eq!(found.advert["currentPrice"]["value"], 850.0);
}

#[test]
fn classes_and_offers_of_a_mapped_column_are_read_from_words() {
    let pairs = [("url", "url"), ("type", "bien"), ("offer.type", "objet")];
    let mapping = Mapping::from_columns(pairs).unwrap();
    let read = |bien: &str, objet: &str| {
        let row = json!({"url": "https://p.example/1", "bien": bien, "objet": objet});
        read_with(&mapping, row)
    };
    for (bien, objet, class, offer) in [
        ("Appartement", "vente", "CLASS_FLAT", "OFFER_BUY"),
        ("Maison", "Location", "CLASS_HOUSE", "OFFER_RENT"),
        ("CLASS_LAND", "OFFER_RENT", "CLASS_LAND", "OFFER_RENT"),
    ] {
        let advert = read(bien, objet).advert;
        assert_eq!(advert["type"], class, "{bien}");
        assert_eq!(advert["offer"]["type"], offer, "{objet}");
    }
    let unread = read("Yourte", "vente");
    assert_eq!(unread.left_out[0].reason, "cannot be read from column bien");
}
