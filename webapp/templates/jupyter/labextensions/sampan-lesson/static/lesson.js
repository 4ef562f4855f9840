// A lesson of the course in JupyterLab: "Check my work" in the toolbar and below each exercise, hints, and the verdict
// in a panel beside the notebook. A name in the verdict leads to its cell. The server sends the panel in the visitor's
// language; a hint is printed by the notebook's own kernel.
//
// Written by hand in the form in which JupyterLab loads extensions, as sampan-session is. Both are plain scripts of one
// page: the braces keep the names apart.

{
const NAME = "sampan-lesson";
const LOOK_MS = 500;
const AGAIN_MS = 3000;  // after an answer that never came
const EXERCISE = /@learn\.exercise\(\s*["']([\w.]+)["']/;
const LESSON = /^(?:notebooks\/([A-Za-z0-9_-]+)|assignments\/([^/]+)\/([^/]+))\.ipynb$/;
const STYLE = `
  .sampan-lesson { padding: 12px 16px; overflow: auto; background: var(--jp-layout-color1); color: var(--jp-ui-font-color1);
    font-size: var(--jp-ui-font-size1); line-height: 1.5; }
  .sampan-lesson h2 { margin: 0 0 8px; font-size: var(--jp-ui-font-size2); }
  .sampan-lesson form, .sampan-lesson p { margin: 0 0 6px; }
  .sampan-lesson .sp-row { display: flex; gap: 8px; align-items: center; flex-wrap: wrap; }
  .sampan-lesson .sp-row.is-apart { justify-content: space-between; }
  .sampan-lesson .sp-notice { padding: 6px 10px; margin: 8px 0; border-left: 3px solid var(--jp-brand-color1); background: var(--jp-layout-color2); }
  .sampan-lesson .sp-notice.is-good { border-color: var(--jp-success-color1); }
  .sampan-lesson .sp-notice.is-bad { border-color: var(--jp-error-color1); }
  .sampan-lesson .sp-steps { list-style: none; margin: 0; padding: 0; }
  .sampan-lesson .sp-steps > li { padding: 8px 0; border-top: 1px solid var(--jp-border-color2); }
  .sampan-lesson .sp-hint, .sampan-lesson .sampan-hint { white-space: pre-wrap; overflow-wrap: anywhere; }
  .sampan-lesson .sampan-hint:not(:empty) { padding: 6px 10px; margin: 8px 0; background: var(--jp-layout-color2); }
  .sampan-lesson .sp-code { overflow: auto; font: var(--jp-code-font-size) var(--jp-code-font-family); }
  .sampan-lesson .sp-tag { white-space: nowrap; }
  .sampan-lesson .sp-mark { width: 1em; height: 1em; vertical-align: -.125em; margin-right: .4em; }
  .sampan-lesson .sp-track { width: 100%; }
  .sampan-lesson .sp-hidden { position: absolute; clip-path: inset(50%); width: 1px; height: 1px; overflow: hidden; }
  .sampan-lesson .sp-small { font-size: var(--jp-ui-font-size0); }
  .sampan-lesson .sp-muted { color: var(--jp-ui-font-color2); }
  .sampan-lesson a, .sampan-lesson .sampan-jump { color: var(--jp-content-link-color); }
  .sampan-lesson .sampan-jump { font: inherit; font-weight: 600; padding: 0; border: 0; background: none; cursor: pointer; text-align: left; }
  .jp-Toolbar-item[data-jp-item-name^="${NAME}"] .jp-ToolbarButtonComponent { padding: 0 8px; }
  .sampan-exercise { display: flex; gap: 8px; align-items: center; margin: 4px 0 4px 76px; font-size: var(--jp-ui-font-size1); }
  .sampan-exercise button, .sampan-lesson .sp-button { font: inherit; padding: 2px 10px; cursor: pointer; color: var(--jp-ui-font-color1);
    background: var(--jp-layout-color2); border: 1px solid var(--jp-border-color1); border-radius: 3px; }
  .sampan-exercise button:disabled, .sampan-lesson .sp-button:disabled { opacity: .5; cursor: default; }
`;

let shared;

async function fromLab(name) {
  const versions = Object.values(shared[name]);
  return (await versions[0].get())();
}

class Lessons {
  constructor(app, tracker, { Widget, ToolbarButton, Dialog, showDialog, ServerConnection }) {
    this.app = app;
    this.Widget = Widget;
    this.ToolbarButton = ToolbarButton;
    this.Dialog = Dialog;
    this.showDialog = showDialog;
    const settings = ServerConnection.makeSettings();
    this.base = settings.baseUrl;
    this.ask = (address) => ServerConnection.makeRequest(address, {}, settings);  // with what JupyterHub wants of scripts
    this.node = document.createElement("div");
    this.node.className = NAME;
    this.node.innerHTML = `<div data-said role="status"></div><div data-told></div><div class="sampan-hint" role="status"></div>`;
    this.said = this.node.querySelector("[data-said]");
    this.told = this.node.querySelector("[data-told]");
    this.hinted = this.node.querySelector(".sampan-hint");
    this.node.addEventListener("submit", (event) => this.submitted(event));
    this.node.addEventListener("click", (event) => this.clicked(event));
    this.turn = 0;  // an answer that a later question has overtaken is old
    this.checks = new Set();  // notebook panels whose toolbar has the buttons
    tracker.currentChanged.connect((_, panel) => this.look(panel));
    this.look(tracker.currentWidget);
  }

  // ---- the open notebook ---------------------------------------------------------------------------

  async look(panel) {
    this.panel = panel;
    clearTimeout(this.timer);
    this.html = "";
    this.hinted.textContent = this.said.textContent = "";
    if (!panel) return;
    await panel.context.ready;
    if (panel !== this.panel || !LESSON.test(panel.context.path)) return;
    await this.refresh();
    if (panel !== this.panel || !this.html || this.checks.has(panel)) return;
    const { check, hand } = this.told.querySelector("[data-texts]").dataset;
    const buttons = [[check, () => this.check()], [hand, () => this.handIn()]].filter(([label]) => label);
    buttons.forEach(([label, onClick], at) => {
      panel.toolbar.insertItem(10 + at, `${NAME}-${at}`, new this.ToolbarButton({ label, onClick }));
    });
    this.checks.add(panel);
    panel.disposed.connect(() => this.checks.delete(panel));
    panel.content.model.cells.changed.connect(() => setTimeout(() => this.mark()));
  }

  address(...parts) {
    const [, lesson, assignment, notebook] = LESSON.exec(this.panel.context.path);
    const place = lesson ? ["courses", lesson] : ["assignments", assignment, notebook];
    return [`${this.base}studio`, ...place.map(encodeURIComponent), ...parts].join("/");
  }

  cells() {
    return this.panel.content.widgets.filter((cell) => cell.model.type === "code");
  }

  slot(cell) {
    return EXERCISE.exec(cell.model.sharedModel.getSource())?.[1] ?? "";
  }

  // ---- the panel -----------------------------------------------------------------------------------

  async refresh() {
    const turn = ++this.turn;
    clearTimeout(this.timer);
    let html;
    try {
      const reply = await this.ask(this.address("panel"));
      if (reply.redirected || reply.status === 204) return;  // the login, or a notebook that is not a lesson
      if (!reply.ok) throw new Error(reply.statusText);
      html = await reply.text();
    } catch {  // the server is away for a moment; Lab itself says so
      if (turn === this.turn) this.timer = setTimeout(() => this.refresh(), AGAIN_MS);
      return;
    }
    if (turn !== this.turn) return;
    this.draw(html);
    if (this.told.querySelector("[data-active]")) this.timer = setTimeout(() => this.refresh(), LOOK_MS);
  }

  draw(html) {
    if (html === this.html) return;
    const focused = this.told.contains(document.activeElement);
    this.html = html;
    this.told.innerHTML = html;
    for (const item of this.told.querySelectorAll("li[data-slot]")) {
      const title = item.querySelector("strong");
      const jump = document.createElement("button");
      jump.className = "sampan-jump";
      jump.textContent = title.textContent;
      title.replaceWith(jump);
    }
    const running = !!this.told.querySelector("[data-active]");
    const check = this.told.querySelector("form[data-check] button");
    if (check) check.disabled = running;
    if (focused) (this.told.querySelector("[data-cancel] button") ?? check)?.focus();
    if (!this.widget) this.add();
    this.mark();
  }

  add() {
    this.widget = new this.Widget({ node: this.node });
    this.widget.id = NAME;
    this.widget.title.label = this.widget.title.caption = this.told.querySelector("[data-texts]").dataset.title;
    this.app.shell.add(this.widget, "right", { rank: 600 });
  }

  open() {
    if (this.widget) this.app.shell.activateById(NAME);
  }

  // ---- the exercises' cells ------------------------------------------------------------------------

  // Below each exercise: its buttons, and the points of the last check.
  mark() {
    if (!this.html || !this.panel) return;
    const { check, hint } = this.told.querySelector("[data-texts]").dataset;
    const running = !!this.told.querySelector("[data-active]");
    for (const cell of this.cells()) {
      const slot = this.slot(cell);
      let bar = cell.node.querySelector(":scope > .sampan-exercise");
      if (!slot) { bar?.remove(); continue; }
      if (!bar) {
        bar = document.createElement("div");
        bar.className = "sampan-exercise";
        for (const [text, act] of [[check, () => this.check()], [hint, () => this.hint(this.slot(cell))]]) {
          const button = document.createElement("button");
          button.textContent = text;
          button.addEventListener("click", act);
          bar.append(button);
        }
        bar.append(document.createElement("span"));
        cell.node.append(bar);
      }
      bar.firstChild.disabled = running;
      const item = this.told.querySelector(`li[data-slot="${CSS.escape(slot)}"]`);
      bar.dataset.kind = item?.dataset.kind ?? "";
      bar.lastChild.textContent = item?.querySelector(".sp-tag").textContent ?? "";
    }
  }

  jump(cell) {
    const notebook = this.panel.content;
    const index = notebook.widgets.indexOf(cell);
    if (index < 0) return;
    notebook.activeCellIndex = index;
    notebook.scrollToItem(index, "smart");
    notebook.activate();
  }

  // ---- actions -------------------------------------------------------------------------------------

  // The notebook is saved first: the file is what is graded.
  async check() {
    const panel = this.panel;
    this.open();
    await panel.context.save();
    if (panel !== this.panel) return;
    const form = this.told.querySelector("form[data-check]");
    await fetch(form.action, { method: "POST", body: new FormData(form), redirect: "manual" });
    this.refresh();
  }

  // As with a check, the file is what is sent. The server's clock and the class's terms decide; it answers in words.
  async handIn() {
    const panel = this.panel;
    this.open();
    await panel.context.save();
    const { hand, sure, lost } = this.told.querySelector("[data-texts]").dataset;
    if (sure) {
      const buttons = [this.Dialog.cancelButton(), this.Dialog.okButton({ label: hand })];
      const { button } = await this.showDialog({ title: hand, body: sure, buttons });
      if (!button.accept) return;
    }
    if (panel !== this.panel) return;
    const form = this.told.querySelector("form[data-hand]");
    try {
      const reply = await fetch(form.action, { method: "POST", body: new FormData(form), redirect: "error" });
      if (panel !== this.panel) return;
      const html = await reply.text();
      const words = new DOMParser().parseFromString(html, "text/html").querySelector(".sp-notice");
      this.said.replaceChildren(words ?? lost);
    } catch {  // not even a refusal: whether it has arrived is not known
      this.said.textContent = lost;
    }
    this.refresh();
  }

  async hint(slot) {
    this.open();
    const { waiting, kernel: missing } = this.told.querySelector("[data-texts]").dataset;
    this.hinted.textContent = waiting;
    const { sessionContext } = this.panel;
    await sessionContext.ready;  // a notebook that has just been opened starts its kernel
    const kernel = sessionContext.session?.kernel;
    if (!kernel) { this.hinted.textContent = missing; return; }
    const chinese = this.panel.content.model.getMetadata("sampan")?.language === "zh";
    const learn = `__import__("sampan.learn").learn`;
    const code = `${chinese ? `${learn}.language("zh")\n` : ""}${learn}.hint(${JSON.stringify(slot)})`;
    const asked = kernel.requestExecute({ code, store_history: false });
    let text = "";
    asked.onIOPub = ({ header, content }) => {
      if (header.msg_type === "stream") text += content.text;
      if (header.msg_type === "error") text += `${content.ename}: ${content.evalue}`;
    };
    await asked.done;
    this.hinted.textContent = text.trim();
  }

  async submitted(event) {
    event.preventDefault();
    const form = event.target;
    if (form.matches("[data-check]")) return this.check();
    if (form.matches("[data-hand]")) return this.handIn();
    const reply = await fetch(form.action, { method: "POST", body: new FormData(form), redirect: "manual" });
    if (reply.status >= 400) {  // a refusal, in words
      const words = new DOMParser().parseFromString(await reply.text(), "text/html").querySelector(".sp-notice");
      this.said.replaceChildren(words ?? reply.statusText);
    }
    this.refresh();
  }

  clicked({ target }) {
    const slot = target.closest(".sampan-jump") && target.closest("li").dataset.slot;
    if (slot) this.jump(this.cells().find((cell) => this.slot(cell) === slot));
    const place = target.closest("[data-cell]");
    if (place) this.jump(this.panel.content.widgets[Number(place.dataset.cell) - 1]);
  }
}

window._JUPYTERLAB = window._JUPYTERLAB || {};
window._JUPYTERLAB[NAME] = {
  init(scope) { shared = scope; },
  async get() {
    const { INotebookTracker } = await fromLab("@jupyterlab/notebook");
    const { ToolbarButton } = await fromLab("@jupyterlab/ui-components");
    const { Dialog, showDialog } = await fromLab("@jupyterlab/apputils");
    const { ServerConnection } = await fromLab("@jupyterlab/services");
    const { Widget } = await fromLab("@lumino/widgets");
    const plugin = {
      id: `${NAME}:panel`,
      autoStart: true,
      requires: [INotebookTracker],
      activate(app, tracker) {
        const style = document.createElement("style");
        style.textContent = STYLE;
        document.head.append(style);
        new Lessons(app, tracker, { Widget, ToolbarButton, Dialog, showDialog, ServerConnection });
      },
    };
    return () => ({ __esModule: true, default: plugin });
  },
};
}
