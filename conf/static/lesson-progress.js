// The marks of lessons that the reader has done. They are kept in this browser, and nowhere else.
"use strict";
(() => {
  const KEY = "autograd-by-example/done";

  // A browser may refuse to keep anything, or hold what another version of the site has written.
  const read = () => {
    const text = localStorage.getItem(KEY);
    try {
      const names = JSON.parse(text ?? "[]");
      return new Set(Array.isArray(names) ? names : []);
    } catch {
      return new Set();
    }
  };
  const write = (done) => {
    if (done.size) localStorage.setItem(KEY, JSON.stringify([...done].sort()));
    else localStorage.removeItem(KEY);
  };

  const place = document.querySelector(".lesson-progress");
  const button = place?.querySelector("button");
  const status = place?.querySelector("[role=status]");

  const showLesson = (done) => {
    button.setAttribute("aria-pressed", done.has(place.dataset.lesson));
  };
  const showOverview = (done) => {
    const lessons = place.dataset.lessons.split(" ");
    const count = lessons.filter((name) => done.has(name)).length;
    status.textContent = `${count} of ${lessons.length} lessons done.`;
    // A button that was just pressed stays, so that the keyboard does not lose its place.
    if (done.size) delete place.dataset.empty;
    else if (!("ready" in place.dataset)) place.dataset.empty = "";
  };
  const showCards = (done) => {
    for (const card of document.querySelectorAll(".lesson-card")) {
      const name = card.querySelector("a").pathname.split("/").pop().replace(/\.html$/, "");
      card.querySelector(".lesson-done")?.remove();
      if (!done.has(name)) continue;
      const mark = document.createElement("span");
      mark.className = "lesson-done";
      mark.textContent = "Done";
      card.append(mark);
    }
  };
  const show = () => {
    try {
      const done = read();
      if (place?.dataset.lesson) showLesson(done);
      else if (place) showOverview(done);
      showCards(done);
      if (place) place.dataset.ready = "";
    } catch {
      place?.remove();
    }
  };

  button?.addEventListener("click", () => {
    try {
      const done = read();
      const name = place.dataset.lesson;
      if (!name) done.clear();
      else if (!done.delete(name)) done.add(name);
      write(done);
      if (name) status.textContent = done.has(name) ? "Kept in this browser." : "Mark removed.";
      show();
    } catch {
      status.textContent = "This browser does not keep marks.";
    }
  });
  // Also when the reader comes back to a page that the browser has kept.
  window.addEventListener("pageshow", show);
  show();
})();
