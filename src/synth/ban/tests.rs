//! Tests that the made-up address base is complete, reproducible, and shaped like the real one.

use std::collections::{HashMap, HashSet};

use super::*;
use toise_geo::distance::planar_distance_m;
use toise_geo::places::Places;
use toise_geo::projection::{in_france, to_degrees};

type Row = HashMap<String, String>;

fn request(addresses: Option<u64>, departments: &[&str]) -> BanRequest {
    BanRequest {
        addresses,
        departments: departments.iter().map(|code| (*code).to_owned()).collect(),
        seed: 7,
    }
}

fn addresses(files: &DepartmentFiles) -> Vec<u8> {
    let mut out = Vec::new();
    let summary = files.write_addresses(&mut out, &|_| {}).unwrap();
    assert_eq!(summary.rows, files.addresses());
    assert_eq!(summary.bytes, out.len() as u64);
    out
}

fn rows(bytes: &[u8]) -> Vec<Row> {
    let mut reader = csv::ReaderBuilder::new().delimiter(b';').from_reader(bytes);
    reader.deserialize().map(Result::unwrap).collect()
}

/// Returns the addresses of one department, of a size that a test can read.
fn sample(department: &str, count: u64) -> Vec<Row> {
    let mut made = departments(&request(Some(count), &[department]));
    assert_eq!(made.len(), 1);
    rows(&addresses(&made.remove(0)))
}

#[test]
fn a_department_is_the_same_alone_as_among_all() {
    let all = departments(&request(None, &[]));
    assert_eq!(all.len(), 101);
    let total: u64 = all.iter().map(DepartmentFiles::addresses).sum();
    assert_eq!(total, communes::NATIONAL_ADDRESSES);
    let among = all.iter().find(|files| files.department == "90").unwrap();
    let alone = &departments(&request(None, &["90"]))[0];
    assert!(addresses(among) == addresses(alone));
    let mut other = request(None, &["90"]);
    other.seed = 8;
    assert!(addresses(&departments(&other)[0]) != addresses(alone));
}

#[test]
fn as_many_addresses_are_written_as_are_asked_for_each_with_an_identifier_of_its_own() {
    let rows = sample("48", 20_000);
    assert_eq!(rows.len(), 20_000);
    assert_eq!(rows[0].len(), 23);
    let ids: HashSet<&String> = rows.iter().map(|row| &row["id"]).collect();
    assert_eq!(ids.len(), rows.len());
    for row in &rows {
        let mut tail = format!("_{:0>5}", row["numero"]);
        if !row["rep"].is_empty() {
            tail = format!("{tail}_{}", row["rep"]);
        }
        let street = row["id"].strip_suffix(&tail).unwrap();
        assert!(row["id_fantoir"].is_empty() || row["id_fantoir"] == street);
        assert!(row["nom_afnor"].len() <= 32, "{}", row["nom_afnor"]);
        assert!(row["code_postal"].len() == 5 && row["id"].starts_with(&row["code_insee"]));
    }
}

#[test]
fn positions_lie_around_their_commune_and_agree_with_the_plane() {
    for department in ["2A", "48", "75", "971", "974"] {
        for row in sample(department, 1_500) {
            let number = |name: &str| row[name].parse::<f64>().unwrap();
            let (lat, lon) = (number("lat"), number("lon"));
            assert!(in_france(lat, lon), "{row:?}");
            let (back_lat, back_lon) = to_degrees(department, number("x"), number("y")).unwrap();
            assert!((back_lat - lat).abs() < 2e-7 && (back_lon - lon).abs() < 2e-7);
            let places = Places::get();
            let place = places.find(&row["code_insee"]).unwrap();
            let centre = places.place(place).unwrap().centre;
            let away = planar_distance_m(centre.0, centre.1, lat, lon);
            assert!(away < 30_000.0, "{away} {row:?}");
        }
    }
}

#[test]
fn types_of_streets_and_suffixes_have_the_shares_of_the_real_base() {
    let rows = sample("12", 60_000);
    let streets: HashSet<(&str, &str)> = rows
        .iter()
        .map(|row| (row["code_insee"].as_str(), row["nom_voie"].as_str()))
        .collect();
    let share = |kind: &str| {
        let of_kind = streets
            .iter()
            .filter(|(_, name)| name.to_lowercase().starts_with(&format!("{kind} ")));
        of_kind.count() as f64 / streets.len() as f64
    };
    assert!((0.35..0.55).contains(&share("rue")), "{}", share("rue"));
    assert!(
        (0.05..0.2).contains(&share("chemin")),
        "{}",
        share("chemin")
    );
    assert!((0.05..0.15).contains(&share("impasse")));
    let per_street = rows.len() as f64 / streets.len() as f64;
    assert!((5.0..13.0).contains(&per_street), "{per_street}");
    let suffixed = rows.iter().filter(|row| !row["rep"].is_empty()).count();
    let share = suffixed as f64 / rows.len() as f64;
    assert!((0.03..0.08).contains(&share), "{share}");
    let odd = |row: &&Row| row["numero"].parse::<u32>().unwrap() % 2 == 1;
    let odd = rows.iter().filter(odd).count() as f64 / rows.len() as f64;
    assert!((0.45..0.55).contains(&odd), "{odd}");
}

#[test]
fn a_merged_commune_has_one_name_in_several_of_its_parts() {
    let rows = sample("48", 40_000);
    let mut parts: HashMap<(&str, &str), HashSet<&str>> = HashMap::new();
    for row in rows
        .iter()
        .filter(|row| !row["nom_ancienne_commune"].is_empty())
    {
        let street = (row["code_insee"].as_str(), row["nom_voie"].as_str());
        let former = row["code_insee_ancienne_commune"].as_str();
        assert_eq!(former.len(), 5);
        parts.entry(street).or_default().insert(former);
    }
    assert!(parts.values().any(|of| of.len() > 1));
    // Within one part of a commune, a street name has one identifier.
    let mut ids: HashMap<(&str, &str, &str), HashSet<&str>> = HashMap::new();
    for row in &rows {
        let at = row["id"].match_indices('_').nth(1).unwrap().0;
        let street = (
            row["code_insee"].as_str(),
            row["code_insee_ancienne_commune"].as_str(),
            row["nom_voie"].as_str(),
        );
        ids.entry(street).or_default().insert(&row["id"][..at]);
    }
    assert!(ids.values().all(|of| of.len() == 1));
}

#[test]
fn named_places_are_written_beside() {
    let made = departments(&request(Some(5_000), &["48"]));
    let mut out = Vec::new();
    let summary = made[0].write_places(&mut out).unwrap();
    let places = rows(&out);
    assert_eq!(places.len() as u64, summary.rows);
    assert!(places.len() > 100, "{}", places.len());
    let ids: HashSet<&String> = places.iter().map(|row| &row["id"]).collect();
    assert_eq!(ids.len(), places.len());
    assert!(places.iter().all(|row| !row["nom_lieu_dit"].is_empty()));
}
