// The page's settings in its address, so that a reload or a link brings them back. Python gets `given`, the query of the
// address, once; `query` is then kept in the address bar. A button copies the address; where the browser allows no
// copying (a page without HTTPS), the address is shown and selected.

function render({ model, el }) {
  const words = model.get("words");
  const row = document.createElement("div");
  row.className = "sp-share";
  const button = document.createElement("button");
  button.type = "button";
  button.className = "sp-button is-quiet is-small";
  button.textContent = words.copy;
  const said = document.createElement("span");
  said.className = "sp-muted sp-small";
  said.setAttribute("role", "status");
  const field = document.createElement("input");
  field.className = "sp-input";
  field.readOnly = true;
  field.hidden = true;
  field.setAttribute("aria-label", words.field);
  row.append(button, said, field);
  el.append(row);

  const address = () => `${location.origin}${location.pathname}${model.get("query") ? `?${model.get("query")}` : ""}`;

  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(address());
      said.textContent = words.copied;
    } catch {
      field.value = address();
      field.hidden = false;
      field.select();
      said.textContent = words.by_hand;
    }
  });
  const show = () => {
    history.replaceState(history.state, "", address());
    said.textContent = "";
    if (!field.hidden) field.value = address();
  };
  model.on("change:query", show);
  if (location.search && !model.get("given")) {
    model.set("given", location.search.slice(1));
    model.save_changes();
  }
  return () => model.off("change:query", show);
}

export default { render };
