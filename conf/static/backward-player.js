// Plays the recorded steps of backward: shows one item of the list at a time, lights its boxes
// and edges in the picture, and asks for values in predict mode. It computes nothing.
"use strict";

(() => {
  const PAUSE = 2500; // milliseconds a step while playing
  const score = { right: 0, asked: 0, places: [] }; // of this page; kept nowhere

  const countQuestion = (value, right) => {
    if ("tried" in value.dataset) return;
    value.dataset.tried = "";
    score.asked += 1;
    score.right += right;
    const text = `On this page: ${score.right} of ${score.asked} right at the first try.`;
    score.places.forEach((place) => { place.textContent = text; });
  };

  class Player {
    constructor(panel) {
      const find = (selector) => panel.querySelector(selector);
      this.panel = panel;
      this.figure = panel.closest("figure");
      this.picture = this.figure.querySelector(".graph-scroll");
      this.runs = [...panel.querySelectorAll(".backward-run")].map((element) => ({
        element,
        steps: JSON.parse(element.dataset.steps),
        items: [...element.querySelectorAll(".backward-list > li")],
        ledger: [...element.querySelectorAll(".backward-ledger dd")],
      }));
      this.buttons = Object.fromEntries(
        [...panel.querySelectorAll("[data-do]")].map((button) => [button.dataset.do, button]),
      );
      this.progress = find("progress");
      this.count = find(".player-count");
      this.status = find(".player-status");
      this.form = find("form");
      this.input = find("form input");
      this.question = find(".player-question");
      this.verdict = find(".player-verdict");
      score.places.push(find(".player-score"));
      this.index = 0;
      this.timer = null;
      this.listen(find("select"));
      this.choose(0);
      panel.dataset.ready = "";
    }

    get last() {
      return this.run.items.length - 1;
    }

    get predicting() {
      return this.panel.classList.contains("predicting");
    }

    listen(select) {
      const moves = {
        first: () => this.go(0),
        previous: () => this.go(this.index - 1),
        next: () => this.go(this.index + 1),
        last: () => this.go(this.last),
        play: () => this.play(),
        predict: () => this.predict(),
        reveal: () => this.reveal(),
      };
      const act = (name) => {
        const playing = this.timer !== null;
        this.pause();
        if (!(name === "play" && playing)) moves[name]();
      };
      for (const [name, button] of Object.entries(this.buttons)) {
        button.addEventListener("click", () => act(name));
      }
      const keys = { ArrowRight: "next", ArrowLeft: "previous", Home: "first", End: "last", " ": "play" };
      this.figure.addEventListener("keydown", (event) => {
        const name = keys[event.key];
        if (!name || event.ctrlKey || event.altKey || event.metaKey || event.shiftKey) return;
        // These use the keys themselves.
        if (event.target.closest("input, select, summary, a")) return;
        if (event.key === " " && event.target.closest("button")) return;
        event.preventDefault();
        act(name);
      });
      this.picture?.addEventListener("click", (event) => {
        const box = event.target.closest("[data-node]")?.dataset.node;
        const found = this.stepsAt(box);
        if (!found.length) return;
        this.pause();
        this.go(found.find((index) => index > this.index) ?? found[0]);
      });
      select?.addEventListener("change", () => {
        this.pause();
        this.choose(select.selectedIndex);
        this.announce();
      });
      this.form.addEventListener("submit", (event) => {
        event.preventDefault();
        this.check();
      });
    }

    stepsAt(box) {
      return this.run.steps.flatMap((step, index) => (step.boxes.includes(box) ? [index] : []));
    }

    choose(number) {
      this.run = this.runs[number];
      this.runs.forEach((run) => run.element.classList.toggle("current", run === this.run));
      for (const box of this.picture?.querySelectorAll(".node") ?? []) {
        box.classList.toggle("has-step", this.stepsAt(box.dataset.node).length > 0);
      }
      this.show(0);
    }

    go(index) {
      const inside = Math.max(0, Math.min(index, this.last));
      if (inside === this.index) return;
      this.show(inside);
      this.announce();
    }

    show(index) {
      this.index = index;
      const { items } = this.run;
      items.forEach((item, i) => item.classList.toggle("current", i === index));
      this.progress.max = Math.max(1, items.length);
      this.progress.value = items.length ? index + 1 : 0;
      this.count.textContent = items.length ? `Step ${index + 1} of ${items.length}` : "No steps";
      // Not `disabled`: a button that loses its focus would send a keyboard user back to the top.
      const mark = (names, off) => names.forEach((name) => this.buttons[name].setAttribute("aria-disabled", off));
      mark(["first", "previous"], index === 0);
      mark(["next", "last"], index >= this.last);
      mark(["play"], this.last < 1);
      this.light();
      this.verdict.textContent = "";
      this.ask();
    }

    light() {
      if (!this.picture) return;
      const step = this.run.steps[this.index] ?? { boxes: [], from: [], to: [] };
      const [node] = step.boxes;
      for (const box of this.picture.querySelectorAll(".node")) {
        box.classList.toggle("lit", step.boxes.includes(box.dataset.node));
      }
      // An edge points from an input to its operation; the gradient goes the other way.
      for (const edge of this.picture.querySelectorAll(".edge")) {
        const { from, to } = edge.dataset;
        edge.classList.toggle("arriving", from === node && step.from.includes(to));
        edge.classList.toggle("sending", to === node && step.to.includes(from));
      }
      const lit = this.picture.querySelector(".lit");
      if (lit) this.bringIntoView(lit.getBoundingClientRect());
    }

    bringIntoView(box) {
      const view = this.picture.getBoundingClientRect();
      if (box.top < view.top || box.bottom > view.bottom) {
        this.picture.scrollTop += (box.top + box.bottom - view.top - view.bottom) / 2;
      }
      if (box.left < view.left || box.right > view.right) {
        this.picture.scrollLeft += (box.left + box.right - view.left - view.right) / 2;
      }
    }

    announce() {
      const item = this.run.items[this.index] ?? this.run.element;
      const question = this.predicting ? this.question.textContent : "";
      // innerText leaves out what is covered.
      this.status.textContent = `${this.count.textContent}. ${item.innerText} ${question}`.replace(/\s+/g, " ");
    }

    play() {
      if (this.last < 1 || this.predicting) return;
      if (this.index === this.last) this.go(0);
      this.timer = setInterval(() => {
        this.go(this.index + 1);
        if (this.index === this.last) this.pause();
      }, PAUSE);
      this.markPlaying(true);
    }

    pause() {
      clearInterval(this.timer);
      this.timer = null;
      this.markPlaying(false);
    }

    markPlaying(playing) {
      this.panel.classList.toggle("playing", playing);
      this.buttons.play.setAttribute("aria-label", playing ? "Pause" : "Play");
      this.buttons.play.title = playing ? "Pause" : "Play";
    }

    predict() {
      this.panel.classList.toggle("predicting");
      this.buttons.predict.setAttribute("aria-pressed", this.predicting);
      this.verdict.textContent = "";
      this.ask();
      if (this.predicting && this.open().length) this.input.focus();
    }

    // The values of this step that the reader has not seen.
    open() {
      return [...(this.run.items[this.index]?.querySelectorAll("[data-wanted]:not(.known)") ?? [])];
    }

    ask() {
      const questions = this.run.items[this.index]?.querySelectorAll("[data-wanted]") ?? [];
      const [value] = this.open();
      let text = value?.dataset.question;
      if (!value) text = questions.length ? "You have seen all values of this step." : "There is no value to predict at this step.";
      this.question.textContent = text;
      this.form.classList.toggle("answered", !value);
      this.input.value = "";
      this.buttons.play.setAttribute("aria-disabled", this.predicting || this.last < 1);
      this.fillLedger(value);
    }

    fillLedger(value) {
      const covered = this.predicting && value;
      for (const row of this.run.ledger) {
        const reached = [...row.children].filter((entry) => entry.dataset.step < this.index + (covered ? 0 : 1));
        for (const entry of row.children) entry.classList.toggle("current", entry === reached.at(-1));
        row.classList.toggle("filled", reached.length > 1);
      }
    }

    check() {
      const [value] = this.open();
      if (!value) return;
      // Without telling the numbers: the reader may try again, or ask to see them.
      const wanted = Answers.numbersIn(value.dataset.wanted);
      const { status, text } = Answers.compareNumbers(this.input.value, wanted, false, value.dataset.columns);
      this.form.dataset.status = status;
      this.verdict.textContent = text;
      if (status === "malformed") return;
      countQuestion(value, status === "right");
      if (status === "right") this.uncover(value);
    }

    reveal() {
      const [value] = this.open();
      if (!value) return;
      countQuestion(value, false);
      this.form.dataset.status = "shown";
      this.verdict.textContent = `It is ${value.textContent}.`;
      this.uncover(value);
    }

    uncover(value) {
      value.classList.add("known");
      this.ask();
      const more = this.open().length > 0;
      if (more) this.verdict.textContent += " Now the next value of this step.";
      (more ? this.input : this.buttons.next).focus();
    }
  }

  document.querySelectorAll(".backward-steps").forEach((panel) => new Player(panel));
})();
