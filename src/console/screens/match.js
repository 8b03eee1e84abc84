/** Shows a match of an alert in a list. */

import { KINDS } from "../alertlist.js";
import { may } from "../api.js";
import { DATASETS } from "../datasets.js";
import { euros, squareMetres, word } from "../language.js";
import { Outside, html } from "../parts.js";

/** A home or advert, with a link to its page. */
const listingOf = (match, price) => ({
  title: html`<${Outside} href=${match.url ?? match.adverts?.[0]?.url}>${match.title ?? match.adverts?.[0]?.title ?? word("home")}<//>`,
  about: [[match.location?.postalCode, match.location?.city].filter(Boolean).join(" "), squareMetres(match.habitation?.surface?.total)], price: euros(price(match)),
});

/** A sale or diagnostic as on the map, with a link to the map if the key may use it. */
function recordOf(kind, match) {
  const { id, title, place, facts, date, price, energy } = DATASETS[kind].card(match);
  const said = title || word(`${kind}.one`);
  return {
    title: may("search") ? html`<a href=${`#/map?${new URLSearchParams({ dataset: kind, record: id })}`}>${said}</a>` : said, about: [place, facts, date],
    price: energy ? html`<span class="face energy small ${energy}">${energy}</span>` : price,
  };
}

/** A match of an alert of some kind, with a note. */
export function Match({ kind, match, note }) {
  const { title, about, price } = KINDS[kind].price ? listingOf(match, KINDS[kind].price) : recordOf(kind, match);
  return html`<li class="row spread match"><span class="what"><b>${title}</b><small class="quiet">${[...about, note].filter(Boolean).join(" · ")}</small></span><b class="number">${price}</b></li>`;
}
