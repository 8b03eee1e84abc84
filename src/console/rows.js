/** Reads the rows of an answer while it arrives. */

/**
 * Reads rows of NDJSON, one object a line, up to a maximum, and then cancels the answer. Gives the rows and whether they are all.
 */
export async function readRows(body, most) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  const rows = [];
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    const lines = (rest + (value ?? "")).split("\n");
    rest = done ? "" : lines.pop();
    for (const line of lines.filter(Boolean)) {
      if (rows.length === most) {
        await reader.cancel();
        return { rows, isWhole: false };
      }
      rows.push(JSON.parse(line));
    }
    if (done) return { rows, isWhole: true };
  }
}
