//! Writes names as the post does: capitals without accents, at most 32 letters on a line.

use super::names::StreetName;

/// Maximum length of a street's name, letters.
const NAME_MAX: usize = 32;
/// Maximum length of a town's name, letters.
const TOWN_MAX: usize = 30;
/// Words that are shortened if a name is too long.
const SHORTENED: [(&str, &str); 10] = [
    ("GENERAL", "GAL"),
    ("MARECHAL", "MAL"),
    ("DOCTEUR", "DR"),
    ("CAPITAINE", "CNE"),
    ("COMMANDANT", "CDT"),
    ("PRESIDENT", "PDT"),
    ("PROFESSEUR", "PR"),
    ("FONTAINE", "FONT"),
    ("SAINT", "ST"),
    ("SAINTE", "STE"),
];

/// Replaces accented letters by plain ones, and ligatures by two letters.
pub fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        out.push(match letter {
            'à' | 'â' | 'ä' => 'a',
            'é' | 'è' | 'ê' | 'ë' => 'e',
            'î' | 'ï' => 'i',
            'ô' | 'ö' => 'o',
            'ù' | 'û' | 'ü' => 'u',
            'ÿ' => 'y',
            'ç' => 'c',
            'À' | 'Â' | 'Ä' => 'A',
            'É' | 'È' | 'Ê' | 'Ë' => 'E',
            'Î' | 'Ï' => 'I',
            'Ô' | 'Ö' => 'O',
            'Ù' | 'Û' | 'Ü' => 'U',
            'Ÿ' => 'Y',
            'Ç' => 'C',
            'œ' | 'Œ' | 'æ' | 'Æ' => {
                out.push_str(match letter {
                    'œ' => "oe",
                    'Œ' => "Oe",
                    'æ' => "ae",
                    _ => "Ae",
                });
                continue;
            }
            '’' => '\'',
            other => other,
        });
    }
    out
}

/// Returns a name in capitals, with spaces for apostrophes and hyphens.
pub fn capitals(name: &str) -> String {
    plain(name).to_uppercase().replace(['\'', '-'], " ")
}

/// Returns the name of a town on the last line of an address.
pub fn town(name: &str) -> String {
    let mut name = plain(name).to_uppercase();
    name.truncate(TOWN_MAX);
    name.truncate(name.trim_end().len());
    name
}

/// Returns the name of a street on a line of an address.
pub fn street(name: &StreetName) -> String {
    let whole = capitals(&name.text());
    if whole.len() <= NAME_MAX {
        return whole;
    }
    let rest = capitals(&name.rest);
    let words = rest.split(' ').map(|word| {
        let shortened = SHORTENED.iter().find(|(long, _)| *long == word);
        shortened.map_or(word, |(_, short)| short)
    });
    let rest = words.collect::<Vec<_>>().join(" ");
    let mut name = format!("{} {rest}", name.street_type.short)
        .trim()
        .to_owned();
    name.truncate(NAME_MAX);
    name.truncate(name.trim_end().len());
    name
}

#[cfg(test)]
mod tests {
    use super::super::types::TYPES;
    use super::*;

    #[test]
    fn long_names_are_shortened_as_the_post_does() {
        let boulevard = TYPES.iter().find(|one| one.name == "Boulevard").unwrap();
        let name = |rest: &str| StreetName {
            street_type: boulevard,
            rest: rest.into(),
        };
        assert_eq!(street(&name("de l'Église")), "BOULEVARD DE L EGLISE");
        assert_eq!(
            street(&name("du Général d'Aurelle de Paladines")),
            "BD DU GAL D AURELLE DE PALADINES"
        );
        assert_eq!(town("L'Haÿ-les-Roses"), "L'HAY-LES-ROSES");
    }
}
