// A state as a table of buffers, a step as an inference rule. `data` is what states.py has written.
const places = data.slots.length;

const edges = [];
const leaving = Array.from({ length: data.states.length / places }, () => []);
for (let i = 0; i < data.edges.length; i += 3) {
  const edge = { from: data.edges[i], to: data.edges[i + 1], move: data.edges[i + 2] };
  leaving[edge.from].push(edge);
  edges.push(edge);
}

const contentOf = (state, slot) => data.contents[slot][data.states[state * places + slot]];

const LONG = 110, AROUND = 36;

/** A text with the part marked that another one has not; of a long text, what is around that part. */
function marked(text, other) {
  if (other === null || other === text) return [text.length > LONG ? `${text.slice(0, LONG - 1)}…` : text];
  if (text.length <= LONG) return [make("mark", "", text)];
  let from = 0, to = 0;
  const most = Math.min(text.length, other.length);
  while (from < most && text[from] === other[from]) from += 1;
  while (to < most - from && text[text.length - 1 - to] === other[other.length - 1 - to]) to += 1;
  const changed = text.slice(from, text.length - to);
  const before = from > AROUND ? `…${text.slice(from - AROUND, from)}` : text.slice(0, from);
  const after = text.slice(text.length - to);
  const part = changed.length > 2 * LONG ? `${changed.slice(0, 2 * LONG)}…` : changed || "\u200b";
  return [before, make("mark", "", part), to > AROUND ? `${after.slice(0, AROUND)}…` : after];
}

/** The content of a place, with the parts marked that differ from another content of it. */
function cell(content, other) {
  const found = document.createDocumentFragment();
  content.plain.forEach((text, i) => found.append(make("div", "", ...marked(text, other && other.plain[i]))));
  if (content.operator) {
    const small = make("small", "", ...marked(content.operator, other && other.operator));
    small.title = content.operator;
    found.append(small);
  }
  return found;
}

/** The buffers of a state; with a state before it, both, and the changes marked. */
function stateTable(before, after) {
  const titles = before === null ? ["place", "buffer"] : ["place", "before", "after"];
  const rows = data.slots.map((slot, number) => {
    const now = contentOf(after, number);
    const then = before === null ? null : contentOf(before, number);
    if (slot.kind === "wire" && now.plain.every(isEmpty) && (then === null || then === now)) return null;
    const name = slot.kind === "output" ? `output ${slot.name}` : slot.name;
    const cells = [make("td", "", name, slot.line ? make("small", "", slot.line) : "")];
    if (then !== null) cells.push(make("td", "", cell(then, then === now ? null : now)));
    cells.push(make("td", "", cell(now, then === null || then === now ? null : then)));
    cells.forEach((each, i) => i && (each.dataset.name = titles[i]));
    return make("tr", slot.kind, ...cells);
  });
  const head = make("thead", "", make("tr", "", ...titles.map((title) => make("th", "", title))));
  return make("table", "state", head, make("tbody", "", ...rows));
}

const isEmpty = (text) => text === "[]" || text === "{}" || text === "[] ⊗" || text === "{} ⊗";

/** Rules as markup come from rules.py, which has escaped them. */
function inference(rule) {
  const box = make("div", "inference");
  box.innerHTML = data.rules[rule];
  return box;
}

/** The rule of a step: as the paper prints it, with the values of this step, and the rules that lead to it. */
function ruleFigure(edge) {
  const move = data.moves[edge.move];
  if (move.slot < 0) {
    const why = move.text === "advance" ? "all steps that are enabled, at once" : "not a step: data arrives";
    return make("figure", "rule", make("figcaption", "", make("b", "", move.text), make("span", "", why)));
  }
  const at = move.path.lastIndexOf("operator") + 1;
  const name = move.path[at];
  const slot = data.slots[move.slot];
  const printed = [name, move.path[move.path.indexOf("operator") + 1]].find((rule) => data.rules[rule]);
  const where = `${slot.name}${slot.line ? ` at ${slot.line}` : ""}`;
  const figure = make("figure", "rule", make("figcaption", "", make("b", "", name), make("span", "", where)));
  if (printed) figure.append(make("div", "math", inference(printed)));
  const before = contentOf(edge.from, move.slot);
  const after = data.contents[move.slot][move.to];
  const short = (text, other) => (text.length > LONG ? marked(text, other) : [text]);
  const config = (content, other) => [
    content.paper.map((text) => `${text.length > LONG ? `${text.slice(0, LONG - 1)}…` : text}, `).join(""),
    ...short(content.operator, other.operator),
  ];
  const whose = move.path.includes("nest-run-graph") ? `this step of ${slot.name}` : "this step";
  const missing = printed === name ? "" : `; the paper has no rule ${name}`;
  const title = `${whose}, newest element left${missing}`;
  figure.append(make("div", "instance", make("small", "", title),
    "(", ...config(before, after), ") → (", ...config(after, before), move.out ? `, ${move.out})` : ")"));
  const outer = move.path.slice(0, at).reverse().filter((rule) => data.rules[rule]);
  if (outer.length) {
    const steps = outer.map((rule) => {
      const box = inference(rule);
      box.append(make("div", "label", rule));
      return box;
    });
    const path = move.path.join(" › ");
    figure.append(make("details", "", make("summary", "", `derivation: ${path}`), ...steps));
  }
  return figure;
}

/** The address keeps where the reader is, so that a link leads back to it. */
function readHash(name) {
  return new URLSearchParams(location.hash.slice(1)).get(name);
}
function writeHash(name, value) {
  history.replaceState(null, "", `#${name}=${value}`);
}
