// A part of the page that the server renders and refreshes (studio.js): `path` is its address under /studio.

function render({ model, el }) {
  const settings = JSON.parse(document.getElementById("jupyter-config-data").textContent);
  const part = document.createElement("div");
  part.className = "sp-live-part";
  part.dataset.live = `${settings.baseUrl}studio/${model.get("path")}`;
  part.dataset.around = "";
  const said = document.createElement("p");
  said.className = "sp-muted";
  said.setAttribute("role", "status");
  said.textContent = model.get("loading");
  part.append(said);
  el.append(part);
  // The page's own script, which listens to forms: a second copy of it would send each of them twice.
  import(document.querySelector('script[src*="/static/studio.js"]').src).then(({ refresh }) => refresh(part));
}

export default { render };
