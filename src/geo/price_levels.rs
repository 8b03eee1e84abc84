//! Approximate public price levels per square metre by department; not a valuation.

use super::departments;

/// Price level of flats, EUR per square metre in 2021, in the order of [`departments::CODES`].
pub const FLATS_BY_DEPARTMENT: [f64; 101] = [
    2_500.0, 1_300.0, 1_050.0, 2_000.0, 2_400.0, 4_300.0, 1_700.0, 1_050.0, 1_200.0, 1_450.0,
    1_750.0, 1_350.0, 3_000.0, 2_700.0, 1_250.0, 1_350.0, 2_700.0, 1_150.0, 1_200.0, 1_900.0,
    1_900.0, 900.0, 1_500.0, 1_800.0, 1_900.0, 1_700.0, 1_750.0, 1_850.0, 3_300.0, 2_500.0,
    1_750.0, 2_700.0, 1_300.0, 3_300.0, 2_700.0, 2_600.0, 950.0, 2_000.0, 2_200.0, 1_350.0,
    2_900.0, 1_500.0, 1_350.0, 1_350.0, 3_000.0, 2_000.0, 1_400.0, 1_350.0, 1_450.0, 2_100.0,
    1_450.0, 2_000.0, 1_000.0, 1_400.0, 1_700.0, 1_100.0, 2_600.0, 1_600.0, 1_100.0, 2_400.0,
    2_300.0, 1_500.0, 1_050.0, 1_900.0, 3_000.0, 1_600.0, 2_000.0, 2_400.0, 1_700.0, 3_300.0,
    1_150.0, 1_250.0, 1_450.0, 3_000.0, 4_300.0, 10_300.0, 1_900.0, 2_900.0, 4_100.0, 1_250.0,
    1_700.0, 1_500.0, 1_500.0, 3_300.0, 2_100.0, 2_700.0, 1_500.0, 1_250.0, 1_150.0, 1_150.0,
    1_250.0, 2_900.0, 6_400.0, 3_900.0, 5_000.0, 3_100.0, 2_300.0, 2_300.0, 2_400.0, 2_400.0,
    2_300.0,
];

/// Returns the price level of flats in a department, EUR per square metre; `None` for an unknown code.
pub fn flat_price_per_m2(department: &str) -> Option<f64> {
    let rank = usize::from(departments::rank(department)).checked_sub(1)?;
    FLATS_BY_DEPARTMENT.get(rank).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_department_has_its_own_level() {
        assert_eq!(flat_price_per_m2("75"), Some(10_300.0));
        assert_eq!(flat_price_per_m2("976"), Some(2_300.0));
        assert_eq!(flat_price_per_m2("20"), None);
    }
}
