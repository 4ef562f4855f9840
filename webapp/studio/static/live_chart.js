// A small live line chart of a training run. SVG, so that colours follow the page's theme. `finished` and `live` are
// lists of series:
//   {id, run, slot, kind, x: [...], y: [...]}   slot 1..5 picks --sp-run-1..5, kind "train" | "test"
// `finished` is sent when runs change, `live` a few times a second.

const NS = "http://www.w3.org/2000/svg";
const MARGIN = { top: 14, right: 14, bottom: 34, left: 46 };
const HEIGHT = 240;
const CHANGES = "change:finished change:live change:x_max change:most change:logarithmic change:axis_words";

function svg(name, attributes, text) {
  const node = document.createElementNS(NS, name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  if (text !== undefined) node.textContent = text;
  return node;
}

function element(name, className, text) {
  const node = document.createElement(name);
  if (className) node.className = className;
  if (text !== undefined) node.textContent = text;
  return node;
}

// Round values between low and high, about `count` of them: 1, 2 or 5 times a power of ten apart.
export function ticks(low, high, count) {
  const span = high - low;
  if (!(span > 0)) return [low];
  const raw = span / count;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= raw * 0.999);
  const out = [];
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high + step * 1e-9; k++) out.push(k * step);
  return out;
}

// Lowest and highest y that the axis shows. The first points of a run can be far from all later ones: the axis omits
// losses above three times the 95th percentile and the lowest tenth of high accuracies; the line is
// clipped there. `most` is the highest share that is shown.
export function range(series, format, most = 1) {
  const values = series.flatMap((s) => s.y);
  if (!values.length) return format === "percent" ? [0, most] : [0, 2.5];
  const sorted = values.slice().sort((a, b) => a - b);
  if (format === "percent") {
    const low = sorted[Math.floor((sorted.length - 1) * 0.1)];
    return [low > 0.85 ? 0.8 : low > 0.6 ? 0.5 : 0, most];
  }
  const usual = sorted[Math.floor((sorted.length - 1) * 0.95)] * 3;
  const high = Math.min(sorted[sorted.length - 1], usual > 0 ? usual : Infinity);
  return [0, high > 0 ? high * 1.05 : 1];
}

// Lowest and highest y of a logarithmic axis: all values, up to ten million times the lowest, so that a run that goes to
// infinity does not press the others flat again.
export function decades(series) {
  const values = series.flatMap((s) => s.y).filter((v) => v > 0);
  if (!values.length) return [0.1, 10];
  const low = Math.min(...values);
  return [low * 0.8, Math.min(Math.max(...values), low * 1e7) * 1.25];
}

// Powers of ten between low and high, at most six; with 2 and 5 times these where there are few.
export function logTicks(low, high) {
  const first = Math.ceil(Math.log10(low) - 1e-9), last = Math.floor(Math.log10(high) + 1e-9);
  const every = Math.max(1, Math.ceil((last - first + 1) / 6));
  const out = [];
  for (let k = first - 1; k <= last; k++) {
    const factors = last - first < 2 ? [1, 2, 5] : (k - first) % every ? [] : [1];
    out.push(...factors.map((m) => m * 10 ** k).filter((v) => v >= low && v <= high));
  }
  return out;
}

function number(value, format) {
  if (format === "percent") return `${(value * 100).toFixed(value * 100 >= 99.95 || value === 0 ? 0 : 1)} %`;
  const size = Math.abs(value);
  return size >= 1e4 || (size < 1e-3 && size > 0) ? value.toExponential(1) : String(+value.toPrecision(3));
}

function tickText(value, format) {
  return format === "percent" ? `${+(value * 100).toFixed(1)} %` : number(value, format);
}

function render({ model, el }) {
  const format = model.get("format");
  const root = element("figure", "tr-chart");
  const head = element("figcaption", "tr-chart-head");
  const title = element("span", "tr-chart-title", model.get("title"));
  const readout = element("span", "tr-chart-readout sp-number");
  readout.setAttribute("aria-hidden", "true");
  head.append(title, readout);
  const frame = element("div", "tr-chart-frame");
  const legend = element("ul", "tr-legend");
  const axis = element("p", "tr-axis sp-muted");
  const why = element("span");
  const toggle = element("button", "tr-link");
  toggle.type = "button";
  axis.append(why, toggle);
  const summary = element("p", "sp-hidden tr-chart-summary");
  summary.setAttribute("role", "status");
  root.append(head, frame, legend, axis, summary);
  el.append(root);

  let pending = 0;
  let scale = null;
  const all = () => model.get("finished").concat(model.get("live")).filter((s) => s.x.length);

  function draw() {
    pending = 0;
    const width = Math.max(frame.clientWidth, 220);
    const series = all();
    const log = model.get("logarithmic") && format === "number";
    const [low, high] = log ? decades(series) : range(series, format, model.get("most"));
    const words = model.get("axis_words");
    axis.hidden = !words.linear;
    why.textContent = log ? words.why : "";
    toggle.textContent = log ? words.linear : words.logarithmic;
    root.dataset.axis = log ? "logarithmic" : "linear";
    const last = Math.max(model.get("x_max"), ...series.map((s) => s.x[s.x.length - 1]));
    const inner = { w: width - MARGIN.left - MARGIN.right, h: HEIGHT - MARGIN.top - MARGIN.bottom };
    const x = (v) => MARGIN.left + (v / last) * inner.w;
    const share = (v) => (log ? Math.log(v / low) / Math.log(high / low) : (v - low) / (high - low));
    const y = (v) => MARGIN.top + (1 - share(Math.min(Math.max(v, low), high * 1.02))) * inner.h;
    scale = { x, y, last, inner, series };
    const picture = svg("svg", { viewBox: `0 0 ${width} ${HEIGHT}`, height: HEIGHT, role: "img" });
    picture.setAttribute("aria-label", model.get("title"));
    for (const value of log ? logTicks(low, high) : ticks(low, high, 4)) {
      picture.append(svg("line", { class: "tr-gridline", x1: MARGIN.left, x2: width - MARGIN.right, y1: y(value), y2: y(value) }));
      picture.append(svg("text", { class: "tr-tick", x: MARGIN.left - 8, y: y(value) + 4, "text-anchor": "end" }, tickText(value, format)));
    }
    for (const value of ticks(0, last, Math.max(2, Math.floor(inner.w / 70))).filter(Number.isInteger)) {
      picture.append(svg("text", { class: "tr-tick", x: x(value), y: HEIGHT - 16, "text-anchor": "middle" }, String(value)));
    }
    picture.append(svg("text", { class: "tr-tick", x: width - MARGIN.right, y: HEIGHT - 3, "text-anchor": "end" }, model.get("x_label")));
    for (const s of series) {
      const color = `var(--sp-run-${s.slot})`;
      const points = s.x.map((v, i) => `${x(v).toFixed(1)},${y(s.y[i]).toFixed(1)}`);
      const line = svg("polyline", { class: `tr-line is-${s.kind}`, points: points.join(" ") });
      line.style.stroke = color;
      picture.append(line);
      // A mark for each evaluation if there is space, else only for the last; a single point would draw no line.
      const n = s.x.length;
      const roomy = n === 1 || (x(s.x[n - 1]) - x(s.x[0])) / (n - 1) >= 14;
      const marks = s.kind === "train" && n > 1 ? [] : roomy ? s.x.map((_, i) => i) : [n - 1];
      for (const i of marks) {
        const dot = svg("circle", { cx: x(s.x[i]), cy: y(s.y[i]), r: 3 });
        dot.style.fill = color;
        picture.append(dot);
      }
    }
    if (!series.length) {
      picture.append(svg("text", { class: "tr-chart-empty", x: MARGIN.left + inner.w / 2, y: MARGIN.top + inner.h / 2, "text-anchor": "middle" }, model.get("empty")));
    }
    picture.append(svg("line", { class: "tr-cursor", x1: 0, x2: 0, y1: MARGIN.top, y2: HEIGHT - MARGIN.bottom, visibility: "hidden" }));
    frame.replaceChildren(picture);
    root.dataset.points = String(series.reduce((n, s) => n + s.x.length, 0));
    const entries = [];
    const runs = new Map(series.map((s) => [s.run, s.slot]));
    for (const [name, slot] of runs) {
      const item = element("li");
      const swatch = element("span", "tr-swatch");
      swatch.style.background = `var(--sp-run-${slot})`;
      item.append(swatch, name);
      entries.push(item);
    }
    if (series.length) {
      for (const kind of ["train", "test"]) {
        if (!model.get("kinds")[kind]) continue; // a chart that has lines of one kind alone
        const item = element("li", "tr-legend-kind");
        item.append(element("span", `tr-stroke is-${kind}`), model.get("kinds")[kind]);
        entries.push(item);
      }
    }
    legend.replaceChildren(...entries);
  }

  function schedule() {
    if (!pending) pending = requestAnimationFrame(draw);
  }

  // The value of each test curve (or training curve, if there is no other) under the pointer.
  function point(event) {
    const cursor = frame.querySelector(".tr-cursor");
    if (!scale || !scale.series.length || !cursor) return;
    const box = frame.getBoundingClientRect();
    const at = ((event.clientX - box.left - MARGIN.left) / scale.inner.w) * scale.last;
    if (at < 0 || at > scale.last) return leave();
    cursor.setAttribute("x1", scale.x(at));
    cursor.setAttribute("x2", scale.x(at));
    cursor.setAttribute("visibility", "visible");
    const parts = scale.series.filter((s) => s.kind === "train" || scale.series.length === 1).map((s) => {
      let best = 0;
      s.x.forEach((v, i) => { if (Math.abs(v - at) < Math.abs(s.x[best] - at)) best = i; });
      return `${s.run}: ${number(s.y[best], format)}`;
    });
    readout.textContent = parts.join("  ·  ");
  }

  function leave() {
    readout.textContent = "";
    frame.querySelector(".tr-cursor")?.setAttribute("visibility", "hidden");
  }

  toggle.addEventListener("click", () => {
    model.set("logarithmic", !model.get("logarithmic"));
    model.set("chosen", true);
    model.save_changes();
    schedule();
  });
  const say = () => { if (summary.textContent !== model.get("summary")) summary.textContent = model.get("summary"); };
  frame.addEventListener("pointermove", point);
  frame.addEventListener("pointerleave", leave);
  const resize = new ResizeObserver(schedule);
  resize.observe(frame);
  model.on(CHANGES, schedule);
  model.on("change:summary", say);
  say();
  draw();
  return () => {
    resize.disconnect();
    cancelAnimationFrame(pending);
    model.off(CHANGES, schedule);
    model.off("change:summary", say);
  };
}

export default { render };
