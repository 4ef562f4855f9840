// The compared runs, as an HTML table. `rows`: [{id, slot, state, cells: [...]}], `columns`: [{label, figure}].
// Sends {show: id} and {remove: id}. Buttons keep the focus when rows are drawn again.

function cell(name, text, className) {
  const node = document.createElement(name);
  if (className) node.className = className;
  if (text !== undefined) node.textContent = text;
  return node;
}

function render({ model, el }) {
  const scroll = cell("div", undefined, "sp-scroll tr-runs");
  scroll.tabIndex = 0;
  scroll.setAttribute("role", "region");
  el.append(scroll);

  function button(label, spoken, pressed, key, message) {
    const node = cell("button", label, "tr-link");
    node.type = "button";
    node.dataset.key = key;
    node.setAttribute("aria-label", spoken);
    if (pressed !== null) node.setAttribute("aria-pressed", String(pressed));
    node.addEventListener("click", () => model.send(message));
    return node;
  }

  function draw() {
    const words = model.get("words");
    const rows = model.get("rows");
    const focused = scroll.contains(document.activeElement) ? document.activeElement.dataset.key : null;
    scroll.setAttribute("aria-label", words.caption);
    if (!rows.length) {
      scroll.replaceChildren(cell("p", words.empty, "sp-muted"));
      return;
    }
    const table = cell("table", undefined, "sp-table");
    table.append(cell("caption", words.caption, "sp-hidden"));
    const head = table.createTHead().insertRow();
    for (const column of model.get("columns")) {
      const node = cell("th", column.label, column.figure ? "is-figure" : "");
      node.scope = "col";
      head.append(node);
    }
    const body = table.createTBody();
    for (const row of rows) {
      const line = body.insertRow();
      line.dataset.run = row.id;
      line.dataset.state = row.state;
      row.cells.forEach((text, i) => {
        const node = cell(i === 0 ? "th" : "td", undefined, model.get("columns")[i].figure ? "is-figure" : "");
        if (i === 0) {
          node.scope = "row";
          const swatch = cell("span", undefined, "tr-swatch");
          swatch.style.background = `var(--sp-run-${row.slot})`;
          node.append(swatch);
        }
        node.append(text);
        line.append(node);
      });
      const actions = cell("td", undefined, "tr-actions");
      const name = row.cells[0];
      if (row.can_show) {
        const here = row.id === model.get("selected");
        actions.append(button(here ? words.shown : words.show, `${words.show}: ${name}`, here, `show-${row.id}`, { show: row.id }));
      }
      actions.append(button(words.remove, `${words.remove}: ${name}`, null, `remove-${row.id}`, { remove: row.id }));
      line.append(actions);
    }
    scroll.replaceChildren(table);
    if (focused) (scroll.querySelector(`[data-key="${focused}"]`) ?? scroll).focus();
  }

  model.on("change:rows change:selected", draw);
  draw();
  return () => model.off("change:rows change:selected", draw);
}

export default { render };
