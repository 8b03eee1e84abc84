//! Tests changes of a home, the file of a valuation, and totals over it.

use std::fs;

use chrono::Utc;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use uuid::Uuid;

use super::files::{LOST, values_file};
use super::homes::{receive, with_rows};
use super::page::PageRequest;
use super::recent::RecentSales;
use super::state::{ComparableSale, SCHEMA, ValuedHome, from_batch, to_batch};
use super::valuation::kept;
use super::{Error, FOLDER, NEW_COMPARABLES_MAX, PortfolioOptions, Portfolios, record, verify};
use serde_json::json;
use toise_accounts::account;
use toise_alerts::AlertRegistry;
use toise_alerts::registry;
use toise_alerts::request::parse_alert;
use toise_alerts::settings::AlertLimits;
use toise_base::clock::Clock;
use toise_base::formula::Formulas;
use toise_contract::listings::filters::ListingKind;
use toise_estimate::grid::GridPosition;
use toise_estimate::sale::HomeSale;
use toise_estimate::{Home, HomeClass};
use toise_opendata::portfolio::PortfolioOutput;
use toise_store::Store;
use toise_store::new_id::NewId;

fn home(key: &str, price: i64) -> ValuedHome {
    ValuedHome {
        key: key.to_owned(),
        price: Some(price),
        lower: Some(price * 9 / 10),
        upper: Some(price * 11 / 10),
        ..ValuedHome::default()
    }
}

fn first(key: &str, price: i64) -> ValuedHome {
    let mut home = home(key, price);
    home.report();
    home
}

#[test]
fn a_value_is_compared_with_the_one_that_was_reported_last() {
    let mut state = first("a", 100_000);
    // Three steps of two percent each: the third one makes more than five.
    for (nth, price) in [102_000, 104_000, 106_000].into_iter().enumerate() {
        state = home("a", price).follow(&state, &[], 5.0, None, nth as i64);
        assert_eq!(state.notifies, nth == 2, "{state:?}");
    }
    assert_eq!(
        (state.previous_price, state.reported_price),
        (Some(100_000), Some(106_000))
    );
    assert_eq!(
        (state.changes.as_deref(), state.value_changed_at_ms),
        (Some("value"), Some(2))
    );
    // The change stays on record while nothing else changes.
    let later = home("a", 106_500).follow(&state, &[], 5.0, None, 9);
    assert!(!later.notifies);
    assert_eq!(
        (later.changed_at_ms, later.previous_price),
        (Some(2), Some(100_000))
    );
}

#[test]
fn an_interval_and_a_diagnostic_are_changes_of_their_own() {
    let mut before = first("a", 100_000);
    before.dpe_id = Some("d1".into());
    let after = |change: &dyn Fn(&mut ValuedHome)| {
        let mut after = before.clone();
        change(&mut after);
        after.follow(&before, &[], 5.0, None, 7).changes
    };
    assert_eq!(after(&|_| {}), None);
    assert_eq!(
        after(&|home| home.upper = Some(130_000)).as_deref(),
        Some("value")
    );
    assert_eq!(
        after(&|home| home.dpe_class = Some("C".into())).as_deref(),
        Some("diagnostic")
    );
}

/// A sale with the number `nth` on a day.
fn sold(nth: usize, date: &str) -> ComparableSale {
    ComparableSale {
        id: format!("s{nth}"),
        date: date.into(),
        price: 200_000,
        distance_m: 90,
    }
}

#[test]
fn every_new_comparable_is_reported_once_with_the_number_of_all() {
    let before = ValuedHome {
        comparable_id: Some("s1".into()),
        known_comparables: Some("s0,s2".into()),
        ..first("a", 100_000)
    };
    let after = |sales: &[ComparableSale]| {
        before
            .clone()
            .follow(&before, sales, 5.0, Some("2026-06-30"), 7)
    };
    let known = [1, 0, 2].map(|nth| sold(nth, "2026-07-01"));
    assert_eq!(after(&known).changes, None);
    // The former model knew the sales of that day.
    assert_eq!(after(&[sold(3, "2026-06-30")]).changes, None);

    let sales: Vec<_> = (2..15).map(|nth| sold(nth, "2026-07-02")).collect();
    let answer = after(&sales).to_json();
    assert_eq!(
        (&answer["changes"], &answer["new_comparable_count"]),
        (&json!(["comparable"]), &json!(12))
    );
    let named = answer["new_comparables"].as_array().unwrap();
    assert_eq!(named.len(), NEW_COMPARABLES_MAX);
    assert_eq!(
        named[0],
        json!({"id": "s3", "date": "2026-07-02", "price": 200_000, "distance_m": 90})
    );

    // They stay on record while nothing changes, and are those of the last change.
    let told = after(&sales);
    let unchanged = home("a", 100_000).follow(&told, &[], 5.0, Some("2026-06-30"), 8);
    assert_eq!(unchanged.new_comparables, told.new_comparables);
    let moved = home("a", 110_000).follow(&told, &[], 5.0, Some("2026-06-30"), 9);
    assert!(
        moved.to_json().get("new_comparables").is_none() && moved.new_comparable_count.is_none(),
        "{moved:?}"
    );
    // A home without a value had no comparables.
    let unvalued = ValuedHome::default();
    let valued = home("a", 100_000).follow(&unvalued, &sales, 5.0, Some("2026-06-30"), 7);
    assert_eq!(valued.new_comparables, None);
}

#[test]
fn recent_sales_near_a_home_are_of_its_class_and_the_latest_comes_first() {
    // A degree of latitude has 111,195 m.
    let sale = |id: u8, day: i32, class: HomeClass, north_m: f64| HomeSale {
        id: [id; 10],
        day,
        class,
        price: 200_000.0,
        surface_m2: 50.0,
        rooms: 2.0,
        land_m2: f32::NAN,
        position: GridPosition::new(48.86 + north_m / 111_195.0, 2.37),
        department: 1,
        energy: f32::NAN,
        construction_year: f32::NAN,
    };
    let home = Home::from(&sale(0, 0, HomeClass::Flat, 0.0));
    let recent = RecentSales::new(vec![
        sale(1, 20_000, HomeClass::Flat, 50.0),
        sale(2, 20_001, HomeClass::Flat, 90.0),
        sale(3, 20_001, HomeClass::Flat, 80.0),
        sale(4, 20_002, HomeClass::Flat, 200.0),
        sale(5, 20_002, HomeClass::House, 10.0),
    ]);
    let near = recent.near(&home, 100.0);
    let ids: Vec<&str> = near.iter().map(|sale| &sale.id[..2]).collect();
    assert_eq!(ids, ["03", "02", "01"]);
    assert_eq!(
        (near[0].date.as_str(), near[0].distance_m),
        ("2024-10-05", 80)
    );
    assert!(RecentSales::default().near(&home, 1e9).is_empty());
}

#[test]
fn a_home_that_could_not_be_located_has_no_values_to_keep() {
    let failed = ValuedHome {
        key: "a".into(),
        error: Some("address: not found".into()),
        ..ValuedHome::default()
    };
    assert_eq!(kept(Some(&failed)), None);
    let mut located = first("a", 100_000);
    located.latitude = Some(48.86);
    assert_eq!(kept(Some(&located)), Some(&located));
    assert_eq!(kept(None), None);
}

#[test]
fn homes_are_read_as_they_were_written() {
    let mut one = first("é", 1);
    one.latitude = Some(48.863_1);
    one.changes = Some("value,diagnostic".into());
    let homes = vec![
        one,
        ValuedHome {
            key: "b".into(),
            error: Some("address: not found".into()),
            ..ValuedHome::default()
        },
    ];
    assert_eq!(from_batch(&to_batch(&homes).unwrap()).unwrap(), homes);
    assert!(from_batch(&to_batch(&[]).unwrap()).unwrap().is_empty());
    let answer = homes[0].to_json();
    assert!(
        answer.get("reported_price").is_none() && answer.get("error").is_none(),
        "{answer}"
    );
}

/// Portfolios in a folder, and an account.
fn portfolios() -> (tempfile::TempDir, Portfolios, Uuid) {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path()).unwrap();
    let clock = Clock::steered("2026-11-21T15:00:00Z".parse().unwrap());
    let account = account::find_or_create(&store, &clock, "default")
        .unwrap()
        .account_id;
    let portfolios = Portfolios::new(folder.path(), store, clock);
    (folder, portfolios, account)
}

#[test]
fn pages_and_totals_are_those_of_all_homes() {
    let (_folder, portfolios, account) = portfolios();
    let options = PortfolioOptions::default();
    let (mut stored, _) = record::put(
        &portfolios.store,
        Uuid::now_v7(),
        account,
        "all",
        (250, options),
        Utc::now(),
    )
    .unwrap();
    let homes: Vec<ValuedHome> = (0..250)
        .map(|nth: i64| {
            let mut home = home(&nth.to_string(), 1_000 + nth);
            if nth % 10 == 0 {
                (home.price, home.error) = (None, Some("type: is required".into()));
            }
            if nth % 3 == 0 {
                (home.changed_at_ms, home.value_changed_at_ms) = (Some(nth), Some(nth));
                home.previous_price = Some(1_000);
            }
            home
        })
        .collect();
    let folder = portfolios.folder_of(stored.id);
    fs::create_dir_all(&folder).unwrap();
    let mut file =
        PortfolioOutput::create(&folder.join(values_file(1)), &SCHEMA, Formulas::Kept).unwrap();
    file.write(&to_batch(&homes).unwrap()).unwrap();
    file.finish().unwrap();
    stored.valuation = 1;

    for since in [None, Some(0), Some(100), Some(1_000)] {
        let is_since = |at: Option<i64>| since.is_none_or(|since| at.is_some_and(|at| at >= since));
        let expected: Vec<&ValuedHome> = homes
            .iter()
            .filter(|home| is_since(home.changed_at_ms))
            .collect();
        let (mut read, mut next) = (Vec::new(), Some(0));
        while let Some(first) = next {
            let request = PageRequest {
                changed_since_ms: since,
                first,
                size: 7,
            };
            let page = portfolios.page(&stored, request).unwrap().unwrap();
            let valued: Vec<i64> = homes.iter().filter_map(|home| home.price).collect();
            let totals = page.totals.unwrap();
            assert_eq!((totals.valued, totals.errors), (225, 25));
            assert_eq!(totals.value, valued.iter().sum::<i64>());
            if since.is_some() {
                let changes = page.changes.unwrap();
                let moved = expected.iter().filter(|home| home.price.is_some());
                assert_eq!(changes.homes, expected.len() as u64);
                assert_eq!(changes.values, moved.clone().count() as u64);
                assert_eq!(
                    changes.value,
                    moved.clone().filter_map(|home| home.price).sum::<i64>()
                );
                assert_eq!(changes.value_before, 1_000 * moved.count() as i64);
            }
            read.extend(page.homes);
            next = page.next;
        }
        assert_eq!(read.iter().collect::<Vec<_>>(), expected);
    }
}

/// Stores a file of homes.
fn put(
    portfolios: &Portfolios,
    account: Uuid,
    text: &str,
) -> super::Result<super::StoredPortfolio> {
    let file = portfolios.draft().unwrap();
    fs::write(file.path(), text).unwrap();
    portfolios.put(account, "mine", file.path(), PortfolioOptions::default())
}

#[test]
fn faults_name_the_row_and_the_field() {
    let (folder, portfolios, account) = portfolios();
    let header = "key,type,surface_m2,longitude,latitude\n";
    let rows = "a,flat,50,2.37,48.86\nb,castle,50,2.37,48.86\nc,flat,1,2.37,48.86\n";
    let stored = put(&portfolios, account, &format!("{header}{rows}")).unwrap();
    assert_eq!((stored.portfolio.homes, stored.faulty), (3, 2));
    let faults: Vec<(u64, &str)> = stored
        .faults
        .iter()
        .map(|fault| (fault.row, fault.key.as_str()))
        .collect();
    assert_eq!(faults, [(2, "b"), (3, "c")]);
    assert!(
        stored.faults[0].message.starts_with("type: "),
        "{:?}",
        stored.faults
    );
    assert!(
        stored.faults[1].message.starts_with("surface_m2: "),
        "{:?}",
        stored.faults
    );

    for (text, message) in [
        (
            format!("{header}a,flat,50,2.37,48.86\na,flat,60,2.37,48.86\n"),
            "row 2: key: \"a\" is the key of row 1, too",
        ),
        (
            format!("{header},flat,50,2.37,48.86\n"),
            "body: row 1: key: must be 1 to 200 bytes long",
        ),
        (header.to_owned(), "body: must hold at least one home"),
        (
            "type,surface_m2,longitude,latitude\nflat,50,2.37,48.86\n".into(),
            "body: the file has no column key or id",
        ),
        (
            "key,type,longitude,latitude\na,flat,2.37,48.86\n".into(),
            "body: the file has no column surface_m2",
        ),
    ] {
        let error = put(&portfolios, account, &text).unwrap_err();
        assert!(matches!(error, Error::Refused(_)), "{error}");
        assert!(
            error.to_string().starts_with(message),
            "{error}, not {message}"
        );
        assert!(!error.to_string().contains("tmp"), "{error}");
    }
    // What was stored stays, and nothing else is left.
    assert_eq!(portfolios.get(account, "mine").unwrap().homes, 3);
    assert_eq!(fs::read_dir(folder.path().join(FOLDER)).unwrap().count(), 1);
    portfolios.delete(account, "mine").unwrap();
    assert_eq!(fs::read_dir(folder.path().join(FOLDER)).unwrap().count(), 0);
}

#[test]
fn a_street_that_is_not_read_is_a_warning() {
    let (_folder, portfolios, account) = portfolios();
    let warnings = |header: &str, row: &str| {
        let stored = put(&portfolios, account, &format!("{header}\n{row}\n"));
        stored.unwrap().warnings
    };
    let row = "a,flat,50,12 avenue Foch,48000,Mende";
    assert_eq!(
        warnings("key,type,surface_m2,Rue du bien,postcode,city", row),
        [
            "rows located by their town alone: 1; the column \"Rue du bien\" was not read; if it holds the street, name \
             it street"
        ]
    );
    assert!(warnings("key,type,surface_m2,street,postcode,city", row).is_empty());
    let placed = "a,flat,50,12 avenue Foch,2.37,48.86";
    assert!(warnings("key,type,surface_m2,Rue du bien,longitude,latitude", placed).is_empty());
}

#[test]
fn damaged_and_lost_homes_are_noticed() {
    let (folder, portfolios, account) = portfolios();
    let data = folder.path();
    let homes = ["one", "other"].map(|name| {
        let file = portfolios.draft().unwrap();
        let homes = "key,type,surface_m2,longitude,latitude\na,flat,50,2.37,48.86\n";
        fs::write(file.path(), homes).unwrap();
        let options = PortfolioOptions::default();
        portfolios.put(account, name, file.path(), options).unwrap();
        let id = portfolios.get(account, name).unwrap().id;
        portfolios.folder_of(id).join("homes.parquet")
    });
    // Homes of an earlier version, and a draft.
    fs::create_dir(data.join(FOLDER).join("former")).unwrap();
    let _draft = portfolios.draft().unwrap();
    assert!(verify(data).is_empty());
    let mut bytes = fs::read(&homes[0]).unwrap();
    bytes[10] ^= 1;
    fs::write(&homes[0], bytes).unwrap();
    fs::remove_file(&homes[1]).unwrap();
    let mut damaged: Vec<_> = verify(data).into_iter().map(|(file, _)| file).collect();
    damaged.sort();
    let mut expected = homes.to_vec();
    expected.sort();
    assert_eq!(damaged, expected);
    portfolios.delete(account, "other").unwrap();
    assert_eq!(verify(data).len(), 1);
}

#[test]
fn damaged_and_lost_values_are_set_aside_and_the_status_says_so() {
    for is_damaged in [true, false] {
        let (_data, portfolios, account) = portfolios();
        let file = "key,type,surface_m2,longitude,latitude\na,flat,50,2.37,48.86\n";
        put(&portfolios, account, file).unwrap();
        let sql = "UPDATE portfolios SET valuation = 3, valued_at_ms = 1, model = 'm', dvf_version = 7, notify_from = 0";
        let valued = portfolios
            .store
            .write(move |transaction| transaction.execute(sql, []));
        assert_eq!(valued.unwrap(), 1);
        let portfolio = portfolios.get(account, "mine").unwrap();
        assert!(!portfolio.history_lost);
        let folder = portfolios.folder_of(portfolio.id);
        if is_damaged {
            fs::write(folder.join(values_file(3)), "no Parquet").unwrap();
        }
        let request = PageRequest::default();
        assert!(portfolios.page(&portfolio, request).unwrap().is_none());
        let waiting = portfolios.get(account, "mine").unwrap();
        let answer = waiting.to_json();
        assert_eq!(
            (&answer["status"], &answer["history_lost"]),
            (&json!("waiting"), &json!(true))
        );
        assert!(answer.get("model").is_none(), "{answer}");
        assert_eq!(
            (waiting.valuation, waiting.notify_from, waiting.origin.dvf),
            (0, None, None)
        );
        assert!(portfolios.page(&waiting, request).unwrap().is_some());
        let kept = fs::read(folder.join(LOST)).unwrap();
        assert_eq!(kept.starts_with(b"no Parquet"), is_damaged);
        // A reader that is late changes nothing, and homes that are stored again have a new history.
        assert!(portfolios.page(&portfolio, request).unwrap().is_none());
        assert_eq!(portfolios.get(account, "mine").unwrap(), waiting);
        put(&portfolios, account, file).unwrap();
        assert!(!portfolios.get(account, "mine").unwrap().history_lost);
    }
}

#[test]
fn both_columns_of_the_postal_code_are_read_as_codes() {
    let text =
        "key,type,surface_m2,postcode,postal_code\na,flat,50,,1000.0\nb,flat,50,1000.0,48000\n";
    let folder = tempfile::tempdir().unwrap();
    let [input, output] = ["homes.csv", "homes.parquet"].map(|name| folder.path().join(name));
    fs::write(&input, text).unwrap();
    receive(&input, &output, Utc::now().date_naive()).unwrap();
    let file = fs::File::open(&output).unwrap();
    let reader = ParquetRecordBatchReaderBuilder::try_new(file).unwrap();
    let mut codes = Vec::new();
    for batch in reader.build().unwrap() {
        let of_batch = with_rows(&batch.unwrap(), |_, home| {
            let address = home.address().unwrap();
            Ok(address.postal_code.to_owned())
        });
        codes.extend(of_batch.unwrap());
    }
    assert_eq!(codes, ["01000", "01000"]);
}

#[test]
fn a_receiver_does_not_count_as_an_alert_and_neither_does_that_of_a_deleted_portfolio() {
    let (_folder, portfolios, account) = portfolios();
    let limits = AlertLimits {
        per_account_max: 1,
        kept_per_account_max: 1,
        ..AlertLimits::default()
    };
    let alerts = AlertRegistry::new(portfolios.store.clone(), portfolios.clock.clone(), limits);
    let options = PortfolioOptions {
        webhook_url: Some("https://client.example/hook".into()),
        ..PortfolioOptions::default()
    };
    for name in ["kept", "deleted"] {
        let file = portfolios.draft().unwrap();
        let homes = "key,type,surface_m2,longitude,latitude\na,flat,50,2.37,48.86\n";
        fs::write(file.path(), homes).unwrap();
        let stored = portfolios.put(account, name, file.path(), options.clone());
        assert!(stored.is_ok());
    }
    portfolios.delete(account, "deleted").unwrap();
    let body = json!({"search_query": {"filterAd": {}}, "match": ["ALERT_MATCH_CREATED"], "search_name": "suivi",
        "webhook_url": "https://client.example/hook"});
    let made = || {
        let alert = parse_alert(ListingKind::Advert, &body).unwrap();
        alerts.create(account, ListingKind::Advert, alert, NewId::Random)
    };
    made().unwrap();
    let refused = made().unwrap_err();
    assert!(
        matches!(refused, registry::Error::TooMany { max: 1 }),
        "{refused}"
    );
}
