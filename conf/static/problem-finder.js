// Finds the problem page for a pasted message, a traceback or a few words. Nothing leaves the page.
// What is pasted is only ever read as text, and shown nowhere.
"use strict";

// -- Ranking: plain functions --------------------------------------------------------------------
//
// A page counts for the words and the pairs of neighbouring words that it shares with what was
// pasted: the rarer among the pages, the more (as in BM25). A word that many pages mention and few
// have in their title or symptoms is rare as well. On top of that comes the one passage of the page
// that agrees best. Messages and pasted text go through the same `words`, which
// drops what varies: numbers, shapes, paths, addresses, punctuation.
const ProblemFinder = (() => {
  // How much a word counts by where it stands on the page, and how much a passage.
  const FIELDS = { title: 7, symptoms: 4, messages: 2.5, headings: 2, outputs: 1, prose: 1.5, code: 0.5 };
  const PASSAGES = { title: 1.5, messages: 0.4, symptoms: 0.4, outputs: 0.4, headings: 0.3, prose: 0.4 };
  // As in BM25: how soon more of the same word counts little, and how much a long page has to pay.
  const SATURATION = 2.5;
  const LENGTH = 1;
  const PAIR = 0.4;
  // How much more the operation counts that a message names: "Function 'SvdBackward0' returned nan".
  const NODE = 5;
  // How much less it counts when a word only stands in the running text.
  const POWER = 1.4;
  // Of a longer text: the start, and the end, where a traceback has its message.
  const START = 4_000;
  const END = 20_000;

  const STOP = new Set(
    `a about also am an and any are as at be been being but by can could did do does doing each else
    for from get gets give gives got had has have here how i if in into is it its itself just let like
    made make me my of on one or other our out should so some such than that the their them then there
    these they this those to too up very was we were what when where whether which while who why will
    with would you your`.split(/\s+/),
  );
  // Other names of one thing, as people write them.
  const SAME = {
    backprop: "backward", backpropagate: "backward", backpropagation: "backward", big: "large",
    color: "colour", cuda: "gpu", ddp: "distributed data parallel", grad: "gradient",
    grads: "gradient", gru: "recurrent", huge: "large", hvp: "hessian vector product",
    infinite: "inf", infinity: "inf", lstm: "recurrent", nans: "nan", oom: "out memory",
    param: "parameter", params: "parameter", rnn: "recurrent", twice: "second",
    used: "use", variable: "tensor", variables: "tensor", zeroes: "zero",
  };

  function stem(word) {
    const cut = (shorter) => (/[aeiouy]/.test(shorter) && shorter.length > 2 ? shorter : null);
    let stemmed = word.replace(/is(e|es|ed|er|ing|ation|ations)$/, "iz$1");
    stemmed = /(ss|us|is)$/.test(stemmed)
      ? stemmed
      : stemmed.replace(/ies$/, "y").replace(/(x|ch|sh|ss)es$/, "$1").replace(/s$/, "");
    for (const ending of ["ing", "ion", "ed", "er", "e"]) {
      if (stemmed.endsWith(ending)) {
        stemmed = cut(stemmed.slice(0, -ending.length)) ?? stemmed;
        break;
      }
    }
    return stemmed
      .replace(/izat$|(?<=.{5})at$/, (end) => (end === "izat" ? "iz" : ""))
      .replace(/([bdfgmnprt])\1$/, "$1")
      .replace(/i$/, "y");
  }

  const known = new Map();
  function normalised(word) {
    if (!known.has(word)) {
      const others = Object.hasOwn(SAME, word) ? SAME[word] : word; // "constructor" is a word too
      known.set(word, STOP.has(word) ? [] : others.split(" ").map(stem));
    }
    return known.get(word);
  }

  /** The words of a text that say something, in order: lower case, stemmed, names taken apart. */
  function words(text) {
    const found = text
      .normalize("NFKD")
      .replace(/\bhttps?:\S+|(?<![\w.~-])(?:[\w.~-]*[/\\]){2,}[\w.~-]*|\b0x[0-9a-f]+|(?<![\w-])[\w-]+\.py\b/gi, " ")
      .replace(/\bin[-_ ]?place\b/gi, "inplace")
      .replace(/(pytorch|torch|release|version|since|in) v?[12]\.\d+(\.\d+|\.x)?\b/gi, "$1 release ")
      .replace(/\b[A-Z][a-z]+Tensor\b/g, "tensor")
      .replace(/([a-z])([A-Z])|([A-Z])([A-Z][a-z])/g, "$1$3 $2$4")
      .replace(/[’`´]/g, "'")
      .replace(/n't\b/g, " not")
      .toLowerCase()
      .match(/[a-z]{2,}/g);
    return (found ?? []).flatMap(normalised);
  }

  const pairs = (list) => list.slice(1).map((word, place) => `${list[place]} ${word}`);
  const terms = (list) => [...list, ...pairs(list)];

  /** The pages with the weight of each of their terms; made once for an index. */
  const prepared = new WeakMap();
  function prepare(index) {
    if (prepared.has(index)) {
      return prepared.get(index);
    }
    const pages = index.pages.map((page) => {
      const fields = {
        ...page,
        title: [page.title],
        messages: page.messages.map((message) => message.text),
      };
      const weights = new Map();
      const passages = new Map();
      for (const [field, weight] of Object.entries(FIELDS)) {
        const counts = new Map();
        const seen = new Set();
        for (const text of fields[field]) {
          const list = words(text);
          const key = list.join(" ");
          if (seen.has(key)) {
            continue; // the same message with other numbers
          }
          seen.add(key);
          for (const term of terms(list)) {
            counts.set(term, (counts.get(term) ?? 0) + 1);
          }
          // A number or a single word that a page prints says nothing of why the page fits.
          if (field in PASSAGES && !passages.has(key) && (list.length > 2 || field === "title")) {
            passages.set(key, { field, text, terms: [...new Set(terms(list))] });
          }
        }
        for (const [term, count] of counts) {
          weights.set(term, (weights.get(term) ?? 0) + weight * (1 + Math.log(count)));
        }
      }
      const length = [...weights.values()].reduce((sum, weight) => sum + weight, 0);
      return { page, weights, length, passages: [...passages.values()] };
    });
    const usual = pages.reduce((sum, { length }) => sum + length, 0) / pages.length;
    const most = new Map();
    for (const { weights } of pages) {
      for (const [term, weight] of weights) {
        most.set(term, Math.max(most.get(term) ?? 0, weight));
      }
    }
    const holders = new Map();
    for (const { weights } of pages) {
      for (const [term, weight] of weights) {
        holders.set(term, (holders.get(term) ?? 0) + (weight / most.get(term)));
      }
    }
    const rarity = new Map();
    for (const [term, count] of holders) {
      const rare = Math.log(1 + (pages.length - count + 0.5) / (count + 0.5));
      rarity.set(term, rare * (term.includes(" ") ? PAIR : 1));
    }
    const sum = (list) => list.reduce((total, term) => total + rarity.get(term), 0);
    for (const page of pages) {
      page.saturation = SATURATION * (1 - LENGTH + (LENGTH * page.length) / usual);
      for (const passage of page.passages) {
        passage.total = sum(passage.terms);
      }
    }
    prepared.set(index, { pages, rarity });
    return prepared.get(index);
  }

  const OPERATION = /\b([A-Z]\w{0,60}?)Backward\d?\b/g;
  const ANSI = /(?:\u001b|\u241b)?\[\d{1,3}(?:;\d{1,3})*m|\u001b\[[0-?]*[ -/]*[@-~]/g;
  const PREFIX = /^(?:\s|[|>│┃]|E\s{2,}|\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d[.,\d]*Z?\]?|\d\d:\d\d:\d\d[.,\d]*|\[[\w.:-]{1,20}\]:?|(?:INFO|DEBUG|WARNING|WARN|ERROR|CRITICAL|FATAL)\b[: -]*(?:[\w.]{1,30}:(?=\s[A-Za-z\[]))?)+/;
  const FRAME = /^(?:File ".*", line \d+|Traceback \(most recent|\S+\.py:\d+: (?:in |\w+Error$)|\S+\.py in )/;
  const CODE = /^(?:-+>|\d+ |>>>|In ?\[\d+\]:|Out\[\d+\]:)/;
  const MARKS = /^[~^\s]*$/;
  const ERROR = /(?:^|\s)(?:[A-Za-z_]\w*\.)*[A-Z]\w*(?:Error|Exception|Warning|NotFound|Interrupt):/;

  /** The start and the end of a text that is too long to read whole, else all of it. */
  const shortened = (text) =>
    text.length > START + END ? `${text.slice(0, START)}\n…\n${text.slice(-END)}` : text;

  /** What was pasted as [text, weight]: frames count little, the last error most. */
  function parts(pasted) {
    const found = [];
    let block = null;
    let isCode = false;
    const text = shortened(pasted).replace(ANSI, "");
    // A record of a log has its line breaks written out.
    for (const raw of text.split(/[\r\n]/.test(text) ? /[\r\n]+/ : /\\[rn]/)) {
      const line = raw.replace(PREFIX, "");
      if (FRAME.test(line)) {
        block = null;
        isCode = line.startsWith("File");
      } else if (MARKS.test(line)) {
        isCode = false;
      } else if (isCode || CODE.test(line)) {
        found.push({ text: line, kind: "code" });
        isCode = false;
      } else {
        if (ERROR.test(line)) {
          block = { text: "", kind: "error" };
          found.push(block);
        }
        if (block) {
          block.text += `${line} `;
        } else if (found.at(-1)?.kind === "prose") {
          found.at(-1).text += ` ${line}`;
        } else {
          found.push({ text: line, kind: "prose" });
        }
      }
    }
    const last = found.findLast((part) => part.kind === "error");
    const weight = { code: 0.3, error: 0.7, prose: last ? 0.5 : 1 };
    return found.map((part) => [part.text, part === last ? 1 : weight[part.kind]]);
  }

  /**
   * The pages that fit a text, best first: [{page, score, why: {field, text}}].
   * `why` is the passage of the page that agrees best, or null.
   */
  function rank(index, pasted) {
    const { pages, rarity } = prepare(index);
    const asked = new Map();
    for (const [text, weight] of parts(pasted)) {
      // A word that no page has, such as a name in the reader's program, is no neighbour.
      const list = words(text).filter((word) => rarity.has(word));
      for (const term of terms(list)) {
        if (rarity.has(term)) {
          asked.set(term, Math.max(asked.get(term) ?? 0, weight));
        }
      }
      for (const [, name] of text.matchAll(OPERATION)) {
        for (const word of words(name).filter((word) => rarity.has(word))) {
          asked.set(word, Math.max(asked.get(word) ?? 0, NODE * weight));
        }
      }
    }
    let possible = 0;
    for (const [term, weight] of asked) {
      possible += weight * rarity.get(term);
    }
    if (!possible) {
      return [];
    }
    const found = pages.map(({ page, weights, saturation, passages }) => {
      let score = 0;
      for (const [term, weight] of asked) {
        const held = weights.get(term) ?? 0;
        score += (weight * rarity.get(term) * held ** POWER) / (held ** POWER + saturation ** POWER);
      }
      let best = 0;
      let nearest = 0;
      let why = null;
      for (const passage of passages) {
        const shared = passage.terms.reduce(
          (sum, term) => sum + (asked.get(term) ?? 0) * rarity.get(term),
          0,
        );
        const agrees = shared * Math.max(shared / passage.total, shared / possible);
        best = Math.max(best, PASSAGES[passage.field] * agrees);
        // The title is shown anyway.
        if (passage.field !== "title" && agrees > nearest) {
          nearest = agrees;
          why = { field: passage.field, text: passage.text };
        }
      }
      return { page, score: score + best, why };
    });
    const ordered = found.filter(({ score }) => score > 0).sort((a, b) => b.score - a.score);
    return ordered.filter(({ score }, place) => place < 3 || score > ordered[0].score / 4).slice(0, 6);
  }

  return { rank, shortened, words };
})();
