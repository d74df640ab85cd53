// The page of a run: figures, the plan and charts. A live page asks its own server for what is new.
const PERIOD = 1000;
const entries = data.history.entries;
let grain = data.history.grain;
let cursor = null;  // the entry that the reader points to; null is the last one
let failures = 0;
const isGoingOn = () => ["starting", "filling", "running", "waiting"].includes(data.state);

const sum = (figures) => Object.values(figures).reduce((total, each) => total + each, 0);
const latest = () => (cursor === null ? entries[entries.length - 1] : entries[cursor]);
const { count: asCount, bytes: asBytes, seconds: asSeconds } = formats;
const lateIn = (entry) => data.late.reduce((total, name) => total + (entry.changes[name] || 0), 0);
const plural = (count, word) => `${asCount(count)} ${word}${count === 1 ? "" : "s"}`;
const total = (figure) => entries.reduce((found, entry) => found + figure(entry), 0);
const levels = data.plan.map((block) => block.level).filter((level) => level > 0);

/** The last value of a figure that not every entry has. */
function known(figure) {
  for (let place = cursor ?? entries.length - 1; place >= 0; place -= 1) {
    const value = figure(entries[place]);
    if (value !== null && value !== undefined) return value;
  }
  return null;
}
const stateOf = (entry) => (Object.keys(entry.stage_bytes).length ? entry.stage_bytes : null);

/** Rows in a second, over the last ten seconds or at least two entries. */
function rate() {
  const last = entries.length - 1;
  let first = last;
  while (first > 0 && (entries[last].time - entries[first].time < 10 || first === last)) first -= 1;
  if (last < 1) return null;
  const rows = entries.slice(first + 1).reduce((found, entry) => found + sum(entry.taken), 0);
  return rows / Math.max(0.001, entries[last].time - entries[first].time);
}

function tile(name, value, more, mark) {
  return make("div", `tile ${mark || ""}`, make("div", "label", name), make("div", "value", value), make("div", "more", more));
}

/** The fill of a changed program, which comes before its first micro-batch. */
function fillTiles() {
  const fill = data.fill;
  if (!fill) return [];
  const left = fill.seconds_left === null ? "" : `about ${asSeconds(fill.seconds_left)} left`;
  const of = fill.total === null ? "" : `of ${asCount(fill.total)}`;
  const more = fill.over ? `in ${asSeconds(fill.seconds)}` : [of, `in ${asSeconds(fill.seconds)}`, left].filter(Boolean).join(", ");
  return [tile(fill.over ? "rows filled" : "rows being filled", asCount(fill.rows), more)];
}

function showTiles() {
  const last = entries[entries.length - 1];
  if (!last) return byId("tiles").replaceChildren(...fillTiles(), tile("micro-batches", "none yet", "waiting for the first rows"));
  const state = known(stateOf), lag = known((entry) => entry.lag), waiting = known((entry) => entry.waiting);
  const late = total(lateIn), diverted = total((entry) => sum(entry.diverted));
  const rows = total((entry) => sum(entry.taken)), speed = rate();
  byId("tiles").replaceChildren(
    tile("rows in", asCount(rows), speed === null ? "" : `${asCount(Math.round(speed))} a second lately`),
    tile("micro-batches", asCount(total((entry) => entry.batches)), `the last took ${asSeconds(last.seconds / last.batches)}`),
    tile("lag", lag === null ? "–" : asSeconds(lag),
      waiting === null ? "source to commit" : waiting ? `${plural(waiting, "row")} waiting` : "nothing is waiting"),
    tile("state", state === null ? "–" : asBytes(sum(state)), `${asBytes(last.written / last.batches)} written last`),
    tile("late rows", asCount(late), data.late.length ? data.late.join(", ") : "no windows", late ? "warm" : ""),
    tile("diverted rows", asCount(diverted), diverted ? "rows that did not fit" : "", diverted ? "bad" : ""),
    ...fillTiles(),
  );
}

function showHead() {
  byId("name").textContent = data.name;
  const lost = data.live && failures > 1;
  const badge = byId("state");
  badge.textContent = lost ? "out of reach" : data.state;
  badge.className = `badge ${lost || data.state === "failed" || data.state === "waiting" ? "bad" : isGoingOn() ? "" : "over"}`;
  const last = entries[entries.length - 1];
  const end = isGoingOn() ? data.now : last ? last.time : data.now;
  byId("facts").textContent = [
    last ? `version ${last.version}` : "nothing committed yet",
    `since ${new Date(1000 * data.started).toLocaleString("en-GB")}`,
    asSeconds(Math.max(0, end - data.started)),
    lost ? "the process does not answer: these are its last figures" : "",
  ].filter(Boolean).join(" · ");
  byId("error").hidden = !data.error;
  byId("error").textContent = data.error;
}

const planned = data.plan.map((block) => {
  const figures = ["rows", "state", "seconds"].map((name) => {
    const value = make("b", ""), more = make("small", "");
    return { name, value, more, node: make("div", "figure", make("span", "label", name), value, more) };
  });
  const bar = make("div", "share", make("i", ""));
  if (block.level) figures[2].node.append(bar);
  const changes = new Map(block.outputs.map((name) => [name, make("b", "")]));
  const parts = block.operators.map(([name, how, keeps, line]) => {
    const shown = make("div", "operator", make("code", "", name), make("small", "", line));
    shown.title = [how, keeps].filter(Boolean).join(", ");
    return shown;
  });
  const rounds = new Map(Object.keys(block.fixpoints).map((id) => [id, make("b", "")]));
  parts.push(...Object.entries(block.fixpoints).map(([id, line]) =>
    make("div", "gives", "↻ ", make("code", "", "fixpoint"), make("small", "", ` ${line} `), rounds.get(id))));
  parts.push(...block.sends.map(([name, how, level]) =>
    make("div", "sends", "→ ", make("code", "", name), ` ${how}, to stage ${level}`)));
  parts.push(...block.outputs.map((name) =>
    make("div", data.late.includes(name) ? "gives late" : "gives", "= ", make("code", "", name), changes.get(name))));
  const [title, rest] = block.level ? block.title.split(", ") : ["inputs", data.inputs.join(", ")];
  const node = make("div", "stage", make("div", "rail", make("i", "")),
    make("div", "does", make("h3", "", title, make("small", "", rest)), ...parts), make("div", "figures", ...figures.map((each) => each.node)));
  return { block, node, figures, bar, changes, rounds };
});

function showPlan() {
  const entry = latest(), state = known(stateOf) || {};
  const longest = entry ? Math.max(...levels.map((level) => entry.stage_seconds[level] || 0), 1e-9) : 1;
  for (const { block, figures, bar, changes, rounds } of planned) {
    const [rows, size, seconds] = figures;
    const taken = (one) => (block.level ? one.stage_rows[block.level] || 0 : sum(one.taken));
    rows.value.textContent = entry ? asCount(taken(entry)) : "–";
    rows.more.textContent = entry ? `of ${asCount(total(taken))}` : "";
    size.node.hidden = seconds.node.hidden = !block.level;
    size.value.textContent = block.level in state ? asBytes(state[block.level]) : "–";
    const took = entry ? entry.stage_seconds[block.level] : undefined;
    seconds.value.textContent = took === undefined ? "–" : asSeconds(took / entry.batches);
    bar.firstChild.style.width = `${(100 * (took || 0)) / longest}%`;
    for (const [id, value] of rounds) {
      value.textContent = entry ? `${plural(entry.rounds[id] || 0, "round")}, ${plural(entry.round_rows[id] || 0, "row")}` : "";
    }
    for (const [name, value] of changes) {
      value.textContent = entry ? plural(entry.changes[name] || 0, data.late.includes(name) ? "late row" : "change") : "";
    }
  }
}

/** The most names of which each has a line; the others have one together. */
const MOST_LINES = 4;
function byName(names, figure) {
  const own = names.length > MOST_LINES ? names.slice(0, MOST_LINES - 1) : names;
  const rest = names.slice(own.length);
  const lines = own.map((name) => [`${name}`, (entry) => figure(entry, name)]);
  if (rest.length) lines.push([`${rest.length} others`, (entry) => rest.reduce((found, name) => found + (figure(entry, name) || 0), 0)]);
  return (given) => lines.map(([name, value]) => [name, given.map(value)]);
}
const mean = (figures, name, entry) => (figures[name] || 0) / entry.batches;
const outputs = data.plan.flatMap((block) => block.outputs).filter((name) => !data.late.includes(name));
const fixpoints = data.plan.flatMap((block) => Object.entries(block.fixpoints));
const charts = [
  { title: "rows in", format: "count", whole: true, series: byName(data.inputs, (entry, name) => mean(entry.taken, name, entry)) },
  { title: "changes out", format: "count", whole: true, series: byName(outputs, (entry, name) => mean(entry.changes, name, entry)) },
  {
    title: "seconds", format: "seconds",
    series: (given) => [
      ["micro-batch", given.map((entry) => entry.seconds / entry.batches)],
      ...byName(levels, (entry, level) => mean(entry.stage_seconds, level, entry))(given).map(([name, values]) =>
        [/^\d+$/.test(name) ? `stage ${name}` : name, values]),
    ],
  },
  {
    title: "state", format: "bytes", whole: true,
    series: (given) => byName(levels, (entry, level) => (stateOf(entry) ? entry.stage_bytes[level] || 0 : null))(given)
      .map(([name, values]) => [/^\d+$/.test(name) ? `stage ${name}` : name, values]),
  },
  {
    title: "late and diverted rows", format: "count", whole: true,
    colours: ["warm", "bad"],
    series: (given) => [["late", given.map((entry) => lateIn(entry) / entry.batches)], ["diverted", given.map((entry) => sum(entry.diverted) / entry.batches)]],
  },
  ...(fixpoints.length ? [{
    title: "rounds", format: "count", whole: true,
    series: (given) => byName(fixpoints.map(([id]) => id), (entry, id) => mean(entry.rounds, id, entry))(given)
      .map(([name, values]) => [Object.fromEntries(fixpoints)[name] || name, values]),
  }] : []),
  { title: "lag", format: "seconds", series: (given) => [["source to commit", given.map((entry) => entry.lag)]] },
].map((each) => new Chart(each, point));
const phases = new PhaseChart(point);

function point(to) {
  if (to === cursor) return;
  cursor = to;
  showCharts();
  showPlan();
}

function showCharts() {
  const entry = latest();
  const several = grain > 1 ? `, each point the mean of ${grain}` : "";
  byId("of-plan").textContent = entry ? `plan, at micro-batch ${entry.version}` : "plan";
  byId("at").textContent = cursor === null ? `point to a chart, or use ← →${several}` : `micro-batch ${entry.version}, ${clock(entry.time)}`;
  for (const chart of [...charts, phases]) chart.show(entries, cursor);
}

function showAll() {
  showHead();
  showTiles();
  showPlan();
  showCharts();
  showGraph();
  showDetails();
}

/** Ask for what is new. A page that nobody sees asks for nothing. */
let asking = 0;
async function ask() {
  clearTimeout(asking);
  if (!document.hidden) {
    const open = views.map(({ node }, place) => (node.open ? place : "")).filter((place) => place !== "");
    try {
      const answer = await fetch(`data?grain=${grain}&count=${entries.length}&views=${open}`, { cache: "no-store" });
      const { history, views: read, ...now } = await answer.json();
      Object.assign(data, now);
      if (history.grain !== grain) cursor = null;
      grain = history.grain;
      entries.splice(history.from, entries.length, ...history.entries);
      read.forEach((view, i) => showView(open[i], view));
      failures = 0;
    } catch {
      failures += 1;
    }
    showAll();
  }
  if (isGoingOn() || document.hidden) asking = setTimeout(ask, failures ? 5 * PERIOD : PERIOD);
}

byId("spans").append(...spanButtons);
byId("of-graph").hidden = !data.graph;
byId("phases").append(phases.node);
byId("plan").append(...planned.map(({ node }) => node));
byId("charts").append(...charts.map((chart) => chart.node));
byId("views").append(...views.map(({ node }) => node));
byId("of-views").hidden = !views.length;
data.views.forEach((view, place) => showView(place, view));
showSettings();
showAll();
if (data.live) {
  byId("of-sql").hidden = !views.length;
  makeSql();
  document.addEventListener("visibilitychange", ask);
  ask();
}
