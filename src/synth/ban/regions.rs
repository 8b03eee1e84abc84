//! Names of hamlets, fields and farms, composed of roots and endings that differ by region: names that occur once or a
//! few times in a department, and in no dictionary.

use std::sync::LazyLock;

use super::words::split;
use crate::random::Stream;

/// Roots and endings of the names of a region.
#[derive(Debug)]
pub struct Region {
    departments: Vec<&'static str>,
    /// An underscore stands for a space.
    roots: Vec<&'static str>,
    endings: Vec<&'static str>,
}

/// Regions with distinct names; the last one is the rest of France.
static REGIONS: LazyLock<Vec<Region>> = LazyLock::new(|| {
    vec![
        Region::new(
            "22, 29, 35, 56, 44",
            "Ker, Pen, Tré, Lan, Plou, Ros, Coat, Loc, Pors, Gui, Mené, Kergo, Kerma, Penn, Tro, Les, Bod, \
             Créac'h, Run, Toul",
            "goat, bihan, braz, vern, dreuc, morvan, guen, vellec, houarn, ven, lann, zenec, gall, maria, han, \
             prat, gloff, rohou, nevez, coz",
        ),
        Region::new(
            "57, 67, 68",
            "Alt, Neu, Birken, Eich, Linden, Stein, Mühl, Wolf, Reb, Hirsch, Kirch, Ober, Nieder, Hoch, Rosen, \
             Wald, Ochsen, Brunn, Korn, Schloss",
            "berg, feld, matt, acker, weg, thal, bach, wald, garten, hof, dorf, brunnen, rain, stein, bruch, \
             graben, heim, au, see, platz",
        ),
        Region::new(
            "59, 62, 80, 02, 60",
            "Haze, Steen, Wal, Hond, Berg, Zuyt, Ober, Quesn, Beauv, Fress, Wavr, Hallu, Merc, Auch, Warl, Bouv, \
             Ecqu, Flam, Grév, Hend",
            "brouck, velde, in, oy, ies, ain, eux, elle, ignies, encourt, incourt, oye, aut, icourt, ines, ecque, \
             hem, ezeele, ières, ette",
        ),
        Region::new(
            "04, 05, 06, 07, 09, 11, 12, 13, 15, 19, 23, 24, 26, 30, 31, 32, 33, 34, 40, 43, 46, 47, 48, 63, 64, \
             65, 66, 81, 82, 83, 84, 87",
            "Puech, Peyr, Cast, Salv, Rouv, Fabr, Mal, Font, Cazal, Bess, Vern, Pomar, Ser, Cabr, Laur, Gar, Ram, \
             Tourn, Verg, Chaz, Mont, Boss, Cam, Mour, Lavs, Aubr, Bouss, Canc, Frays, Estr, Lamb, Nogar, Pradel, \
             Rieu, Sauv, Tremol",
            "ac, argues, ols, ette, ade, ières, el, ol, enc, as, oles, onnet, arié, ouse, et, assou, ials, ou, \
             ens, azel, eyre, erie, an, aret, us, egade, olles, ens, ergues, obre",
        ),
        Region::new(
            "2A, 2B",
            "Pietr, Cas, Mont, Cardel, Piscin, Alb, Fur, Lav, Mar, Ort, Pin, Querc, Sant, Tav, Vall, Zon",
            "aggio, accia, etta, ella, one, ale, osa, ola, aja, ani, icciola, inca, oni, asca, ino, orba",
        ),
        Region::new(
            "971, 972, 973, 974, 976",
            "Morne_, Ravine_, Anse_, Fond_, Bras_, Habitation_, Grand_, Petit_, Pointe_, Plaine_, Trou_, Bois_, \
             Îlet_, Rivière_, Section_, Cap_",
            "Caraïbe, Manioc, Vert, Rouge, Coco, Zombi, Madame, Citron, Goyave, Rousseau, Carangue, Lézarde, \
             Sable, Cabri, Panon, Fougère, Balata, Bambou, Figue, Canelle, Tamarin, Vacoa, Jacquot, Galet",
        ),
        Region::new(
            "",
            "Haut, Bell, Brun, Char, Mar, Chaum, Chât, Bois, Font, Grav, Mouss, Nann, Pinel, Rich, Sabl, Tass, \
             Vauv, Berth, Court, Guill, Houss, Jaill, Laun, Mén, Nois, Orm, Perr, Quinc, Roch, Sauv, Till, Vill, \
             Boul, Chev, Frén, Gér",
            "ière, erie, ières, eries, eau, eaux, ault, elle, elles, ais, ay, oy, on, ot, ets, euil, andière, \
             onnière, onnerie, ancourt, iaux, ennes, ey, igny, isse, ouse, otte, audière, inière, uères",
        ),
    ]
});

impl Region {
    fn new(departments: &'static str, roots: &'static str, endings: &'static str) -> Self {
        Self {
            departments: split(departments),
            roots: split(roots),
            endings: split(endings),
        }
    }

    /// Returns the region of a department.
    pub fn of(department: &str) -> &'static Self {
        let own = |region: &&Self| region.departments.contains(&department);
        let rest = REGIONS.len() - 1;
        REGIONS.iter().find(own).unwrap_or(&REGIONS[rest])
    }

    /// Draws the name of a hamlet, field or farm, without an article.
    pub fn place(&self, stream: &mut Stream) -> String {
        let root = self.roots[stream.below(self.roots.len())];
        let ending = self.endings[stream.below(self.endings.len())];
        format!("{root}{ending}").replace('_', " ")
    }
}
