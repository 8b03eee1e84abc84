/** What a match of an alert looks like in a list. */

import { euros, squareMetres, word } from "../language.js";
import { Outside, html } from "../parts.js";

/** A home or advert that an alert found. */
export const Match = ({ match, price }) => html`<li class="row spread match"><span class="what"><b><${Outside} href=${match.url ?? match.adverts?.[0]?.url}>${match.title ?? match.adverts?.[0]?.title ?? word("home")}<//></b>
  <small class="quiet">${[[match.location?.postalCode, match.location?.city].filter(Boolean).join(" "), squareMetres(match.habitation?.surface?.total)].filter(Boolean).join(" · ")}</small></span>
  <b class="number">${euros(price(match))}</b></li>`;
