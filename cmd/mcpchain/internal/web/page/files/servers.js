// The servers that each person signs in to.

import * as api from "./api.js";
import { el } from "./tree.js";
import { linkParts } from "./link.js";

// showTroubles lists the servers that the file has wrong, and why.
export function showTroubles(list, troubles) {
  list.hidden = troubles.length === 0;
  list.replaceChildren(...troubles.map((t) => el("li", {}, el("span", { dir: "auto" }, el("strong", {}, t.server), `: ${t.text}`))));
}

// showRules lists what the person decided for later calls. drop takes a rule back.
export function showRules(list, rules, drop) {
  const focused = list.contains(document.activeElement);
  list.hidden = rules.length === 0;
  list.replaceChildren(...rules.map((r) => el("li", {},
    el("span", { class: "name", dir: "auto", title: `${r.server} ${r.tool ?? ""}` }, `${r.allow ? "Allowed" : "Refused"}: ${r.tool ? `${r.tool} of ${r.server}` : `all tools of ${r.server}`}`,
      el("span", { class: "mark" }, r.scope === "same arguments" ? "with the same arguments, in all conversations" : "in all conversations")),
    el("button", { class: "quiet small", type: "button", "aria-label": `Take back: ${r.tool ?? "all tools"} of ${r.server}`, click: () => drop(r) }, "Take back"))));
  if (focused) (list.querySelector("button") ?? document.getElementById("question")).focus();
}

// showServers lists them. begin opens the card of a sign-in, leave signs out.
export function showServers(list, servers, begin, leave) {
  const focused = list.contains(document.activeElement) ? document.activeElement.dataset.key : undefined;
  list.hidden = servers.length === 0;
  list.replaceChildren(...servers.map((s) => el("li", {},
    el("span", { class: "name", dir: "auto" }, s.name, el("span", { class: "mark" }, states[s.state] ?? s.state),
      s.state === "ready" && s.error ? el("span", { class: "mark" }, s.error) : ""),
    s.state === "ready"
      ? el("button", { class: "quiet small", type: "button", "data-key": s.name, "aria-label": `Sign out of ${s.name}`, click: () => leave(s) }, "Sign out")
      : el("button", { class: "small", type: "button", "data-key": s.name, "aria-label": `Sign in to ${s.name}`, click: () => begin(s) }, "Sign in"))));
  if (focused) list.querySelector(`[data-key="${CSS.escape(focused)}"]`)?.focus();
}

const states = { ready: "signed in", sign_in: "wants you to sign in", failed: "cannot be used", new: "not asked yet" };

// signInParts are for a card that has the person sign in: {node, open}. The page to sign in at is known
// when the person wants it, and its host stands apart.
export function signInParts(name) {
  const place = el("div", { class: "link" });
  // open returns the link to the page to sign in at, if there is one.
  const open = async () => {
    const { link } = await api.signInTo(name);
    if (!link) return undefined; // the person is signed in: the server of this page continues
    const parts = linkParts(link);
    const go = el("a", {
      class: "button", href: link.href, target: "_blank", rel: "noopener noreferrer",
      click: (e) => { if (!parts.check()) e.preventDefault(); },
    }, "Open the page");
    place.replaceChildren(parts.node, el("p", { class: "faint" }, "It opens in another window. This one continues when you are signed in there."));
    return go;
  };
  return { node: place, open };
}
