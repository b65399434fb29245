// Lets the reader choose two releases. The page holds every step between neighbours; what changed
// over several steps is the answer before the first and the answer after the last of them.
// Needs record-controls.js.
"use strict";

(() => {
  const steps = [...document.querySelectorAll(".release-step")];
  if (!steps.length) {
    return;
  }
  const PARTS = ".answer > b, .answer > span";
  const changes = [...document.querySelectorAll(".release-change")].map((element) => ({
    element,
    ...element.dataset,
    // Release and answer, before and after.
    own: [...element.querySelectorAll(PARTS)].map((part) => part.innerHTML),
  }));
  const number = (release) =>
    release.split(".").reduce((sum, part) => sum * 1000 + Number(part), 0);
  const releases = [...new Set(changes.flatMap(({ old, new: newer }) => [old, newer]))].sort(
    (a, b) => number(b) - number(a),
  );
  const areas = [...new Set(changes.map(({ probe }) => probe.split(".")[0]))].sort();

  const form = document.createElement("form");
  form.className = "record-controls";
  form.setAttribute("aria-label", "Choose two releases");
  form.innerHTML = `
    <label>From <select name="from"><option value="">every step</option></select></label>
    <label>To <select name="to"><option value="">every step</option></select></label>
    <label>Area <select name="area"><option value="">all</option></select></label>
    <button type="button">Show all changes</button>
    <output></output>`;
  const { from, to, area } = form.elements;
  for (const release of releases) {
    from.add(new Option(release));
    to.add(new Option(release));
  }
  for (const name of areas) {
    area.add(new Option(name.replaceAll("_", " "), name));
  }

  // The answers of a change as the page was made, or put in from elsewhere.
  const fill = ({ element, own }, parts = own) => {
    [...element.querySelectorAll(PARTS)].forEach((part, place) => {
      if (part.innerHTML !== parts[place]) {
        part.innerHTML = parts[place];
      }
    });
  };
  const between = (start, end) => {
    const found = new Map();
    for (const change of changes) {
      if (number(change.old) >= number(start) && number(change.new) <= number(end)) {
        found.set(change.probe, [...(found.get(change.probe) ?? []), change]);
      }
    }
    return [...found.values()].flatMap((history) => {
      // Newest first on the page.
      const [last, first] = [history[0], history.at(-1)];
      const [before, after] = [first.own[1], last.own[3]];
      return before === after ? [] : [[last, [start, before, end, after]]];
    });
  };

  const apply = () => {
    const chosen = [from.value, to.value].filter(Boolean).sort((a, b) => number(a) - number(b));
    const start = chosen[0];
    const end = chosen.at(-1);
    const wanted =
      chosen.length === 2
        ? new Map(start === end ? [] : between(start, end))
        : new Map(
            changes
              .filter(
                (change) =>
                  (!from.value || number(change.old) >= number(from.value)) &&
                  (!to.value || number(change.new) <= number(to.value)),
              )
              .map((change) => [change, change.own]),
          );
    let shown = 0;
    for (const change of changes) {
      const parts = wanted.get(change);
      const visible =
        parts !== undefined && (!area.value || change.probe.split(".")[0] === area.value);
      change.element.hidden = !visible;
      shown += visible;
      fill(change, parts);
    }
    for (const kind of [".release-group", ".release-area", ".release-step"]) {
      for (const box of document.querySelectorAll(kind)) {
        box.hidden = !box.querySelector(".release-change:not([hidden])");
      }
    }
    const range = chosen.length === 2 ? `from ${start} to ${end}` : "step by step";
    form.querySelector("output").textContent = `${shown} changes, ${range}`;
  };

  steps[0].before(form);
  recordControls(form, apply);
})();
