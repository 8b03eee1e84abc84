//! Compares matches with a plain computation of the contract's score.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use toise::contract::fields::FieldKind;
use toise::engine::Budget;
use toise::lake::Lake;
use toise::opendata::request::bodies::bodies;
use toise::opendata::request::parse_match;
use toise::opendata::{Dataset, MatchConfidence, OpenData};

use crate::support::areas;
use crate::support::draw::Draw;
use crate::support::reference;
use crate::support::rows::{self, Record, id_of};

struct Table {
    dataset: Dataset,
    records: Vec<Record>,
    open_data: OpenData,
    _folder: tempfile::TempDir,
}

impl Table {
    fn of(dataset: Dataset, imports: Vec<Vec<Record>>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let lake = Lake::open(folder.path()).unwrap();
        for records in &imports {
            rows::import(&lake, dataset, records, Vec::new());
        }
        Self {
            dataset,
            records: imports.concat(),
            open_data: OpenData::open(folder.path(), Budget::default()).unwrap(),
            _folder: folder,
        }
    }

    fn drawn(dataset: Dataset, draw: &mut Draw) -> Self {
        let mut imports: Vec<Vec<Record>> = Vec::new();
        for size in [400, 150, 40] {
            let first = imports.iter().map(Vec::len).sum();
            imports.push(rows::records(dataset, first, size, draw));
        }
        if dataset == Dataset::Dpe {
            let ids: Vec<String> = imports
                .concat()
                .iter()
                .map(|record| id_of(dataset, record).into())
                .collect();
            for record in imports.iter_mut().flatten() {
                if draw.once_in(5) {
                    // From any import, its own included; some are not in the table.
                    let named = if draw.once_in(4) {
                        "2100E0000000Z"
                    } else {
                        draw.one_of(&ids)
                    };
                    record.insert("numero_dpe_remplace".into(), named.into());
                }
            }
        }
        Self::of(dataset, imports)
    }

    fn matches(&self, body: &Value) -> toise::opendata::MatchAnswer {
        let request =
            parse_match(self.dataset, body).unwrap_or_else(|fault| panic!("{fault}: {body}"));
        self.open_data.find_matches(self.dataset, &request).unwrap()
    }
}

fn body(table: &Table, draw: &mut Draw) -> Value {
    let fields = bodies(table.dataset);
    let mut filters = serde_json::Map::new();
    for _ in 0..draw.below(3) {
        let field = draw.one_of(fields.match_filters);
        // An address stands for another filter, and layers are compared in `layers`.
        if ["address", "layer"].contains(&field.name) {
            continue;
        }
        let met = draw.one_of(&table.records).get(field.name);
        let filter = match (field.kind, met) {
            (FieldKind::Range, _) => {
                let least = draw.below(30);
                json!({"min": least, "max": least + *draw.one_of(&[0, 1, 3, 25])})
            }
            (FieldKind::Dates, _) => json!({"from": rows::day(draw).to_string()}),
            (FieldKind::Place, _) => {
                let (lat, lon) = rows::position(draw);
                json!({"lat": lat, "lon": lon, "distance": *draw.one_of(&["3km", "12km", "900m"])})
            }
            (FieldKind::Area, _) => {
                let (lat, lon) = rows::position(draw);
                areas::area(draw, lat, lon, 0.08)
            }
            (_, Some(met)) => met.clone(),
            (FieldKind::OneOf(values), None) => values[0].into(),
            (FieldKind::Code(code), None) => rows::place_code(code, draw).into(),
            (_, None) => "48095".into(),
        };
        filters.insert(field.name.into(), filter);
    }
    let mut targets = serde_json::Map::new();
    for _ in 0..draw.below(5) {
        let field = draw.one_of(fields.targets);
        let target = match field.kind {
            FieldKind::Number | FieldKind::Between(..) => json!(draw.below(60) as f64 / 2.0),
            FieldKind::Integer(..) => json!(draw.below(12) as i64 - 2),
            FieldKind::OneOf(values) => (*draw.one_of(values)).into(),
            FieldKind::Flag => draw.once_in(2).into(),
            other => panic!("{other:?} is no target"),
        };
        targets.insert(field.name.into(), target);
    }
    json!({"filters": filters, "scoring_targets": targets, "size": 1 + draw.below(20)})
}

#[test]
fn any_match_ranks_as_the_contract_computes() {
    for (dataset, seed) in [(Dataset::Dvf, 31), (Dataset::Dpe, 32)] {
        let mut draw = Draw::new(seed);
        let table = Table::drawn(dataset, &mut draw);
        for _ in 0..300 {
            let body = body(&table, &mut draw);
            let expected = reference::candidates(dataset, &table.records, &body);
            let answer = table.matches(&body);
            assert_eq!(answer.total, expected.len() as u64, "{body}");
            let size = body["size"].as_u64().unwrap() as usize;
            let top = &expected[..size.min(expected.len())];
            let found: Vec<(f64, &str)> = answer
                .candidates
                .iter()
                .map(|one| (one.score, one.id.as_str()))
                .collect();
            let ranked: Vec<(f64, &str)> = top
                .iter()
                .map(|(score, record)| (*score, id_of(dataset, record)))
                .collect();
            assert_eq!(found, ranked, "{body}");
            for (one, (_, record)) in answer.candidates.iter().zip(top) {
                let shown: Record = serde_json::from_slice(&one.record).unwrap();
                assert_eq!(&shown, *record);
            }
            let ambiguous = match expected.as_slice() {
                [first, second, ..] => ((first.0 - second.0) * 10.0).round() <= 50.0,
                _ => false,
            };
            assert_eq!(answer.ambiguous, ambiguous, "{body}");
            if let (true, Some(first)) = (ambiguous, answer.candidates.first()) {
                assert_ne!(first.confidence, MatchConfidence::High, "{body}");
            }
        }
    }
}

#[test]
fn asking_for_fewer_candidates_changes_nothing_of_those_shown() {
    let mut draw = Draw::new(33);
    let table = Table::drawn(Dataset::Dpe, &mut draw);
    for _ in 0..40 {
        let mut body = body(&table, &mut draw);
        body["size"] = 20.into();
        let long = table.matches(&body);
        body["size"] = 1.into();
        let short = table.matches(&body);
        assert_eq!(
            (long.ambiguous, long.total),
            (short.ambiguous, short.total),
            "{body}"
        );
        let shown = |answer: &toise::opendata::MatchAnswer| {
            let first = answer.candidates.first()?;
            Some((first.id.clone(), first.score, first.confidence))
        };
        assert_eq!(shown(&long), shown(&short), "{body}");
    }
}

fn certificate(number: &str, consumption: f64, replaces: Option<&str>) -> Record {
    let mut record = Record::new();
    record.insert("numero_dpe".into(), number.into());
    record.insert("conso_5_usages_par_m2_ep".into(), json!(consumption));
    if let Some(replaces) = replaces {
        record.insert("numero_dpe_remplace".into(), replaces.into());
    }
    record
}

fn numbers(answer: &toise::opendata::MatchAnswer) -> Vec<&str> {
    answer
        .candidates
        .iter()
        .map(|one| one.id.as_str())
        .collect()
}

#[test]
fn a_superseded_certificate_is_found_by_search_and_left_out_of_match() {
    // The later certificate arrives in a later import, and in a separate file.
    let table = Table::of(
        Dataset::Dpe,
        vec![
            (0..40)
                .map(|n| certificate(&format!("2148E00000{n:02}A"), 250.0, None))
                .collect(),
            vec![certificate("2448E9000001B", 250.0, Some("2148E0000007A"))],
        ],
    );
    let answer =
        table.matches(&json!({"scoring_targets": {"conso_5_usages_par_m2_ep": 250}, "size": 20}));
    assert_eq!(answer.total, 40);
    assert!(!numbers(&answer).contains(&"2148E0000007A"));
    let old = table.matches(&json!({"filters": {"numero_dpe": "2148E0000007A"}}));
    assert_eq!((old.total, old.candidates.len()), (0, 0));
    let key = toise::contract::cursor::CursorKey::new([0; 32]);
    let body = json!({"filters": {"numero_dpe": "2148E0000007A"}});
    let request = toise::opendata::request::parse_search(Dataset::Dpe, &body, &key).unwrap();
    assert_eq!(
        table
            .open_data
            .search(Dataset::Dpe, &request)
            .unwrap()
            .total,
        1
    );
}

#[test]
fn a_certificate_that_names_itself_is_not_superseded() {
    let table = Table::of(
        Dataset::Dpe,
        vec![vec![
            certificate("2148E0000001A", 250.0, Some("2148E0000001A")),
            certificate("2148E0000002A", 100.0, None),
        ]],
    );
    let answer = table.matches(&json!({"scoring_targets": {"conso_5_usages_par_m2_ep": 250}}));
    assert_eq!(numbers(&answer), ["2148E0000001A", "2148E0000002A"]);
}

#[test]
fn equal_scores_rank_by_number_and_five_points_are_ambiguous() {
    let table = Table::of(
        Dataset::Dpe,
        vec![
            vec![certificate("2148E0000003C", 250.0, None)],
            vec![
                certificate("2148E0000001A", 250.0, None),
                certificate("2148E0000002B", 250.0, None),
            ],
        ],
    );
    let answer = table.matches(&json!({"scoring_targets": {"conso_5_usages_par_m2_ep": 251}}));
    assert_eq!(
        numbers(&answer),
        ["2148E0000001A", "2148E0000002B", "2148E0000003C"]
    );
    assert!(answer.ambiguous);
    // Every consumption from the first on: the rule is on scores as shown, whatever lies behind them.
    let mut gaps: BTreeMap<i64, bool> = BTreeMap::new();
    for tenth in 0..120 {
        let second = 250.0 + f64::from(tenth) / 20.0;
        let table = Table::of(
            Dataset::Dpe,
            vec![vec![
                certificate("a", 250.0, None),
                certificate("b", second, None),
            ]],
        );
        let answer = table.matches(&json!({"scoring_targets": {"conso_5_usages_par_m2_ep": 250}}));
        let [first, second] = &answer.candidates[..] else {
            panic!()
        };
        let gap = ((first.score - second.score) * 10.0).round() as i64;
        gaps.insert(gap, answer.ambiguous);
    }
    assert!(
        gaps.iter()
            .all(|(gap, ambiguous)| *ambiguous == (*gap <= 50)),
        "{gaps:?}"
    );
    assert!(
        gaps.range(40..=50).count() > 0 && gaps.range(51..60).count() > 0,
        "{gaps:?}"
    );
}

#[test]
fn nothing_and_one_candidate_are_never_ambiguous() {
    let table = Table::of(Dataset::Dpe, vec![vec![certificate("a", 250.0, None)]]);
    let one = table.matches(&json!({}));
    assert_eq!(
        (one.total, one.ambiguous, one.candidates[0].score),
        (1, false, 50.0)
    );
    let none = table.matches(&json!({"filters": {"numero_dpe": "b"}}));
    assert_eq!(
        (none.total, none.ambiguous, none.candidates.len()),
        (0, false, 0)
    );
    let empty = Table::of(Dataset::Dvf, Vec::new());
    let answer = empty.matches(&json!({"scoring_targets": {"price_eur": 1}}));
    assert_eq!(
        (answer.total, answer.ambiguous, answer.candidates.len()),
        (0, false, 0)
    );
}

#[test]
fn the_largest_numbers_are_bounds_and_targets_like_any_others() {
    let sale = |id: &str, surface: f64, price: f64| {
        let mut record = Record::new();
        record.insert("id".into(), id.into());
        record.insert("surface_m2".into(), json!(surface));
        record.insert("price_eur".into(), json!(price));
        record
    };
    let sales = vec![sale("a", 40.0, 1.0), sale("b", 60.0, 200_000.0)];
    let table = Table::of(Dataset::Dvf, vec![sales]);
    let scores = |body: Value| -> Vec<f64> {
        let answer = table.matches(&body);
        assert_eq!(answer.total, 2, "{body}");
        answer.candidates.iter().map(|one| one.score).collect()
    };
    for most in [1e12, 1e200, f64::MAX] {
        let range = json!({"filters": {"surface_m2": {"min": 0, "max": most}}});
        assert_eq!(scores(range), [84.1, 84.1], "{most}");
        let price = json!({"scoring_targets": {"price_eur": most}});
        assert_eq!(scores(price), [0.0, 0.0], "{most}");
    }
    let all = json!({"filters": {"surface_m2": {"min": f64::MIN, "max": f64::MAX}}});
    assert_eq!(scores(all), [100.0, 100.0]);
    let high = json!({"filters": {"surface_m2": {"min": f64::MAX, "max": f64::MAX}}});
    assert_eq!(table.matches(&high).total, 0);
}

#[test]
fn a_sale_is_no_certain_match_if_an_error_in_the_price_explains_another() {
    let sale = |id: &str, price: f64| {
        let mut record = Record::new();
        record.insert("id".into(), id.into());
        record.insert("price_eur".into(), json!(price));
        record
    };
    let found = |other: f64| {
        let sales = vec![
            sale("2148E0000001A", 200_000.0),
            sale("2148E0000002B", other),
        ];
        let table = Table::of(Dataset::Dvf, vec![sales]);
        let answer = table.matches(&json!({"scoring_targets": {"price_eur": 200_000}}));
        let first = &answer.candidates[0];
        assert_eq!((first.id.as_str(), first.score), ("2148E0000001A", 100.0));
        // The scores of both cases differ by no more than this.
        assert!(answer.candidates[1].score < 5.0);
        first.confidence
    };
    assert_eq!(found(400_000.0), MatchConfidence::High);
    assert_eq!(found(235_000.0), MatchConfidence::Medium);
}
