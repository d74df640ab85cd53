// A state as a table of buffers, a step as an inference rule. `data` is what states.py has written.
"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
const places = data.slots.length;
const byId = (id) => document.getElementById(id);

/** Make an element; strings become text, never markup. */
function make(tag, className, ...children) {
  const node = document.createElement(tag);
  if (className) node.className = className;
  node.append(...children.filter((child) => child !== null && child !== ""));
  return node;
}

const edges = [];
const leaving = Array.from({ length: data.states.length / places }, () => []);
for (let i = 0; i < data.edges.length; i += 3) {
  const edge = { from: data.edges[i], to: data.edges[i + 1], move: data.edges[i + 2] };
  leaving[edge.from].push(edge);
  edges.push(edge);
}

const contentOf = (state, slot) => data.contents[slot][data.states[state * places + slot]];

/** The content of a place, with the parts marked that differ from another content of it. */
function cell(content, other) {
  const found = document.createDocumentFragment();
  const differs = (a, b) => other !== null && a !== b;
  content.plain.forEach((text, i) => {
    const was = other && other.plain[i];
    found.append(make("div", "", differs(text, was) ? make("mark", "", text) : text));
  });
  if (content.operator) {
    const text = content.operator;
    found.append(make("small", "", differs(text, other && other.operator) ? make("mark", "", text) : text));
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
  const known = data.rules[name];
  const where = `${slot.name}${slot.line ? ` at ${slot.line}` : ""}`;
  const figure = make("figure", "rule", make("figcaption", "", make("b", "", name), make("span", "", where)));
  if (known) figure.append(make("div", "math", inference(name)));
  const before = contentOf(edge.from, move.slot);
  const after = data.contents[move.slot][move.to];
  const config = (content) => [...content.paper, content.operator].join(", ");
  const instance = `(${config(before)}) → (${config(after)}${move.out ? `, ${move.out}` : ""})`;
  const title = known ? "this step, newest element left" : "this step, newest element left; the paper has no such rule";
  figure.append(make("div", "instance", make("small", "", title), instance));
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
