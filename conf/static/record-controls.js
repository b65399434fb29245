// What the controls above the pages of records have in common: the choice is kept in the address,
// so that it can be linked to, and a link to something hidden shows everything again.
"use strict";

// `apply` shows what is chosen in `form`, a form with one button, which resets it.
window.recordControls = (form, apply) => {
  const remember = () => {
    const kept = new URLSearchParams([...new FormData(form)].filter(([, value]) => value));
    try {
      history.replaceState(null, "", kept.size ? `?${kept}` : location.pathname.split("/").pop());
    } catch {
      // Some browsers refuse that for files: the address then stays as it is.
    }
  };
  const follow = () => {
    const target = document.getElementById(location.hash.slice(1));
    if (target?.closest("[hidden]")) {
      form.reset();
      apply();
      target.scrollIntoView();
    }
  };

  const asked = new URLSearchParams(location.search);
  for (const control of form.querySelectorAll("input, select")) {
    if (control.type === "checkbox") {
      control.checked = asked.has(control.name);
    } else {
      control.value = asked.get(control.name) ?? "";
    }
    // An unknown choice is the first one.
    if (control.selectedIndex === -1) {
      control.selectedIndex = 0;
    }
  }
  form.addEventListener("input", () => {
    apply();
    remember();
  });
  form.addEventListener("submit", (event) => event.preventDefault());
  form.querySelector("button").addEventListener("click", () => {
    form.reset();
    apply();
    remember();
  });
  window.addEventListener("hashchange", follow);
  apply();
  follow();
};
