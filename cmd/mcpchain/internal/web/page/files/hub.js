// The windows of a browser and their one stream. A browser opens few connections to a server, so one
// window reads for all: the one that has the lock. When it closes, another one gets the lock.

import { Failure } from "./api.js";
import { read, isLater } from "./stream.js";

// random returns a name that nothing else has. Without HTTPS, pages of other machines have no crypto.randomUUID.
export const random = () => crypto.getRandomValues(new Uint32Array(4)).join("-");

// browserName returns a name that the windows of this browser share, or another one if the browser keeps nothing. Several
// browsers of a person may have one session, if a proxy has signed the person in.
function browserName(other) {
  try {
    if (!localStorage.getItem("browser")) localStorage.setItem("browser", random());
    return localStorage.getItem("browser") ?? other;
  } catch {
    return other;
  }
}

// Hub brings a window the events of what it shows.
export class Hub {
  #key = random();
  #wanted = null; // {turn, conversation, after, views} of this window
  #on = {}; // handlers: hub for all, window for what is shown
  #turn = 0; // counts what this window has shown
  #retry; // timer of another attempt
  #alive = false; // this window has the lock by which the reader knows that it is open
  #reader = null; // if this window reads for all
  #all = new BroadcastChannel("web windows");
  #mine = new BroadcastChannel(`web window ${this.#key}`);
  #leave;
  #left = new Promise((leave) => { this.#leave = leave; }); // the locks are held until then

  // on has userChanged(), and lost(failure) and back() for all that is shown.
  constructor(on) {
    this.#on.hub = on;
    this.#mine.addEventListener("message", (e) => this.#take(e.data));
    this.#all.addEventListener("message", (e) => {
      if (e.data.kind === "user") on.userChanged();
      if (e.data.kind === "who") this.#tell();
      if (e.data.kind === "want") this.#reader?.want(e.data);
    });
    addEventListener("pagehide", () => { this.#reader?.close(); this.#leave(); });
    addEventListener("pageshow", (e) => { if (e.persisted) location.reload(); });
    // Without HTTPS, other hosts than this machine have no locks: each window reads for itself.
    if (!navigator.locks) {
      this.#lead();
      return;
    }
    navigator.locks.request(`web window ${this.#key}`, () => { this.#alive = true; this.#tell(); return this.#left; });
    navigator.locks.request("web reader", () => { this.#lead(); return this.#left; });
  }

  // show begins to bring the events of a conversation, of the list, and of views by their name. Handlers of
  // an earlier one get nothing more.
  show(conversation, views, handlers) {
    clearTimeout(this.#retry);
    this.#on.window = handlers;
    this.#wanted = { turn: ++this.#turn, conversation, after: "", views };
    this.#tell();
  }

  // position is that of the last event that was shown.
  get position() { return this.#wanted?.after ?? ""; }

  // hide ends what show began.
  hide() {
    clearTimeout(this.#retry);
    this.#wanted = null;
    this.#turn++;
    this.#tell();
  }

  // changeUser tells all windows of the browser that somebody has signed in or out.
  changeUser() { this.#all.postMessage({ kind: "user" }); }

  // #lead has this window read for all, and asks what they show.
  #lead() {
    this.#reader = new Reader(this.#key, (event) => this.#take(event));
    this.#tell();
    if (navigator.locks) this.#all.postMessage({ kind: "who" });
  }

  // #tell tells the reader what this window shows.
  #tell() {
    const want = { kind: "want", key: this.#key, wanted: this.#wanted };
    if (this.#reader) this.#reader.want(want);
    else if (this.#alive) this.#all.postMessage(want);
  }

  // #take passes a message of the reader to its handler. Events of what was shown before are dropped, as are those that came before. An
  // error of the server is tried again after 5 s.
  #take({ kind, turn, type, id, data }) {
    if (kind === "lost") this.#on.hub.lost(data);
    if (kind === "back") this.#on.hub.back();
    if (kind !== "event" || turn !== this.#wanted?.turn) return;
    if (id) {
      if (!isLater(id, this.#wanted.after)) return; // the reader before this one has brought it
      this.#wanted.after = id;
    }
    if (type === "refused" && data.status >= 500) this.#retry = setTimeout(() => this.#tell(), 5000);
    this.#on.window[type]?.(data);
  }
}

// Reader reads the stream for all windows.
class Reader {
  #own;
  #take;
  #windows = new Map(); // {turn, conversation, after, views, channel} by key
  #soon; // timer of another stream
  #stop = new AbortController(); // of the present stream

  constructor(own, take) {
    this.#own = own;
    this.#take = take;
  }

  // want sets what a window shows, null for nothing.
  want({ key, wanted }) {
    let w = this.#windows.get(key);
    if (!w) {
      w = { channel: key === this.#own ? null : new BroadcastChannel(`web window ${key}`) };
      this.#windows.set(key, w);
      if (w.channel) navigator.locks.request(`web window ${key}`, () => this.#gone(key));
    }
    Object.assign(w, wanted ?? { turn: undefined });
    this.#reopen();
  }

  // close ends the stream.
  close() {
    clearTimeout(this.#soon);
    this.#stop.abort();
  }

  // #gone forgets a window that is closed.
  #gone(key) {
    const w = this.#windows.get(key);
    w.turn = undefined;
    w.channel.close();
    this.#windows.delete(key);
    this.#reopen();
  }

  // #reopen begins another stream, once for changes that come together.
  #reopen() {
    clearTimeout(this.#soon);
    this.#soon = setTimeout(() => {
      this.#stop.abort();
      this.#stop = new AbortController();
      this.#run(this.#stop.signal);
    }, 20);
  }

  // #post brings a window a message.
  #post(w, message) {
    if (w.channel) w.channel.postMessage(message);
    else this.#take(message);
  }

  #postAll(message) { for (const w of this.#windows.values()) this.#post(w, message); }

  // #run reads until the signal, and resumes where the stream stopped: at once at first, then after up to 10 s.
  async #run(signal) {
    for (let wait = 200; !signal.aborted; wait = Math.min(2 * wait, 10_000)) {
      const windows = [...this.#windows.values()].filter((w) => w.turn !== undefined);
      if (windows.length === 0) return;
      const turns = windows.map((w) => w.turn);
      try {
        await read(navigator.locks ? browserName(this.#own) : this.#own, windows, signal, () => { wait = 200; this.#postAll({ kind: "back" }); }, (i, type, id, data) => {
          if (windows[i].turn !== turns[i]) return; // it shows something else by now
          windows[i].after = id ?? windows[i].after;
          this.#post(windows[i], { kind: "event", turn: turns[i], type, id, data });
        });
      } catch (failure) {
        if (signal.aborted) return;
        if (!(failure instanceof Failure)) reportError(failure); // a mistake of this page
        this.#postAll({ kind: "lost", data: { status: failure.status ?? 0, text: failure.message } });
      }
      await new Promise((done) => { setTimeout(done, wait); });
    }
  }
}
