// A file of the visitor: the browser's own control. `content` gets its bytes, `name` its name; a file of more than
// `most` bytes is not read, and {too_large: bytes} is sent instead.

function render({ model, el }) {
  const root = document.createElement("div");
  root.className = "sp-field gr-upload";
  const label = document.createElement("label");
  label.htmlFor = `sx-file-${Math.random().toString(36).slice(2)}`; // each widget has a copy of this module
  label.textContent = model.get("label");
  const input = document.createElement("input");
  Object.assign(input, { type: "file", id: label.htmlFor, accept: model.get("accept"), className: "gr-file" });
  root.append(label, input);
  el.append(root);
  input.addEventListener("change", async () => {
    const file = input.files[0];
    if (!file) return;
    if (file.size > model.get("most")) {
      model.send({ too_large: file.size });
      return;
    }
    const bytes = await file.arrayBuffer();
    model.set("name", file.name);
    model.set("content", new DataView(bytes));
    model.save_changes();
    model.send({ ready: true }); // also after the same file was chosen again
    input.value = "";
  });
}

export default { render };
