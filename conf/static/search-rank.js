// Which pages a query finds, in which order, and where on each page its words stand. Plain functions.
// Sphinx's index knows every word of every page, so it says which pages have a word; the text of the
// pages (search-text.js, cut where a section is long) says how well they fit, and gives the excerpt.
"use strict";

const SiteSearch = (() => {
  // By address: what a page is called in the results, and how much more it counts than another one.
  const KINDS = [
    [/^lessons\/problems\/(?!index$)/, "Problem", 1.5],
    [/^lessons\/[^/]+\/(?!index$)/, "Lesson", 1.5],
    [/^lessons\//, "Section", 0.8],
    [/^contribute\//, "For authors", 0.5],
    [/^/, "Page", 1],
  ];
  // How much a word counts in the page's title, in a heading of it, and in its text.
  const TITLE = 6;
  const HEADING = 2.5;
  // In its address, which names the section and the lesson: lessons/accumulation/why_it_adds.
  const ADDRESS = 2;
  const TEXT = 2;
  // That it is there at all, if only in a picture.
  const PRESENT = 0.3;
  // More of the same word counts little.
  const SATURATION = 2;
  // How much it adds when the words stand there as they were typed, by the same three places.
  const PHRASE = { title: 2.5, heading: 1.2, text: 0.8 };
  // The title is just that.
  const WHOLE_TITLE = 4;
  // A part of a name, or a word that only begins as typed where none is spelled so.
  const PART = 0.5;
  // How much the finder of problem pages adds: all of it for a message of so many words.
  const FINDER = 5;
  const MESSAGE = 6;
  // A pasted traceback has hundreds of words.
  const MOST_TERMS = 30;
  const EXCERPT = 210;

  const WORD = /[\p{L}\p{N}_]+/gu;
  const NAME_PART = /[A-Z]+(?![a-z])|[A-Z]?[a-z]+/g;
  const stemmer = new Stemmer();
  const stems = new Map();

  /** The stem of a word, as in Sphinx's index. */
  function stem(word) {
    if (!stems.has(word)) {
      stems.set(word, stemmer.stemWord(word.toLowerCase()));
    }
    return stems.get(word);
  }

  /** The words of a query that say something: [{word, stem}], each stem once. */
  function parse(query) {
    const found = new Map();
    for (const word of splitQuery(query)) {
      const lower = word.toLowerCase();
      if (!stopwords.has(lower) && !/^\d+$/.test(word) && !found.has(stem(word))) {
        found.set(stem(word), { word: lower, stem: stem(word) });
      }
    }
    return [...found.values()].slice(0, MOST_TERMS);
  }

  const plain = (text) => text.toLowerCase().replace(/\s+/g, " ").trim();

  /** A function that says which terms a word of a text is: [[place of the term, weight]]. */
  function matcher(terms) {
    const { terms: inTexts, titleterms: inTitles } = Search._index;
    const isWord = terms.map(({ stem }) => Object.hasOwn(inTexts, stem) || Object.hasOwn(inTitles, stem));
    const known = new Map();
    const exactly = new Map(terms.map(({ stem }, place) => [stem, place]));
    return (token) => {
      if (!known.has(token)) {
        const found = new Map();
        for (const part of token.match(NAME_PART) ?? []) {
          if (part.length > 1 && part !== token && exactly.has(stem(part))) {
            found.set(exactly.get(stem(part)), PART);
          }
        }
        const lower = token.toLowerCase();
        terms.forEach(({ word }, place) => {
          if (!isWord[place] && word.length > 2 && lower.startsWith(word)) {
            found.set(place, PART);
          }
        });
        if (exactly.has(stem(token))) {
          found.set(exactly.get(stem(token)), 1);
        }
        known.set(token, [...found]);
      }
      return known.get(token);
    };
  }

  /** Where the terms stand in a text: [{start, end, terms}]. */
  function hits(text, match) {
    const found = [];
    for (const token of text.matchAll(WORD)) {
      const terms = match(token[0]);
      if (terms.length) {
        found.push({ start: token.index, end: token.index + token[0].length, terms });
      }
    }
    return found;
  }

  /** The text cut around where most of the terms stand close together: [[text, is it a word of the query]]. */
  function excerpt(text, found, rarity, phraseAt) {
    const value = (start) => {
      const within = found.filter((hit) => hit.start >= start && hit.end <= start + EXCERPT);
      const terms = new Map(within.flatMap((hit) => hit.terms));
      const phrase = phraseAt >= start && phraseAt < start + EXCERPT / 2 ? 1_000 : 0;
      return [...terms].reduce((sum, [place, weight]) => sum + rarity[place] * weight, phrase);
    };
    let best = 0;
    let most = -1;
    for (const hit of found.slice(0, 40)) {
      if (value(hit.start) > most) {
        most = value(hit.start);
        best = hit.start;
      }
    }
    // Some words before it, so that it can be read.
    const wanted = Math.max(0, best - 50);
    const start = wanted && text.indexOf(" ", wanted) + 1;
    const reach = start + EXCERPT;
    const end = reach >= text.length ? text.length : Math.max(text.lastIndexOf(" ", reach), best + 1);
    const within = found.filter((hit) => hit.start >= start && hit.end <= end);
    const cut = marked(text, within, start, end);
    return [...(start ? [["… ", false]] : []), ...cut, ...(end < text.length ? [[" …", false]] : [])];
  }

  function marked(text, found, start = 0, end = text.length) {
    const pieces = [];
    let at = start;
    for (const hit of found) {
      pieces.push([text.slice(at, hit.start), false], [text.slice(hit.start, hit.end), true]);
      at = hit.end;
    }
    return [...pieces, [text.slice(at, end), false]].filter(([piece]) => piece);
  }

  /** How well a page fits: its score, and a function that says what to show of it. */
  function look(docname, title, terms, rarity, match, phrase) {
    const sections = SEARCH_TEXT[docname] ?? [];
    const all = rarity.reduce((sum, value) => sum + value, 0);
    const inTitle = hits(title, match);
    const heaviest = (found) => {
      const weights = terms.map(() => 0);
      for (const [place, weight] of found.flatMap((hit) => hit.terms)) {
        weights[place] = Math.max(weights[place], weight);
      }
      return weights;
    };
    const titles = heaviest(inTitle);
    const headings = terms.map(() => 0);
    const counts = terms.map(() => 0);
    const address = heaviest(hits(docname.replaceAll("/", " "), match));
    const isNamed = docname.endsWith(`/${phrase.replaceAll(" ", "_")}`);
    const said = { title: isNamed || plain(title).includes(phrase), heading: false, text: false };
    let best = null;
    sections.forEach(([anchor, heading, text], number) => {
      const inHeading = number ? hits(heading, match) : [];
      const inText = hits(text, match);
      heaviest(inHeading).forEach((weight, place) => {
        headings[place] = Math.max(headings[place], weight);
      });
      for (const [place, weight] of inText.flatMap((hit) => hit.terms)) {
        counts[place] += weight;
      }
      const headingSays = number > 0 && plain(heading).includes(phrase);
      const phraseAt = phrase ? text.toLowerCase().indexOf(phrase) : -1;
      said.heading ||= headingSays;
      said.text ||= phraseAt >= 0;
      const both = heaviest([...inHeading, ...inText]);
      const value =
        both.reduce((sum, weight, place) => sum + weight * rarity[place], 0) +
        heaviest(inHeading).reduce((sum, weight, place) => sum + weight * rarity[place], 0) +
        all * ((headingSays ? 1 : 0) + (phraseAt >= 0 ? 1 : 0));
      if (value > (best?.value ?? 0)) {
        best = { value, anchor, heading, text, inHeading, inText, phraseAt };
      }
    });
    let score = 0;
    // A title with one word of five says less of them than a title with all five.
    const share = titles.reduce((sum, weight, place) => sum + weight * rarity[place], 0) / all;
    terms.forEach((term, place) => {
      const often = counts[place] / (counts[place] + SATURATION);
      const value =
        TITLE * share * titles[place] +
        HEADING * headings[place] +
        ADDRESS * address[place] +
        TEXT * often;
      score += rarity[place] * (PRESENT + value);
    });
    for (const [where, weight] of Object.entries(PHRASE)) {
      score += said[where] && phrase ? weight * all : 0;
    }
    best ??= sections[0] && {
      anchor: "", heading: "", text: sections[0][2], inHeading: [], inText: [], phraseAt: -1,
    };
    score += plain(title) === phrase ? WHOLE_TITLE * all : 0;
    const show = () => ({
      title: marked(title, inTitle),
      section: best?.anchor ? { anchor: best.anchor, title: marked(best.heading, best.inHeading) } : null,
      excerpt: best ? excerpt(best.text, best.inText, rarity, best.phraseAt) : [],
    });
    return { score, show };
  }

  /**
   * The pages for a query, best first.
   *
   * Returns {whole, results: [{docname, kind, show}]}, or null for a query without a word that says
   * something. `whole`: each page has all words; otherwise, some of them. `show()` gives the title,
   * the section and the excerpt.
   */
  function find(query) {
    const terms = parse(query);
    if (!terms.length) {
      return null;
    }
    const { docnames, titles } = Search._index;
    const place = new Map(docnames.map((name, number) => [name, number]));
    // Which pages have each term, by Sphinx: in their text, or in a title.
    const holders = terms.map(
      ({ stem }) => new Set(Search.performTermsSearch(new Set([stem]), new Set()).map(([name]) => name)),
    );
    const rarity = holders.map((names) => Math.log(1 + docnames.length / (names.size + 0.5)));
    const all = rarity.reduce((sum, value) => sum + value, 0);
    const match = matcher(terms);
    const phrase = plain(query);
    const finder = typeof ProblemFinder === "undefined" ? [] : ProblemFinder.rank(PROBLEM_INDEX, query);
    const first = new Map(
      finder.map(({ page, score }) => [page.url.replace(/\.html$/, ""), score / finder[0].score]),
    );
    const found = [...new Set([...holders.flatMap((names) => [...names]), ...first.keys()])].map((docname) => {
      const title = titles[place.get(docname)];
      const [, kind, factor] = KINDS.find(([pattern]) => pattern.test(docname));
      const held = rarity.filter((value, term) => holders[term].has(docname));
      const covers = held.reduce((sum, value) => sum + value, 0) / all;
      const seen = look(docname, title, terms, rarity, match, phrase);
      const fix = FINDER * all * Math.min(1, splitQuery(query).length / MESSAGE) * (first.get(docname) ?? 0) ** 2;
      return {
        ...seen, docname, kind,
        score: seen.score * factor * covers ** 2 + fix,
        whole: held.length === terms.length,
      };
    });
    const whole = found.some((page) => page.whole);
    const kept = whole ? found.filter((page) => page.whole || first.get(page.docname) === 1) : found;
    const ordered = kept.sort((a, b) => b.score - a.score || (a.docname < b.docname ? -1 : 1));
    return { whole, results: ordered };
  }

  return { find, parse };
})();
