// A graph as nodes and straight edges, drawn by WebGL in the theme's colours. `points` are float32 pairs, `ends`
// uint32 pairs, `slots` and `radii` a byte for each node: its colour in PALETTE, its radius in pixels. Moving and
// zooming change three numbers of the shaders; nothing is sent to the graphics card again.
//
// `marks` {nodes: [[node, slot]], edges: [[from, to, slot]]} and labels are few: a second, flat canvas above has them.
// `selected` is the node that a click or the keys n and p chose, -1 for none.

const PALETTE = ["edge", "run-1", "run-2", "run-3", "run-4", "run-5", "soft", "good", "bad"];
const MOVES = ["nearer", "farther", "reset"];
const SIGNS = { nearer: "+", farther: "−", reset: "⟲" };
const KEYS = { "+": "nearer", "=": "nearer", "-": "farther", "0": "reset", ArrowLeft: "left", ArrowRight: "right", ArrowUp: "up", ArrowDown: "down", n: "next", p: "before" };
const REACH = 14; // pixels around a node that still hit it
const NAMED = 90; // all nodes of a graph up to this size have their names

const VERTEX = `#version 300 es
in vec2 place; in float slot; in float radius;
uniform vec2 scale; uniform vec2 shift; uniform float dots; uniform vec3 palette[9];
out vec3 colour;
void main() {
  gl_Position = vec4(place * scale + shift, 0.0, 1.0);
  gl_PointSize = radius * dots;
  colour = palette[int(slot)];
}`;
const FRAGMENT = `#version 300 es
precision mediump float;
in vec3 colour; out vec4 shown; uniform float alpha; uniform bool round;
void main() {
  if (round && length(gl_PointCoord - 0.5) > 0.5) discard;
  shown = vec4(colour * alpha, alpha);
}`;

const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--sp-${name}`).trim();
const rgb = (hex) => [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16) / 255);

function element(name, className, parent) {
  const node = document.createElement(name);
  node.className = className;
  parent?.append(node);
  return node;
}

function typed(model, name, kind) {
  const view = model.get(name);
  return view?.byteLength ? new kind(view.buffer.slice(view.byteOffset, view.byteOffset + view.byteLength)) : new kind(0);
}

// The program and its buffers, or null where there is no WebGL 2.
function drawing(canvas) {
  const gl = canvas.getContext("webgl2", { antialias: false, premultipliedAlpha: true });
  if (!gl) return null;
  const program = gl.createProgram();
  for (const [kind, text] of [[gl.VERTEX_SHADER, VERTEX], [gl.FRAGMENT_SHADER, FRAGMENT]]) {
    const shader = gl.createShader(kind);
    gl.shaderSource(shader, text);
    gl.compileShader(shader);
    gl.attachShader(program, shader);
  }
  ["place", "slot", "radius"].forEach((name, at) => gl.bindAttribLocation(program, at, name));
  gl.linkProgram(program);
  if (!gl.getProgramParameter(program, gl.LINK_STATUS)) return null;
  gl.useProgram(program);
  gl.enable(gl.BLEND);
  gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
  const at = (name) => gl.getUniformLocation(program, name);
  const uniforms = Object.fromEntries(["scale", "shift", "dots", "palette", "alpha", "round"].map((name) => [name, at(name)]));
  const buffers = [0, 1, 2, 3].map(() => gl.createBuffer());
  let edges = 0, nodes = 0;
  const attribute = (place, array, size, kind) => {
    gl.bindBuffer(gl.ARRAY_BUFFER, buffers[place]);
    gl.bufferData(gl.ARRAY_BUFFER, array, gl.DYNAMIC_DRAW);
    gl.enableVertexAttribArray(place);
    gl.vertexAttribPointer(place, size, kind, false, 0, 0);
  };
  return {
    gl,
    places(points) { nodes = points.length / 2; attribute(0, points, 2, gl.FLOAT); },
    looks(slots, radii) { attribute(1, slots, 1, gl.UNSIGNED_BYTE); attribute(2, radii, 1, gl.UNSIGNED_BYTE); },
    ends(pairs) {
      edges = pairs.length;
      gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, buffers[3]);
      gl.bufferData(gl.ELEMENT_ARRAY_BUFFER, pairs, gl.STATIC_DRAW);
    },
    draw({ scale, shift, dots, line, colours, alphas }) {
      gl.viewport(0, 0, canvas.width, canvas.height);
      gl.clearColor(0, 0, 0, 0);
      gl.clear(gl.COLOR_BUFFER_BIT);
      if (!nodes) return;
      gl.uniform2f(uniforms.scale, ...scale);
      gl.uniform2f(uniforms.shift, ...shift);
      gl.uniform1f(uniforms.dots, dots);
      gl.uniform1i(uniforms.round, 0);
      gl.uniform1f(uniforms.alpha, alphas[0]);
      gl.uniform3fv(uniforms.palette, new Float32Array(colours.map(() => line).flat()));
      if (edges) gl.drawElements(gl.LINES, edges, gl.UNSIGNED_INT, 0);
      gl.uniform1i(uniforms.round, 1);
      gl.uniform1f(uniforms.alpha, alphas[1]);
      gl.uniform3fv(uniforms.palette, new Float32Array(colours.flat()));
      gl.drawArrays(gl.POINTS, 0, nodes);
    },
  };
}

function render({ model, el }) {
  const words = model.get("words");
  const root = element("figure", "sx-plot gr-view", el);
  const head = element("figcaption", "sx-plot-head", root);
  const title = element("span", "sx-plot-title", head);
  const tools = element("span", "sx-plot-tools", head);
  const frame = element("div", "gr-frame", root);
  frame.tabIndex = 0;
  frame.setAttribute("role", "group");
  const sheet = element("canvas", "gr-sheet", frame);
  const over = element("canvas", "gr-sheet", frame);
  const empty = element("p", "sp-muted gr-empty", frame);
  const summary = element("p", "sp-small sp-muted sx-plot-summary", root);
  for (const move of MOVES) {
    const button = element("button", "sx-plot-move", tools);
    button.type = "button";
    button.textContent = SIGNS[move];
    button.dataset.move = move;
    button.addEventListener("click", () => act(move));
  }

  const web = drawing(sheet);
  const flat = over.getContext("2d");
  let points = new Float32Array(0), pairs = new Uint32Array(0), slots = new Uint8Array(0), radii = new Uint8Array(0);
  let zoom = 1, middle = [0, 0], own = false; // own: the visitor has moved it, so new places keep the view
  let hovered = -1, waiting = 0, theme = null;

  const size = () => [frame.clientWidth, frame.clientHeight];
  const screen = (node) => {
    const [w, h] = size();
    return [(points[2 * node] - middle[0]) * zoom + w / 2, h / 2 - (points[2 * node + 1] - middle[1]) * zoom];
  };

  function fit() {
    const low = [Infinity, Infinity], high = [-Infinity, -Infinity];
    for (let i = 0; i < points.length; i++) {
      low[i % 2] = Math.min(low[i % 2], points[i]);
      high[i % 2] = Math.max(high[i % 2], points[i]);
    }
    const [w, h] = size();
    if (!points.length || !w) return;
    const [edge, label] = [16, 44]; // pixels left free: around the dots, and at the right for a name
    zoom = Math.min((w - edge - label) / Math.max(high[0] - low[0], 1e-6), (h - 2 * edge) / Math.max(high[1] - low[1], 1e-6));
    middle = [(low[0] + high[0]) / 2 + (label - edge) / 2 / zoom, (low[1] + high[1]) / 2];
    own = false;
  }

  function colours() {
    theme ??= { palette: PALETTE.map(colour), ink: colour("ink"), paper: colour("surface"), edge: colour("edge"), font: getComputedStyle(document.body).fontFamily };
    return theme;
  }

  function paint() {
    waiting = 0;
    const [w, h] = size();
    if (!w) return;
    const dots = Math.min(window.devicePixelRatio || 1, 2);
    for (const canvas of [sheet, over]) {
      if (canvas.width !== Math.round(w * dots) || canvas.height !== Math.round(h * dots)) {
        canvas.width = Math.round(w * dots);
        canvas.height = Math.round(h * dots);
      }
    }
    const marks = model.get("marks");
    const marked = Boolean(marks.nodes?.length);
    const { palette, edge } = colours();
    const alphas = [marked ? 0.1 : Math.min(0.7, 0.15 + 60 / (pairs.length + 1)), marked ? 0.25 : 1];
    flat.setTransform(dots, 0, 0, dots, 0, 0);
    flat.clearRect(0, 0, w, h);
    if (web) {
      const scale = [(2 * zoom) / w, (2 * zoom) / h];
      const shift = [-middle[0] * scale[0], -middle[1] * scale[1]];
      web.draw({ scale, shift, dots, line: rgb(edge), colours: palette.map(rgb), alphas });
    } else plain(palette, edge, alphas);
    annotate(marks, marked);
    root.dataset.frames = String(Number(root.dataset.frames ?? 0) + 1);
  }

  // Without WebGL: slower, the same picture.
  function plain(palette, edge, alphas) {
    flat.globalAlpha = alphas[0];
    flat.strokeStyle = edge;
    flat.beginPath();
    for (let i = 0; i < pairs.length; i += 2) { flat.moveTo(...screen(pairs[i])); flat.lineTo(...screen(pairs[i + 1])); }
    flat.stroke();
    flat.globalAlpha = alphas[1];
    for (let i = 0; i < slots.length; i++) dot(i, palette[slots[i]], radii[i] / 2);
    flat.globalAlpha = 1;
  }

  function dot(node, fill, radius) {
    flat.fillStyle = fill;
    flat.beginPath();
    flat.arc(...screen(node), radius, 0, 7);
    flat.fill();
  }

  function arrow(from, to, stroke) {
    const [a, b] = [screen(from), screen(to)];
    const long = Math.hypot(b[0] - a[0], b[1] - a[1]);
    if (!long) return;
    const u = [(b[0] - a[0]) / long, (b[1] - a[1]) / long];
    const end = [b[0] - u[0] * 8, b[1] - u[1] * 8];
    flat.strokeStyle = flat.fillStyle = stroke;
    flat.lineWidth = 1.6;
    flat.beginPath();
    flat.moveTo(...a);
    flat.lineTo(...end);
    flat.stroke();
    flat.beginPath();
    flat.moveTo(...end);
    for (const side of [1, -1]) flat.lineTo(end[0] - u[0] * 7 - side * u[1] * 3.5, end[1] - u[1] * 7 + side * u[0] * 3.5);
    flat.fill();
  }

  function annotate(marks, marked) {
    const { palette, ink, paper, font } = colours();
    const count = points.length / 2, names = model.get("names"), selected = model.get("selected");
    for (const [from, to, slot] of marks.edges ?? []) if (from < count && to < count) arrow(from, to, palette[slot]);
    const nodes = (marks.nodes ?? []).filter(([node]) => node < count);
    for (const [node, slot] of nodes.slice().reverse()) dot(node, palette[slot], 6);
    const few = nodes.length <= NAMED ? nodes.map(([node]) => node) : [];
    const named = new Set(marked ? few : count <= NAMED ? [...Array(count).keys()] : []);
    for (const node of [selected, hovered]) if (node >= 0 && node < count) named.add(node);
    flat.font = `12px ${font}`;
    flat.lineWidth = 3;
    flat.lineJoin = "round";
    const taken = [];
    for (const node of [hovered, selected, ...named]) {
      if (node < 0 || node >= count || !names[node]) continue;
      const [x, y] = screen(node);
      const left = x + (node === selected ? 13 : 9); // beside the ring of the selected node
      const box = [left - 1, y - 7, left + 5 + flat.measureText(names[node]).width, y + 8];
      if (taken.some((other) => box[0] < other[2] && other[0] < box[2] && box[1] < other[3] && other[1] < box[3])) continue;
      taken.push(box);
      flat.strokeStyle = paper;
      flat.strokeText(names[node], left, y + 4);
      flat.fillStyle = ink;
      flat.fillText(names[node], left, y + 4);
    }
    if (selected >= 0 && selected < count) {
      flat.strokeStyle = ink;
      flat.lineWidth = 2;
      flat.beginPath();
      flat.arc(...screen(selected), 8, 0, 7);
      flat.stroke();
    }
  }

  const soon = () => { waiting ||= requestAnimationFrame(paint); };

  function nearest(x, y) {
    let best = -1, least = REACH * REACH;
    for (let i = 0; i < points.length / 2; i++) {
      const [px, py] = screen(i);
      const far = (px - x) ** 2 + (py - y) ** 2;
      if (far < least) { least = far; best = i; }
    }
    return best;
  }

  function choose(node) {
    if (!model.get("choosable")) return;
    model.set("selected", node);
    model.save_changes();
    soon();
  }

  function closer(by, x, y) {
    const [w, h] = size();
    const off = [(x - w / 2) / zoom, (h / 2 - y) / zoom];
    middle = middle.map((value, axis) => value + off[axis] * (1 - 1 / by));
    zoom *= by;
    own = true;
    soon();
  }

  function act(move) {
    const [w, h] = size(), count = points.length / 2;
    if (move === "nearer" || move === "farther") return closer(move === "nearer" ? 1.3 : 1 / 1.3, w / 2, h / 2);
    if (move === "reset") fit();
    else if (move === "next" || move === "before") {
      if (count) choose((model.get("selected") + (move === "next" ? 1 : count - (model.get("selected") < 0 ? 0 : 1))) % count);
    } else {
      const step = 40 / zoom;
      middle[0] += { left: -step, right: step }[move] ?? 0;
      middle[1] += { up: step, down: -step }[move] ?? 0;
      own = true;
    }
    soon();
  }

  frame.addEventListener("keydown", (event) => {
    const move = event.ctrlKey || event.metaKey || event.altKey ? null : KEYS[event.key];
    if (!move) return;
    event.preventDefault();
    act(move);
  });
  frame.addEventListener("wheel", (event) => {
    // A page that is scrolled past the picture must go on scrolling: the wheel zooms once it has the focus.
    if (document.activeElement !== frame && !event.ctrlKey) return;
    event.preventDefault();
    closer(Math.exp(-Math.max(-60, Math.min(60, event.deltaY)) / 300), event.offsetX, event.offsetY);
  }, { passive: false });
  let drag = null;
  frame.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    frame.focus({ preventScroll: true });
    frame.setPointerCapture(event.pointerId);
    drag = { x: event.clientX, y: event.clientY, moved: false };
  });
  frame.addEventListener("pointermove", (event) => {
    if (drag) {
      const [dx, dy] = [event.clientX - drag.x, event.clientY - drag.y];
      if (!drag.moved && Math.hypot(dx, dy) < 4) return;
      middle = [middle[0] - dx / zoom, middle[1] + dy / zoom];
      drag = { x: event.clientX, y: event.clientY, moved: true };
      own = true;
    } else {
      const box = frame.getBoundingClientRect();
      const found = nearest(event.clientX - box.left, event.clientY - box.top);
      if (found === hovered) return;
      hovered = found;
    }
    soon();
  });
  frame.addEventListener("pointerup", (event) => {
    if (drag && !drag.moved) {
      const box = frame.getBoundingClientRect();
      choose(nearest(event.clientX - box.left, event.clientY - box.top));
    }
    drag = null;
  });
  frame.addEventListener("pointercancel", () => { drag = null; });
  frame.addEventListener("pointerleave", () => { hovered = -1; soon(); });

  function looks() {
    const count = points.length / 2;
    const [given, wide] = [typed(model, "slots", Uint8Array), typed(model, "radii", Uint8Array)];
    slots = given.length === count ? given : new Uint8Array(count).fill(1);
    radii = wide.length === count ? wide : new Uint8Array(count).fill(6);
    web?.looks(slots, radii);
    soon();
  }
  function places() {
    const before = points.length;
    points = typed(model, "points", Float32Array);
    web?.places(points);
    if (points.length !== before) { own = false; hovered = -1; ends(); }
    if (slots.length * 2 !== points.length) looks();
    if (!own) fit();
    empty.hidden = points.length > 0;
    root.dataset.nodes = String(points.length / 2);
    soon();
  }
  function ends() {
    const count = points.length / 2;
    const given = typed(model, "ends", Uint32Array);
    pairs = given.some((end) => end >= count) ? new Uint32Array(0) : given; // the places of a new graph are on their way
    web?.ends(pairs);
    root.dataset.edges = String(pairs.length / 2);
    soon();
  }
  function say() {
    title.textContent = model.get("title");
    summary.textContent = model.get("summary");
    empty.textContent = model.get("empty");
    frame.setAttribute("aria-label", `${model.get("title")}. ${words.keys}`);
    for (const button of tools.children) {
      button.title = words[button.dataset.move];
      button.setAttribute("aria-label", `${words[button.dataset.move]}: ${model.get("title")}`);
    }
  }
  const marked = () => { root.dataset.marks = String(model.get("marks").nodes?.length ?? 0); soon(); };
  const recolour = () => { theme = null; soon(); };
  const resize = new ResizeObserver(() => { if (!own) fit(); soon(); });
  resize.observe(frame);
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const followed = {
    "change:points": places, "change:ends": ends, "change:slots change:radii": looks, "change:marks": marked,
    "change:names change:selected": soon, "change:title change:summary change:empty": say,
  };
  for (const [event, act] of Object.entries(followed)) model.on(event, act);
  window.addEventListener("sampan-theme", recolour);
  dark.addEventListener("change", recolour);
  root.dataset.webgl = String(Boolean(web));
  say();
  places();
  looks();
  marked();
  return () => {
    cancelAnimationFrame(waiting);
    resize.disconnect();
    for (const [event, act] of Object.entries(followed)) model.off(event, act);
    window.removeEventListener("sampan-theme", recolour);
    dark.removeEventListener("change", recolour);
    web?.gl.getExtension("WEBGL_lose_context")?.loseContext();
  };
}

export default { render };
