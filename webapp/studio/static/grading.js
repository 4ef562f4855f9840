// Additions to a teacher's pages, which work without them:
//
//   form[data-guard]     the browser asks before it leaves a page whose form has changes that were not sent
//   table[data-arrows]   the arrow keys, Home and End move among the links in its cells; Tab enters and leaves the table

document.querySelectorAll("form[data-guard]").forEach((form) => {
  let changed = false;
  document.addEventListener("input", (event) => { changed ||= event.target.form === form; });
  form.addEventListener("submit", () => { changed = false; });
  addEventListener("beforeunload", (event) => { if (changed) event.preventDefault(); });
});

const linksOf = (row) => [...row.cells].map((cell) => cell.querySelector("a"));

// The live part around a table may replace its links: which one Tab reaches is decided whenever a link is focused or left.
function offerOne(table, chosen) {
  const links = [...table.querySelectorAll("tbody td a")];
  const one = chosen ?? links.find((link) => link.tabIndex === 0) ?? links[0];
  links.forEach((link) => { link.tabIndex = link === one ? 0 : -1; });
}

const STEPS = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };

function move(event) {
  const link = event.target.closest("tbody td a");
  const table = link?.closest("table[data-arrows]");
  if (!table || event.altKey || event.ctrlKey || event.metaKey) return;
  const rows = [...table.tBodies[0].rows];
  const row = link.closest("tr");
  const line = linksOf(row);
  let target;
  if (event.key === "Home") target = line.find((one) => one);
  else if (event.key === "End") target = line.findLast((one) => one);
  else if (STEPS[event.key]) {
    const [down, right] = STEPS[event.key];
    let [y, x] = [rows.indexOf(row), line.indexOf(link)];
    do {  // cells without a link are passed over
      y += down;
      x += right;
      if (!rows[y] || x < 0 || x >= line.length) break;
      target = linksOf(rows[y])[x];
    } while (!target);
  } else return;
  event.preventDefault();
  target?.focus();
}

document.addEventListener("keydown", move);
document.addEventListener("focusin", (event) => {
  const link = event.target.closest?.("table[data-arrows] tbody td a");
  if (link) offerOne(link.closest("table"), link);
});
document.querySelectorAll("table[data-arrows]").forEach((table) => offerOne(table));
