// What the Studio's pages do beyond links and forms. Each of them works without this file, only less smoothly:
// the theme changes without a reload (a page that computes must not lose its kernel), and a check shows how it
// stands while it runs. No sentence is written here: the server sends them in the visitor's language.

const POLL_MS = 500;

const post = (form, submitter) =>
  fetch(form.action, { method: "POST", body: new FormData(form, submitter), redirect: "manual" });

const isDark = () => {
  const chosen = document.documentElement.dataset.theme;
  return chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
};

function prepareTheme(form) {
  const button = form.querySelector("button");
  const offer = () => { button.value = isDark() ? "light" : "dark"; };
  offer();
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", offer);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    document.documentElement.dataset.theme = button.value;
    post(form, event.submitter ?? button);
    offer();
    window.dispatchEvent(new CustomEvent("sampan-theme"));  // for canvases, which must draw again
  });
}

async function follow(place) {
  const reply = await fetch(place.dataset.verdict);
  if (!reply.ok) { location.reload(); return; }
  const fresh = document.createElement("div");
  fresh.innerHTML = await reply.text();
  const running = fresh.querySelector("[data-active]");
  const doing = place.querySelector("[data-doing]");
  const button = place.closest("li").querySelector("[data-check] button");
  if (running && doing) {  // only the seconds moved on: leave the focus where it is, and screen readers quiet
    doing.textContent = fresh.querySelector("[data-doing]").textContent;
  } else {
    const held = place.contains(document.activeElement) || document.activeElement === button;
    button.disabled = !!running;
    place.replaceChildren(...fresh.childNodes);
    listen(place);
    if (held) (place.querySelector("[data-cancel] button") ?? button).focus();
  }
  if (running) setTimeout(() => follow(place), POLL_MS);
}

function listen(root) {
  root.querySelectorAll("form[data-check], form[data-cancel]").forEach((form) => {
    form.addEventListener("submit", async (event) => {
      event.preventDefault();
      await post(form);
      follow(form.closest("li").querySelector("[data-verdict]"));
    });
  });
}

document.querySelectorAll("form[data-theme-form]").forEach(prepareTheme);
document.querySelectorAll("form[data-busy]").forEach((form) => {
  form.addEventListener("submit", () => form.querySelector("button").setAttribute("aria-busy", "true"));
});
// Back from the browser's memory of pages: nothing is busy any more.
addEventListener("pageshow", () => {
  document.querySelectorAll("[aria-busy]").forEach((button) => button.removeAttribute("aria-busy"));
});
listen(document);
document.querySelectorAll("[data-verdict]:has([data-active])").forEach((place) => {
  place.closest("li").querySelector("[data-check] button").disabled = true;
  follow(place);
});
