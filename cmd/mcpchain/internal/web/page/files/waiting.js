// The questions of a conversation that wait for the person, side by side.

import { byId, fresh } from "./tree.js";
import { card } from "./asks.js";

// Waiting shows a card for each question. send sends an answer, and returns what the server objects to;
// changed is called if there are more or fewer cards.
export class Waiting {
  #cards = byId("cards");
  #byAsk = new Map(); // cards by id; those of the conversation have no space in it
  #send;
  #changed;

  constructor(send, changed) {
    this.#send = send;
    this.#changed = changed;
    this.#cards.replaceChildren();
    this.#show();
  }

  // count is how many questions of the conversation are open. Other cards have a space in their id.
  get count() { return this.#own().length; }

  #own() { return [...this.#byAsk.keys()].filter((id) => !id.includes(" ")); }

  // add returns the title of the card, or nothing if it is there.
  add(ask) {
    if (this.#byAsk.has(ask.id)) return undefined;
    const made = card(ask, this.#send);
    this.#byAsk.set(ask.id, made);
    this.#cards.append(made.node);
    this.#show();
    return made.node.querySelector("h3").textContent;
  }

  // place adds a card outside of the conversation, and returns what removes it.
  place(node) {
    const id = fresh("other card ");
    this.#byAsk.set(id, { node });
    this.#cards.append(node);
    this.#show();
    return () => this.drop(id);
  }

  // focus goes to the first button of a card.
  focus(id) { this.#byAsk.get(id).node.querySelector("button").focus(); }

  // drop removes a card, and reports whether it was there. If it had the focus, the next question gets
  // it, or the composer.
  drop(id) {
    const node = this.#byAsk.get(id)?.node;
    if (!node) return false;
    const held = node.contains(document.activeElement), next = this.#after(node);
    node.remove();
    this.#byAsk.delete(id);
    this.#show();
    if (held) next.focus();
    return true;
  }

  // #after is where the focus goes from a card: the next question without an answer, else one before, else the composer.
  #after(node) {
    const open = (n) => n !== node && n.dataset.taken === undefined;
    const all = [...this.#cards.children], at = all.indexOf(node);
    const next = all.slice(at).find(open) ?? all.slice(0, at).findLast(open);
    return next?.querySelector("h3") ?? byId("question");
  }

  // dropAll removes the questions of the conversation.
  dropAll() { for (const id of this.#own()) this.drop(id); }

  // taken marks the questions whose answers are given, while the run waits for something else.
  taken(ids) {
    for (const id of ids ?? []) {
      const made = this.#byAsk.get(id);
      if (!made || made.node.dataset.taken !== undefined) continue;
      made.taken();
      made.node.dataset.taken = "";
      if (made.node.contains(document.activeElement)) this.#after(made.node).focus();
    }
  }

  // #show shows the place of cards if there are any.
  #show() {
    byId("asks").hidden = this.#byAsk.size === 0;
    this.#changed();
  }
}
