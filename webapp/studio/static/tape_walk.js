// A program on the tape, step by step forward and backward. `data`: {boxes, lines, steps, sources} as created by
// studio/views/tape/walk.py. It contains all steps, so stepping sends no request to the kernel. Other numbers for a
// parameter are sent to it: {name, numbers}, {name, random} or {name, own}.

const SVG = "http://www.w3.org/2000/svg";
const BOX_WIDTH = 138, BOX_HEIGHT = 68, COLUMN = 158, LAYER = 98;
const SMALL = { width: 60, height: 20, rows: 4, columns: 10 };  // a heat map in a box, of so many numbers
const WRITTEN = 6;  // a heat map of at most so many columns shows its numbers
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

// 0..1: how strongly a number is coloured, as a share of the largest of its table.
function strength(table, number) {
  const most = Math.max(Math.abs(table.least), Math.abs(table.greatest));
  return typeof number === "number" && most > 0 ? Math.min(Math.abs(number) / most, 1) : 0;
}

// The index of a number, as Python writes it: row and column of its table, in the axes of the tensor.
function place(table, row, column) {
  if (!table.shape.length) return "";
  const index = [column];
  for (const length of table.shape.slice(0, -1).reverse()) {
    index.unshift(row % length);
    row = Math.floor(row / length);
  }
  return `[${index.join(", ")}]`;
}

function spread(list, most) {
  return list.length <= most ? list : Array.from({ length: most }, (_, i) => list[Math.round(i * (list.length - 1) / (most - 1))]);
}

// A heat map for a box of the graph, its left upper corner at (x, y).
function small(table, kind, x, y) {
  const group = shape("g", { class: `tp-small is-${kind}`, transform: `translate(${x} ${y})` });
  if (!table) return group;
  const rows = spread(table.values, SMALL.rows), columns = rows.length ? spread(rows[0].map((_, i) => i), SMALL.columns) : [];
  if (!columns.length) return group;
  const width = SMALL.width / columns.length, height = SMALL.height / rows.length;
  rows.forEach((row, i) => columns.forEach((column, j) => {
    const level = strength(table, row[column]);
    if (level > 0.02) group.append(shape("rect", { class: row[column] < 0 ? "is-below" : "is-above", x: (j * width).toFixed(1), y: (i * height).toFixed(1),
      width: width.toFixed(1), height: height.toFixed(1), "fill-opacity": level.toFixed(2) }));
  }));
  group.append(shape("rect", { class: "tp-small-frame", width: SMALL.width, height: SMALL.height }));
  return group;
}

function render({ model, el }) {
  let looked = null, editing = false;  // the box whose numbers are shown, if not that of the step
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
  slider.addEventListener("input", () => { pause(); step(+slider.value); });
  const position = node("p", { class: "tp-position sp-number", role: "status" });
  const controls = node("div", { class: "sp-card tp-controls" },
    node("div", { class: "sp-row" }, position), node("div", { class: "sp-row" },
      button("first", () => { pause(); step(0); }), button("previous", () => { pause(); step(at - 1); }), play,
      button("next", () => { pause(); step(at + 1); }), button("last", () => { pause(); step(last()); })),
    slider, node("p", { class: "sp-muted sp-small" }, words.keys));
  const drawing = shape("svg", { role: "img" });
  const picture = node("div", { class: "tp-picture", tabindex: 0, role: "region", "aria-label": words.picture });
  picture.append(drawing);
  const legend = node("ul", { class: "tp-legend" }, ...["parameter", "value", "now", "gradient"].map((kind) =>
    node("li", {}, node("span", { class: `tp-swatch is-${kind}` }), words[`legend_${kind}`])));
  const choice = node("select", { "aria-label": words.numbers });
  choice.addEventListener("change", () => { looked = choice.value === "" ? null : +choice.value; pause(); go(at); });
  const tables = node("div", { class: "tp-tables" });
  const chooser = node("label", { class: "tp-chooser" }, `${words.numbers} `, choice);
  const readout = node("p", { class: "sp-number sp-small tp-readout", role: "status" });
  const panel = node("div", { class: "sp-card tp-numbers" }, chooser, tables, readout);
  const about = node("div", { class: "sp-card tp-details", role: "region", "aria-label": words.details });
  const details = node("div", { class: "tp-side-by" }, panel, about);
  const empty = node("p", { class: "sp-muted sp-card" }, words.nothing);
  const rest = node("p", { class: "sp-muted sp-small tp-rest" }, words.rest);
  const shades = ["left", "right", "top", "bottom"].map((side) => node("span", { class: `tp-shade is-${side}`, "aria-hidden": "true" }));
  const frame = node("div", { class: "tp-window" }, picture, ...shades);
  const graph = node("div", { class: "sp-card tp-graph" }, legend, rest, frame);
  const columns = node("div", { class: "tp-columns" }, graph, details);
  picture.addEventListener("scroll", edges, { passive: true });
  const room = new ResizeObserver(fit);
  room.observe(picture);

  function begin() {
    if (at >= last()) go(0);
    looked = null;
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
    drawing.setAttribute("aria-label", words.picture);
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
        shape("text", { class: "tp-name", y: -17 }, box.title.length > 18 ? `…${box.title.slice(-17)}` : box.title),
        shape("text", { class: "tp-shape", y: -1 }, box.shape),
        small(box.value, "value", -SMALL.width - 3, 7), small(box.gradient, "gradient", 3, 7));
      group.addEventListener("click", () => look(box.id));
      return { ...box, group };
    });
    drawing.replaceChildren(...lines.map((one) => one.line), ...boxes.map((one) => one.group));
    slider.max = last();
    root.replaceChildren(controls, columns);
    choice.replaceChildren(node("option", { value: "" }, words.this_step), ...boxes.map((box) =>
      node("option", { value: box.id }, [box.title, box.shape].join(" "))));
    fit();
    if (!data().keep) looked = null;
    go(data().keep ? at : 0);
  }

  function edges() {  // a shadow where the graph goes on
    const { scrollLeft, scrollTop, scrollWidth, scrollHeight, clientWidth, clientHeight } = picture;
    const more = { left: scrollLeft > 1, right: scrollLeft + clientWidth < scrollWidth - 1, top: scrollTop > 1,
      bottom: scrollTop + clientHeight < scrollHeight - 1 };
    graph.dataset.more = Object.keys(more).filter((side) => more[side]).join(" ");
  }

  function fit() {  // the whole graph where it stays readable, else a part of it and a line that says so
    const { width, height } = drawing.viewBox.baseVal;
    if (!width || !picture.clientWidth) return;
    scale = Math.min(1, Math.max(picture.clientWidth / width, SMALLEST));
    drawing.setAttribute("width", Math.floor(width * scale));
    drawing.setAttribute("height", Math.floor(height * scale));
    graph.dataset.scrolls = picture.scrollWidth > picture.clientWidth + 1 || picture.scrollHeight > picture.clientHeight + 1;
    edges();
  }

  function step(to) {  // by the visitor: the numbers shown are those of the step again
    looked = null;
    go(to);
  }

  function look(id) {
    pause();
    looked = id;
    go(at);
  }

  function go(step) {
    editing = false;
    at = Math.min(Math.max(step, 0), last());
    const now = data().steps[at];
    root.dataset.step = at;
    root.dataset.phase = now.phase;
    for (const box of boxes) {
      const gradient = box.backward <= at, value = box.forward <= at;
      box.group.setAttribute("class", `tp-box is-${box.kind}${value ? " has-value" : ""}${gradient ? " has-gradient" : ""}` +
        (box.id === now.box ? " is-now" : "") + (box.id === looked ? " is-looked" : ""));
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
    numbers(boxes.find((box) => box.id === (looked ?? now.box)));
    if (looked === null) show(boxes.find((box) => box.id === now.box));
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
    about.replaceChildren(
      node("h2", {}, now.title, " ", node("span", { class: `sp-tag${now.phase === "forward" ? " is-accent" : ""}` }, words[now.phase])),
      list, node("h3", {}, words.source), node("p", { class: "sp-muted sp-small" }, source.file), code);
  }

  // ---- numbers

  function numbers(box) {
    choice.value = looked === null ? "" : String(looked);
    readout.textContent = words.number_keys;
    const value = box.forward <= at ? heat(box.value, words.value, box) : words.later;
    const gradient = box.backward <= at ? heat(box.gradient, words.gradient, box) : words.later;
    const part = (word, shown) => typeof shown === "string"
      ? node("figure", { class: "tp-heat" }, node("figcaption", {}, words[word]), node("p", { class: "sp-muted sp-small" }, shown)) : shown;
    tables.replaceChildren(part("value", value), part("gradient", gradient), ...(box.name ? [changes(box)] : []));
  }

  function heat(table, word, box) {
    if (!table) return words.unknown;
    const edits = editing && word === words.value;
    const figure = node("figure", { class: "tp-heat" }, node("figcaption", {}, `${word} ${JSON.stringify(table.shape).replaceAll(",", ", ")}`));
    const say = (number, i, j) => `${box.title}${place(table, table.rows[i], table.columns[j])} = ${number}`;
    const cells = node("div", { class: `tp-cells${table.columns.length <= WRITTEN ? " is-written" : ""}`,
      style: `--columns: ${Math.max(table.columns.length, 1)}` });
    table.values.forEach((row, i) => row.forEach((number, j) => {
      if (edits) {
        cells.append(node("input", { type: "number", step: "any", value: number, "aria-label": say("", i, j) }));
        return;
      }
      const cell = node("span", { class: number < 0 ? "is-below" : "is-above", style: `--level: ${strength(table, number).toFixed(3)}` });
      if (table.columns.length <= WRITTEN) cell.textContent = typeof number === "number" ? short(number) : number;
      cell.addEventListener("pointerenter", () => point(i * table.columns.length + j));
      cells.append(cell);
    }));
    const flat = table.values.flat();
    let cursor = -1;
    function point(to) {
      cells.children[cursor]?.classList.remove("is-pointed");
      cursor = to;
      cells.children[cursor].classList.add("is-pointed");
      readout.textContent = say(flat[cursor], Math.floor(cursor / table.columns.length), cursor % table.columns.length);
    }
    if (!edits && flat.length) {
      cells.tabIndex = 0;
      cells.setAttribute("role", "group");
      cells.setAttribute("aria-label", `${word}, ${box.title}. ${words.number_keys}`);
      cells.addEventListener("keydown", (event) => {
        const wide = table.columns.length;
        const by = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: wide, ArrowUp: -wide, Home: -cursor, End: flat.length - 1 - cursor }[event.key];
        if (by === undefined || event.ctrlKey || event.altKey || event.metaKey) return;
        event.preventDefault();
        if (cursor < 0) point(0);
        else if (cursor + by >= 0 && cursor + by < flat.length) point(cursor + by);
      });
    }
    const said = [fill(words.scale, { least: table.least, greatest: table.greatest })];
    const all = table.shape.at(-1) ?? 1;
    if (table.rows.length < table.height || table.columns.length < all) {
      said.push(fill(words.sample, { rows: table.rows.length, height: table.height, columns: table.columns.length, width: all }));
    }
    figure.append(cells, node("p", { class: "sp-muted sp-small sp-number" }, said.join(" ")));
    return figure;
  }

  function changes(box) {
    const row = node("div", { class: "sp-row tp-changes" });
    const add = (word, act) => {
      const made = node("button", { type: "button", class: "sp-button is-quiet is-small", "data-do": word }, words[word]);
      made.addEventListener("click", act);
      row.append(made);
    };
    const send = (content) => model.send({ name: box.name, ...content });
    const whole = box.value && box.value.rows.length === box.value.height && box.value.columns.length === (box.value.shape.at(-1) ?? 1);
    if (editing) {
      add("set", () => send({ numbers: [...tables.querySelectorAll(".tp-cells input")].map(changed) }));
      add("keep", () => edit(false, box));
    } else {
      if (whole && box.value.values.flat().length && box.value.values.flat().length <= data().most) add("change", () => edit(true, box));
      add("random", () => send({ random: true }));
      if (data().changed.includes(box.name)) {
        add("own", () => send({ own: true }));
        row.append(node("span", { class: "sp-tag" }, words.changed));
      }
    }
    return row;
  }

  // A number as it was is null: the page shows fewer digits than it has.
  function changed(field) {
    if (field.value === field.defaultValue) return null;
    return Number.isFinite(field.valueAsNumber) ? field.valueAsNumber : "none";
  }

  function edit(on, box) {
    editing = on;
    looked = box.id;
    numbers(box);
    (on ? tables.querySelector("input") : tables.querySelector('[data-do="change"]'))?.focus();
  }

  function short(number) {  // three significant digits at most, in few characters
    const size = Math.abs(number);
    if (number === 0) return "0";
    return size >= 1000 || size < 0.001 ? number.toExponential(0).replace("e+", "e") : String(+number.toPrecision(size < 1 ? 2 : 3));
  }

  function show(box) {  // scrolls the picture alone, never the page
    if (!box) return;
    picture.scrollTo({ left: box.x * scale - picture.clientWidth / 2, top: box.y * scale - picture.clientHeight / 2 });
  }

  const moves = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: 1, ArrowUp: -1 };
  picture.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    if (event.key in moves) step(at + moves[event.key]);
    else if (event.key === "Home") step(0);
    else if (event.key === "End") step(last());
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
