// Says once that the page stands: from here on, what the kernel changes reaches it. `root` is "IPY_MODEL_<id>"; a model
// is there when everything it contains is, which may be seconds after this one on a slow line.

export default {
  async render({ model }) {
    await model.widget_manager.get_model(model.get("root").slice("IPY_MODEL_".length));
    model.set("arrived", true);
    model.save_changes();
  },
};
