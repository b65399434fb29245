// The filter of the table of kinks. The choice is kept in the address, so that it can be linked to.
"use strict";

(() => {
  const table = document.querySelector("table.kink-table");
  if (!table) {
    return;
  }
  const rows = [...table.tBodies[0].rows];
  const family = (row) => row.querySelector(".kink-family").textContent;
  const texts = rows.map((row) => row.textContent.toLowerCase());

  const form = document.createElement("form");
  form.className = "record-controls";
  form.setAttribute("role", "search");
  form.setAttribute("aria-label", "Filter the table");
  form.innerHTML = `
    <label>Text <input type="search" name="text" autocomplete="off"></label>
    <label>Area <select name="area"><option value="">all</option></select></label>
    <label class="record-check"><input type="checkbox" name="differs" value="yes">
      differs between releases</label>
    <button type="button">Show all</button>
    <output></output>`;
  const { text, area, differs } = form.elements;
  for (const name of new Set(rows.map(family))) {
    area.add(new Option(name));
  }

  const apply = () => {
    const words = text.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    rows.forEach((row, number) => {
      row.hidden = !(
        words.every((word) => texts[number].includes(word)) &&
        (!area.value || family(row) === area.value) &&
        (!differs.checked || row.classList.contains("differs"))
      );
      shown += !row.hidden;
    });
    form.querySelector("output").textContent = `${shown} of ${rows.length} rows`;
  };
  const remember = () => {
    const chosen = new URLSearchParams();
    for (const [name, value] of new FormData(form)) {
      if (value) {
        chosen.set(name, value);
      }
    }
    const query = chosen.size ? `?${chosen}` : location.pathname.split("/").pop();
    try {
      history.replaceState(null, "", query);
    } catch {
      // Some browsers refuse that for files: the address then stays as it is.
    }
  };
  const reset = () => {
    form.reset();
    apply();
    remember();
  };
  // A link to a row must lead to it, whatever is chosen.
  const follow = () => {
    const row = document.getElementById(location.hash.slice(1));
    if (row?.hidden) {
      form.reset();
      apply();
      row.scrollIntoView();
    }
  };

  const asked = new URLSearchParams(location.search);
  text.value = asked.get("text") ?? "";
  area.value = asked.get("area") ?? "";
  area.selectedIndex = Math.max(area.selectedIndex, 0);
  differs.checked = asked.has("differs");
  form.addEventListener("input", () => {
    apply();
    remember();
  });
  form.addEventListener("submit", (event) => event.preventDefault());
  form.querySelector("button").addEventListener("click", reset);
  window.addEventListener("hashchange", follow);
  (table.closest(".table-wrapper") ?? table).before(form);
  apply();
  follow();
})();
