// Runs before the first paint, so that what scripts cover is never shown and then taken away.
document.documentElement.classList.add("js");
