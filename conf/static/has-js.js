// Runs before the first paint, so that what scripts cover is never shown and then taken away, and
// what they need has its place. The theme would drop "no-js" only at the end of the page.
document.documentElement.classList.replace("no-js", "js") || document.documentElement.classList.add("js");
