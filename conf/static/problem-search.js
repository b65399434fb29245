// The site's search: a problem page that the finder ranks high for the query comes first.
"use strict";

(() => {
  const query = new URLSearchParams(location.search).get("q");
  if (!query || typeof Scorer === "undefined") {
    return;
  }
  // More than any score of the search itself, in the finder's order.
  const ABOVE = 1_000;
  const found = ProblemFinder.rank(PROBLEM_INDEX, query);
  const places = new Map(found.map(({ page }, place) => [page.url, found.length - place]));
  Scorer.score = ([docname, , , , score]) => score + ABOVE * (places.get(`${docname}.html`) ?? 0);
})();
