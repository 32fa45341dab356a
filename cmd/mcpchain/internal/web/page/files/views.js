// Views of tools' results, each in a frame of another origin. What a view sends is a server's.

import * as api from "./api.js";
import { el, fresh, isRepeated, isSafe } from "./tree.js";
import { callNode } from "./calls.js";
import { guard, unguard } from "./focus.js";
import { random } from "./hub.js";
import { read } from "./stream.js";
import { Frame, heightOf, size } from "./frame.js";

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
  #cards = new Map(); // what removes the card of a question, by session or run and the question's id
  #life; // of the stream's numbers
  #seen = 0; // the number of the last event
  #acknowledged = 0; // the number that the server knows of
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

  // viewed shows a call that a view makes, and the questions of it. A call of a view that is not there yet waits for it.
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

  // #live begins the numbers again in another life of the stream. Views of the life before have ended, with the server or
  // without a stream for long; they are shown again.
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

  // acknowledge tells the server what the page has, so that it forgets that. It is done again if that fails: no event may come
  // any more, because the queue is full.
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

  // leave tears all views down while another conversation is shown. They have a stream of their own until then: they end once
  // that is there, because the server waits only briefly for the answer of a view.
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

  // #listen reads a stream of the views alone. It returns once that is there, or fails: then the views end without a word.
  #listen(after, signal) {
    const windows = [{ conversation: this.#conversation, after, views: this.#window }];
    return new Promise((done) => {
      read(this.#window, windows, signal, done, (_, type, id, data) => {
        if (["view-life", "view", "view-closed"].includes(type)) this.take(type, data);
      }).catch(done);
    });
  }

  // end tears all views down.
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

// accepted are the documents that this person has let reach other origins.
const accepted = {
  has: (print) => { try { return localStorage.getItem(`view ${print}`) !== null; } catch { return false; } },
  add: (print) => { try { localStorage.setItem(`view ${print}`, "1"); } catch { /* asked again */ } },
};

// Figure is the place of a view: the host's bar with the server's name, and the frame.
class Figure {
  #views;
  #e; // the call whose result the view shows
  #opened; // what the server says of the session; undefined without one
  #frame; // undefined until the view is loaded
  #full = false; // the view is in full screen
  #runs = new Map(); // nodes of the calls of the view
  #place = el("div", { class: "stage" });
  #calls = el("div", { class: "calls" });
  #says = el("span", { class: "faint" });
  #expand = el("button", { class: "quiet small", type: "button", hidden: true, click: () => this.#toggle() }, "Full screen");
  #again = el("button", { class: "quiet small", type: "button", hidden: true, click: () => this.open() }, "Show");
  #stop = el("button", { class: "quiet small", type: "button", hidden: true, click: () => this.end() }, "Close");
  #fit = new ResizeObserver(() => this.#measure());

  constructor(views, e, place) {
    this.#views = views;
    this.#e = e;
    const name = fresh("view");
    this.node = el("figure", { class: "view", id: fresh("figure"), "data-place": place, "aria-labelledby": name },
      el("figcaption", { class: "view-bar" }, el("span", { id: name }, "View of ", el("strong", {}, e.server ?? "a server")), this.#says, this.#expand, this.#again, this.#stop),
      this.#place);
    this.node.append(this.#calls);
  }

  get life() { return this.#opened?.life; }

  // open begins a session, unless there is one, and loads the view. A view that reaches other origins waits for the person, the
  // first time. A failure is shown in the bar, and the person may try again.
  async open() {
    if (this.#opened) return;
    this.#again.hidden = true;
    this.#says.textContent = "loading …";
    try {
      this.#opened = await this.#views.open(this, this.#e);
    } catch (failure) {
      this.#says.textContent = failure.message;
      this.#again.hidden = false;
      return;
    }
    const { reaches, print, refused } = this.#opened;
    this.#says.textContent = [reaches?.length ? `reaches ${reaches.join(", ")}` : "", refused?.length ? `may not reach ${refused.join(", ")}` : ""].filter(Boolean).join("; ");
    if (!reaches?.length || accepted.has(print)) {
      this.#load();
      return;
    }
    this.#place.replaceChildren(el("p", { class: "faint" }, `This view sends data to ${reaches.join(", ")}.`),
      el("button", { type: "button", click: () => { accepted.add(print); this.#load(); } }, "Show it"));
  }

  // #load shows the frame. A view that floods the page or takes the keyboard is closed.
  #load() {
    const { session, server, bordered } = this.#opened;
    this.#frame = new Frame(this.#opened, {
      say: (texts, first) => api.viewSays(session, first, texts),
      flooded: () => {
        this.#views.complain(`The view of ${server} was closed: it sends too much.`);
        this.end();
      },
      gone: () => this.closed(),
      complain: (text) => this.#views.complain(text),
    });
    this.node.classList.toggle("plain", bordered === false);
    const shield = guard(this.#frame.node, () => {
      this.#views.complain(`The view of ${server} was closed: it took the keyboard away from you.`);
      this.end();
    });
    this.#place.replaceChildren(this.#frame.node, shield);
    this.#expand.hidden = this.#stop.hidden = false;
  }

  // takes reports whether a message is of this view's frame, and passes it on.
  takes(event) { return this.#frame?.takes(event) ?? false; }

  // receive passes a message of the session to the view.
  receive(message) { this.#frame?.post(message); }

  // resize gives the frame the height that its view wants, within bounds.
  resize(height) {
    size(`#${this.node.id} .stage`, { height: heightOf(height) });
  }

  // mode shows the view in full screen: below the bar, and above the cards and the question.
  mode(full) {
    this.#full = full;
    this.node.classList.toggle("full", full);
    this.#expand.textContent = full ? "Back" : "Full screen";
    const log = document.getElementById("log");
    if (full) this.#fit.observe(log);
    else this.#fit.disconnect();
    this.#measure();
  }

  // #measure fits a view in full screen to the log.
  #measure() {
    const { top, left, width, height } = document.getElementById("log").getBoundingClientRect();
    size(`#${this.node.id}`, this.#full ? { top, left, width, height } : undefined);
  }

  // #toggle asks the view to change its mode. One that refuses stays as it is.
  async #toggle() {
    try {
      await api.viewMode(this.#opened.session, this.#full ? "inline" : "fullscreen");
      this.mode(!this.#full);
    } catch (failure) {
      this.#views.complain(failure.status === 422 ? "The view has no full screen." : failure.message);
    }
  }

  // viewed shows a call of the view below it: the latest 20 remain.
  viewed(e) {
    if (e.kind !== "call" && e.kind !== "result") return;
    const key = e.run ?? fresh("run");
    let call = this.#runs.get(key);
    if (!call) {
      call = callNode();
      this.#runs.set(key, call);
      this.#calls.append(call.node);
      while (this.#calls.childElementCount > 20) this.#calls.firstChild.remove();
    }
    if (e.kind === "call") call.started(e.event);
    else if (!call.isOver) call.ended(e.event);
  }

  // end asks the view to end, and removes it, also if the server cannot be reached.
  async end() {
    const session = this.#opened?.session;
    if (!session) return;
    this.#stop.hidden = true;
    await api.endView(session).catch(() => {});
    this.closed();
  }

  // closed removes the frame of a session that has ended. The person may show the view again.
  closed() {
    if (!this.#opened) return;
    this.#views.forget(this.#opened.session);
    if (this.#full) this.mode(false);
    if (this.#frame) unguard(this.#frame.node);
    this.#frame?.end();
    this.#opened = this.#frame = undefined;
    this.#place.replaceChildren();
    size(`#${this.node.id} .stage`);
    this.#says.textContent = "closed";
    this.#expand.hidden = this.#stop.hidden = true;
    this.#again.hidden = false;
  }
}
