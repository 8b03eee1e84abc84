//! Titles and descriptions in French, as agencies and private persons write them.
//!
//! A description has about a dozen sentences, each from one of several templates filled with the values of the asset.
//! The writer determines the templates: one agency describes similar flats alike, two agencies describe one flat
//! differently.

use std::fmt::Write;

use super::asset::SynthAsset;
use super::seller::{Seller, SynthSellerKind};
use crate::random::{mix2, to_unit};
use toise_contract::enums::{
    EnumExposure as Exposure, EnumPropertyClass as Class, EnumPropertyOfferType as OfferType,
};

/// Sentences that agencies write about themselves; `{a}` is the agency.
const BOILERPLATE: [&[&str]; 3] = [
    &[
        "{a}, votre partenaire immobilier depuis plus de vingt ans, vous propose ce bien à découvrir rapidement.",
        "L'équipe de {a} est heureuse de vous présenter en avant-première cette nouveauté sur le secteur.",
        "{a} vous propose : un bien sélectionné par nos conseillers pour ses prestations et son emplacement.",
    ],
    &[
        "Toutes nos annonces sont visibles sur notre site, avec visite virtuelle et plan sur simple demande.",
        "Nos conseillers vous accompagnent du financement à la signature chez le notaire, du lundi au samedi.",
        "Estimation offerte de votre bien sous quarante-huit heures par nos experts du quartier.",
    ],
    &[
        "Les informations sur les risques auxquels ce bien est exposé sont disponibles sur le site Géorisques.",
        "Les honoraires sont à la charge du vendeur ; barème consultable en agence et sur notre site.",
        "Annonce rédigée sous la responsabilité éditoriale d'un agent commercial immatriculé au greffe.",
    ],
];

/// Sentences about a dwelling; each line is a choice of templates. `{s}` area, `{R}` rooms, `{b}` bedrooms, `{c}`
/// commune, `{v}` street, `{f}` floor, `{y}` year, `{e}` orientation, `{h}` living room, `{1}` `{2}` areas of bedrooms,
/// `{k}` kitchen, `{l}` land, `{d}` minutes on foot.
const DWELLING: [&[&str]; 9] = [
    &[
        "À {c}, {v}, {n} de {R} d'une surface de {s} m² {f}.",
        "Venez découvrir {n} de {s} m² situé {v} à {c}, {f}.",
        "Nous vous proposons en exclusivité ce {t} de {R}, {s} m², {f}, {v}.",
        "Au cœur de {c}, dans un secteur recherché, {t} de {s} m² comprenant {R}.",
        "{c} : {t} lumineux de {s} m² {f}, proche de toutes les commodités.",
        "Rare dans ce quartier, {n} de {R} et {s} m² vous attend à {c}.",
        "Coup de cœur assuré pour ce {t} {e} de {s} m² au calme absolu.",
        "Idéalement placé à {d} minutes à pied du centre de {c}, {t} de {R} pour {s} m².",
    ],
    &[
        "Il se compose d'une entrée, d'un séjour de {h} m² {e} et d'une cuisine de {k} m².",
        "L'entrée dessert une belle pièce de vie de {h} m², une cuisine {q} et un dégagement avec rangements.",
        "Vous serez séduit par son salon de {h} m² baigné de lumière et sa cuisine {q} de {k} m².",
        "La pièce à vivre de {h} m², {e}, s'ouvre sur une cuisine {q}.",
        "Distribution : entrée avec placard, séjour double de {h} m², cuisine indépendante de {k} m².",
        "Un hall d'entrée conduit au salon-salle à manger ({h} m²) puis à la cuisine {q} ({k} m²).",
    ],
    &[
        "Côté nuit, {b} chambre(s) dont une de {1} m², une salle de bains et des toilettes séparées.",
        "L'espace nuit offre {b} chambre(s) de {1} et {2} m², ainsi qu'une salle d'eau refaite.",
        "Les chambres, {b} au total, mesurent {1} m² et {2} m² ; la salle de bains dispose d'une fenêtre.",
        "Coin nuit séparé avec {b} chambre(s), placards intégrés et salle d'eau avec douche à l'italienne.",
        "On y trouve aussi {b} chambre(s) (la plus grande fait {1} m²), une salle de bains et un cellier.",
    ],
    &[
        "Le bien est {z}, les huisseries sont en double vitrage et le chauffage est {w}.",
        "Chauffage {w}, double vitrage, volets électriques ; l'ensemble est {z}.",
        "Construction de {y}, {z}, chauffage {w}.",
        "Datant de {y}, il est {z} et bénéficie d'un chauffage {w} économique.",
        "Prestations : parquet, double vitrage, chauffage {w}. État général : {z}.",
    ],
    &[
        "Annexes : {x}",
        "Vous profiterez également des atouts suivants : {x}",
        "Les plus : {x}",
        "En annexe, {x}",
    ],
    &[
        "Écoles, commerces et transports sont accessibles à pied en {d} minutes.",
        "Emplacement de choix : gare à {d} minutes, marché et groupe scolaire à proximité immédiate.",
        "À proximité : boulangerie, pharmacie, crèche et arrêt de bus à {d} minutes.",
        "Quartier calme et verdoyant, à {d} minutes des axes routiers et du centre commercial.",
        "Environnement résidentiel, sans nuisance, commerces de bouche à {d} minutes à pied.",
        "Toutes les commodités à {d} minutes : médecins, supermarché, équipements sportifs.",
    ],
    &[
        "Immeuble de {g} étages bien entretenu, faibles charges de copropriété.",
        "Copropriété sécurisée de standing, {g} niveaux, ravalement récent.",
        "La résidence construite en {y} est soignée ; gardien et local à vélos.",
        "Petite copropriété sans procédure en cours, toiture révisée.",
        "Bâtiment de {y} avec parties communes rénovées et digicode.",
    ],
    &[
        "Idéal pour un premier logement, à visiter sans tarder.",
        "Un bien rare qui conviendra à une famille comme à une personne seule.",
        "Potentiel certain pour qui cherche à poser ses valises durablement.",
        "Visite possible le soir et le samedi, disponibilité rapide.",
        "Aucun travaux de gros œuvre à prévoir, vous n'avez plus qu'à emménager.",
        "Contactez-nous dès maintenant pour organiser votre visite.",
    ],
    &[
        "DPE : {o} kWh/m²/an, GES : {p} kg CO2/m²/an.",
        "Diagnostics réalisés : consommation énergétique {o}, émissions {p}.",
        "Performance énergétique {o} kWhEP par m² et par an.",
        "Classe énergie et climat indiquées dans les diagnostics joints ({o} / {p}).",
    ],
];

/// Sentences about an asset that is not a dwelling.
const OTHER: [&[&str]; 3] = [
    &[
        "{c}, {v} : {n} de {a} m² à saisir.",
        "À {c}, {n} d'une superficie de {a} m², {v}.",
        "Opportunité {v} à {c} : {t} de {a} m².",
        "Nous vous proposons à {c} ce {t} offrant {a} m² bien placés.",
    ],
    &[
        "Accès facile, à {d} minutes du centre et des grands axes.",
        "Situation dégagée, façade de {k} mètres, exposition {e}.",
        "Belle visibilité, stationnement aisé, à {d} minutes de la gare.",
        "Viabilisation en bordure, environnement calme à {d} minutes des commerces.",
    ],
    &[
        "Contactez-nous pour plus de renseignements.",
        "Documents disponibles sur demande, visite sur rendez-vous.",
        "Idéal investisseur, rentabilité à étudier.",
    ],
];

const LEGAL: &str = "Les informations sur les risques auxquels ce bien est exposé sont disponibles sur le site \
    Géorisques : www.georisques.gouv.fr.";
const FEES: [&str; 4] = [
    "Honoraires à la charge du vendeur.",
    "Honoraires d'agence inclus, charge acquéreur, selon barème affiché en agence.",
    "Le prix comprend les honoraires de négociation, charge vendeur.",
    "Honoraires de 4,5 % TTC à la charge de l'acquéreur.",
];

/// Probability that a sentence follows the writer's habit instead of a choice for the asset.
const HABIT_SHARE: f64 = 0.6;
/// Probability that each kind of sentence about a dwelling is written.
const SENTENCE_SHARES: [f64; 9] = [1.0, 0.9, 0.85, 0.7, 0.75, 0.75, 0.5, 0.6, 0.4];

/// The inputs of a text: asset, writer and version.
#[derive(Clone, Copy, Debug)]
pub struct ListingText<'a> {
    /// The asset described.
    pub asset: &'a SynthAsset,
    /// The writer.
    pub seller: &'a Seller,
    /// Version number; each version chooses other templates.
    pub version: u64,
    /// Share of sentences that this version rewrites, 0 to 1.
    pub rewritten: f64,
    /// Whether the text contains the reference.
    pub with_reference: bool,
}

impl ListingText<'_> {
    /// The description, in French.
    pub fn description(&self) -> String {
        let mut text = String::with_capacity(1_200);
        let asset = self.asset;
        let private = self.seller.kind == SynthSellerKind::Private;
        if asset.is_dwelling() {
            for (rank, choices) in DWELLING.iter().enumerate() {
                let pointless = (rank == 6 && asset.class == Class::House)
                    || (rank == 2 && asset.bedrooms == 0);
                let bits = mix2(self.author(), 100 + rank as u64);
                let share = SENTENCE_SHARES[rank] * if private { 0.75 } else { 1.0 };
                if pointless || to_unit(mix2(bits, 1)) >= share {
                    continue;
                }
                self.sentence(&mut text, rank as u64, choices);
            }
        } else {
            for (rank, choices) in OTHER.iter().enumerate() {
                self.sentence(&mut text, 20 + rank as u64, choices);
            }
        }
        if !private {
            if asset.offer != OfferType::Rent {
                let fees = FEES[(mix2(self.seller.firm_key, 11) % FEES.len() as u64) as usize];
                push(&mut text, fees);
            }
            if to_unit(mix2(self.seller.firm_key, 12)) < 0.7 {
                push(&mut text, LEGAL);
            }
            if self.with_reference {
                let reference = self.seller.reference(asset.key);
                let _ = match mix2(self.seller.firm_key, 13) % 3 {
                    0 => write!(text, " Réf. {reference}"),
                    1 => write!(text, " Référence annonce : {reference}."),
                    _ => write!(text, " Mandat n° {reference}"),
                };
            }
        }
        text
    }

    /// Returns the sentences about the agency, which it puts before the text of each home.
    pub fn boilerplate(&self) -> String {
        let firm = self.seller.firm_key;
        let sentences = BOILERPLATE.iter().enumerate();
        let chosen = sentences.map(|(rank, choices)| {
            choices[(mix2(firm, 40 + rank as u64) % choices.len() as u64) as usize]
        });
        let name = self.seller.name();
        chosen.collect::<Vec<_>>().join(" ").replace("{a}", &name)
    }

    /// The title, in French.
    pub fn title(&self) -> String {
        let asset = self.asset;
        let city = asset.address.place.name;
        let (noun, _) = nouns(asset.class);
        let noun = capitalised(noun);
        if !asset.is_dwelling() {
            return format!("{noun} {:.0} m² – {city}", area(asset));
        }
        match mix2(mix2(self.seller.firm_key, 14), self.version) % 4 {
            0 => format!("{noun} {} pièce(s) {:.0} m²", asset.rooms, asset.surface_m2),
            1 => format!("{noun} {} pièce(s) – {city}", asset.rooms),
            2 => format!("{city} – {noun} {:.0} m²", asset.surface_m2),
            _ => format!("{noun} T{} à {city}", asset.rooms),
        }
    }

    /// Returns the key that selects templates: one writer describes similar flats of a building alike, so it depends on
    /// the building and not on the flat.
    fn author(&self) -> u64 {
        mix2(self.seller.key, self.asset.building_key)
    }

    fn sentence(&self, text: &mut String, rank: u64, choices: &[&str]) {
        let own = mix2(self.author(), 200 + rank);
        let habit = mix2(self.seller.firm_key, 300 + rank);
        let follows_habit = to_unit(mix2(own, 2)) < HABIT_SHARE;
        let mut bits = if follows_habit { habit } else { own };
        let rewrite_draw = mix2(mix2(self.version, self.asset.key), 400 + rank);
        if to_unit(rewrite_draw) < self.rewritten {
            bits = mix2(rewrite_draw, 3);
        }
        let template = choices[(bits % choices.len() as u64) as usize];
        if !text.is_empty() {
            text.push(' ');
        }
        self.fill(text, template);
    }

    fn fill(&self, text: &mut String, template: &str) {
        let asset = self.asset;
        let surface = asset.surface_m2;
        // Flats of one plan have the same rooms.
        let plan = mix2(asset.building_key, (surface * 100.0) as u64);
        let figure = |purpose: u64, least: u64, span: u64| least + mix2(plan, purpose) % span;
        let mut rest = template;
        while let Some((before, after)) = rest.split_once('{') {
            text.push_str(before);
            let Some((slot, after)) = after.split_once('}') else {
                break;
            };
            rest = after;
            let _ = match slot {
                "s" => push_decimal(text, surface),
                "a" => push_decimal(text, area(asset)),
                "R" => write!(
                    text,
                    "{} pièce{}",
                    asset.rooms,
                    if asset.rooms > 1 { "s" } else { "" }
                ),
                "b" => write!(text, "{}", asset.bedrooms.max(1)),
                "c" => text.write_str(asset.address.place.name),
                "v" => {
                    let (kind, name) = asset.address.street_name();
                    write!(text, "{} {name}", kind.to_lowercase())
                }
                "t" => text.write_str(nouns(asset.class).0),
                "n" => text.write_str(nouns(asset.class).1),
                "f" => floor(text, asset),
                "y" => write!(text, "{}", asset.year),
                "e" => text.write_str(exposure(asset.exposure)),
                "h" => push_decimal(
                    text,
                    (surface * 0.33 + figure(51, 0, 40) as f64 / 10.0).round(),
                ),
                "k" => push_decimal(text, figure(52, 50, 90) as f64 / 10.0),
                "1" => push_decimal(text, figure(53, 105, 60) as f64 / 10.0),
                "2" => push_decimal(text, figure(54, 85, 40) as f64 / 10.0),
                "l" => write!(text, "{}", asset.land_m2.unwrap_or_default()),
                "d" => write!(text, "{}", 2 + asset.building_key % 13),
                "g" => write!(text, "{}", asset.floors),
                "o" => write!(text, "{}", asset.energy),
                "p" => write!(text, "{}", asset.climate),
                "q" => text.write_str(
                    ["équipée", "aménagée", "ouverte", "indépendante"][(asset.key % 4) as usize],
                ),
                "w" => text.write_str(
                    [
                        "individuel au gaz",
                        "électrique",
                        "collectif",
                        "par pompe à chaleur",
                        "au bois",
                    ][(asset.building_key / 16 % 5) as usize],
                ),
                "z" => text.write_str(if asset.to_renovate {
                    "à rénover"
                } else {
                    [
                        "en bon état",
                        "entièrement rénové",
                        "en parfait état",
                        "à rafraîchir",
                    ][(asset.key / 4 % 4) as usize]
                }),
                "x" => extras(text, asset),
                _ => Ok(()),
            };
        }
        text.push_str(rest);
    }
}

fn push(text: &mut String, sentence: &str) {
    text.push(' ');
    text.push_str(sentence);
}

/// Returns the area of an asset that is not a dwelling: of the land, or of the building on it.
fn area(asset: &SynthAsset) -> f64 {
    match asset.class {
        Class::Land => f64::from(asset.land_m2.unwrap_or_default()),
        Class::Parking => 12.0,
        _ => asset.surface_m2,
    }
}

/// Returns the French name of a class, without and with its article.
fn nouns(class: Class) -> (&'static str, &'static str) {
    match class {
        Class::House => ("maison", "une maison"),
        Class::Land => ("terrain à bâtir", "un terrain à bâtir"),
        Class::Parking => ("place de stationnement", "une place de stationnement"),
        Class::Building => ("immeuble de rapport", "un immeuble de rapport"),
        Class::Shop => ("local commercial", "un local commercial"),
        Class::Premises => ("local d'activité", "un local d'activité"),
        Class::Office => ("bureaux", "des bureaux"),
        Class::Room => ("chambre meublée", "une chambre meublée"),
        Class::Program => ("programme neuf", "un programme neuf"),
        _ => ("appartement", "un appartement"),
    }
}

fn capitalised(noun: &str) -> String {
    let mut letters = noun.chars();
    letters
        .next()
        .map(|first| first.to_uppercase().chain(letters).collect())
        .unwrap_or_default()
}

fn floor(text: &mut String, asset: &SynthAsset) -> std::fmt::Result {
    match asset.floor {
        None => match asset.land_m2 {
            Some(land) => write!(text, "sur un terrain de {land} m²"),
            None => text.write_str("sans vis-à-vis"),
        },
        Some(0) => text.write_str("en rez-de-chaussée"),
        Some(1) => text.write_str("au 1er étage"),
        Some(floor) => write!(text, "au {floor}e étage"),
    }
}

fn exposure(exposure: Exposure) -> &'static str {
    match exposure {
        Exposure::South => "exposé plein sud",
        Exposure::SouthWest => "exposé sud-ouest",
        Exposure::West => "exposé ouest",
        Exposure::East => "exposé est",
        Exposure::SouthEast => "exposé sud-est",
        _ => "traversant nord-sud",
    }
}

fn extras(text: &mut String, asset: &SynthAsset) -> std::fmt::Result {
    let has = asset.amenities;
    let all = [
        (has.balcony, "un balcon"),
        (has.terrace, "une terrasse"),
        (has.garden, "un jardin clos"),
        (has.pool, "une piscine"),
        (has.garage, "un garage fermé"),
        (has.parking, "une place de parking"),
        (has.cellar, "une cave"),
        (has.fireplace, "une cheminée"),
        (has.lift, "un ascenseur"),
    ];
    let mut first = true;
    for (_, name) in all.iter().filter(|(there, _)| *there) {
        if !first {
            text.push_str(", ");
        }
        first = false;
        text.push_str(name);
    }
    text.write_str(if first {
        "de nombreux rangements."
    } else {
        "."
    })
}

/// Appends a number with a decimal comma, without trailing zeros.
fn push_decimal(text: &mut String, number: f64) -> std::fmt::Result {
    let hundredths = (number * 100.0).round() as i64;
    write!(text, "{}", hundredths / 100)?;
    match hundredths % 100 {
        0 => Ok(()),
        tenths if tenths % 10 == 0 => write!(text, ",{}", tenths / 10),
        fraction => write!(text, ",{fraction:02}"),
    }
}

/// Truncates the text to a number of characters, as portals do.
pub fn truncated(mut text: String, characters: usize) -> String {
    if let Some((end, _)) = text.char_indices().nth(characters) {
        text.truncate(end);
        text.push('…');
    }
    text
}
