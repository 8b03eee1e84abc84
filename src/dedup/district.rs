//! Names of districts in four bytes: one half is a digest of the whole name, the other of the word that names the place.
//!
//! Portals divide a town in their own ways: `Mourillon-Sud` of one portal is a part of `Le Mourillon - La Mitre` of
//! another, and `Cap Brun` is `Le Cap Brun - Le Petit Bois`. The word that names the place is the first one that is not
//! general, such as `porte` or `nord`.

use super::digest;
use super::text::FoldedText;

/// Bits of each half.
const HALF_BITS: u32 = 16;
/// Words that many districts have, in alphabetical order.
const GENERAL_WORDS: &str = "\
    a arrondissement au aux avenue bas basse beau bel belle bois bon bonne bord bords boulevard bourg butte \
    buttes cap centre champ champs chateau chemin cite cote cours croix d dame de des du est et faubourg fort \
    gare general grand grande haut haute hauts hotel hyper hypercentre ile jardin jardins jean jules l la le \
    les marie mer mont moulin nord notre ouest palais parc petit petite pierre place plage plages plaine pont \
    port porte proche quai quartier quartiers residence rive roche rue saint sainte secteur st ste sud sur \
    trois val victor vieille vieux village ville zone";

/// Returns the digest of the name of a district; `None` if the name has no letters or digits. Words of the city do not
/// name the place.
pub fn digest_of(name: &str, city: Option<&str>) -> Option<u32> {
    let name = FoldedText::from_text(name);
    let whole = name.digest();
    if whole == digest::EMPTY {
        return None;
    }
    let city = FoldedText::from_text(city.unwrap_or_default());
    let is_particular = |word: &&[u8]| {
        let mut general = GENERAL_WORDS.split(' ').map(str::as_bytes);
        !general.any(|one| one == *word)
            && !word.iter().any(u8::is_ascii_digit)
            && !city.words().any(|one| one == *word)
    };
    let place = name.words().find(is_particular);
    let place_digest = place.map_or(whole, digest::hash);
    Some((half(whole) << HALF_BITS) | half(place_digest))
}

/// Returns whether two names have the same word for the place.
pub fn name_one_place(one: u32, other: u32) -> bool {
    let place = |digest: u32| digest & ((1 << HALF_BITS) - 1);
    place(one) == place(other)
}

fn half(digest: u64) -> u32 {
    digest::mix(digest) as u32 & ((1 << HALF_BITS) - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_two_portals_share_the_word_for_the_place() {
        let of = |name: &str| digest_of(name, Some("Toulon")).unwrap();
        let name_one = |one: &str, other: &str| {
            assert_ne!(of(one), of(other));
            name_one_place(of(one), of(other))
        };
        for (one, other) in [
            ("Mourillon-Sud", "Le Mourillon - La Mitre - Fort Lamalgue"),
            ("Cap Brun", "Le Cap Brun - Le Petit Bois"),
            ("Toulon (La Palasse)", "Palasse Est"),
            ("Toulon 83000 Saint-Roch", "St Roch"),
            ("Trois Quartiers Siblas", "Siblas"),
        ] {
            assert!(name_one(one, other), "{one}, {other}");
        }
        for (one, other) in [
            ("Porte Dauphine", "Porte d'Italie"),
            ("Centre-ville", "Vieille Ville"),
            ("Nord", "Sud"),
        ] {
            assert!(!name_one(one, other), "{one}, {other}");
        }
        assert_eq!(of("Saint-Jean du Var"), of("saint jean du var"));
        assert_eq!(digest_of(" - ", None), None);
    }
}
