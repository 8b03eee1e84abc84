/** Reads the server's metrics: load, latency, memory, and the tables with their age. */

const MIB = 2 ** 20;

/** Returns the samples of a metric: labels and value. */
function samples(text, name) {
  return text.split("\n").filter((line) => line.startsWith(name) && " {".includes(line[name.length])).map((line) => {
    const labels = Object.fromEntries([...line.matchAll(/(\w+)="([^"]*)"/g)].map(([, label, value]) => [label, value]));
    return { labels, value: Number(line.slice(line.lastIndexOf(" ") + 1)) };
  });
}

/** Returns the value of a metric without labels; null if there is none. */
const single = (text, name) => samples(text, name)[0]?.value ?? null;
const total = (text, name) => samples(text, name).reduce((sum, one) => sum + one.value, 0);

/** Returns the number of requests by upper bound of their duration, for all paths together. */
function durations(text) {
  const bounds = new Map();
  for (const { labels, value } of samples(text, "toise_http_request_duration_seconds_bucket")) {
    bounds.set(labels.le, (bounds.get(labels.le) ?? 0) + value);
  }
  return [...bounds].map(([bound, count]) => [bound === "+Inf" ? Infinity : Number(bound), count]).sort((one, other) => one[0] - other[0]);
}

/** Returns the 95th percentile of the durations between two readings, milliseconds. */
export function p95(before, after) {
  const earlier = new Map(before);
  const between = after.map(([bound, count]) => [bound, count - (earlier.get(bound) ?? 0)]);
  const all = between.at(-1)?.[1] ?? 0;
  const found = between.find(([, count]) => count >= 0.95 * all);
  return all && Number.isFinite(found[0]) ? found[0] * 1000 : null;
}

/**
 * Returns the merges of adverts: properties, properties with several adverts, merged pairs of adverts, contradicting pairs as
 * `[field, pairs]`, the most frequent first, and pairs of properties that wait for a decision. The server counts merges some time
 * after its start; until then these are null.
 */
function mergesOf(text) {
  const properties = samples(text, "toise_properties");
  const count = (those) => those.reduce((sum, { value }) => sum + value, 0);
  const contradicting = samples(text, "toise_merged_pairs_contradicting").filter(({ value }) => value > 0).map(({ labels, value }) => [labels.field, value]);
  const counted = properties.length > 0 && {
    properties: count(properties), several: count(properties.filter(({ labels }) => labels.adverts !== "1")),
    merged: total(text, "toise_merged_pairs"), contradicting: contradicting.sort((one, other) => other[1] - one[1]),
  };
  return { waiting: single(text, "toise_candidate_pairs_waiting"), counted: counted || null };
}

/** Returns the figures that the console shows of one reading of the metrics. */
export function reading(text) {
  const tables = {};
  for (const [name, metric] of [["rows", "toise_lake_rows"], ["bytes", "toise_lake_bytes"], ["files", "toise_lake_files"], ["publications", "toise_lake_sequence"],
    ["age", "toise_table_age_seconds"], ["failed", "toise_refresh_failed"]]) {
    for (const { labels, value } of samples(text, metric)) tables[labels.table] = { ...tables[labels.table], [name]: value };
  }
  for (const { labels, value } of samples(text, "toise_edition_timestamp_seconds")) tables[labels.table] = { ...tables[labels.table], [labels.state]: value };
  const requests = samples(text, "toise_http_requests_total");
  const failed = requests.filter(({ labels }) => (labels.status ?? "").startsWith("5"));
  return {
    at: Date.now(), tables, refreshAge: single(text, "toise_refresh_age_seconds"), backupAge: single(text, "toise_backup_age_seconds"), merges: mergesOf(text), ready: total(text, "toise_ready"), durations: durations(text),
    requests: requests.reduce((sum, one) => sum + one.value, 0), failed: failed.reduce((sum, one) => sum + one.value, 0),
    memory: total(text, "process_resident_memory_bytes") / MIB, queries: total(text, "toise_query_pool_jobs"),
    deliveries: total(text, "toise_outbox_waiting"), free: total(text, "toise_disk_free_bytes"),
  };
}
