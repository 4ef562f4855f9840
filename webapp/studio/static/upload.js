// Sends a file to the Studio, with its progress; it can be cancelled. All sentences are in data- attributes or come from the
// server. The server is asked first whether it has room: the answer to a body that it refuses may be lost.

const form = document.querySelector("form[data-upload]");
const file = form.querySelector("input[type=file]");
const name = form.elements.name;
const bar = form.querySelector("progress");
const said = form.querySelector("[data-said]");
const send = form.querySelector("[data-send]");
const cancel = form.querySelector("[data-cancel-upload]");
let request = null;

// The name of the file, as far as it can be a name.
file.addEventListener("change", () => {
  if (name.value || !file.files.length) return;
  const stem = file.files[0].name.replace(/\.[^.]*$/, "").toLowerCase().replace(/[^a-z0-9_]+/g, "_");
  name.value = stem.replace(/^[^a-z]+/, "").slice(0, 64);
});

function settle(words, bad = false) {
  request = null;
  bar.hidden = cancel.hidden = true;
  send.disabled = false;
  said.textContent = words;
  said.className = bad ? "sp-notice is-bad" : "";
}

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  const chosen = file.files[0];
  const given = new FormData(form);
  const token = given.get("_xsrf");
  given.delete("_xsrf");
  const query = new URLSearchParams([...given, ["file", chosen.name]]);
  send.disabled = true;
  said.className = "";
  try {
    const reply = await fetch(`${form.dataset.room}?${query}&bytes=${chosen.size}`, { headers: { "X-XSRFToken": token } });
    const { refused } = await reply.json();
    if (refused) return settle(refused, true);
  } catch {
    return settle(form.dataset.away, true);
  }
  const sent = new XMLHttpRequest();  // its events may come after `request` is another, or none
  sent.open("PUT", `${form.dataset.upload}?${query}`);
  sent.setRequestHeader("X-XSRFToken", token);
  sent.responseType = "json";
  sent.upload.addEventListener("progress", ({ loaded, total }) => { bar.value = loaded / total; });
  sent.upload.addEventListener("load", () => {
    bar.removeAttribute("value");
    said.textContent = form.dataset.examining;
  });
  sent.addEventListener("load", () => {
    const { refused, address } = sent.response ?? {};
    if (address) location.assign(address);
    else settle(refused || form.dataset.away, true);
  });
  sent.addEventListener("error", () => settle(form.dataset.away, true));
  sent.addEventListener("abort", () => settle(form.dataset.cancelled));
  request = sent;
  bar.value = 0;
  bar.hidden = cancel.hidden = false;
  said.textContent = form.dataset.sending;
  sent.send(chosen);
});

cancel.addEventListener("click", () => { request?.abort(); send.focus(); });
