// A page that computes, while its kernel runs. The names on `window` are Voilà's: its front end needs them.

// Voilà starts when the whole page is loaded, with all cells.
window.cellLoaded = true;
window.voila_finish = () => {
  document.getElementById("loading")?.remove();
  document.getElementById("rendered_cells").hidden = false;
};

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
