// A view in a frame of another origin. What a view sends is a server's.

const reserved = "ui/notifications/sandbox-";
const most = { message: 900_000, waiting: 4_000_000, count: 2000, batch: 500_000 }; // characters, and messages
const heights = { least: 60, most: 600 };

// heightOf is the height of a frame for the one that its view wants, in pixels.
export const heightOf = (wanted, most = heights.most) => Math.min(most, Math.max(heights.least, Math.ceil(wanted)));

// sizes are the rules of the page for places of views: numbers of pixels alone get into them.
const sizes = new Map();
const sheet = new CSSStyleSheet();
document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet];

export function size(selector, box) {
  if (box) sizes.set(selector, `${selector} { ${Object.entries(box).map(([name, n]) => `${name}: ${Number(n)}px`).join("; ")} }`);
  else sizes.delete(selector);
  sheet.replaceSync([...sizes.values()].join("\n"));
}

// Frame carries messages between the frame of a view and its session. say(texts) sends messages of the view, and
// fails with a status: 404 is the end of the session, 429 and 0 are tried again. flooded() hears that the
// view sends too much, gone() that the session has ended, and complain(text) another failure.
export class Frame {
  node = document.createElement("iframe");
  #shown;
  #on;
  #loaded = false;
  #over = false;
  #queue = [];
  #waiting = 0;
  #sending = false;

  constructor(shown, on) {
    this.#shown = shown;
    this.#on = on;
    const attributes = { src: shown.url, sandbox: shown.sandbox, title: `View of ${shown.server}`, referrerpolicy: "no-referrer" };
    if (shown.allow) attributes.allow = shown.allow;
    for (const [name, value] of Object.entries(attributes)) this.node.setAttribute(name, value);
  }

  // takes reports whether a message is of this view's frame, and passes it on.
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
    if (text.length > most.message) {
      if (message.id !== undefined && message.method) this.post({ jsonrpc: "2.0", id: message.id, error: { code: -32000, message: "the message is too large" } });
      return true;
    }
    this.#queue.push(text);
    this.#waiting += text.length;
    if (this.#queue.length > most.count || this.#waiting > most.waiting) {
      this.end();
      this.#on.flooded();
      return true;
    }
    this.#flush();
    return true;
  }

  async #flush() {
    if (this.#sending) return;
    this.#sending = true;
    while (this.#queue.length > 0 && !this.#over) {
      const batch = [];
      for (let size = 0; this.#queue.length > 0 && (size === 0 || size + this.#queue[0].length < most.batch);) {
        size += this.#queue[0].length;
        batch.push(this.#queue.shift());
        this.#waiting -= batch.at(-1).length;
      }
      try {
        await this.#on.say(batch);
      } catch (failure) {
        if (failure.status === 404) {
          this.end();
          this.#on.gone();
          break;
        }
        if (failure.status !== 429 && failure.status !== 0) {
          this.#on.complain(failure.message);
          continue;
        }
        for (const text of batch.reverse()) {
          this.#queue.unshift(text);
          this.#waiting += text.length;
        }
        await new Promise((resolve) => { setTimeout(resolve, 1000); });
      }
    }
    this.#sending = false;
  }

  // post posts a message to the view.
  post(message) { this.node.contentWindow?.postMessage(message, this.#shown.origin); }

  // end takes no more messages.
  end() {
    this.#over = true;
    this.#queue = [];
    this.#waiting = 0;
  }
}
