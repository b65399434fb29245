// Covers an output that the reader is asked to predict, until they answer or ask to see it.
"use strict";

(() => {
  const make = (tag, properties = {}, ...children) => {
    const element = Object.assign(document.createElement(tag), properties);
    element.append(...children);
    return element;
  };

  const cover = (prediction, index) => {
    // The output, and the lines that prove it.
    const covered = [...prediction.children];
    const answer = covered[0].textContent.trim();
    const id = `prediction-${index}`;
    const input = make("input", { type: "text", id, autocomplete: "off", spellcheck: false });
    const check = make("button", { type: "submit", textContent: "Check" });
    const reveal = make("button", { type: "button", textContent: "Show the output" });
    const verdict = make("p", { className: "prediction-verdict" });
    const said = make("p", { className: "prediction-said", hidden: true });
    const question = prediction.dataset.question;
    const form = make(
      "form", { className: "prediction-form" },
      make("label", { htmlFor: id, textContent: `Your prediction: ${question}` }),
      make("span", { className: "prediction-controls" }, input, check, reveal),
    );
    verdict.setAttribute("role", "status");
    input.setAttribute("autocapitalize", "off");

    const uncover = () => {
      for (const part of covered) part.hidden = false;
      reveal.hidden = true;
    };
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      const { status, text } = Answers.compareOutput(input.value, answer);
      prediction.dataset.status = status;
      verdict.textContent = text;
      if (status === "malformed") return;
      said.textContent = `You said: ${input.value.trim()}`;
      said.hidden = false;
      uncover();
    });
    reveal.addEventListener("click", () => {
      uncover();
      verdict.textContent = "The output is shown below.";
      input.focus();
    });

    for (const part of covered) part.hidden = true;
    prediction.prepend(form, verdict, said);
    prediction.dataset.ready = "";
  };

  document.querySelectorAll(".prediction").forEach(cover);
})();
