// Read through the Studio, a link to a notebook goes to its card on the page "Courses".
const studio = location.pathname.match(/^(.*\/studio)\/docs\//);
if (studio) {
  for (const link of document.querySelectorAll('a[href*="/notebooks/"]')) {
    const lesson = link.href.match(/\/notebooks\/(\w+)\.ipynb$/);
    if (lesson) link.href = `${studio[1]}/courses#lesson-${lesson[1]}`;
  }
}
