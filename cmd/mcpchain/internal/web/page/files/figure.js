// The place of a view in the log. What a view sends is a server's.

import * as api from "./api.js";
import { el, fresh } from "./tree.js";
import { callNode } from "./calls.js";
import { guard, unguard } from "./focus.js";
import { Frame, heightOf, size } from "./frame.js";

// accepted are the documents that this person has let reach other origins.
const accepted = {
  has: (print) => { try { return localStorage.getItem(`view ${print}`) !== null; } catch { return false; } },
  add: (print) => { try { localStorage.setItem(`view ${print}`, "1"); } catch { /* asked again */ } },
};

// Figure is the place of a view: the page's bar with the server's name, the frame, and the calls that the view makes. views has
// functions of class Views: open(figure, e) begins a session with the view of a call, forget(session) drops what belongs to one
// that has ended, and complain(text) tells of a failure.
export class Figure {
  #views;
  #e; // the event with the result that the view shows
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
