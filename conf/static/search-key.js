// The key / leads to the search field, on every page, except where one types.
"use strict";

const SearchKey = (() => {
  const NAME = "search-key";

  // A browser can refuse to keep anything; the key works then.
  function isOn() {
    try {
      return localStorage.getItem(NAME) !== "off";
    } catch {
      return true;
    }
  }

  function turn(on) {
    try {
      if (on) {
        localStorage.removeItem(NAME);
      } else {
        localStorage.setItem(NAME, "off");
      }
    } catch {
      // It stays on.
    }
    describe();
  }

  /** The field of the search page, or the one that stands beside every page. */
  const field = () => document.getElementById("search-field") ?? document.querySelector("input[name=q]");

  /** Say so, where a reader or a screen reader meets the field. */
  function describe() {
    for (const input of document.querySelectorAll("input[name=q]:not([type=hidden])")) {
      if (isOn()) {
        input.placeholder = "Search ( / )";
        input.setAttribute("aria-keyshortcuts", "/");
        input.title = "The key / leads here";
      } else {
        input.placeholder = "Search";
        input.removeAttribute("aria-keyshortcuts");
        input.removeAttribute("title");
      }
    }
  }

  function typesInto(element) {
    return element?.isContentEditable || element?.matches?.("input:not([type=checkbox], [type=radio], [type=button], [type=submit]), textarea, select");
  }

  function press(event) {
    if (event.key !== "/" || event.ctrlKey || event.altKey || event.metaKey || event.isComposing) {
      return;
    }
    const input = field();
    if (!input || typesInto(event.target) || !isOn()) {
      return;
    }
    event.preventDefault();
    // On a narrow window the field is in a drawer, which opens when it has the focus.
    input.focus({ preventScroll: input.closest(".sidebar-drawer") !== null });
    input.select();
  }

  document.addEventListener("keydown", press);
  describe();
  return { isOn, turn };
})();
