// The session of the open notebook in JupyterLab's status bar: device, time left, memory, and a button to keep it
// when it is about to be stopped because it is idle. The server sends the texts in the visitor's language.
//
// Written by hand in the form in which JupyterLab loads extensions (a module federation container), so that no build
// is needed: `init` receives Lab's own modules, `get` returns the plugin.

const LOOK_MS = 10000;
const NAME = "sampan-session";
const STYLE = `
  .sampan-session { display: flex; align-items: center; gap: 1em; padding: 0 8px; }
  .sampan-session form { margin: 0; }
  .sampan-session strong { color: var(--jp-error-color1); }
  .sampan-session button { font: inherit; padding: 0 .6em; cursor: pointer; }
  .sampan-session a { color: inherit; text-decoration: underline; }
`;

let shared;

async function fromLab(name) {
  const versions = Object.values(shared[name]);
  return (await versions[0].get())();
}

function line(server) {
  const settings = server.makeSettings();
  const node = document.createElement("div");
  node.className = NAME;
  node.addEventListener("submit", async (event) => {
    event.preventDefault();
    const form = event.target;
    await fetch(form.action, { method: "POST", body: new FormData(form), redirect: "manual" });
    show();
  });
  let kernel = "";
  let told = "";

  async function show() {
    let html = "";
    if (kernel) {
      try {
        const reply = await server.makeRequest(`${settings.baseUrl}studio/sessions/line/${kernel}`, {}, settings);
        html = reply.ok && !reply.redirected ? await reply.text() : "";  // redirected: to the login
      } catch { return; }  // the server is away for a moment; Lab itself says so
    }
    if (html === told) return;
    told = html;
    node.innerHTML = html;
  }

  setInterval(() => { if (!document.hidden) show(); }, LOOK_MS);
  return { node, of: (id) => { if (id !== kernel) { kernel = id; show(); } } };
}

function activate({ Widget, ServerConnection }, app, tracker, statusBar) {
  const style = document.createElement("style");
  style.textContent = STYLE;
  document.head.append(style);
  const shown = line(ServerConnection);
  statusBar.registerStatusItem(NAME, { item: new Widget({ node: shown.node }), align: "left", rank: 900 });

  const follow = () => shown.of(tracker.currentWidget?.sessionContext.session?.kernel?.id ?? "");
  tracker.currentChanged.connect(follow);
  tracker.widgetAdded.connect((_, panel) => panel.sessionContext.kernelChanged.connect(follow));
  follow();
}

window._JUPYTERLAB = window._JUPYTERLAB || {};
window._JUPYTERLAB[NAME] = {
  init(scope) { shared = scope; },
  async get() {
    const { INotebookTracker } = await fromLab("@jupyterlab/notebook");
    const { IStatusBar } = await fromLab("@jupyterlab/statusbar");
    const { ServerConnection } = await fromLab("@jupyterlab/services");
    const { Widget } = await fromLab("@lumino/widgets");
    const plugin = {
      id: `${NAME}:line`,
      autoStart: true,
      requires: [INotebookTracker, IStatusBar],
      activate: (...given) => activate({ Widget, ServerConnection }, ...given),
    };
    return () => ({ __esModule: true, default: plugin });
  },
};
