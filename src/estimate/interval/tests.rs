//! Tests that intervals widen with the horizon, with distance and with fewer departments.

use super::*;

#[test]
fn the_fewer_departments_are_known_the_less_they_tell_of_others() {
    let spread = |count: usize| {
        // Deviations that alternate around their mean.
        let deviations = (0..count).map(|at| if at % 2 == 0 { 0.45 } else { -0.45 });
        Regions::new(&deviations.collect::<Vec<_>>()).half_width
    };
    let (two, ten, ninety) = (spread(2), spread(10), spread(90));
    assert!(two > ten && ten > ninety, "{two} {ten} {ninety}");
    // With many departments, the spread is known, so the interval follows the normal distribution.
    assert!((ninety - NORMAL_90 * 0.45).abs() < 0.02, "{ninety}");
    // A single department has no deviation from its own mean, but this does not show that departments are alike.
    let one = Regions::new(&[0.0]).half_width;
    assert!(one > 1.5, "{one}");
}

#[test]
fn distance_widens_only_beyond_what_the_model_was_calibrated_on() {
    let towns = Distances { usual_m: 120.0 };
    let villages = Distances { usual_m: 5_000.0 };
    assert_eq!(villages.half_width(3_000.0), 0.0);
    assert_eq!(towns.half_width(100.0), 0.0);
    let at = [300.0, 1_000.0, 3_000.0, 6_500.0].map(|metres| towns.half_width(metres));
    assert!(at.is_sorted() && at[0] > 0.05 && at[3] < 0.8, "{at:?}");
}

#[test]
fn an_interval_widens_with_every_month_and_every_kilometre() {
    let placed = SegmentFeatures {
        class: HomeClass::Flat,
        position: GridPosition::new(43.12, 5.93),
        surface_m2: 60.0,
        log_price: 12.0,
    };
    let scored = (0..500).map(|at| CalibrationError {
        placed,
        error: 0.002 * f64::from(at - 250),
        width: 1.0,
        weight: 1.0,
        near_m: 150.0,
        half: at % 2 == 0,
    });
    let none: [Vec<f64>; 2] = Default::default();
    let interval = Interval::calibrate(&scored.collect::<Vec<_>>(), none.clone(), &none);
    let widths = |sides: IntervalSides| sides.lower + sides.upper;
    let months = (0..=24)
        .map(|month| widths(interval.around(&placed, 1.0, f64::from(month) * MONTH_DAYS, 150.0)));
    let months: Vec<f64> = months.collect();
    assert!(
        months.windows(2).all(|pair| pair[0] < pair[1]),
        "{months:?}"
    );
    // Both sides: the error on known sales combined with the drift of a year.
    let expected = 2.0 * 0.402_f64.hypot(drift(12.0 * MONTH_DAYS));
    assert!(
        (months[12] - expected).abs() < 0.02,
        "{} {expected}",
        months[12]
    );
    let kilometres =
        (1..=7).map(|at| widths(interval.around(&placed, 1.0, 0.0, 1_000.0 * f64::from(at))));
    let kilometres: Vec<f64> = kilometres.collect();
    assert!(
        kilometres.windows(2).all(|pair| pair[0] < pair[1]),
        "{kilometres:?}"
    );
    for stand_in in [FallbackLevel::Department, FallbackLevel::Country] {
        let at = |days: f64| widths(interval.for_fallback(HomeClass::Flat, stand_in, days));
        assert!(at(0.0) < at(180.0) && at(180.0) < at(365.0));
    }
}
