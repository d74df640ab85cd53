// One run, or two side by side, under one slider.
const runs = data.runs.map((numbers) => numbers.map((number) => edges[number]));
const states = runs.map((run) => [0, ...run.map((edge) => edge.to)]);
const longest = Math.max(...runs.map((run) => run.length));
const apart = runs.length < 2 ? 0 : runs[0].findIndex((edge, i) => !runs[1][i] || runs[1][i].to !== edge.to);
let step = 0;

const graph = new StateGraph(byId("graph"), byId("about"), (state) => {
  const places = states.map((path) => path.indexOf(state)).filter((place) => place >= 0);
  if (places.length) go(places[0]);
  inspect(places.length ? null : state);
});

/** Show the buffers of a state that no run goes through. */
function inspect(state) {
  byId("inspected").replaceChildren(...(state === null ? [] : [make("h2", "", `state ${state}`), stateTable(null, state)]));
}

const slider = byId("slider");
slider.max = longest;
slider.oninput = () => go(Number(slider.value));
byId("first").onclick = () => go(0);
byId("previous").onclick = () => go(step - 1);
byId("next").onclick = () => go(step + 1);
byId("last").onclick = () => go(longest);

const lists = runs.map((run, number) => {
  const items = run.map((edge, i) => {
    const item = make("li", runs.length > 1 && i < apart ? "same" : "",
      make("span", "", `${i + 1}`), make("span", "", data.moves[edge.move].text));
    item.onclick = () => go(i + 1);
    return item;
  });
  byId(`steps${number}`).replaceChildren(...items);
  return items;
});

function go(to) {
  step = Math.max(0, Math.min(longest, to));
  slider.value = step;
  byId("count").textContent = `step ${step} of ${longest}`;
  byId("first").disabled = byId("previous").disabled = step === 0;
  byId("next").disabled = byId("last").disabled = step === longest;
  writeHash("step", step);
  runs.forEach((run, number) => {
    const own = Math.min(step, run.length);
    lists[number].forEach((item, i) => item.classList.toggle("now", i + 1 === own && step <= run.length));
    const current = lists[number][own - 1];
    const list = byId(`steps${number}`);
    if (current) list.scrollTop = current.offsetTop - list.clientHeight / 2;
    const at = byId(`step${number}`);
    if (own === 0) at.replaceChildren(make("h2", "", "before the first step"), stateTable(null, 0));
    else if (step > run.length) at.replaceChildren(make("h2", "", "this run is over"), stateTable(null, states[number][own]));
    else at.replaceChildren(ruleFigure(run[own - 1]), stateTable(states[number][own - 1], states[number][own]));
  });
  graph.show(states, states.map((path) => path[Math.min(step, path.length - 1)]));
}

document.addEventListener("keydown", (event) => {
  if (event.target === slider || event.ctrlKey || event.metaKey || event.altKey) return;
  const to = { ArrowRight: step + 1, ArrowLeft: step - 1, Home: 0, End: longest }[event.key];
  if (to === undefined) return;
  event.preventDefault();
  go(to);
});
addEventListener("hashchange", () => go(Number(readHash("step")) || 0));
go(Number(readHash("step") ?? (runs.length > 1 ? Math.min(longest, apart + 1) : 0)) || 0);
