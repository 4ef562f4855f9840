// A program on the tape, step by step forward and backward. `data`: {boxes, lines, steps, sources} as created by
// studio/views/tape/walk.py. It contains all steps, so stepping sends no request to the kernel.

const SVG = "http://www.w3.org/2000/svg";
const BOX_WIDTH = 138, BOX_HEIGHT = 44, COLUMN = 158, LAYER = 74;
const SECONDS_A_STEP = 1.1;
const SMALLEST = 0.65;  // a graph that is wider is shrunk to its frame as far as this; below it the text cannot be read

function node(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

function shape(name, attributes, text) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text !== undefined) made.textContent = text;
  return made;
}

const fill = (sentence, values) => sentence.replace(/\{(\w+)\}/g, (_, name) => values[name]);

function render({ model, el }) {
  let at = 0, timer = null, boxes = [], lines = [], scale = 1;
  const words = model.get("words");
  const root = node("section", { class: "tp-walk" });
  el.append(root);

  const button = (word, act) => {
    const made = node("button", { type: "button", class: "sp-button is-quiet", "data-do": word }, words[word]);
    made.addEventListener("click", act);
    return made;
  };
  const data = () => model.get("data");
  const last = () => data().steps.length - 1;
  const play = button("play", () => (timer ? pause() : begin()));
  play.classList.remove("is-quiet");
  const slider = node("input", { type: "range", min: 0, max: 0, value: 0, class: "tp-slider", "aria-label": words.steps });
  slider.addEventListener("input", () => { pause(); go(+slider.value); });
  const position = node("p", { class: "tp-position sp-number", role: "status" });
  const controls = node("div", { class: "sp-card tp-controls" },
    node("div", { class: "sp-row" }, position), node("div", { class: "sp-row" },
      button("first", () => { pause(); go(0); }), button("previous", () => { pause(); go(at - 1); }), play,
      button("next", () => { pause(); go(at + 1); }), button("last", () => { pause(); go(last()); })),
    slider, node("p", { class: "sp-muted sp-small" }, words.keys));
  const drawing = shape("svg", { role: "img" });
  const picture = node("div", { class: "tp-picture", tabindex: 0, role: "region", "aria-label": words.picture });
  picture.append(drawing);
  const legend = node("ul", { class: "tp-legend" }, ...["parameter", "value", "now", "gradient"].map((kind) =>
    node("li", {}, node("span", { class: `tp-swatch is-${kind}` }), words[`legend_${kind}`])));
  const details = node("div", { class: "sp-card tp-details", role: "region", "aria-label": words.details });
  const empty = node("p", { class: "sp-muted sp-card" }, words.nothing);
  const rest = node("p", { class: "sp-muted sp-small tp-rest" }, words.rest);
  const graph = node("div", { class: "sp-card tp-graph" }, legend, picture, rest);
  const columns = node("div", { class: "tp-columns" }, graph, details);
  const room = new ResizeObserver(fit);
  room.observe(picture);

  function begin() {
    if (at >= last()) go(0);
    position.setAttribute("aria-live", "off");  // a reader would be talked over
    timer = setInterval(() => (at < last() ? go(at + 1) : pause()), 1000 * SECONDS_A_STEP);
    play.textContent = words.pause;
  }

  function pause() {
    clearInterval(timer);
    timer = null;
    position.removeAttribute("aria-live");
    play.textContent = words.play;
  }

  function draw() {
    pause();
    if (!data().steps) {
      root.replaceChildren(empty);
      return;
    }
    const width = Math.max(...data().boxes.map((box) => box.x)) + COLUMN / 2;
    const height = Math.max(...data().boxes.map((box) => box.y)) + LAYER / 2;
    drawing.setAttribute("viewBox", `0 0 ${width} ${height}`);
    drawing.setAttribute("aria-label", fill(words.picture, {}));
    lines = data().lines.map(([from, to, points]) => {
      const way = [];
      for (let i = 0; i < points.length; i += 2) way.push([points[i], points[i + 1]]);
      way[0] = [way[0][0], way[0][1] + BOX_HEIGHT / 2];
      way.push([way.at(-1)[0], way.pop()[1] - BOX_HEIGHT / 2]);
      return { from, to, line: shape("polyline", { class: "tp-line", points: way.map((p) => p.join(",")).join(" ") }) };
    });
    boxes = data().boxes.map((box) => {
      const group = shape("g", { class: "tp-box", transform: `translate(${box.x} ${box.y})`, "data-box": box.id });
      group.append(
        shape("title", {}, `${box.title} ${box.shape}`),
        shape("rect", { x: -BOX_WIDTH / 2, y: -BOX_HEIGHT / 2, width: BOX_WIDTH, height: BOX_HEIGHT, rx: 7 }),
        shape("text", { class: "tp-name", y: -3 }, box.title.length > 18 ? `…${box.title.slice(-17)}` : box.title),
        shape("text", { class: "tp-shape", y: 14 }, box.shape));
      return { ...box, group };
    });
    drawing.replaceChildren(...lines.map((one) => one.line), ...boxes.map((one) => one.group));
    slider.max = last();
    root.replaceChildren(controls, columns);
    fit();
    go(0);
  }

  function fit() {  // the whole graph where it stays readable, else a part of it and a line that says so
    const { width, height } = drawing.viewBox.baseVal;
    if (!width || !picture.clientWidth) return;
    scale = Math.min(1, Math.max(picture.clientWidth / width, SMALLEST));
    drawing.setAttribute("width", Math.floor(width * scale));
    drawing.setAttribute("height", Math.floor(height * scale));
    graph.dataset.scrolls = picture.scrollWidth > picture.clientWidth + 1 || picture.scrollHeight > picture.clientHeight + 1;
  }

  function go(step) {
    at = Math.min(Math.max(step, 0), last());
    const now = data().steps[at];
    root.dataset.step = at;
    root.dataset.phase = now.phase;
    for (const box of boxes) {
      const gradient = box.backward <= at, value = box.forward <= at;
      box.group.setAttribute("class", `tp-box is-${box.kind}${value ? " has-value" : ""}${gradient ? " has-gradient" : ""}` +
        (box.id === now.box ? " is-now" : ""));
    }
    for (const { from, to, line } of lines) line.classList.toggle("is-now", to === now.box);
    slider.value = at;
    const sentence = fill(words.position, { step: at + 1, steps: last() + 1, phase: words[now.phase], name: now.title });
    slider.setAttribute("aria-valuetext", sentence);
    position.textContent = sentence;
    for (const [word, off] of [["first", at === 0], ["previous", at === 0], ["next", at === last()], ["last", at === last()]]) {
      controls.querySelector(`[data-do="${word}"]`).setAttribute("aria-disabled", String(off));
    }
    tell(now);
    show(boxes.find((box) => box.id === now.box));
  }

  function tell(now) {
    const list = node("dl", { class: "tp-facts" });
    for (const [name, value] of now.rows) list.append(node("dt", {}, name), node("dd", { class: "sp-number" }, value));
    const source = data().sources[now.source];
    const code = node("pre", { class: "tp-source", tabindex: 0, "aria-label": words.source });
    const kind = now.phase === "forward" ? "value" : "derivative";
    for (const [text, part] of source.parts) {
      code.append(part === kind ? node("mark", {}, text) : text);
    }
    details.replaceChildren(
      node("h2", {}, now.title, " ", node("span", { class: `sp-tag${now.phase === "forward" ? " is-accent" : ""}` }, words[now.phase])),
      list, node("h3", {}, words.source), node("p", { class: "sp-muted sp-small" }, source.file), code);
  }

  function show(box) {  // scrolls the picture alone, never the page
    if (!box) return;
    picture.scrollTo({ left: box.x * scale - picture.clientWidth / 2, top: box.y * scale - picture.clientHeight / 2 });
  }

  const moves = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: 1, ArrowUp: -1 };
  picture.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    if (event.key in moves) go(at + moves[event.key]);
    else if (event.key === "Home") go(0);
    else if (event.key === "End") go(last());
    else if (event.key === " ") timer ? pause() : begin();
    else return;
    if (event.key !== " ") pause();
    event.preventDefault();
  });

  model.on("change:data", draw);
  draw();
  return () => {
    pause();
    room.disconnect();
    model.off("change:data", draw);
  };
}

export default { render };
