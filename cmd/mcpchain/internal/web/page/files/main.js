// The page: who is signed in, which conversation is open, and what the person does.

import * as api from "./api.js";
import { el, byId } from "./tree.js";
import { Hub } from "./hub.js";
import { Timeline } from "./timeline.js";
import { Waiting } from "./waiting.js";
import { card } from "./asks.js";
import { announce, complain, notice } from "./notices.js";
import { drafts, keepDrafts, takeDrafts } from "./drafts.js";
import { isSeen, reveal, resume, stay, stayAtEnd } from "./scroll.js";
import { Older, showList } from "./list.js";
import { showRules, showServers, showTroubles } from "./servers.js";
import { Views, viewEvents } from "./views.js";
import { showWindow } from "./window.js";

const log = byId("log"), question = byId("question");

let open; // the id of the open conversation, "" for a new one; undefined before the first one is shown
let working = false; // the open conversation is at work
let sending = false; // a question is on its way to the server
let waiting; // the questions of the open conversation
let views; // the views of the open conversation, undefined for a new one
let summaries = []; // the latest conversations, which the stream brings
let older = new Older(); // earlier conversations that the person has asked for

// attempt returns the answer of a request. After a failure it returns undefined: a person who is not signed in gets the sign-in, and
// any other reason is shown.
async function attempt(request) {
  try {
    return await request();
  } catch (failure) {
    if (failure.status === 401) start();
    else complain(failure.message);
    return undefined;
  }
}

const hub = new Hub({
  userChanged: () => start(),
  lost: ({ status, text }) => {
    if (status === 401) start();
    else if (status === 0) notice("The connection is lost; trying again …", 2000);
    else notice(`The server refuses: ${text}. Trying again …`);
  },
  back: () => { notice(""); views?.acknowledge(); },
});

// show opens a conversation. Its stream begins with all that was said. Meanwhile the views of the previous conversation end.
function show(id) {
  views?.leave(hub.position);
  if (open !== id) {
    if (open !== undefined) drafts.set(open, question.value);
    question.value = drafts.get(id) ?? "";
    grow();
  }
  open = id;
  working = false;
  stayAtEnd();
  const lines = new Timeline(log, resend, () => attempt(() => api.retry(id)));
  waiting = undefined;
  const asks = waiting = new Waiting((body) => {
    if (!body.ask.startsWith("server ")) return answer(id, body);
    asks.drop(body.ask);
    return undefined;
  }, busy);
  // The person opens this card, so its id has a space: it is not a question of the conversation.
  const beginServer = (s) => {
    narrow(false);
    asks.add({ id: `server ${s.name}`, kind: "sign_in", server: s.name, error: s.error });
    asks.focus(`server ${s.name}`);
  };
  totals({});
  showWindow(byId("window"));
  notice("");
  let caught = false; // up with what was said before
  const tell = (text) => { if (caught) announce(text); };
  const follow = (change) => (e) => { change(e); stay(); };
  const shown = views = id ? viewsOf(id, asks) : undefined;
  const ofViews = Object.fromEntries(viewEvents.map((type) => [type, follow((e) => {
    if (type === "viewed" && !("n" in e)) shown?.viewed(e);
    else shown?.take(type, e);
  })]));
  hub.show(id, shown?.window ?? "", {
    ...ofViews,
    said: follow((e) => lines.said(e)),
    reply: follow((e) => { const text = lines.reply(e); if (text) tell(`Answer: ${text.slice(0, 500)}`); }),
    call: follow((e) => lines.call(e)),
    result: follow((e) => { const node = lines.result(e); if (e.view && !e.error) shown?.add(e, node); }),
    note: follow((e) => lines.note(e)),
    asked: follow((e) => { lines.asked(e); const title = asks.add(e); if (title) tell(`A question for you: ${title}`); }),
    answered: follow((e) => { asks.drop(e.ask); lines.answered(e); }),
    ended: follow((e) => {
      asks.dropAll();
      lines.ended(e);
      if (e.status !== "done") tell(e.status === "failed" ? e.error : "Stopped.");
    }),
    now: follow((e) => {
      if (!caught && asks.count > 0) announce(asks.count === 1 ? "A question waits for you." : `${asks.count} questions wait for you.`);
      caught = true;
      working = e.working;
      lines.now(e);
      log.classList.toggle("thinking", Boolean(e.thinking));
      asks.taken(e.taken);
      totals(e.spent);
      busy();
    }),
    window: (e) => showWindow(byId("window"), e),
    list: (e) => { older.latest(summaries, e); summaries = e; refresh(); },
    shared: (e) => {
      byId("servers").textContent = `Model: ${e.model}. Servers: ${e.servers.join(", ") || "none"}.`;
      showTroubles(byId("troubles"), e.troubles);
      document.body.classList.toggle("demo", e.demo);
    },
    rules: (e) => showRules(byId("rules"), e, (r) => attempt(() => api.dropRule(r.id))),
    servers: (e) => {
      for (const s of e) if (s.state === "ready" && asks.drop(`server ${s.name}`)) announce(`You are signed in to ${s.name}.`);
      showServers(byId("grants"), e, beginServer, (s) => attempt(() => api.signOutOf(s.name)));
    },
    refused: (e) => {
      if (e.status === 404) { older.drop(id); refresh(); }
      notice(e.status === 404 ? "There is no such conversation." : `The conversation cannot be shown: ${e.error}.`);
    },
  });
  refresh();
}

// viewsOf returns the views of a conversation, whose questions are among the others. A view that was in sight stays there
// beside its question, as far as there is room.
function viewsOf(id, asks) {
  const show = (node, title, figure) => {
    announce(`A question for you: ${title}`);
    const wasSeen = figure && isSeen(figure);
    node.classList.add("of-view");
    const drop = asks.place(node);
    if (wasSeen) reveal(figure);
    return () => {
      drop();
      resume();
    };
  };
  return new Views(id, {
    show,
    complain,
    ask: (e, figure) => {
      const { node } = card(e.event, (body) => answer(e.run, body), true);
      const title = node.querySelector("h3");
      title.after(el("p", { class: "faint" }, "asked by a view of ", el("strong", {}, e.server)));
      return show(node, title.textContent, figure);
    },
  });
}

// busy shows whose turn it is. Questions can be left by a stop, too.
function busy() {
  const asked = waiting?.count > 0, held = document.activeElement;
  byId("stop").hidden = !working && !asked;
  byId("send").hidden = working || asked;
  if ([byId("send"), byId("stop")].includes(held) && held.hidden) question.focus();
  log.setAttribute("aria-busy", String(working));
  log.classList.toggle("busy", working && !asked);
}

// totals shows what the conversation has used, its sub-agents and what its servers asked the model included.
function totals({ input = 0, output = 0, cost = {} }) {
  const money = Object.entries(cost).map(([currency, micro]) => `${(micro / 1e6).toLocaleString("en", { maximumFractionDigits: 6 })} ${currency}`);
  byId("totals").textContent = input ? [`${(input + output).toLocaleString("en")} tokens`, ...money].join(" · ") : "";
  byId("about").textContent = [byId("user").textContent, byId("totals").textContent].filter(Boolean).join(" · "); // on a phone
  byId("totals").title = input ? `${input.toLocaleString("en")} read, ${output.toLocaleString("en")} written` : "";
}

// refresh shows the list, and the title of the open conversation. The title of the page counts the questions of all.
function refresh() {
  const listed = [...summaries, ...older.list];
  const current = listed.find((s) => s.id === open);
  const title = current?.title ?? "New conversation";
  byId("title").textContent = title;
  const asks = listed.reduce((n, s) => n + s.asks, 0);
  document.title = (asks ? `(${asks}) ` : "") + title;
  showList(byId("list"), listed, open, remove);
  const more = byId("older");
  if (!older.isMore(summaries) && more === document.activeElement) byId("list").lastElementChild?.querySelector("a").focus();
  more.hidden = !older.isMore(summaries);
}

// showOlder adds a page to the list, and goes to its first conversation.
async function showOlder() {
  const first = await attempt(() => older.load(summaries));
  if (first === undefined) return;
  refresh();
  byId("list").querySelector(`[data-key="${CSS.escape(first)}"]`)?.focus();
}

// answer answers a question of a run. It returns what is wrong: a text, and for a form its fields.
async function answer(id, body) {
  try {
    await api.answer(id, body);
  } catch (failure) {
    if (failure.status === 401) start();
    if (failure.status === 404) return { text: "The question is not open any more." };
    return { text: failure.message, fields: failure.fields };
  }
}

// send asks in the conversation of the address, which may have changed just now.
async function send() {
  const written = question.value, text = written.trim();
  if (place() !== open) {
    question.value = "";
    show(place());
    question.value = written;
  }
  if (!text) return;
  if (sending || working || waiting.count > 0) {
    complain(waiting.count > 0 ? "First answer what waits for you, or press Stop." : "The answer is under way: wait for it, or press Stop.");
    return;
  }
  question.value = "";
  grow();
  const was = open;
  sending = true;
  const done = await attempt(() => (was ? api.say(was, text) : api.begin(text)));
  sending = false;
  if (!done) {
    if (open !== was) drafts.set(was, text);
    else question.value = question.value || text;
    grow();
    return;
  }
  stayAtEnd();
  if (was || open !== "") return;
  drafts.set(done.id, question.value);
  question.value = "";
  go(done.id);
}

// stop ends the turn. It may take seconds: a process that was killed still has the conversation then.
async function stop() {
  const button = byId("stop"), label = button.textContent;
  if (button.ariaDisabled === "true") return;
  button.ariaDisabled = "true";
  button.textContent = "Stopping …";
  const done = await attempt(() => api.stop(open));
  button.ariaDisabled = null;
  button.textContent = label;
  if (done) question.focus();
}

// resend asks another question instead of one, in a conversation of its own.
async function resend(said, text) {
  const done = await attempt(() => api.edit(open, said.seq, said.index, text));
  if (done) go(done.id);
}

// remove deletes a conversation.
async function remove(summary) {
  if (!await attempt(() => api.remove(summary.id))) return;
  older.drop(summary.id);
  refresh();
  if (summary.id === open) go("");
}

// go opens a conversation by the address of the page, "" for a new one.
const go = (id) => { location.hash = encodeURIComponent(id); question.focus(); };

// grow fits the height of the question to its lines, up to 8.
function grow() {
  question.rows = Math.min(8, question.value.split("\n").length);
}

// narrow opens or closes the list on a narrow screen.
const narrow = (opened) => {
  byId("side").classList.toggle("opened", opened);
  byId("menu").setAttribute("aria-expanded", String(opened));
};

const isNarrow = () => byId("menu").getAttribute("aria-expanded") === "true";

// wire has the controls of the page do something.
function wire() {
  // Enter that is held presses a button once: the person saw no question in between. Other keys move the focus, or scroll.
  addEventListener("keydown", (e) => { if (e.repeat && e.key === "Enter" && e.target.matches?.("button, a")) e.preventDefault(); });
  byId("composer").addEventListener("submit", (e) => { e.preventDefault(); send(); });
  question.addEventListener("input", grow);
  question.addEventListener("keydown", (e) => {
    if (e.key !== "Enter" || e.shiftKey || e.isComposing) return;
    e.preventDefault();
    send();
  });
  byId("token-form").addEventListener("submit", (e) => { e.preventDefault(); signIn({ token: byId("token").value }); });
  byId("stop").addEventListener("click", stop);
  byId("older").addEventListener("click", showOlder);
  byId("new").addEventListener("click", () => { narrow(false); go(""); });
  byId("menu").addEventListener("click", () => narrow(!isNarrow()));
  byId("side").addEventListener("keydown", (e) => {
    if (e.key !== "Escape" || !isNarrow()) return;
    narrow(false);
    byId("menu").focus();
  });
  byId("sign-out").addEventListener("click", async () => {
    const done = await attempt(api.signOut);
    if (!done) return;
    hub.changeUser();
    if (done.location) { location.assign(done.location); return; }
    location.hash = "";
    start();
  });
  addEventListener("pagehide", () => {
    if (open === undefined) return; // drafts of the page before are still kept
    drafts.set(open, question.value);
    keepDrafts(byId("user").textContent);
  });
  addEventListener("hashchange", () => {
    if (isNarrow()) { narrow(false); question.focus(); }
    if (!byId("app").hidden && place() !== open) show(place());
  });
}

// place returns the id of the conversation in the address. One that is not encoded as it should be names no conversation.
function place() {
  const id = location.hash.slice(1);
  try {
    return decodeURIComponent(id);
  } catch {
    return id;
  }
}

// signIn signs the person in by a name or a token.
async function signIn(as) {
  if (!await attempt(() => api.signIn(as))) return;
  byId("token").value = "";
  hub.changeUser();
  start();
}

// start asks who is signed in, and shows the conversation or the sign-in. It tries again while the server cannot be reached.
let again;
async function start() {
  clearTimeout(again);
  hub.hide();
  views?.end();
  views = undefined;
  api.as("");
  const me = await attempt(api.me);
  byId("app").hidden = !me?.user;
  byId("sign-in").hidden = !me || Boolean(me.user);
  if (!me) { again = setTimeout(start, 2000); return; }
  if (me.user) {
    api.as(me.user);
    const before = byId("user").textContent;
    if (before && before !== me.user) {
      question.value = "";
      drafts.clear();
    }
    byId("user").textContent = me.user;
    byId("sign-out").hidden = !me.signOut;
    if (open === undefined) takeDrafts(me.user);
    show(place());
    question.focus();
  } else showSignIn(me);
}

// showSignIn shows the ways to sign in, and nothing of the person before.
function showSignIn(choices) {
  const names = choices.names ?? [], { token } = choices;
  log.replaceChildren();
  byId("status").replaceChildren();
  document.title = "mcpchain";
  summaries = [];
  older = new Older();
  byId("older").hidden = true;
  byId("list").replaceChildren();
  byId("grants").replaceChildren();
  byId("rules").replaceChildren();
  byId("demo").hidden = names.length === 0;
  byId("token-form").hidden = !token;
  byId("real").hidden = names.length > 0 || Boolean(token);
  if (token) byId("token").focus();
  else if (names.length === 0) byId("real").focus();
  byId("names").replaceChildren(...names.map((name) => el("button", {
    type: "button", click: () => signIn({ name }),
  }, name)));
  byId("names").querySelector("button")?.focus();
}

wire();
start();
