// What fills the window of the model.

import { el } from "./tree.js";

const count = (n) => n.toLocaleString("en");

// showWindow shows what filled the window in the last call of the model; nothing if this program has not asked it.
export function showWindow(node, use) {
  node.hidden = !use;
  if (!use) return;
  const about = use.estimated ? "about " : "";
  const share = use.size ? `, ${Math.round(100 * use.input / use.size)}% of its window` : "";
  node.querySelector("summary").textContent = `The model read ${about}${count(use.input)} tokens${share}`;
  const rows = use.cached ? [...use.parts, { what: "of all: from its cache", tokens: use.cached }] : use.parts;
  node.querySelector("tbody").replaceChildren(...rows.map((p) => el("tr", {}, el("th", { scope: "row" }, p.what), el("td", {}, count(p.tokens)))));
}
