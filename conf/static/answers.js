// Compares what a reader typed with a value of the run. Used by outputs and by the player.
"use strict";

window.Answers = (() => {
  const NUMBER = /[-+]?(?:inf(?:inity)?|nan|∞|(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?)/gi;
  const FRACTION = /([-+]?(?:\d+\.?\d*|\.\d+))\s*\/\s*(\d+\.?\d*|\.\d+)/g;
  // Parts of a printed tensor that hold digits but are not its values.
  const ATTRIBUTES = /,?\s*(?:dtype=torch\.\w+|grad_fn=<[^>]*>|requires_grad=\w+|device='[^']*'|size=\([^)]*\))/g;
  // Rounded to four digits, as PyTorch prints.
  const RELATIVE = 1e-3;
  const ABSOLUTE = 1e-4;

  const toNumber = (text) => {
    const plain = text.toLowerCase().replace("∞", "inf");
    if (plain.includes("nan")) return NaN;
    if (plain.includes("inf")) return plain.startsWith("-") ? -Infinity : Infinity;
    return Number(plain);
  };

  const numbersIn = (text) => {
    const whole = text.replace(ATTRIBUTES, "").replace(FRACTION, (_, a, b) => ` ${Number(a) / Number(b)} `);
    return (whole.replace(/−/g, "-").match(NUMBER) || []).map(toNumber);
  };

  // True for an output that is numbers and brackets only, such as tensor([[1., 2.]]).
  const isNumeric = (text) =>
    numbersIn(text).length > 0 &&
    text.replace(ATTRIBUTES, "").replace(/tensor/g, "").replace(NUMBER, "").replace(/[\s,()[\]]/g, "") === "";

  const close = (a, b) =>
    Object.is(a, b) || a === b || (Number.isFinite(b) && Math.abs(a - b) <= ABSOLUTE + RELATIVE * Math.abs(b));

  const show = (value) => String(Number.isFinite(value) ? Number(value.toPrecision(6)) : value);

  const difference = (given, wanted) => {
    if (Number.isFinite(given) && close(given, -wanted)) return "your sign is the other way round";
    const factor = given / wanted;
    if (Number.isFinite(factor) && factor !== 0) return `yours is ${show(factor)} times as large`;
    return "";
  };

  // Compare typed text with a list of numbers; `tell` whether to name the wanted ones;
  // `columns` of a matrix, to say where a number stands.
  // Returns {status: "right" | "wrong" | "malformed", text: what to tell the reader}.
  const compareNumbers = (typed, wanted, tell = true, columns = 0) => {
    const given = numbersIn(typed);
    const count = wanted.length === 1 ? "one number" : `${wanted.length} numbers`;
    if (given.length === 0) return { status: "malformed", text: `Type ${count}, for example ${wanted.map((_, i) => i + 1).join(" ")}.` };
    if (given.length !== wanted.length) {
      return { status: "malformed", text: `This takes ${count}; you typed ${given.length}.` };
    }
    const wrong = wanted.flatMap((value, i) => (close(given[i], value) ? [] : [i]));
    if (wrong.length === 0) return { status: "right", text: "Right." };
    const lines = wrong.slice(0, 4).map((i) => {
      const name = columns ? `Row ${Math.floor(i / columns) + 1}, column ${(i % columns) + 1}` : `Number ${i + 1}`;
      const place = wanted.length === 1 ? "" : `${name}: `;
      const run = tell ? `, the run gives ${show(wanted[i])}` : "";
      const why = difference(given[i], wanted[i]) || (tell ? "" : "the run gives another number");
      return `${place}you said ${show(given[i])}${run}${why ? ` (${why})` : ""}.`;
    });
    if (wrong.length > 4) lines.push(`${wrong.length - 4} more differ.`);
    return { status: "wrong", text: lines.join("\n") };
  };

  const plain = (text) => text.trim().toLowerCase().replace(/[\s"'`.]+/g, " ").trim();

  // Compare typed text with the text of an output: as numbers where the output is numbers.
  const compareOutput = (typed, output) => {
    if (isNumeric(output)) return compareNumbers(typed, numbersIn(output));
    if (plain(typed) === "") return { status: "malformed", text: "Type what you expect to see." };
    return plain(typed) === plain(output)
      ? { status: "right", text: "Right." }
      : { status: "wrong", text: "Not the same. Compare the two below." };
  };

  return { compareNumbers, compareOutput, isNumeric, numbersIn };
})();
