// The box of the page "Fix a problem": what is typed or pasted is ranked while it changes.
"use strict";

(() => {
  const PAUSE = 150;
  // A link has to stay short; a message says enough in this many characters.
  const LINKED = 1_500;
  const FIELD = {
    messages: "Message", symptoms: "Symptom", outputs: "It prints", headings: "Section", prose: "It says",
  };

  const place = document.querySelector(".problem-finder");
  if (!place) {
    return;
  }
  const form = place.querySelector("form");
  const box = form.querySelector("textarea");
  const status = form.querySelector("[role=status]");
  const link = form.querySelector("a");
  const clear = form.querySelector("button");
  const results = form.querySelector("ol");

  const excerpt = (text) => (text.length > 240 ? `${text.slice(0, 240).replace(/\s\S*$/, "")} …` : text);

  function item({ page, why }) {
    const found = document.createElement("li");
    const title = document.createElement("a");
    title.href = page.url;
    title.textContent = page.title;
    found.append(title);
    if (why) {
      const line = document.createElement("p");
      const kind = document.createElement("span");
      kind.textContent = `${FIELD[why.field]}: `;
      const words = document.createElement(["messages", "outputs"].includes(why.field) ? "code" : "span");
      words.textContent = excerpt(why.text);
      line.append(kind, words);
      found.append(line);
    }
    return found;
  }

  function show() {
    // A browser needs long to compare a megabyte, whichever way it came.
    const text = ProblemFinder.shortened(box.value);
    const found = ProblemFinder.rank(PROBLEM_INDEX, text);
    const empty = !text.trim();
    results.replaceChildren(...found.map(item));
    link.hidden = clear.hidden = empty;
    // A character cut in half has no place in an address.
    link.href = `#q=${encodeURIComponent(text.slice(-LINKED).replace(/^[\udc00-\udfff]|[\ud800-\udbff]$/g, ""))}`;
    status.textContent = empty
      ? ""
      : found.length
        ? `${found.length === 1 ? "1 page" : `${found.length} pages`}. Best: ${found[0].page.title}`
        : "No page shares a word with this. Try the symptoms below.";
  }

  /** The query that the address carries, as ?q= or #q=. */
  function asked() {
    const inHash = location.hash.startsWith("#q=") ? location.hash.slice(1) : "";
    return new URLSearchParams(inHash || location.search).get("q");
  }

  function fill() {
    const text = asked();
    if (text !== null) {
      box.value = text;
      show();
    }
  }

  let timer;
  box.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(show, PAUSE);
  });
  // A browser needs long to lay out a megabyte of lines: take only the part that is compared.
  box.addEventListener("paste", (event) => {
    const text = event.clipboardData?.getData("text") ?? "";
    const short = ProblemFinder.shortened(text);
    if (short !== text) {
      event.preventDefault();
      box.setRangeText(short, box.selectionStart, box.selectionEnd, "end");
      show();
      status.textContent = `${status.textContent.replace(/\.$/, "")}. Of this long text, only the start and the end are used.`;
    }
  });
  form.addEventListener("submit", (event) => event.preventDefault());
  clear.addEventListener("click", () => {
    box.value = "";
    show();
    box.focus();
  });
  window.addEventListener("hashchange", fill);
  const list = document.querySelector(".problem-list");
  for (const messages of list?.querySelectorAll("details") ?? []) {
    messages.open = false;
  }
  list?.setAttribute("data-ready", "");
  fill();
})();
