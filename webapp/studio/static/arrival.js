// Reports once that the page is shown: from then on it receives the kernel's changes. `root` is "IPY_MODEL_<id>";
// a model is complete when all its children are, which may be seconds later on a slow connection.

export default {
  async render({ model, el }) {
    el.hidden = true; // it draws nothing
    await model.widget_manager.get_model(model.get("root").slice("IPY_MODEL_".length));
    model.set("arrived", true);
    model.save_changes();
  },
};
