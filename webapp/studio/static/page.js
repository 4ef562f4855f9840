// A page that computes, while its kernel works. The names on `window` are Voilà's: its front end asks for them.

// Voilà begins when the whole page is there, so every cell is.
window.cellLoaded = true;
window.voila_finish = () => {
  document.getElementById("loading")?.remove();
  document.getElementById("rendered_cells").hidden = false;
};

const whenever = (react) => {
  const observer = new MutationObserver(() => react() && observer.disconnect());
  observer.observe(document, { childList: true, subtree: true });
};

// The bar moves on with every cell that has run.
whenever(() => {
  const bar = document.querySelector("#loading progress[max]");
  if (bar) bar.value = document.querySelectorAll("[cell-index]").length;
  return document.readyState !== "loading";
});

// Voilà hangs its shell at the end of the body; a page's content belongs into its main landmark.
whenever(() => {
  const shell = document.getElementById("main");
  if (shell) document.getElementById("content").append(shell);
  return shell;
});

// The kernel is given back when its page is left. Voilà says so too, but only once its front end has come to it.
addEventListener("pagehide", () => {
  const settings = JSON.parse(document.getElementById("jupyter-config-data").textContent);
  const form = new FormData();
  form.append("_xsrf", document.querySelector("input[name=_xsrf]").value);
  navigator.sendBeacon(`${settings.baseUrl}voila/api/shutdown/${settings.kernelId}`, form);
});
