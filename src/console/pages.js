/** Lists that are read page by page. */

/**
 * The first pages of a list, and whether there are more. `ask` gives a page by its number, from 0, and the last entry before it;
 * `idOf` is the identifier of an entry: one that arrives between two pages pushes others to the next, and each is listed once.
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
