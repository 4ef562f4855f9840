// Probabilities of tokens, a row each, by frame of the encoder, and the aligned path: the frames outlined. Drawn on a
// canvas; the arrow keys move a frame that is read out.

const ROW = 24, LABEL = 56, AXIS = 22;

function element(name, className, parent) {
  const node = document.createElement(name);
  node.className = className;
  parent?.append(node);
  return node;
}

function render({ model, el }) {
  const words = model.get("words");
  const root = element("figure", "so-heat", el);
  const head = element("figcaption", "sx-plot-head", root);
  const title = element("span", "sx-plot-title", head);
  const readout = element("span", "sp-small sp-muted sp-number so-readout", head);
  const frame = element("div", "so-frame so-heat-frame", root);
  frame.tabIndex = 0;
  frame.setAttribute("role", "group");
  const canvas = element("canvas", "so-sheet", frame);
  const empty = element("p", "sp-muted so-empty", frame);
  const spoken = element("p", "sp-hidden", root);
  spoken.setAttribute("role", "status");
  const summary = element("p", "sp-small sp-muted sx-plot-summary", root);
  const sheet = canvas.getContext("2d");
  let data = { tokens: [], frames: 0, path: [] }, levels = new Uint8Array(0), cursor = -1, waiting = 0;

  function take() {
    const view = model.get("levels"), next = model.get("data");
    const size = (next.tokens?.length ?? 0) * (next.frames ?? 0);
    if (view.byteLength !== size) return; // the other half is on its way
    data = size ? next : { tokens: [], frames: 0, path: [] };
    levels = new Uint8Array(view.buffer, view.byteOffset, view.byteLength).slice();
    empty.hidden = size > 0;
    root.dataset.frames = String(data.frames);
    root.dataset.rows = String(data.tokens.length);
    root.dataset.aligned = String(data.path.filter((row) => row > 0).length);
    cursor = Math.min(cursor, data.frames - 1);
    read();
    soon();
  }

  function draw() {
    waiting = 0;
    const [w, h] = [frame.clientWidth, frame.clientHeight];
    if (!w) return;
    const dots = Math.min(window.devicePixelRatio || 1, 2);
    if (canvas.width !== Math.round(w * dots) || canvas.height !== Math.round(h * dots)) {
      canvas.width = Math.round(w * dots);
      canvas.height = Math.round(h * dots);
    }
    const style = getComputedStyle(document.documentElement);
    const colour = (name) => style.getPropertyValue(`--sp-${name}`).trim();
    sheet.setTransform(dots, 0, 0, dots, 0, 0);
    sheet.clearRect(0, 0, w, h);
    if (!data.frames) return;
    const cell = Math.min(24, (w - LABEL - 6) / data.frames);
    const font = getComputedStyle(document.body).fontFamily;
    data.tokens.forEach((token, row) => {
      const y = row * ROW;
      sheet.globalAlpha = 1;
      sheet.fillStyle = colour(row ? "ink" : "soft");
      sheet.font = `${row ? 15 : 12}px ${font}`;
      sheet.textAlign = "right";
      sheet.fillText(token.length > 6 ? `${token.slice(0, 5)}…` : token, LABEL - 8, y + 17);
      sheet.fillStyle = colour(row ? "accent" : "edge");
      for (let t = 0; t < data.frames; t++) {
        const level = levels[row * data.frames + t];
        if (level < 3) continue;
        sheet.globalAlpha = level / 255;
        sheet.fillRect(LABEL + t * cell, y + 2, Math.max(cell - (cell > 4 ? 1 : 0), 0.7), ROW - 4);
      }
    });
    sheet.globalAlpha = 1;
    path(cell, colour("run-2"));
    axis(cell, colour("soft"), font);
    if (cursor >= 0) {
      sheet.fillStyle = colour("ink");
      sheet.fillRect(LABEL + (cursor + 0.5) * cell - 0.5, 0, 1, data.tokens.length * ROW);
    }
  }

  function path(cell, stroke) {
    sheet.strokeStyle = stroke;
    sheet.lineWidth = 2;
    sheet.lineJoin = "round";
    sheet.beginPath();
    let drawn = false;
    data.path.forEach((row, t) => {
      if (row < 0) { drawn = false; return; }
      const [x, y] = [LABEL + (t + 0.5) * cell, row * ROW + ROW / 2];
      if (drawn) sheet.lineTo(x, y);
      else sheet.moveTo(x, y);
      drawn = true;
    });
    sheet.stroke();
  }

  function axis(cell, fill, font) {
    sheet.fillStyle = fill;
    sheet.font = `12px ${font}`;
    sheet.textAlign = "center";
    const seconds = data.frames * data.step, apart = [0.2, 0.5, 1, 2, 5].find((s) => (s / data.step) * cell > 44) ?? 10;
    for (let k = Math.ceil(data.start / apart - 1e-6); k * apart <= data.start + seconds; k++) {
      const x = LABEL + ((k * apart - data.start) / data.step) * cell;
      if (x > frame.clientWidth - 14) break;
      sheet.fillText(`${+(k * apart).toFixed(1)} s`, x, data.tokens.length * ROW + 16);
    }
  }

  function read() {
    if (cursor < 0 || !data.frames) { readout.textContent = ""; return; }
    const parts = data.tokens
      .map((token, row) => [levels[row * data.frames + cursor] / 255, token])
      .sort((a, b) => b[0] - a[0]).slice(0, 3).filter(([p]) => p >= 0.01);
    const said = parts.map(([p, token]) => `${token} ${Math.round(100 * p)} %`).join(", ");
    readout.textContent = `${(data.start + cursor * data.step).toFixed(2)} s: ${said}`;
  }

  const soon = () => { waiting ||= requestAnimationFrame(draw); };
  function move(event) {
    const by = { ArrowLeft: -1, ArrowRight: 1, Home: -Infinity, End: Infinity }[event.key];
    if (by === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    cursor = Math.max(0, Math.min(cursor + by, data.frames - 1));
    read();
    spoken.textContent = readout.textContent;
    soon();
  }
  function say() {
    title.textContent = model.get("title");
    summary.textContent = model.get("summary");
    empty.textContent = model.get("empty");
    frame.setAttribute("aria-label", `${model.get("title")}. ${words.keys}`);
  }

  const resize = new ResizeObserver(soon);
  const dark = matchMedia("(prefers-color-scheme: dark)");
  frame.addEventListener("keydown", move);
  frame.addEventListener("pointermove", (event) => {
    const cell = Math.min(24, (frame.clientWidth - LABEL - 6) / Math.max(data.frames, 1));
    const at = Math.floor((event.clientX - frame.getBoundingClientRect().left - LABEL) / cell);
    cursor = at >= 0 && at < data.frames ? at : -1;
    read();
    soon();
  });
  frame.addEventListener("pointerleave", () => { cursor = -1; read(); soon(); });
  resize.observe(frame);
  model.on("change:data change:levels", take);
  model.on("change:title change:summary change:empty", say);
  window.addEventListener("sampan-theme", soon);
  dark.addEventListener("change", soon);
  say();
  take();
  return () => {
    cancelAnimationFrame(waiting);
    resize.disconnect();
    model.off("change:data change:levels", take);
    model.off("change:title change:summary change:empty", say);
    window.removeEventListener("sampan-theme", soon);
    dark.removeEventListener("change", soon);
  };
}

export default { render };
