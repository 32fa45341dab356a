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
  const tools = (use.servers ?? []).map((s) => [`tools of ${s.server}`, s.tokens]);
  const rows = [["instructions", use.instructions], ...tools, ["messages", use.history], ["results of tools", use.results]];
  if (use.cached) rows.push(["of all: from its cache", use.cached]);
  node.querySelector("tbody").replaceChildren(...rows.map(([what, tokens]) => el("tr", {}, el("th", { scope: "row" }, what), el("td", {}, count(tokens)))));
}
