// Elements. Nothing in the page parses HTML: a text of a server or a model is the text of a node.

// el makes an element. An attribute that is a function listens to that event; false and undefined
// leave the attribute out.
export function el(tag, attrs = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attrs)) {
    if (typeof value === "function") node.addEventListener(name, value);
    else if (value === true) node.setAttribute(name, "");
    else if (value !== false && value !== undefined && value !== null) node.setAttribute(name, value);
  }
  node.append(...children.filter((c) => c !== undefined && c !== null && c !== false));
  return node;
}

export const byId = (id) => document.getElementById(id);

let count = 0;

// fresh is an id that no other element has. The name of a server's field is never one.
export const fresh = (what) => `${what}-${++count}`;

// isRepeated reports whether a click is the second of a double click: the person saw no question in between.
export const isRepeated = (click) => click.detail > 1;

const tags = new Set([
  "p", "h3", "h4", "h5", "h6", "ul", "ol", "li", "blockquote", "pre", "code", "em", "strong", "del",
  "a", "br", "hr", "table", "tr", "th", "td",
]);

// prose makes nodes of the tree that package prose writes: a text, or [tag, attributes, …children].
export function prose(tree) {
  return (tree ?? []).map(node);
}

function node(n) {
  if (typeof n === "string") return document.createTextNode(n);
  const [tag, attrs, ...children] = n;
  if (!tags.has(tag)) return document.createTextNode("");
  const inner = children.map(node);
  switch (tag) {
    case "a": return link(attrs.href, inner);
    case "ol": return el("ol", { start: attrs.start }, ...inner);
    case "th": return el("th", { scope: "col" }, ...inner);
    case "pre": return el("pre", { tabindex: 0 }, ...inner);
    case "table": return el("div", { class: "scroll", tabindex: 0, role: "group", "aria-label": "Table" }, el("table", {}, ...inner));
  }
  return el(tag, {}, ...inner);
}

// link opens in another window, which learns nothing of this one.
export function link(href, children) {
  if (!isSafe(href)) return el("span", {}, ...children);
  return el("a", { href, target: "_blank", rel: "noopener noreferrer nofollow", title: href }, ...children);
}

// isSafe reports whether an address is of the web or of mail.
export function isSafe(href) {
  try {
    return ["https:", "http:", "mailto:"].includes(new URL(href).protocol);
  } catch {
    return false;
  }
}
