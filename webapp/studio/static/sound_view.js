// A sound while it goes on: its waveform, and below it the log-mel spectrogram, ten milliseconds a column, low
// frequencies at the bottom. The last COLUMNS columns are kept in rings, so an hour takes no more memory than ten seconds.
// The picture follows the sound evenly, whatever the pieces in which it arrives.

const COLUMNS = 2048, SHOWN = 600; // kept; on the screen, six seconds
const WAVE = 0.28; // of the height
const MARKS = [500, 1000, 2000, 4000]; // Hz
const STEP = 10; // columns of one key press

function element(name, className, parent) {
  const node = document.createElement(name);
  node.className = className;
  parent?.append(node);
  return node;
}

const rgb = (text) => {
  const long = text.trim().replace(/^#(.)(.)(.)$/, "#$1$1$2$2$3$3");
  return [1, 3, 5].map((at) => parseInt(long.slice(at, at + 2), 16));
};

function render({ model, el }) {
  const words = model.get("words"), bands = model.get("bands").length;
  const root = element("figure", "so-view", el);
  const head = element("figcaption", "sx-plot-head", root);
  const title = element("span", "sx-plot-title", head);
  const readout = element("span", "sp-small sp-muted sp-number so-readout", head);
  const frame = element("div", "so-frame", root);
  frame.tabIndex = 0;
  frame.setAttribute("role", "group");
  const canvas = element("canvas", "so-sheet", frame);
  const empty = element("p", "sp-muted so-empty", frame);
  const spoken = element("p", "sp-hidden", root);
  spoken.setAttribute("role", "status");
  const summary = element("p", "sp-small sp-muted sx-plot-summary", root);
  const sheet = canvas.getContext("2d");
  const picture = document.createElement("canvas");
  picture.width = COLUMNS;
  picture.height = bands;
  const paper = picture.getContext("2d");

  const levels = new Uint8Array(COLUMNS * bands), peaks = new Int8Array(COLUMNS * 2);
  let frames = 0, blocks = 0; // received since the beginning
  let shown = 0, cursor = -1, last = 0, waiting = 0, theme = null;

  // A colour for each level, from the paper over the accent to the ink: in both themes louder is farther from the paper.
  function colours() {
    if (theme) return theme;
    const style = getComputedStyle(document.documentElement);
    const [surface, accent, ink, soft] = ["surface", "accent", "ink", "soft"].map((name) => style.getPropertyValue(`--sp-${name}`));
    const stops = [surface, accent, ink].map(rgb);
    const table = Array.from({ length: 256 }, (_, level) => {
      const at = (level / 255) * 2, low = Math.min(1, Math.floor(at));
      return stops[low].map((value, k) => Math.round(value + (stops[low + 1][k] - value) * (at - low)));
    });
    theme = { table, accent, ink, soft, surface, font: getComputedStyle(document.body).fontFamily };
    return theme;
  }

  function paintColumns(from, to) {
    const { table } = colours();
    for (let column = Math.max(from, to - COLUMNS); column < to; ) {
      const place = column % COLUMNS, count = Math.min(to - column, COLUMNS - place);
      const image = paper.createImageData(count, bands);
      for (let i = 0; i < count; i++) {
        for (let band = 0; band < bands; band++) {
          const [r, g, b] = table[levels[(place + i) * bands + band]];
          const at = 4 * ((bands - 1 - band) * count + i);
          image.data[at] = r; image.data[at + 1] = g; image.data[at + 2] = b; image.data[at + 3] = 255;
        }
      }
      paper.putImageData(image, place, 0);
      column += count;
    }
  }

  const end = () => Math.min(frames, blocks);
  const width = () => (model.get("still") ? Math.max(50, Math.min(end(), COLUMNS)) : SHOWN);

  function draw(now) {
    waiting = 0;
    const [w, h] = [frame.clientWidth, frame.clientHeight];
    if (!w) return;
    const calm = model.get("still") || matchMedia("(prefers-reduced-motion: reduce)").matches;
    const steady = Math.max(shown, end() - 40) + Math.min(100, now - last) * 0.1; // 100 columns a second
    shown = calm ? end() : Math.min(end(), steady);
    last = now;
    const dots = Math.min(window.devicePixelRatio || 1, 2);
    if (canvas.width !== Math.round(w * dots) || canvas.height !== Math.round(h * dots)) {
      canvas.width = Math.round(w * dots);
      canvas.height = Math.round(h * dots);
    }
    sheet.setTransform(dots, 0, 0, dots, 0, 0);
    sheet.clearRect(0, 0, w, h);
    const columns = width(), pixels = w / columns, start = shown - columns, top = Math.round(h * WAVE);
    const first = Math.max(start, end() - COLUMNS, 0);
    for (let column = first; column < shown - 1e-6; ) {
      const place = column % COLUMNS, count = Math.min(shown - column, COLUMNS - place);
      sheet.drawImage(picture, place, 0, count, bands, (column - start) * pixels, top, count * pixels, h - top);
      column += count;
    }
    wave(start, Math.ceil(first), Math.floor(shown), pixels, top);
    marks(h, top);
    if (cursor >= 0) point(w, h, pixels, top);
    root.dataset.shown = String(Math.floor(shown));
    if (shown < end() - 1e-6) soon();
  }

  function wave(start, from, to, pixels, top) {
    sheet.fillStyle = colours().accent;
    for (let column = from; column < to; column++) {
      const low = peaks[2 * (column % COLUMNS)] / 127, high = peaks[2 * (column % COLUMNS) + 1] / 127;
      const y = (top / 2) * (1 - high);
      sheet.fillRect((column - start) * pixels, y, Math.max(pixels, 0.5), Math.max((top / 2) * (high - low), 1));
    }
  }

  function marks(h, top) {
    if (!frames) return;
    const { soft, surface, ink, font } = colours(), centres = model.get("bands");
    sheet.fillStyle = soft;
    sheet.fillRect(0, top, frame.clientWidth, 1);
    sheet.font = `12px ${font}`;
    sheet.lineWidth = 3;
    sheet.lineJoin = "round";
    for (const hertz of MARKS) {
      const band = centres.findIndex((centre) => centre >= hertz);
      if (band < 0) continue;
      const y = h - ((band + 0.5) / bands) * (h - top), text = hertz < 1000 ? `${hertz} Hz` : `${hertz / 1000} kHz`;
      sheet.strokeStyle = surface;
      sheet.strokeText(text, 6, y + 4);
      sheet.fillStyle = ink;
      sheet.fillText(text, 6, y + 4);
    }
  }

  function point(w, h, pixels, top) {
    const x = w - (cursor + 0.5) * pixels;
    sheet.fillStyle = colours().ink;
    sheet.fillRect(x, 0, 1, h);
    sheet.fillRect(x - 2, top - 2, 5, 5);
  }

  // What is under the cursor, in words: seconds before the end, level, and the strongest band.
  function read() {
    const column = Math.floor(shown) - 1 - cursor;
    if (cursor < 0 || column < 0 || column < end() - COLUMNS) { readout.textContent = ""; return; }
    const place = column % COLUMNS;
    const peak = Math.max(Math.abs(peaks[2 * place]), Math.abs(peaks[2 * place + 1])) / 127;
    let best = 0;
    for (let band = 1; band < bands; band++) if (levels[place * bands + band] > levels[place * bands + best]) best = band;
    const values = { seconds: (cursor / 100).toFixed(1), level: peak ? (20 * Math.log10(peak)).toFixed(0).replace("-", "−") : "< −42", hertz: Math.round(model.get("bands")[best]) };
    readout.textContent = words.readout.replace(/\{(\w+)\}/g, (_, name) => values[name]);
  }

  const soon = () => { waiting ||= requestAnimationFrame(draw); };

  function told(content, buffers) {
    if (content.kind === "clear") {
      frames = blocks = shown = 0;
      cursor = -1;
      read();
    } else if (content.kind === "sound") {
      const [columns, pairs] = buffers.map((view) => new Uint8Array(view.buffer, view.byteOffset, view.byteLength));
      const before = frames;
      for (let i = 0; i < columns.length; i += bands, frames++) levels.set(columns.subarray(i, i + bands), (frames % COLUMNS) * bands);
      for (let i = 0; i < pairs.length; i += 2, blocks++) peaks.set(new Int8Array(pairs.slice(i, i + 2).buffer), (blocks % COLUMNS) * 2);
      paintColumns(before, frames);
    }
    empty.hidden = frames > 0;
    root.dataset.frames = String(frames);
    soon();
  }

  function move(event) {
    const by = { ArrowLeft: STEP, ArrowRight: -STEP, Home: Infinity, End: -Infinity }[event.key];
    if (by === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    cursor = Math.max(0, Math.min(cursor + by, Math.min(width(), end()) - 1));
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

  const recolour = () => { theme = null; paintColumns(Math.max(0, frames - COLUMNS), frames); soon(); };
  const resize = new ResizeObserver(soon);
  const dark = matchMedia("(prefers-color-scheme: dark)");
  frame.addEventListener("keydown", move);
  frame.addEventListener("pointermove", (event) => {
    const box = frame.getBoundingClientRect();
    cursor = Math.max(0, Math.round(((box.right - event.clientX) / box.width) * width()));
    read();
    soon();
  });
  frame.addEventListener("pointerleave", () => { cursor = -1; read(); soon(); });
  resize.observe(frame);
  model.on("msg:custom", told);
  model.on("change:title change:summary change:empty", say);
  window.addEventListener("sampan-theme", recolour);
  dark.addEventListener("change", recolour);
  root.dataset.frames = "0";
  say();
  return () => {
    cancelAnimationFrame(waiting);
    resize.disconnect();
    model.off("msg:custom", told);
    model.off("change:title change:summary change:empty", say);
    window.removeEventListener("sampan-theme", recolour);
    dark.removeEventListener("change", recolour);
  };
}

export default { render };
