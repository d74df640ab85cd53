// The views of a run: their first rows, a search in all of them, and SQL on them.
const PATIENCE = 300;
const LONGEST = 120;

/** A table of rows as text. */
function tableOf(columns, rows, more) {
  const isNumber = columns.map((_, i) => rows.every((row) => /^-?[\d.,e+-]+$/.test(row[i])));
  const head = make("tr", "", ...columns.map((name, i) => make("th", isNumber[i] ? "number" : "", name)));
  const shown = rows.map((row) => make("tr", "", ...row.map((text, i) => {
    const cell = make("td", isNumber[i] ? "number" : "", text.length > LONGEST ? `${text.slice(0, LONGEST - 1)}…` : text);
    if (text.length > LONGEST) cell.title = text;
    return cell;
  })));
  if (more) {
    const cell = make("td", "more", more);
    cell.colSpan = Math.max(1, columns.length);
    shown.push(make("tr", "", cell));
  }
  return make("table", "", make("thead", "", head), make("tbody", "", ...shown));
}

async function askFor(path, asked) {
  try {
    const answer = await fetch(`${path}?${new URLSearchParams(asked)}`, { cache: "no-store" });
    return answer.ok ? await answer.json() : { error: `the server answered ${answer.status}` };
  } catch {
    return { error: "the process does not answer" };
  }
}

const views = data.views.map((view, place) => {
  const version = make("small", ""), content = make("div", "scroll"), note = make("small", "found");
  const field = make("input", "");
  Object.assign(field, { type: "search", placeholder: data.live ? "search all rows" : "search these rows", spellcheck: false });
  field.setAttribute("aria-label", `search ${view.name}`);
  const node = make("details", "panel view", make("summary", "", make("code", "", view.name), version),
    make("div", "search", field, note), content);
  node.open = place === 0 || !data.live;
  const own = { node, version, content, note, field, view: null, asked: 0 };
  node.ontoggle = () => { if (node.open && data.live) ask(); };
  field.oninput = () => {
    clearTimeout(own.asked);
    own.asked = setTimeout(() => search(place), data.live ? PATIENCE : 0);
  };
  return own;
});

function showView(place, view) {
  const own = views[place];
  if (own.view && own.view.version === view.version && own.view.columns.length) return;
  own.view = view;
  own.version.textContent = view.version < 0 ? "not read yet" : `version ${view.version}${view.rows.length ? "" : ", empty"}`;
  if (!own.field.value) showFirst(own);
}

function showFirst({ view, content, note }) {
  note.textContent = "";
  content.replaceChildren(tableOf(view.columns, view.rows, view.more ? "… more rows" : ""));
}

/** Show the rows that contain the text of the reader: of the whole view, or of what was saved. */
async function search(place) {
  const own = views[place], text = own.field.value;
  if (!text) return own.view && showFirst(own);
  let found;
  if (data.live) found = await askFor("view", { view: place, text });
  else {
    const rows = own.view.rows.filter((row) => row.some((cell) => cell.toLowerCase().includes(text.toLowerCase())));
    found = { columns: own.view.columns, rows, count: rows.length, limit: rows.length };
  }
  if (own.field.value !== text) return null;  // the reader has gone on typing
  if (found.error) {
    own.note.textContent = found.error;
    return null;
  }
  own.note.textContent = found.count ? plural(found.count, "row") : "no row has it";
  return own.content.replaceChildren(tableOf(found.columns, found.rows, found.count > found.limit ? `… the first ${found.limit}` : ""));
}

function makeSql() {
  const text = make("textarea", ""), run = make("button", "", "run"), note = make("small", "found"), content = make("div", "scroll");
  Object.assign(text, { rows: 3, spellcheck: false, value: `SELECT * FROM "${data.views[0]?.name}" LIMIT 20` });
  text.setAttribute("aria-label", "a SELECT on the views");
  const start = async () => {
    run.disabled = true;
    note.textContent = "running";
    note.className = "found";
    const found = await askFor("sql", { query: text.value });
    run.disabled = false;
    note.classList.toggle("bad", Boolean(found.error));
    if (found.error) {
      note.textContent = found.error;
      return content.replaceChildren();
    }
    const many = found.count > found.limit;
    note.textContent = `${many ? `the first ${found.limit} rows` : plural(found.count, "row")} in ${formats.seconds(found.seconds)}`;
    return content.replaceChildren(tableOf(found.columns, found.rows.slice(0, found.limit), many ? "… more rows" : ""));
  };
  run.onclick = start;
  text.onkeydown = (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      start();
    }
  };
  const hint = make("small", "hint", "read-only, on the newest version of each view; Ctrl+Enter runs it");
  byId("sql").append(make("div", "editor", text, make("div", "tools", run, note, hint)), content);
}
