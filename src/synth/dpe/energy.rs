//! Consumption, emissions and cost of a dwelling: a rough thermal balance, then the official classes.
//!
//! Values per use are in the order heating, hot water, cooling, lighting, auxiliaries.

use toise_opendata::dpe::CLASSES;

/// Number of energy uses counted by a diagnostic.
pub const USES: usize = 5;

/// Upper bounds of energy classes A to F, kWh of primary energy per square metre and year.
const PRIMARY_BOUNDS: [f64; 6] = [70.0, 110.0, 180.0, 250.0, 330.0, 420.0];
/// Upper bounds of climate classes A to F, kg of CO2 per square metre and year.
const EMISSION_BOUNDS: [f64; 6] = [6.0, 11.0, 30.0, 50.0, 70.0, 100.0];
/// Primary energy per kWh of electricity, until the end of 2025.
const PRIMARY_PER_ELECTRIC: f64 = 2.3;

/// A heating system with its energy.
#[derive(Clone, Copy, Debug)]
pub struct HeatingEnergy {
    /// Name of the energy in the published columns.
    pub name: &'static str,
    /// Name of the heat generator in the published columns.
    pub generator: &'static str,
    /// Heat output per energy input.
    pub efficiency: f64,
    /// Emissions of heating, kg of CO2 per kWh.
    pub emission: f64,
    /// Price, EUR per kWh.
    pub price: f64,
    /// Whether it is electric, so that primary energy exceeds final energy.
    pub electric: bool,
}

/// Heating systems: resistance heating, heat pump, gas, oil, logs, pellets, district heating, liquefied gas.
#[rustfmt::skip]
pub const ENERGIES: [HeatingEnergy; 8] = [
    energy("Électricité", "Convecteur électrique NFC, NF** et NF***", 0.96, 0.079, 0.21, true),
    energy("Électricité", "PAC air/eau installée à partir de 2017", 2.7, 0.079, 0.21, true),
    energy("Gaz naturel", "Chaudière gaz à condensation 2001-2015", 0.84, 0.227, 0.097, false),
    energy("Fioul domestique", "Chaudière fioul standard après 1990", 0.74, 0.324, 0.11, false),
    energy("Bois – Bûches", "Poêle à bois bûche installé à partir de 2012", 0.58, 0.030, 0.045, false),
    energy("Bois – Granulés (pellets) ou briquettes", "Poêle à granulés flamme verte installé à partir de 2012", 0.78, 0.030, 0.075, false),
    energy("Réseau de Chauffage urbain", "Réseau de chaleur isolé", 0.92, 0.125, 0.09, false),
    energy("GPL", "Chaudière gaz standard 2001-2015", 0.80, 0.272, 0.16, false),
];

const fn energy(
    name: &'static str,
    generator: &'static str,
    efficiency: f64,
    emission: f64,
    price: f64,
    electric: bool,
) -> HeatingEnergy {
    HeatingEnergy {
        name,
        generator,
        efficiency,
        emission,
        price,
        electric,
    }
}

/// Yearly consumption, emissions and cost of a dwelling.
#[derive(Clone, Copy, Debug, Default)]
pub struct Balance {
    /// Final energy by use, kWh.
    pub last: [f64; USES],
    /// Primary energy by use, kWh.
    pub primary: [f64; USES],
    /// Emissions by use, kg of CO2.
    pub emission: [f64; USES],
    /// Cost by use, EUR.
    pub cost: [f64; USES],
}

impl Balance {
    /// Computes the balance of a dwelling from its yearly needs in kWh and its two energies.
    pub fn new(needs: Needs, heating: HeatingEnergy, water: HeatingEnergy) -> Self {
        let electric = ENERGIES[0];
        let water_efficiency = match water {
            // A storage tank loses a fifth; a heat pump heats water less efficiently than rooms.
            tank if tank.electric && tank.efficiency < 1.5 => 0.78,
            _ => water.efficiency * 0.85,
        };
        let last = [
            needs.heating / heating.efficiency,
            needs.water / water_efficiency,
            needs.cooling / 3.0,
            needs.lighting,
            needs.auxiliaries,
        ];
        let energies = [heating, water, electric, electric, electric];
        let mut balance = Balance::default();
        for (rank, energy) in energies.iter().enumerate() {
            // Published with one decimal; sums and classes are computed from the published values.
            let used = (last[rank] * 10.0).round() / 10.0;
            let factor = if energy.electric {
                PRIMARY_PER_ELECTRIC
            } else {
                1.0
            };
            let emission = match (rank, energy.electric) {
                (0, _) | (_, false) => energy.emission,
                _ => 0.065,
            };
            balance.last[rank] = used;
            balance.primary[rank] = (used * factor * 10.0).round() / 10.0;
            balance.emission[rank] = (used * emission * 10.0).round() / 10.0;
            balance.cost[rank] = (used * energy.price * 10.0).round() / 10.0;
        }
        balance
    }
}

/// Yearly needs of a dwelling: kWh of heat (heating, water, cooling) or of electricity.
#[derive(Clone, Copy, Debug)]
pub struct Needs {
    /// Heating.
    pub heating: f64,
    /// Hot water.
    pub water: f64,
    /// Cooling.
    pub cooling: f64,
    /// Lighting.
    pub lighting: f64,
    /// Pumps and fans.
    pub auxiliaries: f64,
}

/// Heating need by construction period before renovation, kWh per square metre in the middle climate.
pub const NEED_BY_PERIOD: [f64; 10] = [
    170.0, 172.0, 164.0, 150.0, 138.0, 126.0, 112.0, 88.0, 24.0, 16.0,
];

/// Class of a value: the first whose upper bound it does not exceed.
fn rank(figure: f64, bounds: &[f64; 6]) -> usize {
    bounds.iter().take_while(|bound| figure > **bound).count()
}

/// Energy class and climate class, as indices into [`CLASSES`], from kWh of primary energy and kg of CO2 per square
/// metre and year. The energy class is the worse of the classes by the two thresholds.
pub fn class_of(primary_per_m2: f64, emission_per_m2: f64) -> (usize, usize) {
    let climate = rank(emission_per_m2, &EMISSION_BOUNDS);
    let energy = rank(primary_per_m2, &PRIMARY_BOUNDS).max(climate);
    debug_assert!(energy < CLASSES.len());
    (energy, climate)
}

/// Climate zone of a department and its heating need relative to the middle zone; an empty zone overseas.
pub fn climate(department: &str) -> (&'static str, f64) {
    match department {
        "02" | "14" | "27" | "28" | "59" | "60" | "61" | "62" | "75" | "76" | "77" | "78"
        | "80" | "91" | "92" | "93" | "94" | "95" => ("H1a", 1.06),
        "08" | "10" | "45" | "51" | "52" | "54" | "55" | "57" | "58" | "67" | "68" | "70"
        | "88" | "89" | "90" => ("H1b", 1.2),
        // Mountain departments are colder than their zone.
        "05" | "15" | "43" | "73" | "74" => ("H1c", 1.32),
        "01" | "03" | "19" | "21" | "23" | "25" | "38" | "39" | "42" | "63" | "69" | "71"
        | "87" => ("H1c", 1.15),
        "22" | "29" | "35" | "50" | "56" => ("H2a", 0.98),
        "16" | "17" | "18" | "36" | "37" | "41" | "44" | "49" | "53" | "72" | "79" | "85"
        | "86" => ("H2b", 0.95),
        "09" | "12" | "24" | "31" | "32" | "33" | "40" | "46" | "47" | "64" | "65" | "81"
        | "82" => ("H2c", 0.88),
        "48" => ("H2d", 1.35),
        "04" | "07" | "26" | "84" => ("H2d", 0.98),
        "06" | "11" | "13" | "2A" | "2B" | "30" | "34" | "66" | "83" => ("H3", 0.62),
        _ => ("", 0.05),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worse_threshold_gives_the_class() {
        assert_eq!(class_of(70.0, 6.0), (0, 0));
        assert_eq!(class_of(200.0, 8.0), (3, 1));
        assert_eq!(class_of(200.0, 60.0), (4, 4));
        assert_eq!(class_of(500.0, 10.0), (6, 1));
    }
}
