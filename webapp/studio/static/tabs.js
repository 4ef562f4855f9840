// Tabs over parts of the page: `names` and their `labels`; the part of a name is the element of class `sx-tab-<name>`.
// The chosen one is in the address (#name), so that a link or a reload keeps it. Keys as in the ARIA pattern of tabs.

function render({ model, el }) {
  const names = model.get("names");
  const list = document.createElement("div");
  list.className = "sx-tabs";
  list.setAttribute("role", "tablist");
  list.setAttribute("aria-label", model.get("title"));
  const tabs = names.map((name, i) => {
    const tab = document.createElement("button");
    Object.assign(tab, { type: "button", id: `sx-tab-${name}`, className: "sx-tab", textContent: model.get("labels")[i] });
    tab.setAttribute("role", "tab");
    tab.addEventListener("click", () => choose(name));
    return tab;
  });
  list.append(...tabs);
  el.append(list);

  function choose(name) {
    if (model.get("selected") !== name) {
      model.set("selected", name);
      model.save_changes();
    }
    history.replaceState(null, "", `#${name}`);
    show();
  }

  function show() {
    const chosen = model.get("selected");
    names.forEach((name, i) => {
      const on = name === chosen;
      tabs[i].setAttribute("aria-selected", String(on));
      tabs[i].tabIndex = on ? 0 : -1;
      const part = document.querySelector(`.sx-tab-${name}`);
      if (!part) return;
      part.id = `sx-panel-${name}`;
      part.setAttribute("role", "tabpanel");
      part.setAttribute("aria-labelledby", tabs[i].id);
      tabs[i].setAttribute("aria-controls", part.id);
      part.style.display = on ? "" : "none";
    });
    if (parts()) watch.disconnect();
  }

  const parts = () => names.every((name) => document.querySelector(`.sx-tab-${name}`));
  const watch = new MutationObserver(show); // the parts may be shown after the tabs
  list.addEventListener("keydown", (event) => {
    const at = names.indexOf(model.get("selected"));
    const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: names.length - 1 }[event.key];
    if (to === undefined || event.ctrlKey || event.altKey || event.metaKey) return;
    event.preventDefault();
    const next = (to + names.length) % names.length;
    choose(names[next]);
    tabs[next].focus();
  });
  const follow = () => {
    const asked = location.hash.slice(1);
    if (names.includes(asked)) choose(asked);
  };
  window.addEventListener("hashchange", follow);
  model.on("change:selected", show);
  if (!parts()) watch.observe(document.body, { childList: true, subtree: true });
  show();
  follow();
  return () => {
    watch.disconnect();
    window.removeEventListener("hashchange", follow);
    model.off("change:selected", show);
  };
}

export default { render };
