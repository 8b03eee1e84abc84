/** Reads lists page by page. */

/**
 * Returns the first pages of a list, and whether there are more. `ask` loads a page by its number, from 0, and the last entry before
 * it. `idOf` returns the identifier of an entry: a new entry may push others to the next page, and each is listed only once.
 */
export async function firstPages(count, size, ask, idOf) {
  const entries = new Map();
  let isFull = true;
  for (let nth = 0; nth < count && isFull; nth += 1) {
    const page = await ask(nth, [...entries.values()].at(-1));
    for (const entry of page) entries.set(idOf(entry), entry);
    isFull = page.length === size;
  }
  return { entries: [...entries.values()], hasMore: isFull };
}
