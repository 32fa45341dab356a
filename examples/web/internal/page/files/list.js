// The list of conversations.

import { el, byId } from "./tree.js";

const marks = { running: ["at work", "working"], waiting: ["waits for you", "waiting"], failed: ["failed", "failed"] };

// showList shows the conversations, the open one marked.
export function showList(list, summaries, open, remove) {
  const focused = list.contains(document.activeElement) ? document.activeElement.dataset.key : undefined;
  list.replaceChildren(...summaries.map((s) => {
    const [label, kind] = marks[s.status] ?? ["", ""];
    const count = s.asks > 0 ? `${s.asks} ${s.asks === 1 ? "question" : "questions"} for you` : label;
    return el("li", {},
      el("a", { href: `#${encodeURIComponent(s.id)}`, "data-key": s.id, "aria-current": s.id === open ? "page" : undefined },
        el("span", { class: "name", dir: "auto" }, s.title || "(no text)"),
        count ? el("span", { class: `mark ${s.asks > 0 ? "waiting" : kind}` }, count) : el("span", { class: "mark" }, when(s.updated))),
      removal(s, remove));
  }));
  if (!focused) return;
  (list.querySelector(`[data-key="${CSS.escape(focused)}"]`) ?? list.querySelector("a") ?? byId("new")).focus();
}

let doubted = ""; // the conversation whose removal is asked about

// removal is a button that asks once more.
function removal(s, remove) {
  const ask = (sure) => {
    if (sure || doubted === s.id) doubted = sure ? s.id : "";
    button.textContent = sure ? "Delete?" : "×";
    button.setAttribute("aria-label", sure ? `Delete for ever? ${s.title}` : `Delete: ${s.title}`);
    button.classList.toggle("danger", sure);
  };
  const button = el("button", {
    class: "quiet icon", type: "button", "data-key": `remove ${s.id}`, blur: () => { if (button.isConnected) ask(false); },
    click: () => { if (button.textContent === "×") ask(true); else remove(s); },
  });
  ask(doubted === s.id);
  return button;
}

function when(time) {
  const then = new Date(time), today = new Date();
  return then.toDateString() === today.toDateString()
    ? then.toLocaleTimeString("en-GB", { hour: "2-digit", minute: "2-digit" })
    : then.toLocaleDateString("en-GB", { day: "numeric", month: "short" });
}
