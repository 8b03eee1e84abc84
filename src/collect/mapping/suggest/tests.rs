//! Tests suggestions for files in the formats of public ones, in French and in English: which columns are assigned and
//! which are not.

use super::units::names_sale;
use super::*;
use serde_json::json;

fn file(name: &str, csv: &str) -> SampledFile {
    let mut lines = csv
        .lines()
        .map(|line| line.trim_start().split(';').map(str::to_owned));
    let header: Vec<String> = lines.next().unwrap().collect();
    let rows = lines.map(|cells| {
        header
            .iter()
            .cloned()
            .zip(cells.map(Value::String))
            .collect()
    });
    SampledFile {
        name: name.into(),
        rows: rows.collect(),
        header,
        ..SampledFile::default()
    }
}

/// Returns a file of JSON rows.
fn json_file(name: &str, rows: impl IntoIterator<Item = Value>) -> SampledFile {
    let rows = rows.into_iter().map(|row| row.as_object().unwrap().clone());
    SampledFile {
        name: name.into(),
        rows: rows.collect(),
        ..SampledFile::default()
    }
}

fn adverts(file: &SampledFile, suggestion: &Suggestion) -> Vec<Value> {
    let portals = Portals::default();
    let read = |row| suggestion.mapping.read(row, &portals);
    file.rows.iter().map(|row| read(row).advert).collect()
}

/// Returns the adverts that the suggested mapping makes from a CSV file, and the text of the mapping.
fn suggested(name: &str, csv: &str) -> (Vec<Value>, String) {
    let file = file(name, csv);
    let suggestion = file.suggest().unwrap();
    (adverts(&file, &suggestion), suggestion.text)
}

/// Returns one value of each advert; null if an advert has none.
fn all(adverts: &[Value], pointer: &str) -> Vec<Value> {
    let values = adverts.iter().map(|advert| advert.pointer(pointer));
    values
        .map(|value| value.cloned().unwrap_or_default())
        .collect()
}

#[test]
fn the_class_is_read_from_a_column_whose_values_name_classes() {
    let csv = "Code postal;Loyer (€);Surface (m²);Appartement ou maison\n75017;2200;64;Appartement\n\
        75009;3700;117.5;Maison\n75001;3600;73.1;Appartement\n";
    let (adverts, text) = suggested("loyers.csv", csv);
    let classes = ["CLASS_FLAT", "CLASS_HOUSE", "CLASS_FLAT"];
    assert_eq!(all(&adverts, "/type"), classes, "{text}");
    let csv = "Code postal;Loyer (€);Surface (m²);Note\n75017;2200;64;Appartement\n75009;3700;117.5;vue\n";
    let (_, text) = suggested("loyers.csv", csv);
    assert!(text.contains("MISSING type"), "{text}");
}

#[test]
fn an_english_file_of_a_french_portal_needs_no_word_from_the_user() {
    let (read, text) = suggested(
        "Paris_18",
        "Page_Number;Type;Price;Price_Per_M2;Surface_m2;Rooms;Bedrooms;City;PostalCode;Energy_Class;URL;Confidence_Score
         5;Appartement;170 000 €; 7 391 €/m²;23 m²;1 pièce(s);N/A;Paris 18ème;75018;G;https://www.seloger.com/annonces/achat/appartement/paris-18eme-75/1.htm;80
         5;Maison;1 250 000 €; 9 615 €/m²;130 m²;5 pièce(s);3 chambre(s);Paris 18ème;75018;N/A;https://www.seloger.com/annonces/achat/maison/paris-18eme-75/2.htm;90",
    );
    assert!(
        !text.contains("MISSING") && !text.contains("Not sure"),
        "{text}"
    );
    for line in [
        "#   \"Confidence_Score\" (2 of 2 rows): 80 | 90\n",
        "# values: 170 000 € | 1 250 000 €\n",
        // Long addresses begin alike, so their ends are shown too.
        "# values: https://www.selo…ent/paris-18eme-75/1.htm | https://www.selo…son/paris-18eme-75/2.htm\n",
    ] {
        assert!(text.contains(line), "{text}");
    }
    assert_eq!(
        read[1],
        json!({
            "url": "https://www.seloger.com/annonces/achat/maison/paris-18eme-75/2.htm", "source": "seloger.com",
            "type": "CLASS_HOUSE", "offer": {"type": "OFFER_BUY"},
            "currentPrice": {"value": 1_250_000.0, "valuePerArea": 9_615.0},
            "habitation": {"surface": {"total": 130.0}, "roomCount": 5.0, "bedroomCount": 3.0},
            "location": {"postalCode": "75018", "city": "Paris 18ème"},
        })
    );
    let energy = &read[0]["habitation"]["climate"]["epcEnergy"];
    assert_eq!(energy, "ENERGY_CLASSIFICATION_G");
}

#[test]
fn a_file_without_addresses_and_kinds_says_what_to_add() {
    let (read, text) = suggested(
        "Paris sans doublons",
        "Prix;Arrondissement;Nombre de pieces;Superficie;Etage;Nombre d'etages;Ascenseur;DPE
         575\u{202f}000 €;Paris 15ème (75015);3.0;74 m²;3;11.0;Oui;C
         890\u{202f}000 €;Paris 6ème (75006);2;48 m²;RDC;6;Non;Non précisé",
    );
    for part in [
        "empty = [\"Non précisé\"]",
        "template = \"https://parissansdoublons.invalid/{digest}\"",
        "# MISSING type: ",
        "--set type=CLASS_FLAT",
        "# The median price is 890000 €.\n[[field]]\npath = \"offer.type\"\nvalue = \"OFFER_BUY\"",
    ] {
        assert!(text.contains(part), "{text}");
    }
    assert_eq!(read[1]["location"]["postalCode"], "75006");
    assert_eq!(read[1]["habitation"]["floor"], 0.0);
    assert_eq!(read[1]["habitation"]["characteristics"]["hasLift"], false);
    assert_ne!(read[0]["url"], read[1]["url"]);
}

#[test]
fn an_identifier_makes_stable_addresses_and_a_price_between_rent_and_sale_is_left_open() {
    let (read, text) = suggested(
        "garages",
        "list_id;loyer_ou_prix;montant;ville;code_postal;nature
         11;1;12000;Lyon;69003;box
         12;2;15000;Lyon;69003;box",
    );
    assert_eq!(read[1]["url"], "https://garages.invalid/12");
    assert!(text.contains("# MISSING offer.type: "), "{text}");
    assert!(
        text.contains("#[[field]]\n#path = \"offer.type\"\n"),
        "{text}"
    );
    assert_eq!(read[0].get("offer"), None);
}

#[test]
fn the_parts_of_an_address_are_joined_and_rents_stand_in_for_prices() {
    let (read, text) = suggested(
        "agence",
        "Réf;Transaction;Type;Prix;Loyer;Surface;N° rue;Indice répétition;Rue;Code postal;Ville
         A1;V;Appartement;170 000;;23;12;bis;rue des Lilas;83000;Toulon
         A2;L;Appartement;;650;31;4;;avenue Foch;83000;Toulon
         A3;V;Maison;320 000;;95;;;chemin du Fort;83000;Toulon
         A4;L;Appartement;;720;40;7;;rue des Lilas;83000;Toulon",
    );
    let lines = ["12 bis rue des Lilas", "4 avenue Foch", "chemin du Fort"];
    assert_eq!(all(&read, "/location/address")[..3], lines, "{text}");
    assert_eq!(all(&read, "/currentPrice/value")[..2], [170_000.0, 650.0]);
    assert_eq!(all(&read, "/offer/type")[..2], ["OFFER_BUY", "OFFER_RENT"]);
}

#[test]
fn a_column_that_numbers_the_rows_is_not_put_before_the_number_of_a_street() {
    let (read, text) = suggested(
        "agence",
        "N°;Type;Prix;Rue;Code postal;Ville
         1;Appartement;170 000;12 avenue Foch;83000;Toulon
         2;Appartement;180 000;4 Chemins;83000;Toulon
         3;Maison;320 000;chemin du Fort;83000;Toulon",
    );
    let lines = ["12 avenue Foch", "2 4 Chemins", "3 chemin du Fort"];
    assert_eq!(all(&read, "/location/address"), lines, "{text}");
}

#[test]
fn the_class_is_read_from_a_column_nature_whose_values_are_classes() {
    let (read, text) = suggested(
        "agence",
        "Réf;Nature;Type;Prix;cp
         A1;Maison;T4;320 000;83000
         A2;Appartement;T2;170 000;83000",
    );
    assert_eq!(read[0]["type"], "CLASS_HOUSE", "{text}");
    assert_eq!(read[1]["type"], "CLASS_FLAT");
    assert_eq!(read[0]["offer"]["type"], "OFFER_BUY");
}

#[test]
fn a_column_of_classes_comes_before_one_of_room_counts() {
    let (read, text) = suggested(
        "lyon",
        "Réf;type_local;type;prix;cp
         A1;Studio/T1;Studio;620;69007
         A2;T3;Appartement;950;69007
         A3;Grand (T4+);Maison;1700;69007
         A4;T2;Appartement;740;69007",
    );
    let (flat, house) = ("CLASS_FLAT", "CLASS_HOUSE");
    assert_eq!(all(&read, "/type"), [flat, flat, house, flat], "{text}");
}

#[test]
fn an_unknown_class_costs_only_its_own_rows() {
    let (read, text) = suggested(
        "lille",
        "Réf;Titre;Prix;cp
         A1;Appartement à louer;940;59000
         A2;Maison à louer;1 525;59000
         A3;Yourte à louer;460;59000
         A4;Colocation à louer;435;59000
         A5;Yourte à louer;470;59000",
    );
    let classes = json!(["CLASS_FLAT", "CLASS_HOUSE", null, "CLASS_ROOM", null]);
    assert_eq!(json!(all(&read, "/type")), classes, "{text}");
    assert!(text.contains("# Rows that name no known class are rejected."));
}

#[test]
fn prices_in_thousands_arrondissements_and_shortened_codes_are_read() {
    let (read, text) = suggested(
        "agence",
        "Réf;Transaction;Type de propriété;Prix (k€);Surface;Nb pièces;Code postal;Ville;Description
         A1;V;Appartement;245;61;T3;;Paris 11e Arrondissement;Dans une villa
         A2;V;Appartement;380,5;70;F3;;Lyon 3e Arrondissement;Cave et garage inclus
         A3;V;Maison;1 250;120;5 pièces;6000;Nice;Proche d'un appartement
         A4;V;Maison;310;95;4;1000;Bourg-en-Bresse;Terrain",
    );
    let (flat, house) = ("CLASS_FLAT", "CLASS_HOUSE");
    let (paris, lyon) = ("Paris 11e Arrondissement", "Lyon 3e Arrondissement");
    for (pointer, expected) in [
        (
            "/currentPrice/value",
            json!([245_000.0, 380_500.0, 1_250_000.0, 310_000.0]),
        ),
        (
            "/location/city",
            json!([paris, lyon, "Nice", "Bourg-en-Bresse"]),
        ),
        ("/type", json!([flat, flat, house, house])),
        ("/habitation/roomCount", json!([3.0, 3.0, 5.0, 4.0])),
    ] {
        assert_eq!(json!(all(&read, pointer)), expected, "{text}");
    }
    let codes = all(&read, "/location/postalCode");
    assert_eq!(codes[2..], ["06000", "01000"], "{text}");
}

#[test]
fn a_unit_in_the_name_of_a_column_is_converted_or_the_rule_is_not_sure() {
    let of = |header: &str, cells: [&str; 3]| {
        let rows = cells.map(|cell| format!("A{};Maison;83000;{cell}", cell.len()));
        let csv = format!("Réf;Type;cp;{header}\n{}", rows.join("\n"));
        let (read, text) = suggested("agence", &csv);
        (read[0].clone(), text)
    };
    for (header, cells, pointer, expected) in [
        (
            "Terrain en ares",
            ["12", "8,5", "130"],
            "/land/surface",
            1_200.0,
        ),
        (
            "Surface terrain (ha)",
            ["1,2", "12", "0.875"],
            "/land/surface",
            12_000.0,
        ),
        (
            "Terrain en ares",
            ["12 a", "8,5 ares", "130 ares"],
            "/land/surface",
            1_200.0,
        ),
        (
            "Prix en k€",
            ["245", "310,5", "1 250"],
            "/currentPrice/value",
            245_000.0,
        ),
    ] {
        let (advert, text) = of(header, cells);
        let found = advert.pointer(pointer).and_then(Value::as_f64);
        assert_eq!(found, Some(expected), "{text}");
    }
    for (header, cells) in [
        ("Prix CHF", ["245000", "310500", "1250000"]),
        ("Prix en k€", ["245000", "310500", "1250000"]),
        ("Prix ($)", ["245000", "310500", "1250000"]),
        ("Prix (M€)", ["1,2", "12", "0,875"]),
        ("rent_per_year", ["9600", "12000", "10800"]),
    ] {
        let (advert, text) = of(header, cells);
        assert!(advert["currentPrice"]["value"].is_null(), "{text}");
        assert!(text.contains("# MISSING currentPrice.value"), "{text}");
    }
    let (_, text) = of("loyer annuel", ["9600", "12000", "10800"]);
    let yearly = "#as = \"amount\"\n#scale = 0.08333333333333333\n";
    assert!(text.contains(yearly), "{text}");
    assert!(text.contains("# The rent of a year"), "{text}");
}

#[test]
fn a_file_of_prices_and_rents_without_offers_is_not_taken_for_one_of_sales() {
    let (read, text) = suggested(
        "agence",
        "Réf;Type;Prix;Loyer;Surface;Code postal
         A1;Appartement;170 000;;23;83000
         A2;Appartement;;650;31;83000
         A3;Maison;320 000;;95;83000
         A4;Appartement;;720;40;83000",
    );
    for advert in read {
        assert!(advert["currentPrice"]["value"].is_number(), "{advert}");
        assert_eq!(advert.get("offer"), None, "{text}");
    }
}

#[test]
fn a_name_known_in_part_is_used_if_it_reads_everything_and_says_nothing_else() {
    let (read, text) = suggested(
        "agence",
        "Réf;type_de_bien;prix_du_bien;surface_utile;surface_balcon;nb_pieces;nb_chambre;DPE;GES;dpe_letter;cp
         A1;Appartement;170 000;23;4;2;1;231;12;D;83000
         A2;Maison;320 000;95;12;5;3;95;30;B;83000",
    );
    let advert = &read[1];
    assert_eq!(advert["currentPrice"]["value"], 320_000.0, "{text}");
    let home = &advert["habitation"];
    assert_eq!(home["bedroomCount"], 3.0, "{text}");
    assert_eq!(
        home["climate"],
        json!({"epcEnergy": "ENERGY_CLASSIFICATION_B", "epcEnergyScore": 95.0, "epcClimateScore": 30.0}),
        "{text}"
    );
    assert_eq!(home.get("surface"), None, "one of two: {text}");
    let (read, _) = suggested(
        "agence",
        "Réf;type;prix;surface_utile;surface_balcon;cp
         A1;Appartement;170 000;23;;83000
         A2;Maison;320 000;95;;83000",
    );
    assert_eq!(read[1]["habitation"]["surface"]["total"], 95.0);
    let (read, _) = suggested(
        "agence",
        "Réf;type;prix;surface_balcon;cp
         A1;Maison;170 000;23;83000",
    );
    assert_eq!(read[0].get("habitation"), None, "{read:?}");
}

/// Returns the energy diagnostics that are read from rows with these cells, and the suggested mapping.
fn climates(header: &str, cells: &[&str]) -> (Vec<Value>, String) {
    let mut lines = vec![format!("Réf;type;prix;cp;{header}")];
    let rows = cells.iter().enumerate();
    lines.extend(rows.map(|(row, cells)| format!("A{row};Appartement;17{row} 000;83000;{cells}")));
    let (read, text) = suggested("agence", &lines.join("\n"));
    (all(&read, "/habitation/climate"), text)
}

#[test]
fn numbers_from_1_to_7_are_classes_only_if_the_file_shows_it() {
    let (read, text) = climates("DPE", &["1", "4", "7.0", "3"]);
    for (climate, letter) in read.iter().zip(["A", "D", "G", "C"]) {
        let class = format!("ENERGY_CLASSIFICATION_{letter}");
        assert_eq!(*climate, json!({ "epcEnergy": class }), "{text}");
    }
    let (read, text) = climates("ges;ges_valeur", &["1;4", "3;25", "6;90"]);
    assert_eq!(
        read[1],
        json!({"epcClimate": "GREENHOUSE_CLASSIFICATION_C", "epcClimateScore": 25.0}),
        "{text}"
    );
    let few = "# Fewer than 3 different numbers occur";
    let scores =
        "# As classes, with 1 for A, the numbers do not agree with the scores in dpe_valeur.";
    let whole = "# All values are whole numbers from 1 to 7, so they may be classes.";
    let unread = "#   \"DPE\" (3 of 3 rows): 1 | 4 | 8";
    for (header, cells, reason) in [
        ("DPE", ["1", "2", "1"], few),
        ("DPE;dpe_valeur", ["1;480", "4;210", "7;45"], scores),
        ("consommation_energie", ["2", "5", "7"], whole),
        ("DPE", ["1", "4", "8"], unread),
    ] {
        let (read, text) = climates(header, &cells);
        assert!(text.contains(reason), "{text}");
        for climate in read {
            assert_eq!(climate.get("epcEnergy"), None, "{text}");
            let score = climate.get("epcEnergyScore").and_then(Value::as_f64);
            assert!(score.is_none_or(|score| score > 8.0), "{text}");
        }
    }
}

#[test]
fn a_quarter_has_no_town_and_a_storey_stands_in_for_its_column() {
    let file = file(
        "toulon",
        "Réf;Type;Prix;quartier;description
         A1;Appartement;170 000;Toulon (83000);Au 2ème étage, vue mer
         A2;Appartement;180 000;Cap Brun , Toulon (83000);En rez-de-chaussée, commerces au 1er étage
         A3;Maison;320 000;Le Mourillon;Deux chambres au 1er étage
         A4;Appartement;190 000;;Immeuble de 5 étages",
    );
    let suggestion = file.suggest().unwrap();
    let text = &suggestion.text;
    let read = adverts(&file, &suggestion);
    let quarters = json!(all(&read, "/location/district"));
    let expected = json!([null, "Cap Brun", "Le Mourillon", null]);
    assert_eq!(quarters, expected, "{text}");
    let floors = all(&read, "/habitation/floor");
    assert_eq!(floors[0].as_f64(), Some(2.0), "{text}");
    assert!(floors[1..].iter().all(Value::is_null), "{text}");
    let refused = suggestion.mapping.read(&file.rows[0], &Portals::default());
    assert_eq!(refused.left_out, [], "{text}");
}

#[test]
fn the_town_is_no_quarter_with_or_without_its_arrondissement() {
    let (read, text) = suggested(
        "paris",
        "Réf;Type;Prix;quartier;ville
         A1;Appartement;470 000;Paris;Paris
         A2;Appartement;480 000;Paris 11e;Paris
         A3;Appartement;520 000;Paris 3ème arrondissement;Paris 3ème
         A4;Appartement;490 000;Bastille;Paris 11e",
    );
    let quarters = json!(all(&read, "/location/district"));
    assert_eq!(quarters, json!([null, null, null, "Bastille"]), "{text}");
}

#[test]
fn the_class_is_read_from_texts_as_a_person_reads_them() {
    let (read, text) = suggested(
        "agence",
        "Réf;Prix;cp;description
         A1;500 000;75014;Bel appartement 5 pièces au 2ème étage, gardienne à demeure
         A2;500 000;75014;Un studio au calme, office de tourisme à deux pas
         A3;900 000;75009;La Maison Cécile Guillo vous invite à découvrir ce superbe appartement
         A4;20 000;75009;L'office notarial vous propose un garage, building récent",
    );
    let expected = ["CLASS_FLAT", "CLASS_FLAT", "CLASS_FLAT", "CLASS_PARKING"];
    assert_eq!(all(&read, "/type"), expected, "{text}");
    assert!(text.contains("confidence 90 %"));
}

/// Suggests a mapping for flats of 40 % of type `said` at one price, and others at other prices, and returns the offers.
fn offers(said: (&str, u32), others: &[u32]) -> Vec<Value> {
    let mut lines = vec!["url;type;prix;code_postal".to_owned()];
    lines.extend((0..20).map(|row| {
        let other = ("Appartement", others[row % others.len()]);
        let (kind, price) = if row % 5 < 2 { said } else { other };
        let price = price as usize + row;
        format!("https://p.example/{row};{kind};{price};69003")
    }));
    let (read, _) = suggested("mix", &lines.join("\n"));
    all(&read, "/offer/type")
}

#[test]
fn rows_that_name_no_offer_get_the_one_of_their_prices() {
    let (buy, rent, annuity) = ("OFFER_BUY", "OFFER_RENT", "OFFER_LIFE_ANNUITY_SALE");
    let rents = offers(("Appartement en location", 900), &[250_000]);
    assert_eq!(rents[..4], [rent, rent, buy, buy]);
    let usual = offers(("Appartement en location", 900), &[800]);
    assert!(usual.iter().all(|offer| offer == rent));
    let annuities = offers(("Appartement en viager", 90_000), &[250_000]);
    assert_eq!(annuities[..3], [annuity, annuity, buy]);
    // Sales and rents without a word for either: rows 2 to 4 have the prices in turn.
    let mixed = offers(("Appartement", 900), &[250_000, 900]);
    assert_eq!(mixed[..5], [rent, rent, buy, rent, buy]);
}

#[test]
fn the_name_of_a_column_of_prices_may_say_that_they_are_of_sales_or_rents() {
    for (column, price, offer) in [
        ("Prix_de_vente_FAI", 6_500, "OFFER_BUY"),
        ("prixNetVendeur", 12_000, "OFFER_BUY"),
        ("sale_price", 6_500, "OFFER_BUY"),
        ("loyer_cc", 30_000, "OFFER_RENT"),
        ("current_price", 250_000, "OFFER_BUY"),
        ("Prix", 850, "OFFER_RENT"),
    ] {
        let row = |row| format!("https://p.example/{row};Parking;{};69003", price + row);
        let rows: Vec<String> = (0..20).map(row).collect();
        let csv = format!("url;type;{column};code_postal\n{}", rows.join("\n"));
        let (read, text) = suggested("parkings", &csv);
        assert_eq!(read[0]["offer"]["type"], offer, "{text}");
    }
}

#[test]
fn the_name_of_a_column_of_sales_and_rentals_decides_nothing() {
    for name in ["Prix_de_vente_FAI", "prixNetVendeur", "sale_price"] {
        assert!(names_sale(name), "{name}");
    }
    for name in [
        "prix_vente_location",
        "prixVenteLocation",
        "loyer_hai",
        "prix",
    ] {
        assert!(!names_sale(name), "{name}");
    }
}

#[test]
fn a_bouquet_makes_an_advert_a_life_annuity() {
    let (read, _) = suggested(
        "agence",
        "Réf;Type;Prix;cp
         A1;Appartement à vendre;Bouquet 220 000 €;83000
         A2;Appartement à vendre;240 000 €;83000",
    );
    assert_eq!(read[0]["offer"]["type"], "OFFER_LIFE_ANNUITY_SALE");
    assert_eq!(read[0]["currentPrice"]["value"], 220_000.0);
    assert_eq!(read[1]["offer"]["type"], "OFFER_BUY");
}

#[test]
fn a_title_may_make_a_sale_a_life_annuity() {
    let (read, text) = suggested(
        "agence",
        "url;titre;type;transaction;prix;cp
         https://p.example/ventes/1;Appartement en Viager 3 pièces;Appartement;Vente;50 800;13008
         https://p.example/ventes/2;Appartement 3 pièces;Appartement;Vente;250 000;13008
         https://p.example/ventes/3;Maison 5 pièces;Maison;Vente;450 000;13008",
    );
    let offers = json!(all(&read, "/offer/type"));
    let expected = json!(["OFFER_LIFE_ANNUITY_SALE", "OFFER_BUY", "OFFER_BUY"]);
    assert_eq!(offers, expected, "{text}");
}

#[test]
fn an_address_is_one_page_whatever_its_column_is_called_and_not_a_list_of_pictures() {
    let (read, _) = suggested(
        "chateaux",
        "photos;fiche;property_type;price;postal_code;ad_type
         https://p.example/a.jpg, https://p.example/b.jpg;https://p.example/1;castle;797600;46600;prestige
         https://p.example/c.jpg;https://p.example/2;castle;320000;19500;prestige",
    );
    assert_eq!(read[1]["url"], "https://p.example/2");
    assert_eq!(read[1]["type"], "CLASS_HOUSE");
    assert_eq!(read[1]["offer"]["type"], "OFFER_BUY");
}

#[test]
fn the_address_of_a_picture_or_an_agency_is_not_that_of_the_advert() {
    let row = |number: u32| {
        let photo = format!("https://cdn.example/{number}");
        json!({
            "agency": {"url": format!("https://agency.example/{number}")},
            "media": {"floorplan": {"url": photo}, "url": photo},
            "mainPhoto": {"link": photo},
            "plan": format!("https://cdn.example/{number}.PDF?v=1"),
            "url": format!("https://cdn.example/{number}.webp"),
            "fiche": format!("https://other.example/{number}"),
            "site": {"website": format!("https://p.example/{number}")},
            "visite_virtuelle": photo,
        })
    };
    let mut file = json_file("addresses", (1..4).map(row));
    let url = |file: &SampledFile| adverts(file, &file.suggest().unwrap())[1]["url"].clone();
    for (key, start) in [
        ("site", "https://p.example/2"),
        ("fiche", "https://other.example/2"),
        ("", "https://addresses.invalid/"),
    ] {
        let found = url(&file);
        assert!(found.as_str().unwrap().starts_with(start), "{found}");
        for row in &mut file.rows {
            row.remove(key);
        }
    }
}

#[test]
fn a_column_that_repeats_another_is_commented_out() {
    let mut lines = vec!["url;type;price;postal_code;rooms;floor".to_owned()];
    lines.extend((0..40).map(|row| {
        let (rooms, price) = (row % 4 + 1, 200_000 + row);
        format!("https://p.example/{row};Flat;{price};75011;{rooms};{rooms}")
    }));
    let (read, text) = suggested("copies", &lines.join("\n"));
    let reason = "equals habitation.roomCount in 40 of 40 rows";
    assert!(text.contains(reason), "{text}");
    assert!(text.contains("#path = \"habitation.floor\""), "{text}");
    assert_eq!(read[0]["habitation"], json!({"roomCount": 1.0}));
}

#[test]
fn the_records_of_a_document_and_the_objects_in_them_are_found() {
    let document = json!({"meta": {"pages": [{"n": 1}]}, "data": {"ads": [
        {"list_id": 7, "subject": "Studio à louer", "price": 650, "location": {"city": "Rennes", "zipcode": "35000",
            "lat": 48.11, "lng": -1.68}, "surface": "18 m²"},
        {"list_id": 8, "subject": "Appartement T2 à louer", "price": 820, "location": {"city": "Rennes", "zipcode": "35200",
            "lat": 48.09, "lng": -1.67}, "surface": "41 m²"},
    ]}});
    let (records, rows) = records_in(&document).unwrap();
    assert_eq!((records.as_str(), rows.len()), ("data.ads", 2));
    let file = SampledFile {
        name: "rennes".into(),
        rows,
        records: Some(records),
        ..SampledFile::default()
    };
    let suggestion = file.suggest().unwrap();
    assert!(suggestion.text.starts_with("records = \"data.ads\"\n"));
    let read = &adverts(&file, &suggestion)[1];
    assert_eq!(read["offer"]["type"], "OFFER_RENT");
    assert_eq!(
        read["location"],
        json!({"postalCode": "35200", "city": "Rennes", "locationCoordinate": {"location": [-1.67, 48.09]}})
    );
    assert_eq!(records_in(&json!({"a": 1})), None);
    let home = json!({"id": 1, "price": 320_000, "city": "Rennes", "pictures": [{"url": "1.jpg"}, {"url": "2.jpg"}]});
    assert_eq!(records_in(&home), None);
}

#[test]
fn the_keys_of_a_list_are_columns() {
    let row = |number: u32, square: &str| {
        json!({
            "list_id": number, "subject": "Bel appartement", "price": 250_000 + number,
            "location": {"city": "Rennes", "zipcode": "35000"},
            "attributes": [
                {"key": "real_estate_type", "value": "2", "value_label": "Appartement"},
                {"key": "square", "value": square, "value_label": format!("{square} m²")},
                {"key": "rooms", "value": "3"},
                {"key": "energy_rate", "value": "d", "value_label": "D"},
                {"key": "activity.sector", "value": "1"},
            ],
            "images": [{"url": "https://i.example/1.jpg"}],
        })
    };
    let file = json_file("rennes", [row(7, "61"), row(8, "72,5")]);
    let suggestion = file.suggest().unwrap();
    let text = &suggestion.text;
    assert!(
        text.contains("from = \"attributes[key=square].value_label\""),
        "{text}"
    );
    let read = &adverts(&file, &suggestion)[1];
    assert_eq!(read["type"], "CLASS_FLAT", "{text}");
    assert_eq!(
        read["habitation"],
        json!({"surface": {"total": 72.5}, "roomCount": 3.0,
            "climate": {"epcEnergy": "ENERGY_CLASSIFICATION_D"}}),
        "{text}"
    );
    assert!(!text.contains("activity.sector"), "{text}");
}

#[test]
fn an_xml_element_with_a_unit_is_a_column_in_that_unit() {
    let rows = [("1.2", "ha"), ("850", "m2")].map(|(land, unit)| {
        json!({"reference": format!("A{land}"), "type": "Maison", "prix": {"devise": "EUR", "text": "245000"},
            "surface_terrain": {"unit": unit, "text": land}, "code_postal": "46600"})
    });
    let file = json_file("agence", rows);
    let suggestion = file.suggest().unwrap();
    let read = adverts(&file, &suggestion);
    let text = &suggestion.text;
    for (advert, land) in [(0, 12_000.0), (1, 850.0)] {
        assert_eq!(read[advert]["land"]["surface"], land, "{text}");
        assert_eq!(read[advert]["currentPrice"]["value"], 245_000.0, "{text}");
    }
}

#[test]
fn a_header_that_is_a_row_is_seen() {
    let header = |names: &str| SampledFile {
        header: names.split('|').map(str::to_owned).collect(),
        ..SampledFile::default()
    };
    for (names, is_row) in [
        (
            "apimo-85473173|Appartement|1|75001 Paris 1er|29|364 000 €",
            true,
        ),
        ("ag|V1|vente|84220||||2950000.00||||400.00", true),
        ("Price|prix_m2|m2|X1", false),
    ] {
        assert_eq!(header(names).has_no_header(), is_row, "{names}");
    }
}

#[test]
fn the_second_area_of_a_cell_is_the_plot_of_a_house() {
    let (read, text) = suggested(
        "agence",
        "Réf;Type;Prix;Surface;cp
         A1;Maison;320 000;86 m² (165 m²);83000
         A2;Maison;330 000;25 m²/ 110 m²;83000
         A3;Maison;340 000;95 m² | 12 m²;83000
         A4;Appartement;170 000;40 m² / 52 m²;83000
         A5;Maison;350 000;101,5 m²;83000",
    );
    let surfaces = json!(all(&read, "/habitation/surface/total"));
    assert_eq!(surfaces, json!([86.0, 25.0, 95.0, 40.0, 101.5]), "{text}");
    let plots = json!(all(&read, "/land/surface"));
    assert_eq!(plots, json!([165.0, 110.0, null, null, null]), "{text}");
    assert!(!text.contains("Not sure"), "{text}");
}

#[test]
fn the_surface_of_land_is_its_plot_if_no_column_has_plots() {
    let (read, text) = suggested(
        "agence",
        "Réf;Type;Prix;Surface;cp
         A1;Maison;320 000;86;83000
         A2;Terrain;130 000;450;83000
         A3;Appartement;170 000;40;83000",
    );
    let plots = json!(all(&read, "/land/surface"));
    assert_eq!(plots, json!([null, 450.0, null]), "{text}");
    assert!(!text.contains("Not sure"), "{text}");
    let (read, text) = suggested(
        "agence",
        "Réf;Type;Prix;Surface;Terrain;cp
         A1;Maison;320 000;86;500;83000
         A2;Terrain;130 000;;450;83000",
    );
    let plots = json!(all(&read, "/land/surface"));
    assert_eq!(plots, json!([500.0, 450.0]), "{text}");
}

#[test]
fn the_town_keeps_its_arrondissement_and_loses_codes_and_punctuation() {
    let cities = |cells: &[&str]| {
        let mut lines = vec!["Réf;Type;Prix;ville".to_owned()];
        let rows = cells.iter().enumerate();
        lines.extend(rows.map(|(row, cell)| format!("A{row};Maison;3{row}0 000;{cell}")));
        let (read, text) = suggested("villes", &lines.join("\n"));
        (json!(all(&read, "/location/city")), text)
    };
    let (read, text) = cities(&["PARIS-10E", "Lyon-3e-arrondissement", "Toulon"]);
    let expected = json!(["PARIS-10E", "Lyon-3e-arrondissement", "Toulon"]);
    assert_eq!(read, expected, "{text}");
    let place = text.find("path = \"location.city\"").unwrap();
    assert!(!text[place..].contains("pattern"), "{text}");
    let (read, text) = cities(&[
        "PARIS-10E",
        "Paris-11e (75011)",
        "paris-75",
        "Toulon - 83000",
        "83000 Toulon",
        "Bourg-en-Bresse",
    ]);
    let expected = json!([
        "PARIS-10E",
        "Paris-11e",
        "paris",
        "Toulon",
        "Toulon",
        "Bourg-en-Bresse"
    ]);
    assert_eq!(read, expected, "{text}");
}

#[test]
fn a_quarter_after_an_arrondissement_is_no_part_of_the_town() {
    let (read, text) = suggested(
        "lyon",
        "Réf;Type;Prix;Lieu
         A1;Appartement;960;Lyon 3E
         A2;Appartement;1 310;Lyon 2E - Presqu’île
         A3;Appartement;2 575;Lyon 6E (69006)",
    );
    let towns = [3, 2, 6].map(|number| format!("Lyon {number}e Arrondissement"));
    assert_eq!(all(&read, "/location/city"), towns, "{text}");
    let (read, text) = suggested(
        "lyon",
        "Réf;Type;Prix;ville
         A1;Appartement;960;Lyon 3E
         A2;Appartement;1 310;Lyon 2E - Presqu’île
         A3;Appartement;2 575;Lyon 6E (69006)",
    );
    let towns = ["Lyon 3E", "Lyon 2E", "Lyon 6E"];
    assert_eq!(all(&read, "/location/city"), towns, "{text}");
}

#[test]
fn the_town_between_dashes_in_a_title_fills_rows_without_one() {
    let (read, text) = suggested(
        "bordeaux",
        "Réf;title;Prix;ville
         A1;Appartement à vendre - Bordeaux - 328 000 € - 3 pièces;328000;Bordeaux (33000)
         A2;Duplex à vendre - neuf - Bordeaux - 367 000 € - 4 pièces;367000;
         A3;Appartement à vendre - neuf - Mérignac - 232 000 € - 2 pièces;232000;Mérignac (33700)",
    );
    let towns = ["Bordeaux", "Bordeaux", "Mérignac"];
    assert_eq!(all(&read, "/location/city"), towns, "{text}");
}

#[test]
fn surface_and_rooms_are_read_from_titles_and_details_if_no_column_has_them() {
    let (read, text) = suggested(
        "agence",
        "Réf;Titre;Prix;Détails;cp
         A1;Appartement - 3 pièce(s) - 90 m²;320 000;3 pièces, 1 chambre, DPE :E242kWh;83000
         A2;Maison - 5 pièce(s) - 120,5 m²;450 000;5 pièces, 4 chambres, DPE :C120kWh;83000
         A3;Appartement - 2 pièce(s) - 41 m²;190 000;2 pièces, 1 chambre, DPE :D216kWh;83000",
    );
    for (pointer, expected) in [
        ("/habitation/surface/total", json!([90.0, 120.5, 41.0])),
        ("/habitation/roomCount", json!([3, 5, 2])),
        ("/habitation/bedroomCount", json!([1, 4, 1])),
    ] {
        assert_eq!(json!(all(&read, pointer)), expected, "{text}");
    }
    assert!(!text.contains("MISSING"), "{text}");
    let (_, text) = suggested(
        "agence",
        "Réf;Titre;Prix;balcon_m2;cp
         A1;Bel appartement;320 000;12 m²;83000
         A2;Belle maison;450 000;15 m²;83000",
    );
    assert!(
        text.contains("# MISSING habitation.surface.total: "),
        "{text}"
    );
}

#[test]
fn a_title_fills_the_rows_that_a_column_of_areas_leaves_empty() {
    let (read, text) = suggested(
        "bordeaux",
        "Réf;title;price;piece;m2;cp
         A1;Appartement à vendre - 328 000 € - 3 pièces, 2 chambres, 68 m²;328000 €;3;68;33000
         A2;Appartement à vendre - 268 000 € - 2 pièces, 1 chambre, 38 m²;268000 €;;;33000
         A3;Appartement à vendre - 155 000 € - 1 pièce, 25 m²;155000 €;;;33000",
    );
    for (pointer, expected) in [
        ("/habitation/surface/total", [68.0, 38.0, 25.0]),
        ("/habitation/roomCount", [3.0, 2.0, 1.0]),
    ] {
        let found = all(&read, pointer);
        let found: Vec<Option<f64>> = found.iter().map(Value::as_f64).collect();
        assert_eq!(found, expected.map(Some), "{text}");
    }
}

#[test]
fn details_in_one_cell_are_read_whatever_their_column_is_called() {
    let (read, text) = suggested(
        "lyon",
        "Titre;Prix;Lieu;Infos
         Appartement à louer;980 €;Lyon 7ème;2 pièces, 1 chambre, 50 m², Étage 4/4
         Appartement à louer;870 €;Lyon 3ème;35 m² - 1 pièce
         Maison à louer;1 640 €;Lyon 8ème;4 pièces, 3 chambres, 84 m², 1er étage",
    );
    let surfaces = all(&read, "/habitation/surface/total");
    assert_eq!(json!(surfaces), json!([50.0, 35.0, 84.0]), "{text}");
    let floors = all(&read, "/habitation/floor");
    assert_eq!(floors[0].as_f64(), Some(4.0), "{text}");
    assert!(floors[1..].iter().all(Value::is_null), "{text}");
}

#[test]
fn a_column_named_after_several_values_gives_each_of_them() {
    let (read, text) = suggested(
        "lyon",
        "Titre;Prix;Lieu_Surface
         Appartement T1 à louer;754 €;LYON  69001 35,81 m2, 1 pièce Ref : 1202
         Appartement F3 à louer;1 500 €;LYON  69007 75,50 m2, 3 pièces Ref : 1199",
    );
    let surfaces = all(&read, "/habitation/surface/total");
    assert_eq!(json!(surfaces), json!([35.81, 75.5]), "{text}");
    let codes = all(&read, "/location/postalCode");
    assert_eq!(codes, ["69001", "69007"], "{text}");
    let (read, text) = suggested(
        "lyon",
        "Titre_Lieu;Prix
         Location Appartement 3 pièces 69 m2 Lyon 8- Moulin à Vent;958 €
         Location Appartement 1 pièce 50 m2 Lyon 7- Guillotière;892 €",
    );
    assert_eq!(all(&read, "/type"), ["CLASS_FLAT"; 2], "{text}");
    let towns = ["Lyon 8e Arrondissement", "Lyon 7e Arrondissement"];
    assert_eq!(all(&read, "/location/city"), towns, "{text}");
    let rooms = all(&read, "/habitation/roomCount");
    assert_eq!(json!(rooms), json!([3, 1]), "{text}");
}

#[test]
fn a_reference_that_two_agencies_use_identifies_no_advert() {
    let csv = |last: &str| {
        let row = |row| format!("R{row};Château;{row};Château {row} à vendre;797600;46{row}");
        let mut lines = vec!["reference;type;rooms;title;price;cp".to_owned()];
        lines.extend((100..140).map(row));
        lines.push(last.to_owned());
        lines.join("\n")
    };
    let other = "R100;Château;26;Château avec dépendances;1740000;11000";
    let (read, text) = suggested("chateaux", &csv(other));
    assert_ne!(read[0]["url"], read[40]["url"], "{text}");
    let cheaper = "R100;Château;100;Château 100 à vendre;740000;46100";
    let (read, text) = suggested("chateaux", &csv(cheaper));
    assert_eq!(read[0]["url"], read[40]["url"], "{text}");
}

#[test]
fn a_count_under_a_singular_and_a_plural_name_is_one_count() {
    let (read, text) = suggested(
        "rennes",
        "Réf;Type;Loyer;cp;Pièces;Pièce;Chambre;Chambres
         A1;Appartement;278;35000;;1;;
         A2;Appartement;760;35000;4;;;3
         A3;Appartement;520;35000;2;;1;",
    );
    let rooms = all(&read, "/habitation/roomCount");
    assert_eq!(json!(rooms), json!([1.0, 4.0, 2.0]), "{text}");
    let bedrooms = all(&read, "/habitation/bedroomCount");
    assert_eq!(json!(bedrooms), json!([null, 3.0, 1.0]), "{text}");
}

#[test]
fn the_first_day_of_1970_is_no_date() {
    let (read, text) = suggested(
        "chateaux",
        "url;type;price;cp;publication_date
         https://p.example/1;Château;797600;46600;1970-01-01T00:00:00.000Z
         https://p.example/2;Château;320000;19500;1970-01-01T00:00:00.000Z
         https://p.example/3;Château;450000;19500;2023-08-27T12:12:08.977Z",
    );
    let dates = json!([null, null, "2023-08-27T12:12:08.977Z"]);
    assert_eq!(json!(all(&read, "/firstSeenAt")), dates, "{text}");
}

#[test]
fn a_column_of_storeys_is_known_by_its_values_and_its_digits_are_no_number_of_storeys() {
    let (read, text) = suggested(
        "agence",
        "Réf;Type;Prix;cp;numberOfFloors;fact_numberOfFloors
         A1;Appartement;320 000;83000;13;Étage 1/3
         A2;Appartement;330 000;83000;4;4ème étage
         A3;Appartement;340 000;83000;;RDC
         A4;Appartement;350 000;83000;15;Étage 1/5
         A5;Appartement;360 000;83000;1;1er étage",
    );
    let floors = json!(all(&read, "/habitation/floor"));
    assert_eq!(floors, json!([1.0, 4.0, 0.0, 1.0, 1.0]), "{text}");
    let totals = all(&read, "/habitation/features");
    assert!(totals.iter().all(Value::is_null), "{text}");
    let reason = "# Its values are the digits of fact_numberOfFloors.";
    assert!(text.contains(reason), "{text}");
    let (read, text) = suggested(
        "agence",
        "Réf;Type;Prix;cp;Nombre d'étages;étage
         A1;Appartement;320 000;83000;3;Étage 1/3
         A2;Appartement;330 000;83000;5;4ème étage
         A3;Appartement;340 000;83000;6;RDC",
    );
    let totals = all(&read, "/habitation/features/propertyTotalFloor");
    assert_eq!(json!(totals), json!([3.0, 5.0, 6.0]), "{text}");
}

#[test]
fn the_title_is_the_column_whose_values_differ() {
    let (read, text) = suggested(
        "agence",
        "Réf;title;headline;Prix;cp
         A1;Appartement à louer;Vue sur le port;820;83000
         A2;Appartement à louer;Dernier étage au calme;790;83000
         A3;Appartement à louer;Rénové en 2020;910;83000",
    );
    assert_eq!(read[1]["title"], "Dernier étage au calme", "{text}");
    assert_eq!(read[1]["type"], "CLASS_FLAT", "{text}");
    assert_eq!(read[1]["offer"]["type"], "OFFER_RENT", "{text}");
}

#[test]
fn areas_and_rooms_are_not_taken_from_long_texts() {
    let text = "Villa de plain-pied, au calme, proche des commerces et des écoles, avec garage, piscine et pool \
                house, sur un beau terrain arboré de 3018 m², à rénover";
    let csv = |header: &str, area: [&str; 3]| {
        let rows = area.map(|area| format!("A{area};{area};{text};{area}000;83000"));
        format!("Réf;{header};Notes;Prix;cp\n{}", rows.join("\n"))
    };
    let (read, text) = suggested("agence", &csv("totalarea", ["240", "139", "176"]));
    let areas = all(&read, "/habitation/surface/total");
    assert_eq!(json!(areas), json!([240.0, 139.0, 176.0]), "{text}");
    let (read, text) = suggested("agence", &csv("X1", ["240", "139", "176"]));
    let areas = all(&read, "/habitation/surface/total");
    assert_eq!(areas, [Value::Null, Value::Null, Value::Null], "{text}");
}

#[test]
fn the_title_of_a_plan_or_the_text_of_a_picture_is_not_that_of_the_advert() {
    let rows = ["Vue sur le port", "Dernier étage au calme"].map(|title| {
        json!({"reference": title, "titre_fr": title, "floorplan": {"title": format!("Plan {title}")},
            "photo": {"description": "Séjour"}, "prix": 245_000, "code_postal": "46600"})
    });
    let file = json_file("agence", rows);
    let suggestion = file.suggest().unwrap();
    let read = adverts(&file, &suggestion);
    let text = &suggestion.text;
    assert_eq!(read[1]["title"], "Dernier étage au calme", "{text}");
    assert_eq!(read[1].get("description"), None, "{text}");
}

#[test]
fn a_place_that_is_the_name_of_a_town_alone_gives_the_town() {
    let (read, text) = suggested(
        "agence",
        "reference;type;prix;localisation
         A1;Maison;245000;Toulon
         A2;Maison;190000;Mende",
    );
    let cities = all(&read, "/location/city");
    assert_eq!(json!(cities), json!(["Toulon", "Mende"]), "{text}");
    assert!(!text.contains("MISSING location"), "{text}");
}

#[test]
fn codes_of_rare_classes_are_left_to_the_title() {
    let rows =
        (0..40).map(|row| format!("A{row};appartement;Appartement 3 pièces;1{row:02} 000;69003"));
    let mut lines = vec!["Réf;type;titre;prix;cp".to_owned()];
    lines.extend(rows);
    lines.push("A40;4;Parking, box fermé;30 000;69003".into());
    let (read, text) = suggested("agence", &lines.join("\n"));
    assert_eq!(read[0]["type"], "CLASS_FLAT", "{text}");
    assert_eq!(read[40]["type"], "CLASS_PARKING", "{text}");
}

#[test]
fn cells_without_a_class_do_not_make_a_column_of_energy_classes_unsure() {
    let (read, text) = climates("energy;gesGrade", &["N;V", "D;A", "V;N", "VI;NS", "C;B"]);
    let expected = json!({
        "epcEnergy": "ENERGY_CLASSIFICATION_D",
        "epcClimate": "GREENHOUSE_CLASSIFICATION_A",
    });
    assert_eq!(read[1], expected, "{text}");
    assert_eq!(read[0], Value::Null, "{text}");
}
