// A pad to draw a digit on with mouse, pen or finger. Strokes are kept as points and painted in the theme's ink;
// Python gets `pixels`: side x side bytes, 255 is ink, at most every 150 ms while drawing and once
// at the end of a stroke; {clear: true} is sent when the pad is cleared. `picture` (the same format) is shown on the pad when
// Python sets it; `strokes`, lists of points [x, y] in 0..1, are drawn as if by hand. The visitor's first stroke replaces both.

const SCREEN = 560; // the canvas's own pixels: twice its size on the page
const PEN = 42;
const EVERY = 150;

function paint(context, strokes, color) {
  context.clearRect(0, 0, SCREEN, SCREEN);
  context.lineCap = context.lineJoin = "round";
  context.lineWidth = PEN;
  context.strokeStyle = context.fillStyle = color;
  for (const stroke of strokes) {
    context.beginPath();
    const [first, ...rest] = stroke;
    if (!rest.length) {
      context.arc(first[0], first[1], PEN / 2, 0, 7);
      context.fill();
      continue;
    }
    context.moveTo(...first);
    // Through the midpoints of the segments, so that corners become curves.
    for (let i = 1; i < stroke.length - 1; i++) {
      const [a, b] = [stroke[i], stroke[i + 1]];
      context.quadraticCurveTo(a[0], a[1], (a[0] + b[0]) / 2, (a[1] + b[1]) / 2);
    }
    context.lineTo(...stroke[stroke.length - 1]);
    context.stroke();
  }
}

function render({ model, el }) {
  const side = model.get("side");
  const pad = document.createElement("div");
  pad.className = "tr-pad";
  const canvas = document.createElement("canvas");
  canvas.width = canvas.height = SCREEN;
  canvas.setAttribute("role", "img");
  const hint = document.createElement("span");
  hint.className = "tr-pad-hint";
  hint.setAttribute("aria-hidden", "true");
  const clear = document.createElement("button");
  clear.type = "button";
  clear.className = "sp-button is-quiet tr-pad-clear";
  const sheet = document.createElement("div");
  sheet.className = "tr-pad-sheet";
  sheet.append(canvas, hint);
  pad.append(sheet, clear);
  el.append(pad);

  const context = canvas.getContext("2d");
  const small = document.createElement("canvas");
  small.width = small.height = side;
  const smallContext = small.getContext("2d", { willReadFrequently: true });
  let strokes = [];
  let shown = null; // a picture from Python, as a canvas
  let given = false; // whether the strokes are not the visitor's
  let current = null;
  let lastSent = 0;
  let timer = 0;

  function words() {
    canvas.setAttribute("aria-label", model.get("label"));
    hint.textContent = model.get("hint");
    clear.textContent = model.get("clear_label");
  }

  function redraw() {
    const ink = getComputedStyle(canvas).color;
    paint(context, strokes, ink);
    if (shown) {
      context.imageSmoothingEnabled = false;
      context.drawImage(shown, 0, 0, SCREEN, SCREEN);
      context.globalCompositeOperation = "source-in";
      context.fillStyle = ink;
      context.fillRect(0, 0, SCREEN, SCREEN);
      context.globalCompositeOperation = "source-over";
    }
    hint.hidden = strokes.length > 0 || shown !== null;
  }

  function send() {
    clearTimeout(timer);
    timer = 0;
    lastSent = performance.now();
    // Scaled by two in each step, a mean of four pixels: one big step would skip most of them.
    let source = canvas;
    for (let size = SCREEN; size / 2 >= side; size /= 2) {
      const half = document.createElement("canvas");
      half.width = half.height = size / 2;
      half.getContext("2d").drawImage(source, 0, 0, size / 2, size / 2);
      source = half;
    }
    smallContext.clearRect(0, 0, side, side);
    smallContext.drawImage(source, 0, 0, side, side);
    const rgba = smallContext.getImageData(0, 0, side, side).data;
    const bytes = new Uint8Array(side * side);
    for (let i = 0; i < bytes.length; i++) bytes[i] = rgba[4 * i + 3];
    model.set("pixels", new DataView(bytes.buffer));
    model.save_changes();
  }

  function sendSoon() {
    if (timer) return;
    timer = setTimeout(send, Math.max(0, EVERY - (performance.now() - lastSent)));
  }

  function at(event) {
    const box = canvas.getBoundingClientRect();
    return [((event.clientX - box.left) / box.width) * SCREEN, ((event.clientY - box.top) / box.height) * SCREEN];
  }

  canvas.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    event.preventDefault();
    canvas.setPointerCapture(event.pointerId);
    if (shown || given) { shown = null; strokes = []; given = false; model.send({ drawn: true }); }
    current = [at(event)];
    strokes.push(current);
    redraw();
  });
  canvas.addEventListener("pointermove", (event) => {
    if (!current) return;
    for (const e of event.getCoalescedEvents?.() ?? []) current.push(at(e));
    current.push(at(event));
    redraw();
    sendSoon();
  });
  const end = () => {
    if (!current) return;
    current = null;
    send();
  };
  canvas.addEventListener("pointerup", end);
  canvas.addEventListener("pointercancel", end);
  clear.addEventListener("click", () => {
    strokes = [];
    shown = current = null;
    given = false;
    clearTimeout(timer);
    timer = 0;
    redraw();
    model.send({ clear: true });
  });

  function show() {
    const view = model.get("picture");
    if (!view || !view.byteLength) { shown = null; return redraw(); }
    const size = Math.round(Math.sqrt(view.byteLength));
    shown = document.createElement("canvas");
    shown.width = shown.height = size;
    const image = new ImageData(size, size);
    for (let i = 0; i < view.byteLength; i++) image.data[4 * i + 3] = view.getUint8(i);
    shown.getContext("2d").putImageData(image, 0, 0);
    strokes = [];
    redraw();
  }

  function draw() {
    const lines = model.get("strokes") ?? [];
    if (!lines.length || current) return;
    strokes = lines.map((line) => line.map(([x, y]) => [x * SCREEN, y * SCREEN]));
    shown = null;
    given = true;
    redraw();
    sendSoon();
  }

  const theme = new MutationObserver(redraw);
  theme.observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme", "class"] });
  const dark = matchMedia("(prefers-color-scheme: dark)");
  dark.addEventListener("change", redraw);
  model.on("change:picture", show);
  model.on("change:strokes", draw);
  model.on("change:label change:hint change:clear_label", words);
  words();
  show();
  draw();
  return () => {
    theme.disconnect();
    dark.removeEventListener("change", redraw);
    clearTimeout(timer);
    model.off("change:picture", show);
    model.off("change:strokes", draw);
    model.off("change:label change:hint change:clear_label", words);
  };
}

export default { render };
