//! Names as the post writes them: capitals without accents, at most 32 letters on a line.

use super::names::StreetName;

/// Longest name of a street, letters.
const NAME_MAX: usize = 32;
/// Longest name of a town, letters.
const TOWN_MAX: usize = 30;
/// Words that are shortened where a name is too long.
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

/// Letters without accents; ligatures as two letters.
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

/// The name of a town on the last line of an address.
pub fn town(name: &str) -> String {
    let mut name = plain(name).to_uppercase();
    name.truncate(TOWN_MAX);
    name.truncate(name.trim_end().len());
    name
}

/// The name of a street on a line of an address.
pub fn street(name: &StreetName) -> String {
    let capitals = |text: &str| plain(text).to_uppercase().replace(['\'', '-'], " ");
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
