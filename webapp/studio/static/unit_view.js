// The units of a first layer: the weights of each as a small picture, and under it how strongly it answers. `weights` are
// int8 [units, height, width], -127..127 for the largest weight of each unit; `activations` uint8 [units] or empty.

const SIDE = 52, GAP = 8, BAR = 6;

function render({ model, el }) {
  const figure = document.createElement("figure");
  figure.className = "tr-units";
  const canvas = document.createElement("canvas");
  canvas.setAttribute("role", "img");
  const caption = document.createElement("figcaption");
  caption.className = "sp-muted sp-small";
  figure.append(canvas, caption);
  el.append(figure);

  function draw() {
    const [units, height, width] = model.get("shape");
    caption.textContent = model.get("caption");
    canvas.setAttribute("aria-label", model.get("label"));
    const room = Math.max(figure.clientWidth, SIDE + GAP);
    const columns = Math.max(1, Math.min(units || 1, Math.floor((room + GAP) / (SIDE + GAP))));
    const rows = Math.max(1, Math.ceil((units || 16) / columns));
    const scale = devicePixelRatio || 1;
    const [w, h] = [columns * (SIDE + GAP) - GAP, rows * (SIDE + BAR + 2 * GAP) - GAP];
    canvas.width = w * scale;
    canvas.height = h * scale;
    canvas.style.width = `${w}px`;
    canvas.style.height = `${h}px`;
    const context = canvas.getContext("2d"), style = getComputedStyle(canvas);
    const colour = (name) => style.getPropertyValue(`--sp-${name}`).trim();
    const [plus, minus, line, accent] = ["run-1", "run-2", "sunk", "accent"].map(colour);
    context.scale(scale, scale);
    const weights = model.get("weights"), activations = model.get("activations");
    for (let unit = 0; unit < units; unit++) {
      const left = (unit % columns) * (SIDE + GAP), top = Math.floor(unit / columns) * (SIDE + BAR + 2 * GAP);
      context.globalAlpha = 1;
      context.fillStyle = line;
      context.fillRect(left, top, SIDE, SIDE);
      context.fillRect(left, top + SIDE + 3, SIDE, BAR);
      for (let k = 0; k < height * width; k++) {
        const value = weights.getInt8(unit * height * width + k) / 127;
        context.globalAlpha = Math.abs(value);
        context.fillStyle = value > 0 ? plus : minus;
        const [x, y] = [k % width, Math.floor(k / width)];
        const [x0, y0] = [Math.round((x * SIDE) / width), Math.round((y * SIDE) / height)];
        context.fillRect(left + x0, top + y0, Math.round(((x + 1) * SIDE) / width) - x0, Math.round(((y + 1) * SIDE) / height) - y0);
      }
      if (unit >= activations.byteLength) continue;
      context.globalAlpha = 1;
      context.fillStyle = accent;
      context.fillRect(left, top + SIDE + 3, (SIDE * activations.getUint8(unit)) / 255, BAR);
    }
    figure.dataset.units = String(units);
    figure.dataset.active = String(activations.byteLength);
  }

  let pending = 0;
  const schedule = () => {
    pending ||= requestAnimationFrame(() => { pending = 0; draw(); });
  };
  const theme = new MutationObserver(schedule);
  theme.observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme", "class"] });
  const dark = matchMedia("(prefers-color-scheme: dark)");
  dark.addEventListener("change", schedule);
  const resize = new ResizeObserver(schedule);
  resize.observe(figure);
  const changes = "change:weights change:activations change:shape change:caption change:label";
  model.on(changes, schedule);
  draw();
  return () => {
    cancelAnimationFrame(pending);
    theme.disconnect();
    resize.disconnect();
    dark.removeEventListener("change", schedule);
    model.off(changes, schedule);
  };
}

export default { render };
