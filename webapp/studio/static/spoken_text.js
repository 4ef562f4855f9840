// Text while it is spoken: complete lines, and the present one, whose last words may still change. Elements stay; only
// their texts change, so nothing flickers and a screen reader reads a complete line once.

function render({ model, el }) {
  const root = document.createElement("section");
  root.className = "so-text";
  const heading = document.createElement("h3");
  heading.textContent = model.get("title");
  const box = document.createElement("div");
  box.className = "so-said";
  box.tabIndex = 0;
  box.setAttribute("role", "log");
  box.setAttribute("aria-label", model.get("title"));
  const list = document.createElement("ol");
  list.className = "so-lines";
  const now = document.createElement("p");
  now.className = "so-now";
  now.setAttribute("aria-live", "off");
  const [final, partial, empty] = ["so-final", "so-partial", "sp-muted so-hint"].map((name) => {
    const span = document.createElement("span");
    span.className = name;
    now.append(span);
    return span;
  });
  box.append(list, now);
  root.append(heading, box);
  el.append(root);

  function draw() {
    const lines = model.get("lines"), wanted = new Set(lines.map((line) => String(line.number)));
    for (const item of [...list.children]) if (!wanted.has(item.dataset.number)) item.remove();
    const present = new Set([...list.children].map((item) => item.dataset.number));
    for (const line of lines) {
      if (present.has(String(line.number))) continue;
      const item = document.createElement("li");
      item.dataset.number = String(line.number);
      const note = document.createElement("span");
      note.className = "sp-small sp-muted sp-number";
      note.textContent = line.note;
      item.append(line.text, " ", note);
      list.append(item);
    }
    final.textContent = model.get("final");
    partial.textContent = model.get("partial");
    const nothing = !lines.length && !model.get("final") && !model.get("partial");
    empty.textContent = nothing ? model.get("empty") : "";
    root.dataset.lines = String(lines.length);
    box.scrollTop = box.scrollHeight;
  }

  model.on("change:lines change:final change:partial change:empty", draw);
  draw();
  return () => model.off("change:lines change:final change:partial change:empty", draw);
}

export default { render };
