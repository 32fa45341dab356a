// The views of a conversation: their sessions, their messages from the server, and their questions.

import * as api from "./api.js";
import { el, fresh, isRepeated, isSafe } from "./tree.js";
import { Figure } from "./figure.js";
import { random } from "./hub.js";
import { read } from "./stream.js";

// viewEvents are the events of views in the stream. They have numbers: the page says which it has.
export const viewEvents = ["view-life", "viewed", "view", "view-size", "view-mode", "view-close", "view-closed", "view-ask", "view-asked"];

// The server has a queue of messages until the page has acknowledged them.
const maxUnacknowledged = 24; // messages
const acknowledgeAfter = 500; // milliseconds, because a few large messages fill the queue, too

// Views are the views of a conversation. on has the functions of the page: ask(e, figure) shows a question about the call of the
// view in a figure, if that is there, and show(node, title, figure) a card; both return what removes it. complain(text) tells of
// a failure.
export class Views {
  #conversation;
  #on;
  #window = `w${random()}`; // its name in the stream
  #figures = new Map(); // by turn and call
  #sessions = new Map(); // by session
  #later = new Map(); // events of calls whose node is not there yet, by turn and call
  #cards = new Map(); // functions that remove the card of a question, by session or run and the question's id
  #life; // names the server's queue, by which events are numbered
  #seen = 0; // the number of the last event
  #acknowledged = 0; // the last number that the server was told
  #soon; // timer of the next acknowledgement
  #over = false; // no view is shown any more
  #sight = new IntersectionObserver((entries) => {
    for (const e of entries) {
      if (!e.isIntersecting) continue;
      this.#sight.unobserve(e.target);
      this.#figures.get(e.target.dataset.place)?.open();
    }
  }, { rootMargin: "100px" });

  constructor(conversation, on) {
    this.#conversation = conversation;
    this.#on = on;
    addEventListener("message", this.#message);
    addEventListener("pagehide", this.#leave);
  }

  get window() { return this.#window; }

  // add shows the view of a call's result below its node.
  add(e, node) {
    const place = `${e.turn}/${e.id}`;
    if (this.#figures.has(place)) return;
    const figure = new Figure(this, e, place);
    this.#figures.set(place, figure);
    node.append(figure.node);
    this.#sight.observe(figure.node);
    for (const event of this.#later.get(place) ?? []) figure.viewed(event);
    this.#later.delete(place);
  }

  // viewed shows a call that a view makes, and its questions. The call of a view without a figure is shown once it has one.
  viewed(e) {
    const place = `${e.turn}/${e.call}`, prefix = `${e.server}__`; // by which the run knows the tool
    for (const name of ["tool", "name"]) if (e.event[name]?.startsWith(prefix)) e.event[name] = e.event[name].slice(prefix.length);
    if (e.kind === "asked") return this.#asked(e);
    if (e.kind === "answered") return this.#drop(`${e.run} ${e.event.ask}`);
    if (e.kind === "ended") for (const key of [...this.#cards.keys()]) if (key.startsWith(`${e.run} `)) this.#drop(key);
    const figure = this.#figures.get(place);
    if (figure) figure.viewed(e);
    else if (this.#later.size < 200) this.#later.set(place, [...(this.#later.get(place) ?? []), e]);
    return undefined;
  }

  // #asked shows a question about a view's call, once.
  #asked(e) {
    const key = `${e.run} ${e.event.id}`;
    if (!this.#cards.has(key)) this.#cards.set(key, this.#on.ask(e, this.#figures.get(`${e.turn}/${e.call}`)?.node));
  }

  // #drop removes the card of a question.
  #drop(key) {
    this.#cards.get(key)?.();
    this.#cards.delete(key);
  }

  // #live begins the numbers again with another queue of the server. The sessions of the earlier one have ended, with the server
  // or because there was no stream for long: their views are shown again.
  #live(life) {
    if (life === this.#life) return;
    this.#life = life;
    this.#seen = this.#acknowledged = 0;
    for (const figure of new Set(this.#sessions.values())) {
      if (!figure.life || figure.life === life) continue;
      figure.closed();
      figure.open();
    }
  }

  // take takes a numbered event of the stream, once.
  take(kind, { n, data, life }) {
    if (kind === "view-life") return this.#live(life);
    if (n <= this.#seen) return;
    this.#seen = n;
    if (n - this.#acknowledged >= maxUnacknowledged) this.acknowledge();
    else this.#soon ??= setTimeout(() => this.acknowledge(), acknowledgeAfter);
    if (kind === "viewed") return this.viewed(data);
    const figure = this.#sessions.get(data.session);
    switch (kind) {
      case "view": figure?.receive(data.message); break;
      case "view-size": figure?.resize(data.height); break;
      case "view-mode": figure?.mode(data.mode === "fullscreen"); break;
      case "view-close": figure?.end(); break;
      case "view-closed": figure?.closed(); this.#dropAsks(data.session); break;
      case "view-ask": if (figure) this.#question(data); break;
      case "view-asked": this.#drop(`${data.session} ${data.ask}`); break;
    }
    return undefined;
  }

  // acknowledge tells the server which events the page has, so that it drops them. After a failure it tries again: if the queue is
  // full, no further event would cause that.
  acknowledge() {
    clearTimeout(this.#soon);
    this.#soon = undefined;
    if (this.#seen === this.#acknowledged) return;
    const before = this.#acknowledged;
    this.#acknowledged = this.#seen;
    api.viewSeen(this.#window, this.#seen).catch(() => {
      this.#acknowledged = Math.min(this.#acknowledged, before);
      if (!this.#over) this.#soon ??= setTimeout(() => this.acknowledge(), acknowledgeAfter);
    });
  }

  // #question shows a question of a view itself. A link opens in the click of the person, since browsers block other windows.
  #question(q) {
    const key = `${q.session} ${q.ask}`;
    const title = el("h3", { id: fresh("card") }, "The view of ", el("strong", {}, q.server), q.kind === "link" ? " wants to open a page" : " wants to write to the model in your name");
    const reply = async (click, yes) => {
      if (isRepeated(click)) return; // of the card that was here before
      this.#drop(key);
      if (yes && q.kind === "link" && isSafe(q.href)) window.open(q.href, "_blank", "noopener,noreferrer");
      await api.answerView(q.session, q.ask, yes).catch((failure) => this.#on.complain(failure.message));
    };
    const node = el("form", { class: "card view-ask", "aria-labelledby": title.id, submit: (event) => event.preventDefault() }, title,
      el("blockquote", { class: "says", dir: "auto" }, q.text),
      el("div", { class: "row" }, el("button", { type: "button", click: (e) => reply(e, true) }, q.kind === "link" ? "Open the page" : "Send it"),
        el("button", { type: "button", class: "quiet", click: (e) => reply(e, false) }, "Refuse")));
    this.#cards.set(key, this.#on.show(node, title.textContent, this.#sessions.get(q.session)?.node));
  }

  // #dropAsks removes the questions of a session.
  #dropAsks(session) {
    for (const key of [...this.#cards.keys()]) if (key.startsWith(`${session} `)) this.#drop(key);
  }

  // open begins a session for a figure, with the view of a call. It fails if no view is shown any more by then.
  async open(figure, e) {
    const opened = await api.openView({
      window: this.#window, host: location.origin, conversation: this.#conversation, turn: e.turn, call: e.id,
      theme: matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light", width: Math.round(figure.node.clientWidth),
    });
    if (this.#over) {
      await api.endView(opened.session).catch(() => {});
      throw new Error("the view is not shown any more");
    }
    this.#sessions.set(opened.session, figure);
    return opened;
  }

  // forget forgets a session that has ended, and its questions.
  forget(session) {
    this.#sessions.delete(session);
    this.#dropAsks(session);
  }

  complain(text) { this.#on.complain(text); }

  // #message passes a message of a frame to its figure. Others are dropped.
  #message = (event) => {
    for (const figure of this.#sessions.values()) if (figure.takes(event)) return;
  };

  // #leave ends the sessions of a page that is left. Nothing waits for it.
  #leave = () => {
    for (const session of this.#sessions.keys()) api.leaveView(session).catch(() => {});
  };

  // leave ends all views while another conversation is shown. The server asks each view first, and waits only briefly for its
  // answer, so a stream for these views alone is opened before. Nodes with a view leave the log once all have ended.
  async leave(after) {
    this.#over = true;
    for (const key of [...this.#cards.keys()]) this.#drop(key);
    const places = [...this.#sessions.values()].map((f) => f.node.closest("#log > *"));
    const stop = new AbortController();
    if (places.length > 0) await this.#listen(after, stop.signal);
    await this.end();
    stop.abort();
    for (const place of places) place?.remove();
  }

  // #listen reads a stream for the views alone. It returns once the stream is there or has failed: without it, views are not asked.
  #listen(after, signal) {
    const windows = [{ conversation: this.#conversation, after, views: this.#window }];
    return new Promise((done) => {
      read(this.#window, windows, signal, done, (_, type, id, data) => {
        if (["view-life", "view", "view-closed"].includes(type)) this.take(type, data);
      }).catch(done);
    });
  }

  // end ends all views.
  async end() {
    this.#over = true;
    removeEventListener("pagehide", this.#leave);
    this.#sight.disconnect();
    await Promise.all([...this.#sessions.values()].map((f) => f.end()));
    removeEventListener("message", this.#message);
    clearTimeout(this.#soon);
    for (const key of [...this.#cards.keys()]) this.#drop(key);
  }
}
