// Tool calls, folded.

import { el } from "./tree.js";

// callNode is the node of a call: a line that opens to what was sent and what came back.
export function callNode() {
  const state = el("span", { class: "state" }, "running");
  const name = el("code", { class: "name" });
  const server = el("span", { class: "chip" });
  const rule = el("span", { class: "faint", hidden: true, title: "It ran by a decision of yours for later calls, or the operator lets it run." }, "without a question");
  const bar = el("div", { class: "progress", hidden: true });
  const sent = el("pre", { tabindex: 0, dir: "auto", "aria-label": "Arguments" });
  const got = el("pre", { tabindex: 0, dir: "auto", "aria-label": "Result" });
  const body = el("div", { class: "inside" }, el("h3", {}, "Sent"), sent);
  const details = el("details", { class: "call running" }, el("summary", {}, el("span", { class: "dot", "aria-hidden": "true" }), name, server, rule, state), body);
  const media = el("div", { class: "media" });
  const node = el("div", { class: "tool" }, details, bar, media);

  const call = {
    node,
    isOver: false,
    started(e) {
      name.textContent = e.name;
      server.textContent = e.server ?? "";
      server.hidden = !e.server;
      sent.textContent = e.arguments ?? "{}";
    },
    unasked() { rule.hidden = false; },
    progress(p) {
      bar.hidden = false;
      const meter = el("progress", { "aria-label": `Progress of ${name.textContent}` });
      if (p.total > 0) {
        meter.max = p.total;
        meter.value = Math.min(p.done, p.total);
      }
      bar.replaceChildren(meter, el("span", {}, p.message || `${p.done}${p.total ? ` of ${p.total}` : ""}`));
    },
    leave() {
      call.isOver = true;
      bar.hidden = true;
      details.className = "call";
      state.textContent = "not finished";
    },
    ended(e) {
      call.isOver = true;
      call.started(e);
      bar.hidden = true;
      details.className = e.error ? "call error" : "call done";
      state.textContent = e.error ? "failed" : e.took_ms ? `done in ${duration(e.took_ms)}` : "done";
      got.textContent = e.text || "(no text)";
      body.append(el("h3", {}, "Came back"), got);
      for (const m of e.media ?? []) {
        const what = `From the tool ${e.name}`;
        media.append(m.type === "image"
          ? el("img", { src: m.url, alt: what, loading: "lazy" })
          : el("audio", { src: m.url, controls: true, preload: "none", "aria-label": what }));
      }
    },
  };
  return call;
}

const duration = (ms) => (ms < 1000 ? `${ms} ms` : `${(ms / 1000).toFixed(1)} s`);
