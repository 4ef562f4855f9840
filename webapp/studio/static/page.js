// A page that computes, while its kernel runs. The names on `window` are Voilà's: its front end needs them.

const CALM_MS = 120;  // without a change: the page's parts are drawn
const LONGEST_MS = 30_000;

// Voilà starts when the whole page is loaded, with all cells. It then draws the widgets one after the other; meanwhile the
// skeleton stays, and the cells have their place and width but are not seen.
window.cellLoaded = true;
window.voila_finish = () => {
  const cells = document.getElementById("rendered_cells");
  // A widget with a module of its own is empty until the module has come; one that draws nothing is hidden.
  const waits = () => {
    const outputs = [...cells.querySelectorAll(".jp-OutputArea-output")];
    return !outputs.length || outputs.some((one) => !one.childElementCount || one.textContent === "Loading widget...") ||
      cells.querySelector(".anywidget:empty:not([hidden])");
  };
  const show = () => {
    observer.disconnect();
    clearTimeout(timer);
    clearTimeout(latest);
    document.getElementById("loading")?.remove();
    cells.classList.remove("is-making");
  };
  let timer = 0;
  const observer = new MutationObserver(() => {
    clearTimeout(timer);
    if (!waits()) timer = setTimeout(show, CALM_MS);
  });
  const latest = setTimeout(show, LONGEST_MS);
  observer.observe(cells, { childList: true, subtree: true });
  cells.hidden = false;
  cells.classList.add("is-making");
  if (cells.querySelector(".sp-notice.is-bad")) show(); // a cell that failed has no widget
};

// anywidget gives up a widget, and every message to it, that is not ready after two seconds: a slow machine needs more.
const limit = AbortSignal.timeout.bind(AbortSignal);
AbortSignal.timeout = (ms) => limit(Math.max(ms, 120_000));

const whenever = (react) => {
  const observer = new MutationObserver(() => react() && observer.disconnect());
  observer.observe(document, { childList: true, subtree: true });
};

// The bar advances with every cell that has run.
whenever(() => {
  const bar = document.querySelector("#loading progress[max]");
  if (bar) bar.value = document.querySelectorAll("[cell-index]").length;
  return document.readyState !== "loading";
});

// Voilà appends its shell to the body; a page's content belongs in its main landmark.
whenever(() => {
  const shell = document.getElementById("main");
  if (shell) document.getElementById("content").append(shell);
  return shell;
});

// The kernel is stopped when its page is closed. Voilà does this too, but only after its front end has loaded.
addEventListener("pagehide", () => {
  const settings = JSON.parse(document.getElementById("jupyter-config-data").textContent);
  const form = new FormData();
  form.append("_xsrf", document.querySelector("input[name=_xsrf]").value);
  navigator.sendBeacon(`${settings.baseUrl}voila/api/shutdown/${settings.kernelId}`, form);
});
