// What a reader with a keyboard, a screen reader, a phone or large text would stumble over on the
// open page. Each check returns a list of texts; axe-core looks for the rest.
"use strict";

window.PageChecks = (() => {
  const CONTROLS = "a[href], button, input:not([type=hidden]), select, textarea, summary, [tabindex]:not([tabindex='-1'])";
  const VAGUE = /^(click|here|click here|this|this page|link|more|read more|see|source|\d+|¶|#|\W*)$/i;

  const short = (element) => element.outerHTML.replace(/\s+/g, " ").slice(0, 100);
  const rendered = (element) => element.checkVisibility({ opacityProperty: false, visibilityProperty: true, contentVisibilityAuto: true });
  const controls = () => [...document.querySelectorAll(CONTROLS)].filter((element) => rendered(element) && !element.closest("[aria-hidden=true]"));
  const named = (element) => {
    const texts = [element.getAttribute("aria-label") ?? "", element.textContent, ...[...element.querySelectorAll("img, svg")].map((image) => image.getAttribute("alt") ?? image.getAttribute("aria-label") ?? ""), element.title];
    return (texts.find((text) => text.trim()) ?? "").replace(/\s+/g, " ").trim();
  };

  const headings = () => {
    const found = [...document.querySelectorAll("h1, h2, h3, h4, h5, h6")].filter(rendered);
    const levels = found.map((heading) => Number(heading.tagName[1]));
    const skips = levels.flatMap((level, i) => (level > (levels[i - 1] ?? 0) + 1 ? [`h${level} after h${levels[i - 1] ?? "nothing"}: ${found[i].textContent.trim()}`] : []));
    const tops = levels.filter((level) => level === 1).length;
    return [...skips, ...(tops === 1 ? [] : [`${tops} headings of the first level`])];
  };

  const language = () => (document.documentElement.lang ? [] : ["the page does not say its language"]);

  const images = () => [...document.querySelectorAll("article img, article svg[role=img]")].filter(rendered).flatMap((image) => {
    if (image.tagName === "IMG" && image.getAttribute("alt") === "") return [];
    const text = image.getAttribute("alt") ?? image.getAttribute("aria-label") ?? "";
    return text.length < 4 || /\.(svg|png|jpe?g|gif|webp)$|^sphx_glr|^image|^\w+_\w+$/i.test(text) ? [`no useful name "${text}": ${short(image)}`] : [];
  });

  const links = () => {
    const targets = new Map();
    const found = [];
    for (const link of document.querySelectorAll("a[href]")) {
      if (!rendered(link) || link.matches(".headerlink")) continue;
      const name = named(link);
      if (VAGUE.test(name)) found.push(`a link named "${name}": ${short(link)}`);
      // In a table the row says what a link is about.
      if (!link.closest("article") || link.closest(".highlight, td")) continue;
      const key = name.toLowerCase();
      const other = targets.get(key);
      if (other !== undefined && other !== link.href) found.push(`two targets of "${name}": ${link.href} and ${other}`);
      targets.set(key, link.href);
    }
    return found;
  };

  // Part of the page lies beyond its right edge, and not in a box that scrolls by itself.
  const sideways = () => {
    const found = [];
    for (const box of [document.documentElement, document.querySelector(".content")]) {
      if (box && box.scrollWidth > box.clientWidth + 1) found.push(`${box.className || "page"}: ${box.scrollWidth} px in ${box.clientWidth}`);
    }
    const main = document.querySelector(".content, main") ?? document.body;
    const edge = Math.min(innerWidth, document.documentElement.clientWidth) + 1;
    const scrolls = (element) => {
      for (let box = element.parentElement; box && box !== main; box = box.parentElement) {
        if (getComputedStyle(box).overflowX !== "visible") return true;
      }
      return false;
    };
    for (const element of main.querySelectorAll("*")) {
      if (element.getBoundingClientRect().right <= edge || !rendered(element)) continue;
      if (element.closest("svg, math") && !element.matches("svg, math")) continue;
      if (!scrolls(element)) found.push(`beyond the edge: ${short(element)}`);
    }
    return found.slice(0, 5);
  };

  // WCAG 2.5.8, without its exception for targets that stand alone.
  const targets = () => controls().flatMap((element) => {
    if (element.matches("pre, .highlight *, [role=region], div, section, .graph-scroll")) return [];
    const style = getComputedStyle(element);
    const inText = style.display === "inline" && element.matches("a") && element.closest("p, li, dd, dt, td, th, h1, h2, h3, h4, h5, h6, figcaption, caption");
    if (inText) return [];
    let { width, height } = element.getBoundingClientRect();
    const label = element.labels?.[0]?.getBoundingClientRect();
    if (label && element.matches("[type=checkbox], [type=radio]")) [width, height] = [Math.max(width, label.width), Math.max(height, label.height)];
    if (width <= 1 || height <= 1) return []; // for a screen reader, or shown when it has the focus
    return width < 24 || height < 24 ? [`${Math.round(width)} x ${Math.round(height)}: ${short(element)}`] : [];
  });

  // The reader must see where the keyboard is, in the window: on the control, or on the card that it
  // is the link of. One control of each look is enough.
  const focus = () => {
    const lookOf = (element) => {
      const style = getComputedStyle(element);
      return [style.outlineStyle, style.outlineWidth, style.outlineColor, style.boxShadow, style.borderColor, style.backgroundColor, style.color, style.textDecorationLine, style.opacity, style.clipPath].join("|");
    };
    const look = (element) => [element, element.closest("li")].filter(Boolean).map(lookOf).join();
    const seen = new Set();
    const found = [];
    const top = scrollY;
    for (const element of controls()) {
      const kind = `${element.tagName}.${element.className.baseVal ?? element.className}|${element.parentElement.tagName}.${element.parentElement.className}|${element.type ?? ""}`;
      if (seen.has(kind)) continue;
      seen.add(kind);
      element.blur();
      const before = look(element);
      element.focus({ preventScroll: true, focusVisible: true });
      if (document.activeElement !== element) continue;
      document.getAnimations().forEach((animation) => animation.finish());
      const { left, right } = element.getBoundingClientRect();
      const scrolls = element.closest(".graph-scroll, .table-wrapper, pre, .highlight");
      if (!scrolls && (right <= 0 || left >= innerWidth)) found.push(`focus outside the window: ${short(element)}`);
      const style = getComputedStyle(element);
      const outlined = style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 1;
      if (!outlined && before === look(element)) found.push(`no visible focus: ${short(element)}`);
      element.blur();
      document.getAnimations().forEach((animation) => animation.finish());
    }
    scrollTo(0, top);
    return found;
  };

  const parse = (text) => {
    const numbers = text.match(/[\d.]+(e-?\d+)?/g)?.map(Number) ?? [0, 0, 0, 0];
    const scale = text.startsWith("color(srgb") ? 255 : 1;
    return [numbers[0] * scale, numbers[1] * scale, numbers[2] * scale, numbers[3] ?? 1];
  };
  const over = (front, back) => [0, 1, 2].map((i) => front[i] * front[3] + back[i] * (1 - front[3])).concat(1);
  const luminance = (color) => {
    const [r, g, b] = color.map((part) => (part / 255 <= 0.04045 ? part / 255 / 12.92 : ((part / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ratio = (a, b) => {
    const [dark, light] = [luminance(a), luminance(b)].sort((x, y) => x - y);
    return (light + 0.05) / (dark + 0.05);
  };

  // The contrast of text with the backgrounds of the boxes that it lies in: 4.5 at least, 3 where the
  // text is large, 7 for running text. axe-core also sees boxes that lie over it, and takes minutes for it.
  const contrast = () => {
    const backgrounds = new Map();
    const background = (element) => {
      if (!element) return parse(getComputedStyle(document.documentElement).colorScheme.includes("dark") ? "rgb(18, 18, 18)" : "rgb(255, 255, 255)");
      if (!backgrounds.has(element)) {
        const own = parse(getComputedStyle(element).backgroundColor);
        backgrounds.set(element, own[3] === 1 ? own : over(own, background(element.parentElement)));
      }
      return backgrounds.get(element);
    };
    const found = new Map();
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    const seen = new Set();
    for (let text = walker.nextNode(); text; text = walker.nextNode()) {
      const element = text.parentElement;
      if (!text.data.trim() || seen.has(element) || element.closest("svg, script, style, noscript, [aria-disabled=true], :disabled")) continue;
      seen.add(element);
      if (!rendered(element)) continue;
      const style = getComputedStyle(element);
      const size = parseFloat(style.fontSize);
      const large = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
      const running = element.matches("article p, article li, article dd, article td") && !element.closest(".highlight");
      const wanted = large ? 3 : running ? 7 : 4.5;
      const behind = background(element);
      const got = ratio(over(parse(style.color), behind), behind);
      const kind = `${element.tagName}.${element.className} ${style.color}`;
      if (got < wanted && !found.has(kind)) found.set(kind, `contrast ${got.toFixed(2)} below ${wanted}: ${short(element)}`);
    }
    return [...found.values()];
  };

  return { headings, language, images, links, sideways, targets, focus, contrast };
})();
