//! Prices per square metre by place and time: rough public orders of magnitude, for plausible sales.

use toise_geo::price_levels::FLATS_BY_DEPARTMENT;

/// Communes whose prices differ much from their department's.
#[rustfmt::skip]
const BY_COMMUNE: [(&str, f64); 72] = [
    ("75101", 12_900.0), ("75102", 11_800.0), ("75103", 12_400.0), ("75104", 13_000.0), ("75105", 12_500.0),
    ("75106", 14_800.0), ("75107", 14_400.0), ("75108", 12_000.0), ("75109", 11_400.0), ("75110", 10_300.0),
    ("75111", 10_700.0), ("75112", 9_900.0), ("75113", 9_500.0), ("75114", 10_300.0), ("75115", 10_400.0),
    ("75116", 11_300.0), ("75117", 10_900.0), ("75118", 9_700.0), ("75119", 8_900.0), ("75120", 9_100.0),
    ("69381", 5_300.0), ("69382", 5_600.0), ("69383", 4_900.0), ("69384", 5_300.0), ("69385", 4_400.0),
    ("69386", 5_600.0), ("69387", 4_800.0), ("69388", 4_300.0), ("69389", 4_000.0), ("69266", 3_700.0),
    ("13201", 2_500.0), ("13202", 3_000.0), ("13203", 1_900.0), ("13204", 2_800.0), ("13205", 3_000.0),
    ("13206", 3_400.0), ("13207", 4_700.0), ("13208", 4_300.0), ("13209", 3_200.0), ("13210", 2_700.0),
    ("13211", 2_700.0), ("13212", 3_200.0), ("13213", 2_500.0), ("13214", 1_700.0), ("13215", 1_600.0),
    ("13216", 2_500.0), ("13001", 4_900.0), ("33063", 4_700.0), ("44109", 3_800.0), ("31555", 3_500.0),
    ("35238", 4_000.0), ("59350", 3_500.0), ("34172", 3_300.0), ("83137", 2_600.0), ("83119", 9_500.0),
    ("06088", 4_700.0), ("06029", 5_700.0), ("06004", 5_000.0), ("92051", 10_700.0), ("92012", 8_900.0),
    ("92044", 9_400.0), ("94080", 8_500.0), ("93051", 4_300.0), ("93066", 4_000.0), ("64122", 7_500.0),
    ("33529", 4_500.0), ("74010", 5_100.0), ("73296", 5_200.0), ("42218", 1_150.0), ("76351", 2_100.0),
    ("76540", 2_600.0), ("78646", 6_900.0),
];

/// Price of flats in a commune, EUR per square metre in 2021.
pub fn level(insee: &str, department: &str, population: f64) -> f64 {
    if let Some((_, level)) = BY_COMMUNE.iter().find(|(code, _)| *code == insee) {
        return *level;
    }
    let rank = usize::from(toise_geo::departments::rank(department));
    let of_department = FLATS_BY_DEPARTMENT
        .get(rank.wrapping_sub(1))
        .copied()
        .unwrap_or(1_500.0);
    // Towns are more expensive than villages, except around Paris, where the department determines the price.
    let elasticity = if matches!(department, "75" | "92" | "93" | "94") {
        0.0
    } else {
        0.075
    };
    of_department
        * (population.max(200.0) / 25_000.0)
            .powf(elasticity)
            .clamp(0.65, 1.2)
}

/// Ratio of house to flat prices per square metre: higher in dense and southern places, where houses are rarer.
pub fn house_premium(department: &str, urbanity: f64) -> f64 {
    let south = matches!(
        department,
        "06" | "13" | "83" | "2A" | "2B" | "34" | "66" | "64"
    );
    (if south { 1.15 } else { 0.95 }) + 0.4 * urbanity
}

/// Price level at a month, with 2021-01 = 1: rising until autumn 2022, falling through 2024, flat since. Dense places
/// rose less and fell more.
pub fn trend(year: i32, month: u32, urbanity: f64) -> f64 {
    const MILESTONES: [(f64, f64); 6] = [
        (0.0, 1.0),
        (12.0, 1.062),
        (21.0, 1.105),
        (36.0, 1.062),
        (45.0, 1.032),
        (60.0, 1.055),
    ];
    let months = f64::from((year - 2021) * 12 + month as i32 - 1);
    let mut level = MILESTONES[MILESTONES.len() - 1].1;
    for pair in MILESTONES.windows(2) {
        let ((from, before), (to, after)) = (pair[0], pair[1]);
        if months < to {
            level = before + (after - before) * ((months - from) / (to - from)).max(0.0);
            break;
        }
    }
    let after_peak = ((months - 21.0) / 24.0).clamp(0.0, 1.0);
    level * (1.0 - urbanity * (0.03 * (months / 21.0).min(1.0) + 0.05 * after_peak))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prices_turn_at_the_end_of_2022() {
        assert!(trend(2022, 10, 0.5) > trend(2021, 1, 0.5));
        assert!(trend(2024, 10, 0.5) < trend(2022, 10, 0.5));
        assert!(level("75107", "75", 48_000.0) > 5.0 * level("23096", "23", 12_000.0));
    }
}
