// Where the time of each micro-batch went: a stacked bar of named phases.
const PHASES = {
  "asking sources": "asks where the sources end", planning: "plans the query", "offset log": "writes Spark's own logs",
  "handing over": "Spark plans how the rows are read, and calls Flo",
  inputs: "reads and fits rows, and runs what needs no shuffle", operators: "runs the operators of the stages",
  state: "reads and stores the state", shuffle: "packs and unpacks rows, and writes changes",
  scheduling: "Spark starts tasks, and moves rows between them", sinks: "the sinks take the changes",
  commit: "makes the version visible", other: "all the rest",
};
const phaseColour = (name) => `var(--phase-${name.replaceAll(" ", "-")})`;

class PhaseChart extends Chart {
  constructor(move) {
    super({ title: "seconds of a micro-batch, by phase", format: "seconds", series: (given) => phaseSeries(given) }, move);
    this.node.classList.add("phases");
  }

  x(entry) {
    const wide = (this.right - this.left) / this.entries.length;
    return this.left + wide * (this.entries.indexOf(entry) + 0.5);
  }

  draw() {
    if (!this.lines) return;
    const width = this.canvas.clientWidth, height = this.canvas.clientHeight;
    if (!width) return;
    const top = 10, bottom = height - 20;
    const totals = this.entries.map((_, i) => this.lines.reduce((found, [, values]) => found + values[i], 0));
    const highest = roundUp(Math.max(...totals, 0));
    const y = (value) => bottom - (value / highest) * (bottom - top);
    const marks = [0, highest / 2, highest];
    this.left = 20 + 6.6 * Math.max(...marks.map((mark) => this.format(mark).length));
    this.right = width - 14;
    const parts = marks.flatMap((mark) => [
      draw("line", { x1: this.left - 4, x2: this.right + 4, y1: y(mark), y2: y(mark), class: mark ? "grid" : "axis" }),
      draw("text", { x: this.left - 9, y: y(mark) + 4, "text-anchor": "end" }, this.format(mark)),
    ]);
    const wide = (this.right - this.left) / Math.max(this.entries.length, 1);
    const bar = Math.max(0.5, Math.min(28, wide - (wide > 4 ? 2 : 0)));
    this.entries.forEach((entry, i) => {
      let floor = 0;
      for (const [name, values] of this.lines) {
        if (!values[i]) continue;
        const box = { x: (this.x(entry) - bar / 2).toFixed(1), width: bar.toFixed(1), y: y(floor + values[i]).toFixed(2) };
        parts.push(draw("rect", { ...box, height: (y(floor) - y(floor + values[i])).toFixed(2), style: `fill:${phaseColour(name)}` }));
        floor += values[i];
      }
    });
    if (this.entries.length) {
      const first = this.entries[0], last = this.entries[this.entries.length - 1];
      parts.push(draw("text", { x: this.left, y: height - 4 }, `micro-batch ${first.version}`));
      if (last !== first && width > 300) parts.push(draw("text", { x: this.right, y: height - 4, "text-anchor": "end" }, last.version));
      if (this.at !== null) {
        const x = this.x(this.entries[this.at]), frame = Math.max(bar, 3) + 4;
        parts.push(draw("rect", { x: x - frame / 2, width: frame, y: top - 4, height: bottom - top + 4, class: "frame" }));
      }
    }
    this.canvas.replaceChildren(...parts);
    this.describePhases(totals);
  }

  /** The phases of the micro-batch at the cursor, or of the last one, with their share of it. */
  describePhases(totals) {
    const place = this.at ?? this.entries.length - 1, total = totals[place] || 0;
    const texts = this.entries.length ? this.lines.map(([name, values]) => [name, values[place]]) : [];
    this.legend.replaceChildren(...texts.map(([name, value]) => {
      const dot = make("i", "dot");
      dot.style.background = phaseColour(name);
      const share = total ? `${Math.round((100 * value) / total)} %` : "";
      const shown = make("span", "", dot, make("span", "series", name), make("b", "", this.format(value)), make("small", "", share));
      shown.title = PHASES[name] || "";
      return shown;
    }), ...(texts.length ? [make("span", "sum", "in all ", make("b", "", this.format(total)))] : []));
    const said = texts.map(([name, value]) => `${name} ${this.format(value)}`).join(", ");
    this.node.setAttribute("aria-label", `${this.title}: ${said || "nothing yet"}`);
  }
}

/** The phases that some micro-batch has spent time in, in the order in which they come. */
function phaseSeries(given) {
  const names = Object.keys(PHASES), own = new Set(given.flatMap((entry) => Object.keys(entry.phases)));
  const more = [...own].filter((name) => !names.includes(name));
  return [...names.filter((name) => own.has(name)), ...more]
    .map((name) => [name, given.map((entry) => (entry.phases[name] || 0) / entry.batches)])
    .filter(([, values]) => values.some((value) => value > 0));
}
