//! Draws sellers: local agencies, agents of networks, private persons. All are invented.

use crate::communes::SynthCommune;
use crate::random::{Stream, mix, mix2, to_unit};

const INHABITANTS_PER_AGENCY: f64 = 2_500.0;
/// Share of assets sold by private persons, and by agents of a network.
const SHARES: (f64, f64) = (0.18, 0.14);

const AGENCY_KINDS: [&str; 8] = [
    "Agence",
    "Cabinet",
    "Immobilière",
    "Étude",
    "Maison",
    "Transactions",
    "Agence Immobilière",
    "Comptoir",
];
#[rustfmt::skip]
const AGENCY_NAMES: [&str; 24] = [
    "du Port", "de la Halle", "des Tilleuls", "du Vieux Moulin", "Saint-Roch", "Delmas", "Ferrand", "du Marché",
    "des Remparts", "de l'Horloge", "Marchand", "du Parc", "des Quais", "Vauban", "Sainte-Anne", "Roussel",
    "de la Tour", "des Arcades", "Lemoine", "du Théâtre", "des Deux Ponts", "Morel", "de la Fontaine", "Carpentier",
];
const NETWORKS: [&str; 4] = [
    "Toit Direct France",
    "Réseau Clé de Voûte",
    "Mandataires du Pays",
    "Cap Foyer Conseil",
];
const FIRST_NAMES: [&str; 16] = [
    "Claire", "Julien", "Nadia", "Thomas", "Sophie", "Karim", "Hélène", "Antoine", "Léa", "Marc",
    "Inès", "Paul", "Camille", "Hugo", "Fatou", "Yann",
];
const LAST_NAMES: [&str; 16] = [
    "Morvan", "Lefort", "Benali", "Garnier", "Petitjean", "Rousseau", "Diallo", "Marty",
    "Leclercq", "Fabre", "Nguyen", "Chevallier", "Da Silva", "Perrot", "Blanchard", "Hamon",
];

/// Kind of seller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SynthSellerKind {
    /// Agency with a local address.
    Agency,
    /// Agent of a national network.
    Network,
    /// Private person.
    Private,
}

/// A seller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seller {
    /// Kind of seller.
    pub kind: SynthSellerKind,
    /// Key of the agency, agent or person.
    pub key: u64,
    /// Key of the firm: the agency or the network.
    pub firm_key: u64,
}

impl Seller {
    /// Draws the seller of an asset.
    pub fn draw(stream: &mut Stream, place: &SynthCommune) -> Self {
        let quantile = stream.unit();
        if quantile < SHARES.0 {
            let key = stream.bits();
            return Self {
                kind: SynthSellerKind::Private,
                key,
                firm_key: key,
            };
        }
        Self::professional(stream, place, quantile < SHARES.0 + SHARES.1)
    }

    /// Draws a local agency, or an agent of a network.
    pub fn professional(stream: &mut Stream, place: &SynthCommune, network: bool) -> Self {
        if network {
            let firm_key = mix(stream.below(NETWORKS.len()) as u64);
            let agents = 1 + (place.population / 6_000.0) as usize;
            let agent = mix2(place_key(place), stream.below(agents) as u64);
            return Self {
                kind: SynthSellerKind::Network,
                key: mix2(firm_key, agent),
                firm_key,
            };
        }
        let agencies = 2 + (place.population / INHABITANTS_PER_AGENCY) as usize;
        // A few large agencies hold most mandates.
        let rank = (stream.unit().powf(1.7) * agencies as f64) as u64;
        let key = mix2(place_key(place), 1_000 + rank);
        Self {
            kind: SynthSellerKind::Agency,
            key,
            firm_key: key,
        }
    }

    /// Name of the firm.
    pub fn name(&self) -> String {
        match self.kind {
            SynthSellerKind::Network => {
                let rank = (0..NETWORKS.len()).find(|rank| mix(*rank as u64) == self.firm_key);
                NETWORKS[rank.unwrap_or_default()].to_owned()
            }
            _ => {
                let kind =
                    AGENCY_KINDS[(mix2(self.firm_key, 1) % AGENCY_KINDS.len() as u64) as usize];
                let name =
                    AGENCY_NAMES[(mix2(self.firm_key, 2) % AGENCY_NAMES.len() as u64) as usize];
                format!("{kind} {name}")
            }
        }
    }

    /// SIREN: nine digits with a wrong check digit, so that it belongs to nobody.
    pub fn siren(&self) -> String {
        let stem = 10_000_000 + mix2(self.firm_key, 3) % 89_999_999;
        let digits = format!("{stem:08}");
        let sum: u32 = digits
            .bytes()
            .enumerate()
            .map(|(place, digit)| {
                let digit = u32::from(digit - b'0') * if place % 2 == 1 { 2 } else { 1 };
                digit / 10 + digit % 10
            })
            .sum();
        let check = (10 - sum % 10) % 10;
        format!("{digits}{}", (check + 3) % 10)
    }

    /// First and last name of the contact person.
    pub fn person(&self) -> (&'static str, &'static str) {
        let first = (mix2(self.key, 4) % FIRST_NAMES.len() as u64) as usize;
        let last = (mix2(self.key, 5) % LAST_NAMES.len() as u64) as usize;
        (FIRST_NAMES[first], LAST_NAMES[last])
    }

    /// Telephone number, from the ranges reserved for fiction.
    pub fn telephone(&self) -> String {
        const PREFIXES: [&str; 5] = ["01 99 00", "02 61 91", "03 53 01", "04 65 71", "05 36 49"];
        let bits = mix2(self.key, 6);
        let prefix = PREFIXES[(bits % PREFIXES.len() as u64) as usize];
        format!(
            "{prefix} {:02} {:02}",
            (bits >> 8) % 100,
            (bits >> 24) % 100
        )
    }

    /// Whether its adverts end with its logo as a picture.
    pub fn shows_logo(&self) -> bool {
        self.kind != SynthSellerKind::Private && to_unit(mix2(self.firm_key, 7)) < 0.3
    }

    /// Returns the reference it gives an asset; each agency has its own format.
    pub fn reference(&self, asset_key: u64) -> String {
        let number = mix2(self.key, asset_key);
        match mix2(self.firm_key, 8) % 3 {
            0 => format!("VA{:05}", number % 100_000),
            1 => format!("{}-{:04}", 100 + self.key % 900, number % 10_000),
            _ => format!("{:06}", number % 1_000_000),
        }
    }
}

fn place_key(place: &SynthCommune) -> u64 {
    place
        .insee
        .bytes()
        .fold(17, |key, byte| mix2(key, u64::from(byte)))
}
