// A slider over a list of values, which are shown as `texts`: the browser's own control, so keys and screen readers
// work. The value is sent to the kernel when the slider is
// released, with `live` at every step; the present text is shown at once.

function render({ model, el }) {
  const root = document.createElement("div");
  root.className = "sp-field sx-slider";
  const label = document.createElement("label");
  label.htmlFor = `sx-slider-${Math.random().toString(36).slice(2)}`; // each widget has a copy of this module
  const line = document.createElement("div");
  line.className = "sx-slider-line";
  const input = document.createElement("input");
  Object.assign(input, { type: "range", id: label.htmlFor, min: 0, step: 1 });
  const shown = document.createElement("span");
  shown.className = "sx-slider-value sp-number";
  shown.setAttribute("aria-hidden", "true");
  line.append(input, shown);
  root.append(label, line);
  el.append(root);

  const say = () => {
    const text = model.get("texts")[Number(input.value)] ?? "";
    shown.textContent = text;
    input.setAttribute("aria-valuetext", text);
  };
  const draw = () => {
    label.textContent = model.get("label");
    input.max = Math.max(model.get("texts").length - 1, 0);
    input.value = model.get("index");
    say();
  };
  const send = () => {
    if (model.get("index") === Number(input.value)) return;
    model.set("index", Number(input.value));
    model.save_changes();
  };
  input.addEventListener("input", () => {
    say();
    if (model.get("live")) send();
  });
  input.addEventListener("change", send);
  model.on("change:label change:texts change:index", draw);
  draw();
  return () => model.off("change:label change:texts change:index", draw);
}

export default { render };
