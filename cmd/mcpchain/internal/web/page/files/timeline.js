// What was said in a conversation.

import { byId, el, isRepeated, link, prose } from "./tree.js";
import { callNode } from "./calls.js";

// words say what the person has answered.
const words = {
  allow: "You allowed", deny: "You refused", accept: "You accepted", decline: "You declined", cancel: "Cancelled:",
  ran: "You said that it ran:", not_run: "You said that it did not run:", known: "You said what came of",
};

// limits say why a turn ended before its answer.
const limits = {
  length: "The answer is cut off: it has as many tokens as the model may write at once. Ask it to continue.",
  max_tokens: "The answer used as many tokens as it may, and ended early. Ask again, or ask for less at once.",
  max_cost: "The answer cost as much as it may, and ended early. Ask again, or ask for less at once.",
  max_turns: "The model was asked as often as it may be for one question, and the answer ended early.",
  max_tool_calls: "The answer made as many calls as it may, and ended early.",
  max_failures: "Too many calls failed, and the answer ended early.",
  max_active: "The answer took as long as it may, and ended early.",
};

// Timeline shows the events of a conversation in the log. edit is called with a question and its new text, and retry to continue
// a turn that has failed.
export class Timeline {
  #log;
  #edit;
  #retry;
  #again = null; // the button of a failed turn, until something follows
  #calls = new Map(); // nodes by the ids of calls
  #draft = null; // the node of the text that the model is writing
  #asked = new Set(); // ids of calls that the person was asked about

  constructor(log, edit, retry) {
    this.#log = log;
    this.#edit = edit;
    this.#retry = retry;
    // A view that is being torn down has to stay in the document until then.
    for (const node of [...log.children]) if (node.querySelector("iframe")) node.hidden = true; else node.remove();
  }

  get empty() { return this.#log.childElementCount === 0; }

  // said shows a question, with a button to change it.
  said(e) {
    const text = el("div", { class: "bubble", dir: "auto" }, e.text);
    const button = el("button", { class: "quiet small", type: "button", click: () => this.#change(article, text, e) }, "Edit");
    const article = el("article", { class: "said", "aria-label": "You" }, text, button);
    this.#add(article);
  }

  // #change has the person rewrite a question.
  #change(article, text, e) {
    const old = [...article.childNodes];
    const area = el("textarea", { rows: 3, "aria-label": "Your question" });
    area.value = e.text;
    const back = () => { article.replaceChildren(...old); article.querySelector("button").focus(); };
    let sent = false;
    const form = el("form", {
      class: "edit",
      submit: async (event) => {
        event.preventDefault();
        if (sent || !area.value.trim()) return;
        sent = true;
        await this.#edit(e, area.value.trim());
        sent = false;
      },
      keydown: (event) => { if (event.key === "Escape") back(); },
    }, area, el("div", { class: "row" }, el("button", { type: "submit" }, "Send again"),
      el("button", { type: "button", class: "quiet", click: back }, "Cancel")),
      el("p", { class: "faint" }, "The conversation continues from here in a new one; this one stays."));
    article.replaceChildren(form);
    area.focus();
  }

  // reply shows an answer instead of the draft, and returns its text: "" for an answer without one.
  reply(e) {
    const isRead = this.#draft?.lastChild.hasChildNodes() && this.#thoughts()?.open; // the person has unfolded it
    this.#drop();
    if (!e.text && !e.reasoning) return "";
    const article = el("article", { class: "reply", "aria-label": "Answer" });
    if (e.reasoning) article.append(reasoning(e.reasoning, isRead));
    const body = el("div", { class: "prose", dir: "auto" }, ...prose(e.text));
    article.append(body);
    if (e.broken) article.append(el("p", { class: "note" }, "The answer broke off here."));
    this.#add(article);
    return body.textContent;
  }

  // asked notes that the person decides on a call.
  asked(e) { if (e.kind === "approval") this.#asked.add(e.call); }

  // call shows a call that begins.
  call(e) {
    const call = this.#callOf(e);
    call.started(e);
    if (!this.#asked.has(e.id)) call.unasked();
  }

  // result shows the result of a call, and returns the node of the call.
  result(e) {
    const call = this.#callOf(e);
    this.#asked.delete(e.id); // another turn may have a call with this id
    call.ended(e);
    return call.node;
  }

  // #callOf returns the node of a call, a new one if the call is over: an id may come again in a later turn.
  #callOf(e) {
    let call = this.#calls.get(e.id);
    if (!call || call.isOver) {
      call = callNode();
      this.#calls.set(e.id, call);
      this.#add(call.node);
    }
    return call;
  }

  // answered shows an answer of the person, with the link of a page that the person agreed to visit.
  answered(e) {
    const reason = e.reason ? ` (${e.reason})` : "";
    const text = `${words[e.action] ?? e.action} ${e.what}.${reason}`;
    if (!e.link) { this.note({ text }); return; }
    this.#add(el("p", { class: "note" }, `${text} `, link(e.link.href, [`Open ${e.link.host}`])));
  }

  // note shows a line of the program.
  note(e) {
    this.#add(el("p", { class: "note" }, e.text));
  }

  // ended shows why a turn ended, unless it has an answer. Calls without a result end with it.
  ended(e) {
    this.#drop();
    for (const call of this.#calls.values()) if (!call.isOver) call.leave();
    if (e.status === "cancelled") this.note({ text: "Stopped." });
    if (e.status === "failed") this.#failed(e);
    if (e.stop) this.note({ text: limits[e.stop] ?? `The turn ended at a limit: ${e.stop}.` });
  }

  // #failed shows why a turn has failed, with a button to try it again if that may help.
  #failed(e) {
    const node = el("div", { class: "failed" }, el("p", {}, el("strong", {}, e.error)));
    if (e.detail) node.append(el("details", {}, el("summary", {}, "Details"), el("pre", { tabindex: 0, dir: "auto" }, e.detail)));
    this.#add(node);
    if (!e.again) return;
    let sent = false;
    this.#again = el("button", {
      type: "button", click: async (click) => {
        if (sent || isRepeated(click)) return;
        sent = true;
        await this.#retry();
        sent = false;
      },
    }, "Try again");
    node.append(this.#again);
  }

  // #hideAgain hides the button of a failed turn while the conversation is at work.
  #hideAgain(hidden) {
    if (!this.#again) return;
    if (hidden && this.#again === document.activeElement) byId("question").focus();
    this.#again.hidden = hidden;
  }

  // now shows what has no record: the progress of calls, and the text that the model is writing, with its reasoning before. Of
  // the blocks of the text, the first e.from stay as they are.
  now(e) {
    this.#hideAgain(e.working);
    for (const [id, progress] of Object.entries(e.progress ?? {})) this.#calls.get(id)?.progress(progress);
    const blocks = [...(e.blocks ?? []), ...(e.open ? [e.open] : [])];
    const isWriting = e.from > 0 || blocks.length > 0;
    if (!isWriting && !e.thoughts) { this.#drop(); return; }
    if (!this.#draft) {
      this.#draft = el("article", { class: "reply draft", "aria-label": "Answer, so far", "aria-busy": "true" }, el("div", { class: "prose", dir: "auto" }));
      this.#add(this.#draft);
    }
    this.#think(e.thoughts, isWriting);
    const body = this.#draft.lastChild;
    while (body.childElementCount > e.from) body.lastChild.remove();
    for (const block of blocks) body.append(el("div", { class: "block" }, ...prose(block)));
  }

  // #thoughts returns the node of the reasoning before the draft, undefined without one.
  #thoughts() { return this.#draft?.querySelector(".reasoning") ?? undefined; }

  // #think shows the reasoning as it comes, and folds it when the answer begins.
  #think(e, isWriting) {
    if (!e || e.from === 0) this.#thoughts()?.remove();
    if (!e) return;
    if (!this.#thoughts()) this.#draft.prepend(reasoning("", !isWriting));
    const node = this.#thoughts(), text = node.lastChild;
    const isAtEnd = text.scrollHeight - text.scrollTop - text.clientHeight < 40;
    text.append(e.text);
    if (isAtEnd) text.scrollTop = text.scrollHeight;
    if (isWriting && !this.#draft.lastChild.hasChildNodes()) node.open = false;
  }

  // #drop removes the draft.
  #drop() {
    this.#draft?.remove();
    this.#draft = null;
  }

  // #add adds a node at the end, before the draft. A failed turn before it is not the last one.
  #add(node) {
    this.#hideAgain(true);
    this.#again = null;
    if (this.#draft && node !== this.#draft) this.#log.insertBefore(node, this.#draft);
    else this.#log.append(node);
  }
}

// reasoning is the node of the model's reasoning.
function reasoning(text, open) {
  return el("details", { class: "reasoning", open }, el("summary", {}, "Reasoning"), el("div", { class: "plain", dir: "auto", tabindex: 0 }, text));
}
