//! Prints the welcome of `toise demo` and `toise start` once they serve: addresses, keys, and requests to try.

use std::path::Path;

use serde_json::{Value, json};

use super::result::Failure;
use super::serve::ready;
use super::{CommandResult, Common};
use toise_accounts::DEFAULT_ACCOUNT;
use toise_accounts::audit::{Act, audited, audited_with_subject};
use toise_accounts::keys::{self, DEMO_NAME, KeyKind, KeyRequest, NewKey, Owner};
use toise_accounts::limits::KeyLimits;
use toise_accounts::scopes::{Scope, Scopes};
use toise_app::config::Config;
use toise_app::serve::serve;
use toise_base::clock::Clock;
use toise_geo::places::{PlaceKind, Places};
use toise_store::Store;

/// Where the requests to try look. Positions are latitude and longitude.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct SamplePlaces {
    /// Centre of the search for properties.
    search: (f64, f64),
    /// Position of the home to value.
    home: (f64, f64),
    /// Commune of the sales.
    commune: &'static str,
    /// Centre of the search for diagnostics.
    diagnostics: (f64, f64),
    /// Department of the diagnostic to match.
    department: &'static str,
}

impl SamplePlaces {
    /// Places that have much data in the demo.
    pub(super) const OF_DEMO: Self = Self {
        search: (48.86, 2.35),
        home: (48.8631, 2.3795),
        commune: "75111",
        diagnostics: (45.76, 4.84),
        department: "48",
    };

    /// Returns the largest commune, or arrondissement, of a department for all requests; the places of the demo if it
    /// has none.
    pub(super) fn of_department(code: &str) -> Self {
        let places = Places::get().all().iter();
        let is_place = |kind| matches!(kind, PlaceKind::Commune | PlaceKind::Arrondissement);
        // Sales and diagnostics of Paris, Lyon and Marseille are of an arrondissement.
        let largest = places
            .filter(|place| place.department == code && is_place(place.kind))
            .filter(|place| !toise_geo::places::DIVIDED_CITIES.contains(&place.code))
            .max_by_key(|place| place.population);
        largest.map_or(Self::OF_DEMO, |place| Self {
            search: place.centre,
            home: place.centre,
            commune: place.code,
            diagnostics: place.centre,
            department: place.department,
        })
    }
}

/// Serves a data folder as `toise serve` does, with new keys of the demo, and prints them with requests to try.
///
/// # Errors
/// As for `serve`.
pub(super) fn serve_with_welcome(
    common: &Common,
    config: &Config,
    places: &SamplePlaces,
) -> CommandResult {
    let as_json = common.json;
    serve(&common.data, config, move |addresses| {
        // Keys are created only after binding: a demo that finds its address in use must not revoke the keys of the
        // running one.
        let keys = make_keys(&common.data, &config.limits)?;
        let DemoKeys {
            key,
            admin_key,
            sql_key,
            console_key,
        } = &keys;
        let code = addresses.sessions.code_for(console_key);
        let console = format!("{}/console/#code={code}", addresses.http);
        if as_json {
            let more =
                json!({"key": key, "admin_key": admin_key, "sql_key": sql_key, "console": console});
            println!("{}", ready(addresses, more));
        } else {
            print_welcome(&addresses.http, &console, &keys, places);
        }
        Ok(())
    })
}

/// The keys of a demo.
struct DemoKeys {
    /// Key with the default scopes.
    key: String,
    /// Key for administration.
    admin_key: String,
    /// Key for SQL.
    sql_key: String,
    /// Key behind the console's link, with every scope. Never printed.
    console_key: String,
}

/// Revokes the keys of earlier demos and creates new ones.
fn make_keys(data: &Path, limits: &KeyLimits) -> Result<DemoKeys, Failure> {
    let store = Store::open(data)?;
    let clock = Clock::system();
    let revoke = Act::at_command_line("demo: revoke the keys of earlier demos");
    let revoke = revoke.on(format!("keys named {DEMO_NAME}"));
    audited(&store, &clock, revoke, || {
        keys::revoke_demo_keys(&store, &clock)
    })?;
    let make = |grants: Scopes| {
        let request = KeyRequest {
            name: Some(DEMO_NAME.to_owned()),
            grants: Some(grants.into()),
            ..KeyRequest::new(
                KeyKind::Production,
                Owner::Named(DEFAULT_ACCOUNT.to_owned()),
                limits,
            )
        };
        let subject = |new: &NewKey| Some(format!("key {}", new.key_id));
        let issue = || keys::issue(&store, &clock, request);
        let create = Act::at_command_line("demo: create a key");
        audited_with_subject(&store, &clock, create, subject, issue).map(|new| new.key)
    };
    let only = |scope: Scope| [scope].into_iter().collect();
    Ok(DemoKeys {
        key: make(KeyKind::Production.default_scopes())?,
        admin_key: make(only(Scope::Admin))?,
        sql_key: make(only(Scope::Sql))?,
        console_key: make(Scope::ALL.into_iter().collect())?,
    })
}

/// Prints the addresses, the keys and the requests to try.
fn print_welcome(address: &str, console: &str, keys: &DemoKeys, places: &SamplePlaces) {
    let DemoKeys {
        key,
        admin_key,
        sql_key,
        ..
    } = keys;
    println!(
        "toise listens on {address}\nconsole:   {console} (once, within 15 minutes)\nkey:       {key}\nadmin key: {admin_key}\nSQL key:   {sql_key}\n\nTry:\n"
    );
    println!(
        "curl -s {address}/v2/protected/sql -H 'x-api-key: {sql_key}' -H 'content-type: application/json' \
         -d '{{\"query\":\"select property_type, count(*), median(price_eur) from dvf group by 1\"}}'\n"
    );
    for (path, body) in requests(places) {
        println!(
            "curl -s {address}/v2/protected/{path} -H 'x-api-key: {key}' \
             -H 'content-type: application/json' -d '{body}'\n"
        );
    }
}

/// Returns requests to try: paths and bodies.
fn requests(places: &SamplePlaces) -> [(&'static str, Value); 5] {
    let SamplePlaces {
        search,
        home,
        commune,
        diagnostics,
        department,
    } = places;
    let pin = json!({"lat": search.0, "lon": search.1});
    let around = json!({"geoDistance": {"pin": pin, "distanceKm": 10}});
    [
        (
            "properties/search",
            json!({"search": {"filterProperty": {"type": ["CLASS_FLAT"], "offer": [{"type": "OFFER_BUY"}],
                "location": [{"locationCoordinate": {"location": around}}], "meta": {"isTotallyOffline": false}},
                "fullTexts": ["balcon"]}, "sortBy": "PRICE", "orderBy": "ASC", "size": 3}),
        ),
        (
            "estimate/property/lite",
            json!({"location": {"locationCoordinate": {"location": [home.1, home.0]}}, "type": "CLASS_FLAT",
                "offer": {"type": "OFFER_BUY"}, "habitation": {"surface": {"total": 50}, "roomCount": 2,
                "bedroomCount": 1, "characteristics": {"hasTerrace": true}}}),
        ),
        (
            "opendata/dvf/search",
            json!({"filters": {"insee_code": commune, "property_type": ["Appartement"],
                "surface_m2": {"min": 30, "max": 50}}, "sortBy": "price_eur", "sortOrder": "asc", "size": 3}),
        ),
        (
            "opendata/dpe/search",
            json!({"filters": {"location": {"lat": diagnostics.0, "lon": diagnostics.1, "distance": "2km"},
                "etiquette_dpe": ["F", "G"]}, "size": 3}),
        ),
        (
            "opendata/dpe/match",
            json!({"filters": {"code_departement_ban": department, "type_batiment": "maison",
                "surface_habitable_logement": {"min": 90, "max": 110}},
                "scoring_targets": {"conso_5_usages_par_m2_ep": 250, "etiquette_ges": "C"}, "size": 3}),
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_requests_look_at_the_largest_commune_of_the_department() {
        assert_eq!(SamplePlaces::of_department("48").commune, "48095");
        assert_eq!(SamplePlaces::of_department("69").department, "69");
        assert!(SamplePlaces::of_department("75").commune.starts_with("751"));
        assert_eq!(SamplePlaces::of_department("99"), SamplePlaces::OF_DEMO);
    }
}
