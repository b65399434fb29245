// The search page: shows what SiteSearch finds while one types, and moves through it by arrow keys.
// It takes the place of the list that Sphinx's own script would make.
"use strict";

(() => {
  const SHOWN = 20;
  const PAUSE = 150;
  const field = document.getElementById("search-field");
  const status = document.getElementById("search-status");
  const output = document.getElementById("search-results");
  const setting = document.getElementById("search-key");

  /** Fill an element with pieces of text, the words of the query marked. Text is never markup. */
  function fill(element, pieces) {
    for (const [text, isWord] of pieces) {
      if (isWord) {
        element.append(Object.assign(document.createElement("mark"), { textContent: text }));
      } else {
        element.append(text);
      }
    }
    return element;
  }

  function link(href, pieces) {
    return fill(Object.assign(document.createElement("a"), { href }), pieces);
  }

  function line(name, ...content) {
    const made = document.createElement("p");
    made.className = name;
    made.append(...content);
    return made;
  }

  function item({ docname, kind, show }) {
    const { title, section, excerpt } = show();
    const address = `${docname}${DOCUMENTATION_OPTIONS.LINK_SUFFIX}`;
    const made = document.createElement("li");
    const tag = document.createElement("span");
    tag.className = "search-kind";
    tag.textContent = kind;
    made.append(line("search-title", link(address, title), " ", tag));
    if (section) {
      made.append(line("search-section", "In ", link(`${address}#${section.anchor}`, section.title)));
    }
    if (excerpt.length) {
      made.append(fill(line("search-excerpt"), excerpt));
    }
    return made;
  }

  const pages = (count) => (count === 1 ? "1 page" : `${count} pages`);

  function say(query, found) {
    if (!query.trim()) {
      return "";
    }
    if (!/[\p{L}\p{N}]/u.test(query)) {
      return "There is no word in this. Type one, a name in code, or a part of a message.";
    }
    if (!found) {
      return "These words stand on every page. Add one that says what you look for.";
    }
    if (!found.results.length) {
      return "No page has these words. The lists below lead to everything.";
    }
    const count = pages(found.results.length);
    return found.whole ? `${count} found.` : `No page has all of these words. ${count} with some of them:`;
  }

  let showing = null;
  function show(query) {
    if (query === showing) {
      return;
    }
    showing = query;
    const found = query.trim() ? SiteSearch.find(query) : null;
    const results = found?.results ?? [];
    output.replaceChildren();
    status.textContent = say(query, found);
    if (!results.length) {
      return;
    }
    const list = document.createElement("ol");
    list.append(...results.slice(0, SHOWN).map(item));
    output.append(list);
    if (results.length > SHOWN) {
      const more = document.createElement("button");
      more.type = "button";
      more.textContent = `Show ${results.length - SHOWN} more`;
      more.addEventListener("click", () => {
        list.append(...results.slice(SHOWN).map(item));
        more.remove();
        list.children[SHOWN].querySelector("a").focus();
      });
      output.append(more);
    }
  }

  // Arrow keys go from the field through the results and back.
  function move(event) {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const at = document.activeElement;
    const links = [...output.querySelectorAll(".search-title a")];
    const place = links.findIndex((link) => link.closest("li").contains(at));
    const isHere = at === field || at === document.body || place >= 0;
    if (!step || !isHere || !links.length || event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) {
      return;
    }
    const next = place + step;
    if (next >= -1 && next < links.length && (place >= 0 || step > 0)) {
      event.preventDefault();
      (links[next] ?? field).focus();
    }
  }

  // Sphinx's script calls this with the query of the address, once its index is there.
  Search.performSearch = show;

  let timer;
  field.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(() => show(field.value), PAUSE);
  });
  document.addEventListener("keydown", move);

  // A key without Ctrl or Alt can disturb those who speak to their computer: it can be turned off.
  setting.checked = SearchKey.isOn();
  setting.addEventListener("change", () => SearchKey.turn(setting.checked));
})();
