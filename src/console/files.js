/** Saves files through the browser. */

/** Saves bytes as a file with a name. */
export function saveFile(blob, name) {
  const link = Object.assign(document.createElement("a"), { href: URL.createObjectURL(blob), download: name });
  link.click();
  URL.revokeObjectURL(link.href);
}
