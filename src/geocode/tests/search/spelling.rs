//! Addresses as people write and type them, and texts that are not addresses.

use proptest::prelude::*;
use toise_geocode::Geocoder;

use crate::base::{in_mende, label, rows, search, segment};

#[test]
fn an_address_is_found_however_it_is_written() {
    let geocoder = Geocoder::new(vec![segment(&rows())]);
    #[rustfmt::skip]
    let cases = [
        ("12 Rue de la République 48000 Mende", "12 Rue de la République, 48095"),
        ("12 R DE LA REPUBLIQUE 48000 MENDE", "12 Rue de la République, 48095"),
        ("48000 Mende 12 rue de la république", "12 Rue de la République, 48095"),
        ("12 rue de la républiqeu, mende", "12 Rue de la République, 48095"),
        ("12 république 48000 Mende", "12 Rue de la République, 48095"),
        ("4 rue de la république marvjols", "4 Rue de la République, 48092"),
        ("2 bis rue de la république 48000 mende", "2bis Rue de la République, 48095"),
        ("2b rue de la république mende cedex", "2bis Rue de la République, 48095"),
        ("8 rue du 8 mai 1945 mende", "8 Rue du 8 Mai 1945, 48095"),
        ("rue du huit mai 1945 mende", "Rue du 8 Mai 1945, 48095"),
        ("3 av mal foch 48000 mende", "3 Avenue du Maréchal Foch, 48095"),
        ("241 ch de st ilpide mende", "241 Chemin de Saint-Ilpide, 48095"),
        ("Résidence les Tilleuls Bât C Apt 3 19 avenue de la gare 48100 Marvejols", "19 Avenue de la Gare, 48092"),
        ("19 avenue de la gare aumont-aubrac", "19 Avenue de la Gare, 48009"),
        ("19 avenue de la gare 48130 peyre en aubrac", "19 Avenue de la Gare, 48009"),
        ("le pré de suzon marvejols", "Le Pré de Suzon, 48092"),
        ("19 avenue de lagare marvejols", "19 Avenue de la Gare, 48092"),
        ("12 ruedelarepublique 48000 mende", "12 Rue de la République, 48095"),
        ("12 rue de la république 48000 mende france", "12 Rue de la République, 48095"),
        ("241 r de st ilpide mende", "241 Chemin de Saint-Ilpide, 48095"),
    ];
    for (text, expected) in cases {
        let found = search(&geocoder, text, false);
        assert_eq!(
            found.first().map(|one| label(&geocoder, one)).as_deref(),
            Some(expected),
            "{text}"
        );
        assert!(
            found[0].probability > 0.5,
            "{text}: {}",
            found[0].probability
        );
    }
}

#[test]
fn a_faubourg_may_lack_its_street_type() {
    let rows = [in_mende("0710", "Rue du Faubourg la Vabre", Some(12), "")];
    let geocoder = Geocoder::new(vec![segment(&rows)]);
    for text in ["12 faubourg la vabre mende", "12 fbg de la vabre mende"] {
        let found = &search(&geocoder, text, false)[0];
        assert!(found.probability > 0.9, "{text}: {}", found.probability);
    }
}

#[test]
fn words_written_together_are_not_taken_for_one_of_them() {
    let rows = [
        in_mende("0710", "Impasse des Puits", Some(2), ""),
        in_mende("0720", "Rue Bernard Saisset", Some(10), ""),
        in_mende("0730", "Rue Saint-Pierre", Some(7), ""),
        in_mende("0740", "Place Saint-Pierre", Some(7), ""),
        in_mende("0750", "Avenue du Huit Mai", Some(8), ""),
        in_mende("0760", "Rue Bel Air", Some(1), ""),
        in_mende("0770", "Place Saint-Géraud", Some(7), ""),
        in_mende("0780", "Rue des Puits", Some(2), ""),
    ];
    let geocoder = Geocoder::new(vec![segment(&rows)]);
    for (text, expected) in [
        ("2 impasse despuits", "2 Impasse des Puits, 48095"),
        ("2 ruedes puits", "2 Rue des Puits, 48095"),
        ("10 rue bernardsaisset", "10 Rue Bernard Saisset, 48095"),
        ("7 ruesaint-pierre", "7 Rue Saint-Pierre, 48095"),
        ("8 avenue duhuit mai", "8 Avenue du Huit Mai, 48095"),
        ("1 rue belair", "1 Rue Bel Air, 48095"),
        ("7 place saingeraud", "7 Place Saint-Géraud, 48095"),
        ("7 place saintgueraud", "7 Place Saint-Géraud, 48095"),
    ] {
        let found = search(&geocoder, &format!("{text} 48000 mende"), false);
        let first = found.first().unwrap_or_else(|| panic!("{text}"));
        assert_eq!(label(&geocoder, first), expected, "{text}");
        assert!(first.probability > 0.8, "{text}: {}", first.probability);
    }
}

#[test]
fn a_title_left_out_and_words_added_leave_the_answer_sure() {
    let geocoder = Geocoder::new(vec![segment(&rows())]);
    #[rustfmt::skip]
    let cases = [
        ("av foch mende", "Avenue du Maréchal Foch"),
        ("3 avenue foch 48000 mende", "3 Avenue du Maréchal Foch"),
        ("rue de la République MENDE \"centre\"", "Rue de la République"),
        ("12 rue de la République, quartier de la Gare, Mende", "12 Rue de la République"),
        ("Mairie de Mende, rue de la République, 48000 Mende", "Rue de la République"),
        ("Mairie de Mende, rue de la République", "Rue de la République"),
        ("Cabinet Foch, 12 rue de la République 48000 Mende", "12 Rue de la République"),
        ("12 rue de la République chez M. Martin Mende centre ville", "12 Rue de la République"),
    ];
    for (text, expected) in cases {
        let found = search(&geocoder, text, false);
        let first = found.first().unwrap_or_else(|| panic!("{text}"));
        assert!(
            label(&geocoder, first).starts_with(expected),
            "{text}: {}",
            label(&geocoder, first)
        );
        assert!(first.probability > 0.8, "{text}: {}", first.probability);
    }
}

#[test]
fn what_is_being_typed_is_completed() {
    let geocoder = Geocoder::new(vec![segment(&rows())]);
    for (text, expected) in [
        ("12 rue de la rép mende", "12 Rue de la République, 48095"),
        ("3 avenue du mar", "3 Avenue du Maréchal Foch, 48095"),
        (
            "12 rue de la république men",
            "12 Rue de la République, 48095",
        ),
    ] {
        let found = search(&geocoder, text, true);
        assert_eq!(
            found.first().map(|one| label(&geocoder, one)).as_deref(),
            Some(expected),
            "{text}"
        );
    }
}

#[test]
fn hostile_texts_are_answered_or_find_nothing() {
    let geocoder = Geocoder::new(vec![segment(&rows())]);
    let long = "a".repeat(10_000);
    let words = "rue ".repeat(2_500);
    for text in [
        "",
        "48000",
        "1234567890123456789012",
        "🏠🏠",
        "e\u{301}\u{301}\u{301}",
        "شارع",
        long.as_str(),
        words.as_str(),
    ] {
        for autocomplete in [false, true] {
            let found = search(&geocoder, text, autocomplete);
            assert!(
                found
                    .iter()
                    .all(|one| (0.0..=1.0).contains(&one.probability))
            );
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn no_text_makes_a_search_fail(text in "\\PC{0,60}", autocomplete: bool) {
        thread_local! {
            static GEOCODER: Geocoder = Geocoder::new(vec![segment(&rows())]);
        }
        GEOCODER.with(|geocoder| {
            let found = search(geocoder, &text, autocomplete);
            let sorted = found.windows(2).all(|pair| pair[0].probability >= pair[1].probability);
            prop_assert!(sorted);
            Ok(())
        })?;
    }
}
