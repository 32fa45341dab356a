// A view in a frame of another origin. What a view sends is a server's.

const reserved = "ui/notifications/sandbox-";

// Bounds of what a view sends: bytes, and waiting messages. A batch has at least one message.
const most = { message: 900_000, waiting: 4_000_000, count: 2000, batch: 500_000 };

const bytes = (text) => new TextEncoder().encode(text).length;

// heightOf returns the height of a frame for the one that its view wants, in pixels: 60 to 600, or to another limit.
export const heightOf = (wanted, limit = 600) => Math.min(limit, Math.max(60, Math.ceil(wanted)));

// sizes are the rules of the page for places of views, by their selectors: numbers of pixels alone get into them.
const sizes = new Map();
const sheet = new CSSStyleSheet();
document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet];

// size gives the places of a selector a box, such as { height: 80 } in pixels, or with none takes it back.
export function size(selector, box) {
  if (box) sizes.set(selector, `${selector} { ${Object.entries(box).map(([name, n]) => `${name}: ${Number(n)}px`).join("; ")} }`);
  else sizes.delete(selector);
  sheet.replaceSync([...sizes.values()].join("\n"));
}

// Frame carries messages between the frame of a view and its session. shown is what the program says of the view, and on has the
// functions of the page: say(texts, first) sends messages of the view, and first is the number of the first one. It fails with a
// status: 404 is the end of the session, 429 and 0 are tried again after a second, though the messages may have arrived.
// flooded() hears that the view sends too much, gone() that the session has ended, and complain(text) another failure, after
// which the messages of that batch are lost.
export class Frame {
  node = document.createElement("iframe");
  #shown;
  #on;
  #loaded = false; // the frame has the document
  #over = false; // no more messages are taken
  #queue = []; // texts of messages to say
  #waiting = 0; // bytes of these
  #said = 0; // messages before these
  #sending = false;

  constructor(shown, on) {
    this.#shown = shown;
    this.#on = on;
    const attributes = { src: shown.url, sandbox: shown.sandbox, title: `View of ${shown.server}`, referrerpolicy: "no-referrer" };
    if (shown.allow) attributes.allow = shown.allow;
    for (const [name, value] of Object.entries(attributes)) this.node.setAttribute(name, value);
  }

  // takes reports whether a message is of this view's frame, and passes it on. Messages of another origin, those that only the
  // sandbox may send, and those that have no JSON are dropped. A request that is too large gets an error.
  takes(event) {
    if (this.#over || event.source !== this.node.contentWindow) return false;
    const message = event.data;
    if (event.origin !== this.#shown.origin || !message || typeof message !== "object") return true;
    if (message.method === `${reserved}proxy-ready`) {
      if (!this.#loaded) this.post({ jsonrpc: "2.0", method: `${reserved}resource-ready`, params: { html: this.#shown.html } });
      this.#loaded = true;
      return true;
    }
    if (typeof message.method === "string" && message.method.startsWith(reserved)) return true;
    let text;
    try {
      text = JSON.stringify(message);
    } catch {
      return true;
    }
    const size = bytes(text);
    if (size > most.message) {
      if (message.id !== undefined && message.method) this.post({ jsonrpc: "2.0", id: message.id, error: { code: -32000, message: "the message is too large" } });
      return true;
    }
    this.#queue.push(text);
    this.#waiting += size;
    if (this.#queue.length > most.count || this.#waiting > most.waiting) {
      this.end();
      this.#on.flooded();
      return true;
    }
    this.#flush();
    return true;
  }

  // #flush says the waiting messages, one batch after the other.
  async #flush() {
    if (this.#sending) return;
    this.#sending = true;
    while (this.#queue.length > 0 && !this.#over) {
      const batch = this.#next();
      try {
        await this.#on.say(batch, this.#said);
        this.#said += batch.length;
      } catch (failure) {
        await this.#failed(failure, batch);
      }
    }
    this.#sending = false;
  }

  // #next takes a batch from the queue.
  #next() {
    const batch = [];
    let size = 0;
    while (this.#queue.length > 0 && (size === 0 || size + bytes(this.#queue[0]) < most.batch)) {
      batch.push(this.#queue.shift());
      size += bytes(batch.at(-1));
    }
    this.#waiting -= size;
    return batch;
  }

  // #failed handles the failure to say a batch.
  async #failed(failure, batch) {
    if (failure.status === 404) {
      this.end();
      this.#on.gone();
      return;
    }
    if (failure.status !== 429 && failure.status !== 0) {
      this.#said += batch.length;
      this.#on.complain(failure.message);
      return;
    }
    this.#queue.unshift(...batch);
    this.#waiting += batch.reduce((sum, text) => sum + bytes(text), 0);
    await new Promise((resolve) => { setTimeout(resolve, 1000); });
  }

  // post posts a message to the view.
  post(message) { this.node.contentWindow?.postMessage(message, this.#shown.origin); }

  // end takes no more messages, and forgets those that wait.
  end() {
    this.#over = true;
    this.#queue = [];
    this.#waiting = 0;
  }
}
