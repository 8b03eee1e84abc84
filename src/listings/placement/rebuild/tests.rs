//! Tests that wrong merges are split, that missed merges are made, and that decisions of persons stay.

use chrono::{TimeZone, Utc};
use serde_json::{Value, json};

use super::*;
use crate::records::percolation::PercolationBuffer;
use crate::records::rows;
use crate::records::tables::ListingsWriter;
use toise_alerts::percolate::PropertyTrigger;
use toise_base::clock::Clock;
use toise_store::Store;

/// An advert of a flat; adverts of one `home` on other portals agree in much.
fn advert(portal: &str, home: u32) -> Value {
    json!({
        "url": format!("https://{portal}.example/annonce/{home}"), "source": format!("{portal}.example"),
        "type": "CLASS_FLAT", "offer": {"type": "OFFER_BUY"}, "currentPrice": {"value": 187_430 + 41_210 * home},
        "lastSeenAt": "2026-11-01T08:00:00Z",
        "location": {"city": "Paris", "postalCode": "75011", "inseeCode": "75111"},
        "habitation": {
            "surface": {"total": 41.37 + 7.51 * f64::from(home)}, "roomCount": 2, "floor": home % 6,
            "climate": {"epcEnergyScore": 143 + 17 * home, "epcClimateScore": 21 + home},
        },
    })
}

fn listings() -> (tempfile::TempDir, Listings) {
    let folder = tempfile::tempdir().unwrap();
    let now = Utc.with_ymd_and_hms(2026, 11, 21, 12, 0, 0).unwrap();
    let store = Store::open(folder.path()).unwrap();
    (folder, Listings::new(store, Clock::steered(now)))
}

/// Ingests adverts one after the other; returns their identifiers and those of their properties.
fn ingest(listings: &Listings, adverts: Vec<Value>) -> Vec<(FlxId, FlxId)> {
    let taken = listings.ingest(adverts).unwrap();
    taken
        .into_iter()
        .map(|one| one.unwrap())
        .map(|one| (one.flx_id, one.property_flx_id))
        .collect()
}

/// Merges properties as a wrong decision of an earlier version did.
fn merge_wrongly(listings: &Listings, survivor: FlxId, others: &[FlxId]) {
    let others = others.to_vec();
    let merged = listings
        .store
        .write_with(move |transaction| -> crate::Result<()> {
            let mut tables = ListingsWriter::begin(transaction, PercolationBuffer::none())?;
            let survivor = rows::property_number(transaction, survivor)?;
            for other in others {
                tables.redirect(rows::property_number(transaction, other)?, survivor)?;
            }
            tables.rebuild(survivor, PropertyTrigger::AdvertJoined)?;
            tables.end()
        });
    merged.unwrap();
}

fn rebuild(listings: &Listings) -> RebuildReport {
    listings
        .rebuild_properties(false, Progress::silent())
        .unwrap()
}

/// Returns the identifier in the record of a property, and the identifiers of the adverts in it.
fn shown(listings: &Listings, property: FlxId) -> (FlxId, Vec<FlxId>) {
    let record: toise_contract::listings::Property =
        serde_json::from_slice(&listings.property(property).unwrap().unwrap()).unwrap();
    let adverts = record.adverts.into_iter();
    let adverts = adverts.filter_map(|advert| advert.flx_id).collect();
    (record.flx_id.unwrap(), adverts)
}

#[test]
fn a_wrong_merge_is_taken_apart_and_each_home_has_its_identifier_again() {
    let (_folder, listings) = listings();
    let homes = ingest(
        &listings,
        vec![advert("a", 1), advert("a", 2), advert("a", 3)],
    );
    let [one, two, three] = [0, 1, 2].map(|number: usize| homes[number].1);
    merge_wrongly(&listings, one, &[two, three]);
    assert_eq!(shown(&listings, two).0, one);

    let planned = listings
        .rebuild_properties(true, Progress::silent())
        .unwrap();
    assert_eq!((planned.properties_split, planned.properties_after), (1, 3));
    assert_eq!(
        shown(&listings, two).0,
        one,
        "a dry run changes no property"
    );

    let report = rebuild(&listings);
    assert_eq!((report.properties_before, report.properties_after), (1, 3));
    assert_eq!((report.properties_split, report.adverts_moved), (1, 2));
    assert_eq!(report.changes.len(), 1);
    assert_eq!(report.changes[0].before[0].adverts.len(), 3);
    for (advert, property) in homes {
        assert_eq!(shown(&listings, property), (property, vec![advert]));
    }
    assert!(rebuild(&listings).changes.is_empty());
}

/// A text that a portal shows in all its adverts.
const TEMPLATE: &str = "Logement proposé par notre service de mise en relation entre particuliers, sans frais d'agence. \
        Vous louez directement au propriétaire. Dossier en ligne, réponse en 48 heures, plus de 1250 offres \
        par mois et 935 communes couvertes. Inscription gratuite, paiement sécurisé, assistance par \
        téléphone du lundi au samedi, accompagnement jusqu'à la remise des clés.";
/// Text that one of the sellers adds to the template. The whole contains the template, but has none of its marks.
const ADDED: &str = "Le logement se compose d'une entrée avec placard, d'un séjour exposé au sud, d'une cuisine séparée, \
        d'une chambre sur cour et d'une salle d'eau. Chauffage collectif, double vitrage, gardien, local \
        pour les vélos, arrêt de tramway devant l'immeuble, commerces et marché à quelques minutes à pied, \
        parc de la ville au bout de la rue, école et crèche dans le quartier.";

#[test]
fn a_template_does_not_excuse_another_commune() {
    let described = |mut advert: Value, text: &str| {
        advert["description"] = json!(text);
        advert
    };
    let in_lyon = |portal: &str, district: u32, point: [f64; 2], text: &str| {
        let mut advert = described(advert(portal, 7), text);
        advert["url"] = json!(format!("https://{portal}.example/lyon/{district}"));
        advert["location"] = json!({
            "city": "Lyon", "postalCode": format!("6900{district}"), "inseeCode": format!("6938{district}"),
            "locationCoordinate": {"location": point},
        });
        advert
    };
    let whole = format!("{TEMPLATE} {ADDED}");
    let pair = || {
        vec![
            in_lyon("a", 3, [4.860_123, 45.755_241], TEMPLATE),
            in_lyon("b", 9, [4.805_321, 45.780_142], &whole),
        ]
    };
    let (_folder, alone) = listings();
    let taken = ingest(&alone, pair());
    assert_eq!(taken[0].1, taken[1].1, "one long text excuses it");

    let (_folder, listings) = listings();
    let others = (2..=17).filter(|home| *home != 7);
    let others = others.map(|home| described(advert("a", home), TEMPLATE));
    ingest(&listings, others.collect());
    let taken = ingest(&listings, pair());
    assert_ne!(taken[0].1, taken[1].1, "many homes show the text");
    merge_wrongly(&listings, taken[0].1, &[taken[1].1]);
    assert_eq!(rebuild(&listings).properties_split, 1);
}

#[test]
fn the_identifier_stays_with_the_majority() {
    let (_folder, listings) = listings();
    let stranger = ingest(&listings, vec![advert("a", 5)])[0];
    let home = ingest(&listings, vec![advert("a", 1), advert("b", 1)]);
    assert_eq!(home[0].1, home[1].1, "two portals show one home");
    merge_wrongly(&listings, stranger.1, &[home[0].1]);

    let report = rebuild(&listings);
    assert_eq!((report.properties_split, report.properties_new), (1, 1));
    let (kept, adverts) = shown(&listings, stranger.1);
    assert_eq!(kept, stranger.1);
    assert_eq!(
        adverts.len(),
        2,
        "most adverts of the property stay under its identifier"
    );
    // The identifier of the home that had been merged away still returns that home.
    assert_eq!(shown(&listings, home[0].1).0, kept);
    let new = report.changes[0]
        .after
        .iter()
        .find(|one| one.adverts == [stranger.0]);
    let new = new.unwrap().property_flx_id.unwrap();
    assert_eq!(shown(&listings, new), (new, vec![stranger.0]));
}

#[test]
fn a_missed_merge_is_made_and_the_older_identifier_stays() {
    let (_folder, listings) = listings();
    let strict = listings
        .clone()
        .with_thresholds(toise_dedup::Thresholds::new(0.999_999_999, 0.9).unwrap());
    let homes = ingest(&strict, vec![advert("a", 1), advert("b", 1)]);
    assert_ne!(homes[0].1, homes[1].1);
    assert_eq!(rebuild(&listings).properties_merged, 1);
    assert_eq!(shown(&listings, homes[1].1).0, homes[0].1);
    assert_eq!(shown(&listings, homes[0].1).1.len(), 2);
}

#[test]
fn adverts_of_a_full_block_stay_with_those_that_arrived_before_them() {
    let (_folder, listings) = listings();
    let mut again = advert("b", 1);
    again["currentPrice"]["value"] = json!(230_000);
    let home = ingest(&listings, vec![advert("a", 1), again]);
    assert_eq!(home[0].1, home[1].1);
    // More adverts of the block than are compared under one key.
    let others = (0..510).map(|number| {
        let mut other = advert("c", 1);
        other["url"] = json!(format!("https://c.example/annonce/{}", 100 + number));
        other["currentPrice"]["value"] = json!(300_000 + 2_710 * number);
        other["habitation"]["climate"] = json!({"epcEnergyScore": 250 + number % 90});
        other
    });
    ingest(&listings, others.collect());
    rebuild(&listings);
    assert_eq!(
        shown(&listings, home[0].1),
        (home[0].1, vec![home[0].0, home[1].0])
    );
}

#[test]
fn what_a_person_decided_stays() {
    let (_folder, listings) = listings();
    let homes = ingest(
        &listings,
        vec![
            advert("a", 1),
            advert("a", 2),
            advert("a", 3),
            advert("b", 3),
        ],
    );
    let merged = listings.merge(homes[0].1, homes[1].1).unwrap();
    assert_eq!(homes[2].1, homes[3].1);
    let parted = listings.split(homes[2].1, &[homes[3].0]).unwrap();
    let report = rebuild(&listings);
    assert!(report.changes.is_empty(), "{:?}", report.changes);
    assert_eq!(shown(&listings, merged).1.len(), 2);
    assert_eq!(shown(&listings, parted).1, [homes[3].0]);
}

#[test]
fn fingerprints_of_an_earlier_version_are_replaced() {
    let (_folder, listings) = listings();
    let homes = ingest(&listings, vec![advert("a", 1), advert("a", 2)]);
    listings
        .store
        .write(|transaction| {
            transaction.execute(
                "UPDATE fingerprints SET fingerprint = x'01', keys = x'0100000000000000'",
                [],
            )?;
            transaction.execute("UPDATE blocks SET outline = x'00'", [])
        })
        .unwrap();
    let report = rebuild(&listings);
    assert_eq!((report.adverts, report.refreshed), (2, 2));
    assert!(report.changes.is_empty());
    let again = ingest(&listings, vec![advert("b", 1)]);
    assert_eq!(again[0].1, homes[0].1);
    assert_eq!(rebuild(&listings).refreshed, 0);
}

#[test]
fn text_digests_of_an_earlier_version_are_replaced() {
    let (_folder, listings) = listings();
    let mut with_text = advert("a", 1);
    with_text["description"] = json!(
        "Au deuxième étage d'un immeuble en pierre de taille, appartement traversant avec parquet, moulures et \
         cheminée, vendu avec une cave voûtée et une place pour les vélos dans la cour."
    );
    ingest(&listings, vec![with_text]);
    let stored = || {
        let read = listings
            .store
            .read_with(|connection| rows::fingerprints_after(connection, 0, 10));
        read.unwrap().remove(0)
    };
    let (number, fingerprint) = stored();
    let mut former = fingerprint;
    former.text.as_mut().unwrap().lanes[0] ^= 1;
    let written = listings
        .store
        .write_with(move |transaction| -> crate::Result<()> {
            let mut tables = ListingsWriter::begin(transaction, PercolationBuffer::none())?;
            tables.update_fingerprint(number, &former)?;
            tables.end()
        });
    written.unwrap();
    assert_ne!(stored().1, fingerprint);
    assert_eq!(rebuild(&listings).refreshed, 1);
    assert_eq!(stored().1, fingerprint);
}

#[test]
fn possible_pairs_are_found_anew() {
    let (_folder, listings) = listings();
    let thin = |number: u32| {
        let mut advert = advert("a", number);
        advert["currentPrice"]["value"] = json!(310_000);
        advert["habitation"] = json!({"surface": {"total": 31}, "roomCount": 2});
        advert
    };
    ingest(&listings, vec![thin(1), thin(2)]);
    assert_eq!(listings.likely_pair_count().unwrap(), 1);
    listings
        .store
        .write(|transaction| transaction.execute("DELETE FROM likely_pairs", []))
        .unwrap();
    assert_eq!(rebuild(&listings).possible_pairs, 1);
    assert_eq!(listings.likely_pair_count().unwrap(), 1);
}
