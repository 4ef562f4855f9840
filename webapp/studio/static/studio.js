// Progressive enhancement of the Studio's pages. They all work without this file, only less smoothly:
// the theme changes without a reload (a page that computes must not lose its kernel), and live parts are updated in
// place. It contains no sentences: the server sends them in the visitor's language.
//
//   data-live="<address>"     a part of the page that the server refreshes while it is visible: every
//                             data-every milliseconds, or, without that, while an element in it is data-active
//   form[data-quiet]          sent in the background; then the live parts around it (data-around) are refreshed
//   data-queue="<address>"    a place in the queue, by server-sent events: "place" updates it, "go" redirects

const ACTIVE_MS = 500;
const LINE_MS = 10000;
const AGAIN_MS = 3000;  // after an answer that never came

// JupyterHub serves all learners at one origin: a script's question is answered only with the value of the page's forms.
const token = () => document.querySelector("input[name=_xsrf]").value;
const ask = (address) => fetch(address, { headers: { "X-XSRFToken": token() } });
const post = (form, submitter) =>
  fetch(form.action, { method: "POST", body: new FormData(form, submitter), redirect: "manual" });

// ---- refreshing ------------------------------------------------------------------------------------

// Makes `old` equal to `fresh` and touches only what differs: focus, opened details and selections stay. An element
// is identified by its id, or else by its name and its
// position among those of that name; elements added or removed before it do not matter.
function morph(old, fresh) {
  for (const { name, value } of [...fresh.attributes]) {
    if (name !== "open" && old.getAttribute(name) !== value) old.setAttribute(name, value);
  }
  for (const { name } of [...old.attributes]) {
    if (name !== "open" && !fresh.hasAttribute(name)) old.removeAttribute(name);
  }
  const left = new Set(old.childNodes);  // not found in `fresh` so far
  let at = old.firstChild;  // where the next one belongs, unless it stands further on
  for (const node of [...fresh.childNodes]) {
    const mine = counterpart(node, at, left);
    left.delete(mine);
    if (!mine) old.insertBefore(node, at);
    else if (isFrom(at, mine)) at = mine.nextSibling;
    else old.insertBefore(mine, at);
    if (mine?.nodeType === Node.ELEMENT_NODE) morph(mine, node);
    else if (mine && mine.nodeValue !== node.nodeValue) mine.nodeValue = node.nodeValue;
  }
  left.forEach((node) => node.remove());
}

// The node in `left` that corresponds to `node`; undefined if there is none.
function counterpart(node, at, left) {
  const alike = [...left].filter((one) => one.nodeName === node.nodeName && (one.id ?? "") === (node.id ?? ""));
  if (node.nodeType !== Node.ELEMENT_NODE) return alike.find((one) => one === at);  // no text is worth a step over others
  return alike.find((one) => isFrom(at, one)) ?? alike[0];
}

const isFrom = (at, node) =>
  !!at && (node === at || !!(at.compareDocumentPosition(node) & Node.DOCUMENT_POSITION_FOLLOWING));

export function redraw(piece, html) {
  const fresh = piece.cloneNode(false);
  fresh.innerHTML = html;
  morph(piece, fresh);
}

// ---- live parts --------------------------------------------------------------------------------------

const timers = new WeakMap();
const turns = new WeakMap();  // how often each piece was asked for: an answer that was overtaken by a later question is old
let silent = 0;  // questions in a row that the server has not answered

// Shown after the second failure: the first may only be caused by leaving this page.
function heard(answered) {
  silent = answered ? 0 : silent + 1;
  document.getElementById("away").hidden = silent < 2;
}

export async function refresh(piece) {
  clearTimeout(timers.get(piece));
  const turn = (turns.get(piece) ?? 0) + 1;
  turns.set(piece, turn);
  let html;
  try {
    const reply = await ask(piece.dataset.live);
    if (reply.redirected || (reply.status >= 400 && reply.status < 500)) {
      location.reload();  // the login, or a sentence
      return;
    }
    if (!reply.ok) throw new Error(reply.statusText);
    html = await reply.text();
  } catch {  // the server is away for a moment
    heard(false);
    if (turn === turns.get(piece)) timers.set(piece, setTimeout(refresh, AGAIN_MS, piece));
    return;
  }
  heard(true);
  if (turn !== turns.get(piece)) return;
  const held = piece.contains(document.activeElement);
  const ran = piece.querySelector("[data-active]");
  redraw(piece, html);
  settle(piece, held);
  if (ran && !piece.querySelector("[data-active]")) {  // what it came to may show elsewhere too
    document.querySelectorAll("[data-live]").forEach((other) => other !== piece && refresh(other));
  }
  schedule(piece);
}

function schedule(piece) {
  const every = Number(piece.dataset.every) || (piece.querySelector("[data-active]") ? ACTIVE_MS : 0);
  if (every) timers.set(piece, setTimeout(() => (document.hidden ? schedule(piece) : refresh(piece)), every));
}

// A start button is disabled while its action runs; the keyboard focus moves to the stop button, and back.
function settle(piece, held) {
  const start = piece.closest("[data-around]")?.querySelector("[data-check] button");
  if (!start) return;
  const stop = piece.querySelector("[data-cancel] button");
  start.disabled = !!piece.querySelector("[data-active]");
  const focused = document.activeElement;
  if (held && (focused === document.body || (focused === start && start.disabled))) (stop ?? start).focus();
}

document.addEventListener("submit", async (event) => {
  const form = event.target;
  if (!form.matches("form[data-quiet]")) return;
  event.preventDefault();
  try {
    await post(form, event.submitter);
  } catch {
    heard(false);
  }
  const around = form.closest("[data-around]") ?? document;
  document.querySelectorAll("[data-live]").forEach((piece) => around.contains(piece) && refresh(piece));
});

document.querySelectorAll("[data-live]").forEach((piece) => { settle(piece, false); schedule(piece); });

// In a page that computes: its kernel. Voilà stores the kernel's id in its settings.
document.querySelectorAll("[data-session-line]").forEach((line) => {
  const kernel = JSON.parse(document.getElementById("jupyter-config-data").textContent).kernelId;
  line.dataset.live = `${line.dataset.sessionLine}/${kernel}`;
  line.dataset.every = LINE_MS;
  refresh(line);
});

// ---- the queue ----------------------------------------------------------------------------------------

document.querySelectorAll("[data-queue]").forEach((place) => {
  const address = `${place.dataset.queue}&_xsrf=${encodeURIComponent(token())}`;  // a stream of events has no headers
  const stream = new EventSource(address);  // it connects again by itself
  stream.addEventListener("place", (event) => redraw(place, event.data));
  stream.addEventListener("go", (event) => { stream.close(); location.replace(event.data); });
  // A visitor who leaves the queue follows the form: events of the stream must not redirect them back.
  addEventListener("submit", (event) => { if (!event.defaultPrevented) stream.close(); });
  stream.addEventListener("open", () => heard(true));
  stream.addEventListener("error", () => {
    heard(false);
    if (stream.readyState === EventSource.CLOSED) setTimeout(() => location.reload(), AGAIN_MS);
  });
});

// ---- menus --------------------------------------------------------------------------------------------

// An open menu is closed by Escape, by a click beside it, and when the keyboard focus leaves it.
const close = (left) => document.querySelectorAll("details[data-menu][open]").forEach((menu) => {
  if (left(menu)) menu.open = false;
});
document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape") return;
  close((menu) => {
    if (menu.contains(document.activeElement)) menu.querySelector("summary").focus();
    return true;
  });
});
document.addEventListener("click", (event) => close((menu) => !menu.contains(event.target)));
document.addEventListener("focusin", (event) => close((menu) => !menu.contains(event.target)));

// ---- theme, buttons, address --------------------------------------------------------------------------

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

document.querySelectorAll("form[data-theme-form]").forEach(prepareTheme);
document.querySelectorAll("form[data-busy]").forEach((form) => {
  form.addEventListener("submit", () => form.querySelector("button").setAttribute("aria-busy", "true"));
});
addEventListener("pageshow", (event) => {
  if (event.persisted && document.querySelector("[data-queue]")) location.reload();
  // Restored from the back-forward cache: nothing is busy any more.
  document.querySelectorAll("[aria-busy]").forEach((button) => button.removeAttribute("aria-busy"));
});
// A page's ticket is used up: a page that is opened again from history or a bookmark requests a new place.
if (document.body.dataset.voila && new URLSearchParams(location.search).has("ticket")) {
  history.replaceState(history.state, "", location.pathname);
}
