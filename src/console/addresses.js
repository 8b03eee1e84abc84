/** Rewrites addresses of the tax office, which are in capitals and abbreviated, in ordinary spelling. */

const SMALL_WORDS = new Set(["de", "du", "des", "la", "le", "les", "et", "en", "sur", "sous", "aux", "au", "a", "d", "l"]);
const STREETS = { av: "Avenue", bd: "Boulevard", rue: "Rue", che: "Chemin", chem: "Chemin", imp: "Impasse", pl: "Place", all: "Allée", rte: "Route", sq: "Square", crs: "Cours", qu: "Quai", quai: "Quai", res: "Résidence", lot: "Lotissement", trav: "Traverse", fg: "Faubourg", pas: "Passage", ld: "Lieu-dit" };

/** Returns an address in capitals in ordinary spelling; other addresses stay unchanged. */
export function addressOf(text) {
  if (!text || text !== text.toUpperCase()) return text ?? "";
  const words = text.toLowerCase().split(/\s+/);
  const first = words.findIndex((one) => /^[a-zà-ÿ]{2,}/.test(one));
  return words.map((one, nth) => {
    if (nth === first && STREETS[one]) return STREETS[one];
    if (nth > first && first >= 0 && SMALL_WORDS.has(one)) return one;
    return one.replace(/(^|[-'’])([a-zà-ÿ])/g, (_, before, letter) => before + letter.toUpperCase());
  }).join(" ").replace(/ ([ld]) (?=[aeiouyhàâéèêîôûæœ])/gi, " $1’");
}
