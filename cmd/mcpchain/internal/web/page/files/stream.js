// The stream of events: one connection for all windows of a browser.

import * as api from "./api.js";

const silence = 40_000; // milliseconds after which a connection counts as lost: the server says something each 15 s

// read reads the stream of windows, each {conversation, after, views}, until it ends or the signal aborts. It calls opened(), and
// event(index, type, id, data) with the index of a window. An earlier stream of the same reader ends. It fails with an
// api.Failure.
export async function read(reader, windows, signal, opened, event) {
  const query = new URLSearchParams({ reader });
  for (const w of windows) {
    query.append("conversation", w.conversation);
    query.append("after", w.after);
    query.append("window", w.views ?? "");
  }
  const lost = new AbortController();
  let late = setTimeout(() => lost.abort(), silence);
  try {
    const response = await api.open("GET", `/api/events?${query}`, undefined, { signal: AbortSignal.any([signal, lost.signal]) });
    opened();
    const source = response.body.pipeThrough(new TextDecoderStream()).getReader();
    for (let rest = ""; ;) {
      const { done, value } = await next(source);
      if (done || signal.aborted) return;
      clearTimeout(late);
      late = setTimeout(() => lost.abort(), silence);
      const blocks = (rest + value).split("\n\n");
      rest = blocks.pop();
      for (const block of blocks) take(block, event);
    }
  } finally {
    clearTimeout(late);
  }
}

// next returns the next piece of text. A connection that breaks has the status 0, as one that cannot begin.
async function next(source) {
  try {
    return await source.read();
  } catch {
    throw new api.Failure(0, { error: "the connection is lost" });
  }
}

// take reads a block of lines, "field: value" each. Lines without a field, which keep the connection alive, are ignored.
function take(block, event) {
  const fields = {};
  for (const line of block.split("\n")) {
    const colon = line.indexOf(": ");
    if (colon > 0) fields[line.slice(0, colon)] = line.slice(colon + 2);
  }
  if (fields.event) event(Number(fields.window), fields.event, fields.id, JSON.parse(fields.data));
}

// isLater reports whether position a comes after b: "17.2" comes before "17.1" and "17".
export function isLater(a, b) {
  if (!b) return true;
  const [seqA, moreA = "0"] = a.split("."), [seqB, moreB = "0"] = b.split(".");
  return seqA === seqB ? Number(moreA) < Number(moreB) : Number(seqA) > Number(seqB);
}
