// The list of conversations.

import * as api from "./api.js";
import { el, byId, isRepeated } from "./tree.js";

const pageSize = 50; // of the list that the stream brings: maxListed of package talk

// Older are the conversations after the latest ones. The stream brings the latest again with each change; older ones
// are asked for a page at a time.
export class Older {
  #list = [];
  #more = true; // there may be others after the list
  #last; // the request under way

  get list() { return this.#list; }

  // isMore reports whether there may be older ones than these and the list.
  isMore(latest) { return latest.length >= pageSize && this.#more; }

  // load asks for the next page, and returns the id of its first conversation, "" if there is none.
  async load(latest) {
    if (this.#last) return undefined;
    this.#last = api.older(this.#list.at(-1) ?? latest.at(-1));
    try {
      const { list, more } = await this.#last;
      const known = new Set([...latest, ...this.#list].map((s) => s.id));
      const fresh = list.filter((s) => !known.has(s.id));
      this.#list.push(...fresh);
      this.#more = more && fresh.length > 0;
      return fresh[0]?.id ?? "";
    } finally {
      this.#last = undefined;
    }
  }

  // latest takes that the latest conversations are others. What has changed is among them; what has made room there is
  // older.
  latest(before, after) {
    const ids = new Set(after.map((s) => s.id));
    this.#list = this.#list.filter((s) => !ids.has(s.id));
    if (after.length < pageSize || (this.#list.length === 0 && this.#more)) return;
    const end = new Date(after.at(-1).updated);
    const known = new Set(this.#list.map((s) => s.id));
    this.#list.unshift(...before.filter((s) => !ids.has(s.id) && !known.has(s.id) && new Date(s.updated) <= end));
  }

  // drop removes a conversation.
  drop(id) { this.#list = this.#list.filter((s) => s.id !== id); }
}

// marks are the labels and classes of states.
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
    button.setAttribute("aria-label", sure ? `Delete forever? ${s.title}` : `Delete: ${s.title}`);
    button.classList.toggle("danger", sure);
  };
  const button = el("button", {
    class: "quiet icon", type: "button", "data-key": `remove ${s.id}`, blur: () => { if (button.isConnected) ask(false); },
    click: (e) => { if (button.textContent === "×") ask(true); else if (!isRepeated(e)) remove(s); },
  });
  ask(doubted === s.id);
  return button;
}

// when returns a time of today, or the day.
function when(time) {
  const then = new Date(time), today = new Date();
  return then.toDateString() === today.toDateString()
    ? then.toLocaleTimeString("en-GB", { hour: "2-digit", minute: "2-digit" })
    : then.toLocaleDateString("en-GB", { day: "numeric", month: "short" });
}
