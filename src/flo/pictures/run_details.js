// Clocks and watermarks, rows per shard, errors and diverted rows, and the settings of a run.
const MOST_LABELS = 16;
const SKEWED = 2;

function clockCard(clock) {
  const card = make("div", "panel card", make("h3", "", make("code", "", clock.verb)));
  if (clock.per_key) {
    card.append(make("p", "hint", "each key has a clock of its own"));
    return card;
  }
  const waits = !clock.latest && clock.partitions;
  card.append(make("div", "pair", fact("watermark", clock.watermark || "–"), fact("largest event time", clock.latest || "–")));
  if (!clock.partitions) return card;
  if (clock.silent.length) {
    const names = clock.silent.slice(0, 8).join(", ") + (clock.silent.length > 8 ? ", …" : "");
    const what = waits ? "No window closes before they have one." : "";
    card.append(make("p", "hint warm", `no row yet in ${clock.silent.length === 1 ? "partition" : "partitions"} ${names}. ${what}`));
  }
  if (clock.idle.length) card.append(make("p", "hint warm", `idle, and not waited for: ${clock.idle.join(", ")}`));
  const rows = clock.partitions.map(([number, latest, watermark]) => [String(number), watermark, latest]);
  const more = clock.count > rows.length ? `… ${clock.count - rows.length} more, which are ahead of these` : "";
  const table = tableOf(["partition", "watermark", "largest event time"], rows, more);
  if (rows.length > 1 && rows[0][2] !== rows[rows.length - 1][2]) table.querySelector("tbody tr").classList.add("behind");
  card.append(make("div", "scroll", table));
  return card;
}

function fact(name, value) {
  return make("div", "fact", make("span", "label", name), make("b", "", value));
}

function shardCard(stage) {
  const mean = stage.total / stage.count, times = stage.total ? stage.most / mean : 0;
  const alone = stage.most === stage.total;  // it runs in one place, or all rows have one key
  const skewed = times >= SKEWED && !alone && stage.total >= 100;
  const title = make("h3", "", `stage ${stage.level}`, make("small", "", plural(stage.count, "shard")));
  const about = alone ? "one shard has all rows" : `the fullest shard has ${formats.count(times)} times the mean`;
  const bars = make("div", "bars");
  for (const [shard, rows, last] of stage.rows) {
    const bar = make("i", rows === stage.most && skewed ? "full" : "");
    bar.style.height = `${Math.max(1, (100 * rows) / Math.max(stage.most, 1))}%`;
    const column = make("div", "column", make("div", "room", bar), stage.rows.length <= MOST_LABELS ? make("small", "", String(shard)) : null);
    column.title = `shard ${shard}: ${plural(rows, "row")} since the start, ${formats.count(last)} in the last micro-batch`;
    bars.append(column);
  }
  const shown = stage.rows.map(([shard, rows]) => `shard ${shard} ${rows}`).join(", ");
  bars.setAttribute("role", "img");
  bars.setAttribute("aria-label", `rows per shard: ${shown}`);
  const left = stage.count > stage.rows.length ? `, ${stage.rows.length} of ${stage.count} shards` : "";
  return make("div", "panel card", title, make("p", skewed ? "hint warm" : "hint", about), bars,
    make("p", "hint", `${plural(stage.total, "row")} since the start${left}`));
}

function showErrors() {
  const failed = [...data.errors].reverse().map(({ time, text }) =>
    make("div", "panel failure", make("small", "", new Date(1000 * time).toLocaleString("en-GB")), make("pre", "", text)));
  const counts = new Map();
  for (const entry of entries) {
    for (const [name, count] of Object.entries(entry.diverted)) counts.set(name, (counts.get(name) || 0) + count);
  }
  const rows = [...counts].filter(([, count]) => count).map(([name, count]) => {
    const view = data.views.some((each) => each.name === `${name} diverted`) ? `the view “${name} diverted” has them` : "its sink has them";
    return [name, formats.count(count), view];
  });
  const diverted = rows.length ? [make("div", "panel scroll", tableOf(["input", "diverted rows", "where"], rows, ""))] : [];
  byId("of-errors").hidden = !failed.length && !diverted.length;
  byId("errors").replaceChildren(...failed, ...diverted);
}

let detailsShown = "";
function showDetails() {
  const now = JSON.stringify([data.clocks, data.shards, data.errors, total((entry) => sum(entry.diverted))]);
  if (now === detailsShown) return;
  detailsShown = now;
  byId("of-clocks").hidden = !data.clocks.length;
  byId("clocks").replaceChildren(...data.clocks.map(clockCard));
  byId("of-shards").hidden = !data.shards.length;
  byId("shards").replaceChildren(...data.shards.map(shardCard));
  showErrors();
}

function showSettings() {
  const pairs = Object.entries(data.settings);
  byId("of-settings").hidden = !pairs.length;
  byId("settings").append(...pairs.flatMap(([name, text]) => [make("dt", "", name), make("dd", "", text)]));
}
