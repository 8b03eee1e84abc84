/** Shows the service's findings about its data folder in the user's language. The service writes them in English, as `toise doctor` does. */

import { language } from "./language.js";

/** French for every message in src/app/doctor/, the more specific ones first; a test compares the two. Names in braces stand for values. */
export const MESSAGES = [
  ["the disk has {free} MiB free, and a server writes nothing below {least} MiB (server.disk_free_min_mib)",
    "le disque a {free} Mio libres, et un serveur n’écrit rien en dessous de {least} Mio (server.disk_free_min_mib)"],
  ["{reason}; a server rebuilds the index", "{reason} ; un serveur reconstruit l’index"],
  ["{shown}: has {found} bytes instead of {expected}", "{shown} a {found} octets au lieu de {expected}"],
  ["{file} is missing; restore a backup", "{file} manque ; restaurez une sauvegarde"],
  ["the folder is empty: import the open data of a department", "le dossier est vide : importez les données ouvertes d’un département"],
  ["to try it without downloads, serve invented data", "pour essayer sans téléchargement, servez des données inventées"],
  ["the sales are invented, at least in part; keep real data in a separate folder", "les ventes sont inventées, au moins en partie ; gardez les vraies données dans leur propre dossier"],
  ["no sales, diagnostics or addresses: import those of a department", "ni ventes, ni diagnostics, ni adresses : importez ceux d’un département"],
  ["the index of addresses is missing or older than the addresses", "l’index des adresses manque ou est plus ancien que les adresses"],
  ["the last refresh of {holds} failed: {failure}", "la dernière mise à jour des {holds} a échoué : {failure}"],
  ["the edition {available} of {holds} is available; the data folder has {held}", "l’édition {available} des {holds} est disponible, {held} est chargée"],
  ["the {holds} are {days} days old", "les {holds} datent de {days} jours"],
  ["no model is trained: no home can be valued", "aucun modèle n’est entraîné : aucun bien ne peut être estimé"],
  ["sales were imported after the model was trained", "des ventes ont été importées après l’entraînement du modèle"],
  ["no API key: nobody can call the server", "aucune clé d’API : personne ne peut appeler le serveur"],
  ["no API key works: nobody can call the server", "aucune clé d’API ne fonctionne : personne ne peut appeler le serveur"],
  ["no backup is known", "aucune sauvegarde n’est connue"],
  ["the last backup is {days} days old", "la dernière sauvegarde date de {days} jours"],
  ["no {holds}: {without}", "il manque les {holds} : {without}"],
];

/** French for values in the messages. */
export const VALUES = {
  "recorded sales": "ventes enregistrées",
  "energy diagnostics": "diagnostics énergétiques",
  addresses: "adresses",
  "there are no prices to search, and no model can be trained": "il n’y a pas de prix à chercher, et aucun modèle ne peut être entraîné",
  "homes have no energy classes": "les biens n’ont pas de classe énergétique",
  "no home can be found by its address": "aucun bien ne peut être trouvé par son adresse",
};

/** French for what is damaged. The reason after it may be an English message of a library or of the operating system. */
const DAMAGED = {
  table: "un fichier d’une table manque ou est endommagé",
  addresses: "l’index des adresses est illisible",
  model: "le modèle est illisible",
  store: "la base des comptes, des clés, des annonces et des alertes est illisible",
};

/** Returns the values in a message that matches a template; null if it does not match. */
function valuesOf(template, message) {
  const pattern = template.split(/\{(\w+)\}/).map((part, nth) => (nth % 2 ? `(?<${part}>.+)` : part.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"))).join("");
  return new RegExp(`^${pattern}$`, "s").exec(message)?.groups ?? (template === message ? {} : null);
}

/** Returns a message in French, after what is `damaged` if something is; an unknown message is returned unchanged. */
export function inFrench(message, damaged) {
  if (damaged) return `${DAMAGED[damaged]} : ${inFrench(message)}`;
  for (const [template, french] of MESSAGES) {
    const values = valuesOf(template, message);
    if (values) return french.replace(/\{(\w+)\}/g, (_, name) => VALUES[values[name]] ?? values[name]);
  }
  return message;
}

/** Returns the message of a finding as a sentence. */
export function findingText({ message, damaged }) {
  const said = language === "fr" ? inFrench(message, damaged).replace(/ (?=[:;])/g, "\u00a0") : message;
  return `${said.charAt(0).toUpperCase()}${said.slice(1)}.`;
}
