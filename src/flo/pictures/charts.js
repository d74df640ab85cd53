// Small charts of a run that share their time and their cursor. Drawn as SVG, read by mouse and by keyboard.
const SVG = "http://www.w3.org/2000/svg";
const COLOURS = ["accent", "warm", "good", "edge", "bad"];

function draw(tag, attributes, text) {
  const node = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  if (text !== undefined) node.textContent = text;
  return node;
}

const formats = {
  count(value) {
    for (const [unit, size] of [["G", 1e9], ["M", 1e6], ["k", 1e3]]) {
      if (value >= 10 * size || (value >= size && size > 1e3)) return `${trim(value / size)} ${unit}`;
    }
    return Math.round(value) === value ? value.toLocaleString("en") : trim(value);
  },
  bytes(value) {
    for (const [unit, size] of [["TB", 1e12], ["GB", 1e9], ["MB", 1e6], ["kB", 1e3]]) {
      if (value >= size) return `${trim(value / size)} ${unit}`;
    }
    return `${trim(value)} B`;
  },
  seconds(value) {
    if (value === 0) return "0 s";
    if (value < 0.0000995) return `${trim(1e6 * value)} µs`;
    if (value < 0.9995) return `${value < 0.0095 && value > 0 ? trim(1000 * value) : Math.round(1000 * value)} ms`;
    if (value < 120) return `${trim(value)} s`;
    const minutes = Math.floor(value / 60);
    if (minutes < 120) return `${minutes} min ${Math.round(value % 60)} s`;
    return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
  },
};
const trim = (value) => (value >= 100 ? Math.round(value).toLocaleString("en") : `${+value.toPrecision(value >= 10 ? 3 : 2)}`);
const clock = (time) => new Date(1000 * time).toLocaleTimeString("en-GB");

/** The least round number that is not smaller: 1, 2 or 5 times a power of ten. */
function roundUp(value) {
  if (!(value > 0)) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  return power * [1, 2, 5, 10].find((factor) => factor * power >= value * 0.9999);
}

class Chart {
  /** `series` returns, for entries, lists of a name and the values; null where there is none. */
  constructor({ title, format, series, whole, colours = COLOURS }, move) {
    Object.assign(this, { title, format: formats[format], series, whole, colours, move, entries: [], at: null });
    this.legend = make("div", "legend");
    this.canvas = draw("svg", { class: "lines", "aria-hidden": "true" });
    this.node = make("figure", "panel chart", make("figcaption", "", title), this.canvas, this.legend);
    this.node.tabIndex = 0;
    this.node.setAttribute("role", "group");
    new ResizeObserver(() => this.draw()).observe(this.node);
    this.canvas.addEventListener("pointermove", (event) => this.move(this.nearest(event.offsetX)));
    this.canvas.addEventListener("pointerdown", (event) => this.move(this.nearest(event.offsetX)));
    this.canvas.addEventListener("pointerleave", () => this.move(null));
    this.node.addEventListener("keydown", (event) => {
      const last = this.entries.length - 1, now = this.at ?? last;
      const to = { ArrowLeft: now - 1, ArrowRight: now + 1, Home: 0, End: last, Escape: null }[event.key];
      if (to === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      this.move(to === null ? null : Math.max(0, Math.min(last, to)));
    });
    this.node.addEventListener("blur", () => this.move(null));
  }

  nearest(x) {
    let best = null;
    this.entries.forEach((entry, i) => {
      if (best === null || Math.abs(this.x(entry) - x) < Math.abs(this.x(this.entries[best]) - x)) best = i;
    });
    return best;
  }

  show(entries, at) {
    Object.assign(this, { entries, at });
    this.lines = this.series(entries);
    this.draw();
  }

  x(entry) {
    const first = this.entries[0].time, last = this.entries[this.entries.length - 1].time;
    return last > first ? this.left + ((entry.time - first) / (last - first)) * (this.right - this.left)
      : (this.left + this.right) / 2;
  }

  draw() {
    if (!this.lines) return;
    const width = this.canvas.clientWidth, height = this.canvas.clientHeight;
    if (!width) return;
    const top = 10, bottom = height - 20;
    const most = Math.max(...this.lines.flatMap(([, values]) => values.map((value) => value ?? 0)), 0);
    const highest = this.whole ? Math.max(2, roundUp(most)) : roundUp(most);
    const marks = this.whole && highest % 2 ? [0, highest] : [0, highest / 2, highest];
    this.left = 20 + 6.6 * Math.max(...marks.map((mark) => this.format(mark).length));
    this.right = width - 14;
    const y = (value) => bottom - (value / highest) * (bottom - top);
    const parts = marks.flatMap((mark) => [
      draw("line", { x1: this.left - 4, x2: this.right + 4, y1: y(mark), y2: y(mark), class: mark ? "grid" : "axis" }),
      draw("text", { x: this.left - 9, y: y(mark) + 4, "text-anchor": "end" }, this.format(mark)),
    ]);
    if (this.entries.length) {
      const first = this.entries[0], last = this.entries[this.entries.length - 1];
      if (last.time > first.time && width > 200) {
        parts.push(draw("text", { x: this.left, y: height - 4 }, clock(first.time)));
      }
      parts.push(draw("text", { x: this.right, y: height - 4, "text-anchor": "end" }, clock(last.time)));
      this.lines.forEach(([, values], i) => parts.push(...this.line(values, y, this.colours[i])));
      if (this.at !== null) parts.push(...this.cursor(y, top, bottom));
    }
    this.canvas.replaceChildren(...parts);
    this.describe();
  }

  line(values, y, colour) {
    const points = this.entries.map((entry, i) => [this.x(entry), values[i]]).filter(([, value]) => value !== null)
      .map(([x, value]) => [x.toFixed(1), y(value).toFixed(1)]);
    const style = `--own:var(--${colour})`;
    const found = [draw("polyline", { points: points.map((point) => point.join(",")).join(" "), style })];
    if (points.length <= 40) points.forEach(([cx, cy]) => found.push(draw("circle", { cx, cy, r: 2.2, style })));
    return found;
  }

  cursor(y, top, bottom) {
    const x = this.x(this.entries[this.at]);
    const found = [draw("line", { x1: x, x2: x, y1: top - 4, y2: bottom, class: "cursor" })];
    this.lines.forEach(([, values], i) => {
      const value = values[this.at];
      if (value !== null) {
        found.push(draw("circle", { cx: x, cy: y(value), r: 4, class: "spot", style: `--own:var(--${this.colours[i]})` }));
      }
    });
    return found;
  }

  /** The names of the lines, with their values at the cursor, or the last ones. */
  describe() {
    const place = this.at ?? this.entries.length - 1;
    const texts = this.lines.map(([name, values]) => {
      const value = this.at === null ? values.findLast((each) => each !== null) : values[place];
      return [name, value === undefined || value === null ? "–" : this.format(value)];
    });
    this.legend.replaceChildren(...texts.map(([name, value], i) => {
      const dot = make("i", "dot");
      dot.style.background = `var(--${this.colours[i]})`;
      return make("span", "", dot, make("span", "series", name), make("b", "", value));
    }));
    this.node.setAttribute("aria-label", `${this.title}: ${texts.map((pair) => pair.join(" ")).join(", ") || "nothing yet"}`);
  }
}
