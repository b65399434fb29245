// Runs before the first paint. What scripts cover is then never shown and taken away again, and
// the colours that the reader chose are there from the start. As a file of the site it needs no
// leave in the policy of the pages, as the theme's inline script would.
"use strict";

(() => {
  const root = document.documentElement;
  root.classList.remove("no-js");
  root.classList.add("js");
  const choose = () => {
    if (!document.body) return;
    let theme;
    try {
      theme = localStorage.getItem("theme");
    } catch {
      // A browser may keep nothing for this site.
    }
    document.body.dataset.theme = theme || "auto";
    watcher.disconnect();
  };
  // The theme's stylesheet looks for the choice on the body, which is not there yet.
  const watcher = new MutationObserver(choose);
  watcher.observe(root, { childList: true });
})();
