// The program as a graph, with rows and time on its boxes.
const marks = new Map([...document.querySelectorAll("[data-mark]")].map((node) => [node.dataset.mark, node]));
const heats = new Map([...document.querySelectorAll("[data-heat]")].map((node) => [node.dataset.heat, node]));
const SPANS = ["the last micro-batch", "all since the start"];
let span = 0;
const spanButtons = SPANS.map((text, i) => {
  const button = make("button", "", text);
  button.onclick = () => { span = i; showGraph(); };
  return button;
});

/** As wide as the window, if the text stays readable; else it can be scrolled. */
function fitGraph() {
  const svg = document.querySelector("#graph > svg");
  if (!svg) return;
  const wide = +svg.getAttribute("width"), scale = Math.min(1, Math.max(0.7, (byId("graph").clientWidth - 2) / wide));
  svg.style.width = `${wide * scale}px`;
  svg.style.height = `${svg.getAttribute("height") * scale}px`;
}
fitGraph();
byId("graph").scrollLeft = (byId("graph").scrollWidth - byId("graph").clientWidth) / 2;
new ResizeObserver(fitGraph).observe(byId("graph"));

function setMark(name, text) {
  const node = marks.get(name);
  if (node && node.textContent !== text) node.textContent = text;
}

/** Rows in and out of a verb, and its seconds in all shards. */
function verbText(verb) {
  const own = span ? verb.all : verb;
  if (verb.all.seconds === null) return entries.length ? "not measured" : "";
  if (own.seconds === null) return "nothing to do";
  const rows = [own.taken, own.emitted].map((count) => (count === null ? "–" : formats.count(count)));
  return `${rows.join(" → ")} · ${formats.seconds(own.seconds)}`;
}

function showGraph() {
  if (!data.graph) return;
  spanButtons.forEach((button, i) => button.setAttribute("aria-pressed", String(span === i)));
  byId("graph-note").textContent = "rows in → rows out · seconds of a verb, in all shards together";
  const entry = entries[entries.length - 1];
  const count = (figure) => (span ? entries.reduce((found, each) => found + figure(each), 0) : entry ? figure(entry) : 0);
  for (const name of data.inputs) setMark(`input ${name}`, entry ? plural(count((each) => each.taken[name] || 0), "row") : "");
  for (const name of data.plan.flatMap((block) => block.outputs)) {
    const word = data.late.includes(name) ? "late row" : "change";
    setMark(`output ${name}`, entry ? plural(count((each) => each.changes[name] || 0), word) : "");
  }
  const seconds = data.verbs.map((verb) => (span ? verb.all : verb).seconds || 0), longest = Math.max(...seconds, 1e-9);
  data.verbs.forEach((verb, i) => {
    setMark(`verb ${i}`, verbText(verb));
    const bar = heats.get(`verb ${i}`);
    if (bar) bar.setAttribute("width", ((bar.dataset.most * seconds[i]) / longest).toFixed(1));
  });
}
