// One small step at a time: the reader chooses among the enabled ones, and goes back and forth.
let taken = [];  // the edges of the run, and
let done = 0;    // how many of them are taken; the rest can be taken again

const graph = new StateGraph(byId("graph"), byId("about"), (state) => jump(state));
const current = () => (done ? taken[done - 1].to : 0);

/** Take an enabled step. Where another one was taken before, the way after it is forgotten. */
function take(edge) {
  if (taken[done] !== edge) taken = [...taken.slice(0, done), edge];
  done += 1;
  update();
}
function back() {
  if (done) done -= 1;
  update();
}
function forth() {
  if (done < taken.length) done += 1;
  else if (leaving[current()].length) return take(leaving[current()][0]);
  update();
}
function toEnd() {
  while (leaving[current()].length) {
    const edge = taken[done] && done < taken.length ? taken[done] : leaving[current()][0];
    if (taken[done] !== edge) taken = [...taken.slice(0, done), edge];
    done += 1;
  }
  update();
}

/** Go to a state by a shortest way. */
function jump(state) {
  const way = [];
  for (let at = state; at !== 0; at = reached[at].from) {
    if (!reached[at]) return;
    way.unshift(reached[at]);
  }
  taken = way;
  done = way.length;
  update();
}
const reached = [];
for (const edge of edges) reached[edge.to] ??= edge;

function ending(state) {
  if (data.broken[state]) return make("div", "stuck bad", data.broken[state]);
  if (data.open.includes(state)) return make("div", "stuck cut", data.cut);
  return leaving[state].length ? null : make("div", "stuck", "stuck: no step is enabled, and all data has arrived");
}

function update() {
  const state = current();
  const buttons = leaving[state].map((edge, i) => {
    const move = data.moves[edge.move];
    const slot = data.slots[move.slot];
    const where = slot ? (slot.line || slot.name) : "arrives";
    const button = make("button", slot ? "" : "arrival", make("kbd", "", i < 9 ? `${i + 1}` : ""),
      make("span", "", move.text), make("small", "", where));
    button.onclick = () => take(edge);
    return make("li", "", button);
  });
  const count = buttons.length === 1 ? "one enabled step" : `${buttons.length} enabled steps`;
  byId("enabled").textContent = data.open.includes(state) ? "the page was cut here" : count;
  const end = ending(state);
  byId("choices").replaceChildren(...(end ? [make("li", "", end)] : []), ...buttons);
  const edge = done ? taken[done - 1] : null;
  byId("step").replaceChildren(...(edge
    ? [ruleFigure(edge), stateTable(edge.from, edge.to)]
    : [make("h2", "", "before the first step"), stateTable(null, 0)]));
  byId("back").disabled = byId("start").disabled = !done;
  byId("forth").disabled = byId("end").disabled = !leaving[state].length;
  byId("count").textContent = `step ${done}`;
  byId("way").replaceChildren(...taken.map((each, i) => {
    const item = make("li", i + 1 === done ? "now" : i >= done ? "same" : "",
      make("span", "", `${i + 1}`), make("span", "", data.moves[each.move].text));
    item.onclick = () => { done = i + 1; update(); };
    return item;
  }));
  byId("way").hidden = !taken.length;
  const now = byId("way").children[done - 1];
  if (now) byId("way").scrollTop = now.offsetTop - byId("way").clientHeight / 2;
  graph.show([[0, ...taken.map((each) => each.to)]], [state]);
  writeHash("steps", taken.slice(0, done).map((each) => leaving[each.from].indexOf(each)).join("."));
}

/** The address has the choices: which of the enabled steps was taken, again and again. */
function restore() {
  taken = [];
  done = 0;
  for (const choice of (readHash("steps") || "").split(".").filter(Boolean)) {
    const edge = leaving[current()][Number(choice)];
    if (!edge) break;
    taken.push(edge);
    done += 1;
  }
  update();
}

byId("start").onclick = () => { done = 0; update(); };
byId("back").onclick = back;
byId("forth").onclick = forth;
byId("end").onclick = toEnd;
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const choice = leaving[current()][Number(event.key) - 1];
  const action = { ArrowLeft: back, ArrowRight: forth, Home: () => { done = 0; update(); }, End: toEnd }[event.key];
  if (!action && !(choice && event.key >= "1" && event.key <= "9")) return;
  event.preventDefault();
  if (action) action();
  else take(choice);
});
addEventListener("hashchange", restore);
restore();
