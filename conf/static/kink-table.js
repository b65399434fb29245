// The filter of the table of kinks; needs record-controls.js.
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

  (table.closest(".table-wrapper") ?? table).before(form);
  recordControls(form, apply);
})();
