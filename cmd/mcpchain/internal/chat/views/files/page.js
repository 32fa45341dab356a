// The page of one view. A request that stays open is the session with it.

import { Frame, heightOf, size } from "./frame.js";

const byId = (id) => document.getElementById(id);
const most = Math.max(200, innerHeight - 150); // the height of a frame, in pixels
let opened, frame;

// post sends JSON. A failure has a status, 0 if the program does not answer.
async function post(path, body) {
  let response;
  try {
    response = await fetch(path, { method: "POST", headers: { "Content-Type": "application/json" }, body });
  } catch {
    throw Object.assign(new Error("The chatbot does not answer."), { status: 0 });
  }
  if (!response.ok) throw Object.assign(new Error(await response.text()), { status: response.status });
  return response;
}

function say(text) { byId("says").textContent = text; }

// lines are the values of a body, one on each line.
async function* lines(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = [];
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const pieces = value.split("\n");
    for (const piece of pieces.slice(0, -1)) {
      yield JSON.parse(rest.join("") + piece);
      rest = [];
    }
    rest.push(pieces.at(-1));
  }
}

function load() {
  byId("show").hidden = true;
  byId("close").hidden = false;
  frame = new Frame(opened, {
    say: (texts, first) => post(`messages/${opened.session}`, `{"first":${first},"messages":[${texts.join()}]}`),
    flooded: () => { say("closed: the view sends too much"); close(); },
    gone: () => {},
    complain: say,
  });
  byId("stage").replaceChildren(frame.node);
}

function take(line) {
  if (line.opened) {
    opened = line.opened;
    document.title = `View of ${opened.server}`;
    byId("name").textContent = `View of ${opened.server}, for ${opened.tool}`;
    const { reaches, refused } = opened;
    say([reaches?.length ? `It sends data to ${reaches.join(", ")}.` : "", refused?.length ? `It may not reach ${refused.join(", ")}.` : ""].filter(Boolean).join(" "));
    if (reaches?.length) byId("show").hidden = false;
    else load();
  }
  if (line.message) frame?.post(line.message);
  if (line.height) size("#stage", { height: heightOf(line.height, most) });
  if (line.close) close();
}

async function close() {
  byId("close").hidden = true;
  await post(`close/${opened.session}`, "{}").catch(() => {});
}

async function run() {
  const { clientWidth } = document.documentElement;
  try {
    const response = await post("open", JSON.stringify({ theme: matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light", width: clientWidth - 30, height: most }));
    for await (const line of lines(response.body)) take(line);
    say("The view is closed. Load the page again to open it.");
  } catch (failure) {
    say(failure.status ? failure.message : "The chatbot has ended.");
  }
  frame?.end();
  byId("stage").replaceChildren();
  byId("close").hidden = byId("show").hidden = true;
}

addEventListener("message", (event) => { frame?.takes(event); });
byId("close").addEventListener("click", close);
byId("show").addEventListener("click", load);
run();
