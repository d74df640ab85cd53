// The state graph on a canvas: the start on the left, stuck states on the right. Drag to move, buttons to zoom.
const MOST_LINKS = 8000;  // so many are drawn, where dots are close to each other

class StateGraph {
  constructor(canvas, about, pick) {
    Object.assign(this, { canvas, about, pick, paths: [], at: [], hovered: -1, drag: null });
    const { columns, heights, state, folded } = data.dots;
    this.dots = columns.map((column, i) => ({ x: column, y: heights[i], state: state[i], folded: folded[i] || 0 }));
    this.dotOf = new Map(this.dots.map((dot, i) => [dot.state, i]));
    this.outcomes = new Set(data.outcomes);
    this.open = new Set(data.open);
    this.columns = Math.max(...columns) || 1;
    this.tallest = Math.max(1, ...heights.map((height) => 2 * Math.abs(height)));
    if (this.tallest < 7) canvas.classList.add("low");
    new ResizeObserver(() => this.fit()).observe(canvas);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.draw());
    canvas.addEventListener("pointerdown", (event) => this.press(event));
    canvas.addEventListener("pointermove", (event) => this.move(event));
    canvas.addEventListener("pointerup", (event) => this.release(event));
    canvas.addEventListener("pointerleave", () => this.hover(-1));
    canvas.addEventListener("wheel", (event) => {
      if (!event.ctrlKey && !event.metaKey) return;
      event.preventDefault();
      this.zoom(Math.exp(-event.deltaY / 200), event.offsetX, event.offsetY);
    }, { passive: false });
    canvas.addEventListener("keydown", (event) => {
      const factor = { "+": 1.4, "=": 1.4, "-": 1 / 1.4 }[event.key];
      if (factor) this.zoom(factor);
      if (event.key === "0") this.fit();
    });
    byId("closer").onclick = () => this.zoom(1.4);
    byId("farther").onclick = () => this.zoom(1 / 1.4);
    byId("whole").onclick = () => this.fit();
  }

  fit() {
    const { clientWidth: width, clientHeight: height } = this.canvas;
    const ratio = devicePixelRatio || 1;
    this.canvas.width = width * ratio;
    this.canvas.height = height * ratio;
    this.scaleX = Math.min(150, (width - 64) / this.columns);
    this.scaleY = Math.min(34, (height - 56) / this.tallest);
    this.left = (width - this.scaleX * this.columns) / 2;
    this.middle = height / 2;
    this.draw();
  }

  zoom(factor, x = this.canvas.clientWidth / 2, y = this.canvas.clientHeight / 2) {
    this.left = x - (x - this.left) * factor;
    this.middle = y - (y - this.middle) * factor;
    this.scaleX *= factor;
    this.scaleY *= factor;
    this.draw();
  }

  /** Mark runs, each a list of states, and the states where the reader is. */
  show(paths, at) {
    Object.assign(this, { paths, at });
    this.draw();
  }

  place(dot) {
    return [this.left + dot.x * this.scaleX, this.middle + dot.y * this.scaleY];
  }

  draw() {
    if (this.pending || !this.scaleX) return;
    this.pending = requestAnimationFrame(() => {
      this.pending = 0;
      this.paint();
    });
  }

  paint() {
    const ratio = devicePixelRatio || 1;
    const pen = this.canvas.getContext("2d");
    const style = getComputedStyle(document.body);
    const colour = (name) => style.getPropertyValue(`--${name}`);
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.clearRect(0, 0, this.canvas.width, this.canvas.height);
    const { links } = data.dots;
    pen.strokeStyle = colour("edge");
    pen.globalAlpha = links.length > 8000 ? 0.2 : links.length > 1200 ? 0.3 : 0.6;
    pen.lineWidth = links.length > 8000 ? 0.7 : 1;
    pen.beginPath();
    // where lines lie on each other, some of them look like all, and take a fraction of the time
    const among = this.scaleY < 3 ? Math.ceil(links.length / (2 * MOST_LINKS)) : 1;
    for (let i = 0; i < links.length; i += 2 * among) {
      pen.moveTo(...this.place(this.dots[links[i]]));
      pen.lineTo(...this.place(this.dots[links[i + 1]]));
    }
    pen.stroke();
    pen.globalAlpha = 1;
    const size = Math.max(1, Math.min(4.5, this.scaleX / 3, this.scaleY / 2.4));
    pen.fillStyle = colour("edge");
    for (const dot of this.dots) {
      const [x, y] = this.place(dot);
      if (size < 2) pen.fillRect(x - size, y - size, 2 * size, 2 * size);
      else this.disc(pen, x, y, size);
    }
    this.paths.forEach((path, i) => this.paintPath(pen, path, colour(i ? "warm" : "accent"), size, i));
    for (const dot of this.dots) this.paintSpecial(pen, dot, colour, size);
    this.at.forEach((state, i) => {
      const dot = this.dots[this.dotOf.get(state)];
      if (dot) this.ring(pen, dot, colour(i ? "warm" : "accent"), Math.max(size, 3) + (i && this.at[0] === state ? 8 : 5));
    });
    if (this.hovered >= 0) this.ring(pen, this.dots[this.hovered], colour("ink"), Math.max(size, 3) + 3, 1.5);
  }

  paintPath(pen, path, colour, size, number) {
    pen.strokeStyle = pen.fillStyle = colour;
    pen.lineWidth = 2.5;
    pen.beginPath();
    const shown = path.map((state) => this.dots[this.dotOf.get(state)]).filter(Boolean);
    shown.forEach((dot, i) => {
      const [x, y] = this.place(dot);
      const shift = this.paths.length > 1 ? (number ? 1.6 : -1.6) : 0;  // both are seen where they go together
      if (i) pen.lineTo(x, y + shift);
      else pen.moveTo(x, y + shift);
    });
    pen.stroke();
    for (const dot of shown) this.disc(pen, ...this.place(dot), Math.max(size, 2.5));
  }

  paintSpecial(pen, dot, colour, size) {
    const [x, y] = this.place(dot);
    const radius = Math.max(size, 3) + 2.5;
    if (data.broken[dot.state] || this.outcomes.has(dot.state)) {
      const bad = data.broken[dot.state] || data.bad;
      pen.fillStyle = colour(bad ? "bad" : "good");
      this.disc(pen, x, y, radius);
    } else if (this.open.has(dot.state) && this.scaleY > 3) {
      pen.setLineDash([2, 2]);
      this.ring(pen, dot, colour("warm"), radius, 1.2);
      pen.setLineDash([]);
    } else if (dot.folded) {
      pen.fillStyle = colour("muted");
      pen.fillRect(x - radius + 1, y - radius + 1, 2 * radius - 2, 2 * radius - 2);
    }
  }

  disc(pen, x, y, radius) {
    pen.beginPath();
    pen.arc(x, y, radius, 0, 7);
    pen.fill();
  }

  ring(pen, dot, colour, radius, width = 2) {
    const [x, y] = this.place(dot);
    pen.strokeStyle = colour;
    pen.lineWidth = width;
    pen.beginPath();
    pen.arc(x, y, radius, 0, 7);
    pen.stroke();
  }

  nearest(event) {
    let best = -1, least = 196;
    this.dots.forEach((dot, i) => {
      const [x, y] = this.place(dot);
      const far = (x - event.offsetX) ** 2 + (y - event.offsetY) ** 2;
      if (far < least) [best, least] = [i, far];
    });
    return best;
  }

  press(event) {
    this.drag = { x: event.offsetX, y: event.offsetY, moved: false };
    this.canvas.setPointerCapture(event.pointerId);
  }

  move(event) {
    if (!this.drag) return this.hover(this.nearest(event));
    const dx = event.offsetX - this.drag.x, dy = event.offsetY - this.drag.y;
    if (!this.drag.moved && Math.hypot(dx, dy) < 4) return;
    this.left += dx;
    this.middle += dy;
    this.drag = { x: event.offsetX, y: event.offsetY, moved: true };
    this.draw();
  }

  release(event) {
    const dot = this.drag && !this.drag.moved ? this.nearest(event) : -1;
    this.drag = null;
    if (dot >= 0) this.pick(this.dots[dot].state);
  }

  hover(dot) {
    if (dot === this.hovered) return;
    this.hovered = dot;
    this.about.textContent = dot < 0 ? this.about.dataset.hint : this.describe(this.dots[dot]);
    this.draw();
  }

  describe(dot) {
    if (dot.folded) return `${dot.folded.toLocaleString("en")} states, folded`;
    const ways = data.ways[dot.state];
    const count = ways === 1 ? "one schedule leads" : `${ways.toLocaleString("en")} schedules lead`;
    const next = leaving[dot.state].length;
    const then = data.broken[dot.state] || (this.open.has(dot.state) ? "its steps are not on this page" :
      next ? `${next} next step${next > 1 ? "s" : ""}` : "stuck: a final state");
    return `state ${dot.state}: ${count} here; ${then}`;
  }
}
