// A plotly figure as the Studio shows it: in the page's theme, as wide as its container, with buttons and keys for
// all pointer actions. `figure` is its JSON, with the colours of light paper; `words` are the sentences of its
// controls.
//
// Plotly (5 MB) is loaded once per page, from this server under an address that browsers cache, and only when a
// figure becomes visible.

const MOVES = { flat: ["nearer", "farther", "reset"], space: ["left", "right", "nearer", "farther", "spin", "reset"] };
const SIGNS = { left: "←", right: "→", nearer: "+", farther: "−", reset: "⟲", spin: "▶" };
const KEYS = { "+": "nearer", "=": "nearer", "-": "farther", "0": "reset", " ": "spin", ArrowLeft: "left", ArrowRight: "right", ArrowUp: "up", ArrowDown: "down" };
const TURN = Math.PI / 12;
const CLOSER = 0.8;

function plotly(version) {
  window.sampanPlotly ??= new Promise((done, failed) => {
    const style = document.querySelector('link[href*="/static/studio.css"]');
    const script = document.createElement("script");
    script.src = new URL(`plotly.min.js?v=${version}`, style ? style.href : location.href);
    script.onload = () => done(window.Plotly);
    script.onerror = () => failed(new Error(script.src));
    document.head.append(script);
  });
  return window.sampanPlotly;
}

const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--sp-${name}`).trim();

function element(name, className, text) {
  const node = document.createElement(name);
  if (className) node.className = className;
  if (text !== undefined) node.textContent = text;
  return node;
}

// The library draws for light paper (lib/sampan/visual/style.py); here its three greys are replaced by the theme's.
// Other colours may be variables of studio.css.
function themed(text) {
  const figure = JSON.parse(
    text.replace(/#1f2a37/gi, colour("ink")).replace(/#8a94a3/gi, colour("soft")).replace(/#e6e9ee/gi, colour("line"))
      .replace(/var\(--sp-([\w-]+)\)/g, (_, name) => colour(name)),
  );
  const layout = figure.layout;
  layout.template = {};
  layout.paper_bgcolor = layout.plot_bgcolor = "rgba(0,0,0,0)";
  layout.font = { ...layout.font, color: colour("ink"), family: getComputedStyle(document.body).fontFamily };
  layout.hoverlabel = { bgcolor: colour("surface"), bordercolor: colour("edge"), font: { color: colour("ink") } };
  layout.autosize = true;
  delete layout.width;
  delete layout.title;
  for (const [key, axis] of Object.entries(layout)) {
    if (!/^[xy]axis\d*$/.test(key)) continue;
    layout[key] = { gridcolor: colour("line"), zerolinecolor: colour("line"), linecolor: colour("edge"), automargin: true, ...axis };
  }
  return figure;
}

function render({ model, el }) {
  const words = model.get("words");
  const sides = (window.sampanSides ??= {}); // of each group; every widget has a copy of this module
  const root = element("figure", "sx-plot");
  const head = element("figcaption", "sx-plot-head");
  const title = element("span", "sx-plot-title");
  const tools = element("span", "sx-plot-tools");
  head.append(title, tools);
  const frame = element("div", "sx-plot-frame");
  frame.tabIndex = 0;
  frame.setAttribute("role", "group");
  const paper = element("div", "sx-plot-paper");
  const empty = element("p", "sp-muted sx-plot-empty");
  const summary = element("p", "sp-small sp-muted sx-plot-summary");
  frame.append(paper);
  root.append(head, frame, empty, summary);
  el.append(root);

  let drawn = null; // the Plotly that has drawn here
  let space = false;
  let start = null; // the camera to come back to
  let seen = false;
  let turning = 0;
  let working = Promise.resolve();

  const moves = new Map();
  for (const move of MOVES.space) {
    const button = element("button", "sx-plot-move", SIGNS[move]);
    button.type = "button";
    button.dataset.move = move;
    button.addEventListener("click", () => act(move));
    moves.set(move, button);
    tools.append(button);
  }
  const name = (move, word = move) => {
    const said = `${words[word] ?? word}: ${model.get("title")}`;
    moves.get(move).title = words[word] ?? word;
    moves.get(move).setAttribute("aria-label", said);
  };

  function say() {
    title.textContent = model.get("title");
    summary.textContent = model.get("summary");
    empty.textContent = model.get("empty");
    frame.setAttribute("aria-label", `${model.get("title")}. ${words.keys ?? ""}`);
    for (const move of moves.keys()) name(move);
  }

  async function draw() {
    const text = model.get("figure");
    root.dataset.state = text ? "drawing" : "empty";
    frame.hidden = tools.hidden = !text;
    empty.hidden = Boolean(text);
    if (!text || !seen) return;
    let library;
    try {
      library = await plotly(model.get("version"));
    } catch {
      root.dataset.state = "failed";
      frame.hidden = true;
      empty.hidden = false;
      empty.textContent = words.failed;
      return;
    }
    const figure = themed(text);
    space = Boolean(figure.layout.scene);
    for (const [move, button] of moves) button.hidden = !MOVES[space ? "space" : "flat"].includes(move);
    // A recoloured figure keeps its camera, and a figure that joins a group gets the camera of the group.
    const kept = space ? (drawn ? paper.layout?.scene?.camera : sides[model.get("group")]) : null;
    start = figure.layout.scene?.camera;
    if (kept) figure.layout.scene.camera = kept;
    // A finger scrolls the page, and the buttons replace its actions here. In 3D it rotates the cloud.
    if (!space) figure.layout.dragmode = matchMedia("(pointer: coarse)").matches ? false : "zoom";
    // 2D figures are drawn anew: axes with equal scales would keep the ranges of the last figure.
    await library[space ? "react" : "newPlot"](paper, figure.data, figure.layout, { displayModeBar: false, responsive: false, displaylogo: false });
    if (!space) paper.on("plotly_click", ({ points: [point] }) => model.send({ click: { line: point.data.name ?? "", x: point.x } }));
    if (space && !drawn) paper.on("plotly_relayout", (change) => share(change));
    drawn = library;
    root.dataset.state = "drawn";
    root.dataset.draws = String(Number(root.dataset.draws ?? 0) + 1);
  }

  const redraw = () => { working = working.then(draw, draw); };

  // Clouds of one group share their camera.
  function share(change) {
    const camera = change["scene.camera"];
    const group = model.get("group");
    if (!camera || !group) return;
    sides[group] = camera;
    window.dispatchEvent(new CustomEvent("sampan-camera", { detail: { group, camera, from: root } }));
  }
  function follow({ detail }) {
    if (detail.group !== model.get("group") || detail.from === root || !drawn || !space) return;
    const mine = paper.layout.scene.camera;
    if (JSON.stringify(mine?.eye) !== JSON.stringify(detail.camera.eye)) look(detail.camera, false);
  }
  function look(camera, tell = true) {
    drawn.relayout(paper, { "scene.camera": camera });
    if (tell) share({ "scene.camera": camera });
  }

  function turned(angle, lift = 0) {
    const camera = structuredClone(paper.layout.scene.camera);
    const { x, y, z } = camera.eye;
    camera.eye = { x: x * Math.cos(angle) - y * Math.sin(angle), y: x * Math.sin(angle) + y * Math.cos(angle), z: Math.min(2.2, Math.max(-2.2, z + lift)) };
    return camera;
  }

  function spin() {
    if (turning) cancelAnimationFrame(turning);
    else {
      let before = performance.now();
      const step = (now) => {
        if (!root.isConnected) return;
        look(turned(((now - before) / 1000) * 0.5));
        before = now;
        turning = requestAnimationFrame(step);
      };
      turning = requestAnimationFrame(step);
      name("spin", "stop");
      moves.get("spin").textContent = "❚❚";
      root.dataset.spins = "yes";
      return;
    }
    turning = 0;
    name("spin");
    moves.get("spin").textContent = SIGNS.spin;
    root.dataset.spins = "no";
  }

  function act(move) {
    if (!drawn) return;
    if (space) {
      if (move === "spin") return spin();
      if (move === "reset") return look(start);
      if (move === "left" || move === "right") return look(turned(move === "left" ? -TURN : TURN));
      if (move === "up" || move === "down") return look(turned(0, move === "up" ? 0.3 : -0.3));
      const camera = structuredClone(paper.layout.scene.camera);
      const by = move === "nearer" ? CLOSER : 1 / CLOSER;
      for (const axis of "xyz") camera.eye[axis] *= by;
      return look(camera);
    }
    if (move === "reset") return drawn.relayout(paper, initial());
    const change = {};
    for (const axis of ["xaxis", "yaxis"]) {
      const [low, high] = paper.layout[axis].range;
      const width = high - low;
      const sideways = axis === "xaxis" ? { left: -0.2, right: 0.2 }[move] ?? 0 : { up: 0.2, down: -0.2 }[move] ?? 0;
      const by = move === "nearer" ? CLOSER : move === "farther" ? 1 / CLOSER : 1;
      const middle = (low + high) / 2 + sideways * width;
      change[`${axis}.range`] = [middle - (width * by) / 2, middle + (width * by) / 2];
    }
    return drawn.relayout(paper, change);
  }

  function initial() {
    const { layout } = JSON.parse(model.get("figure"));
    const change = {};
    for (const axis of ["xaxis", "yaxis"]) {
      if (layout[axis]?.range) change[`${axis}.range`] = layout[axis].range;
      else change[`${axis}.autorange`] = layout[axis]?.autorange ?? true;
    }
    return change;
  }

  frame.addEventListener("keydown", (event) => {
    const move = event.ctrlKey || event.metaKey || event.altKey ? null : KEYS[event.key];
    if (!move || (move === "spin" && !space)) return;
    event.preventDefault();
    act(move);
  });
  const resize = new ResizeObserver(() => { if (drawn && paper.clientWidth) drawn.Plots.resize(paper); });
  resize.observe(frame);
  const sight = new IntersectionObserver((entries) => {
    if (seen || !entries.some((entry) => entry.isIntersecting)) return;
    seen = true;
    redraw();
  }, { rootMargin: "300px" });
  sight.observe(root);
  const dark = matchMedia("(prefers-color-scheme: dark)");
  model.on("change:figure change:version", redraw);
  model.on("change:title change:summary change:empty", say);
  window.addEventListener("sampan-theme", redraw);
  window.addEventListener("sampan-camera", follow);
  dark.addEventListener("change", redraw);
  say();
  redraw();
  return () => {
    cancelAnimationFrame(turning);
    resize.disconnect();
    sight.disconnect();
    model.off("change:figure change:version", redraw);
    model.off("change:title change:summary change:empty", say);
    window.removeEventListener("sampan-theme", redraw);
    window.removeEventListener("sampan-camera", follow);
    dark.removeEventListener("change", redraw);
    drawn?.purge(paper);
  };
}

export default { render };
