// Questions to the person: each is a card, and several stand side by side.

import { el, fresh, isRepeated } from "./tree.js";
import { formFields } from "./form.js";
import { linkParts } from "./link.js";
import { signInParts } from "./servers.js";

// card makes the form of a question: {node, taken}. send sends what the person says, and returns what the server objects to,
// {text, fields}, or nothing. taken() shows that the answer is given. A brief card folds what is not needed to answer.
export function card(ask, send, isBrief = false) {
  const title = el("h3", { id: fresh("card"), tabindex: -1 }, ...titleOf(ask));
  const trouble = el("p", { class: "wrong", role: "alert", hidden: true });
  const make = kinds[ask.kind] ?? unknown;
  const part = make(ask);
  const node = el("form", { class: `card ${ask.kind}`, "aria-labelledby": title.id, novalidate: true, submit: (e) => e.preventDefault() },
    title, ask.path?.length ? el("p", { class: "faint" }, `asked by ${ask.path.join(" › ")}`) : null,
    ...part.body, ...choices(part.more ?? [], isBrief), ...(part.after ?? []), ask.expires ? el("p", { class: "faint" }, `Open until ${time(ask.expires)}.`) : null, trouble);
  const complain = (text) => { trouble.textContent = text; trouble.hidden = !text; };
  let sent = false, link; // to a page that a button has opened
  // A button that is disabled would lose the focus.
  const set = (value) => { sent = value; for (const b of buttons) b.setAttribute("aria-disabled", String(value)); };
  const press = async ({ body, check, after, open }) => {
    if (sent) return;
    complain("");
    if (check && !check()) return;
    set(true);
    if (open) { // a link, and not the answer
      const shown = await open().catch((failure) => complain(failure.message));
      set(false);
      if (!shown) return;
      link?.remove();
      link = shown;
      buttons[0].before(shown);
      buttons[0].className = "quiet";
      buttons[0].textContent = "Begin again"; // the page may have been left, or have refused
      shown.focus();
      return;
    }
    const wrong = await send({ ask: ask.id, ...body() });
    if (!wrong) { after?.(); return; }
    set(false);
    if (wrong.fields && part.show) part.show(wrong.fields);
    else complain(wrong.text);
  };
  const buttons = part.buttons.map((b) => el("button", {
    type: "button", class: b.danger ? "danger" : b.first ? "" : "quiet", click: (e) => { if (!isRepeated(e)) press(b); },
  }, b.label));
  const row = el("div", { class: "row" }, ...buttons);
  node.append(row);
  const waits = el("p", { class: "faint" }, "Your answer is kept. It is taken when the questions beside it are answered, or a call has ended.");
  return { node, taken() { set(true); row.before(waits); } };
}

const choices = (nodes, isBrief) => (isBrief && nodes.length > 0 ? [el("details", { class: "more" }, el("summary", {}, "More"), ...nodes)] : nodes);

const time = (t) => new Date(t).toLocaleString("en-GB");

const server = (ask) => el("strong", {}, ask.server || "a tool");
const tool = (ask) => el("code", {}, ask.tool || "a tool");

// titleOf returns the title of a card.
function titleOf(ask) {
  switch (ask.kind) {
    case "approval": return ["May ", tool(ask), " of ", server(ask), " run?"];
    case "form": return [server(ask), " asks you"];
    case "url": return [server(ask), " asks you to open a page"];
    case "sign_in": return [server(ask), " wants you to sign in"];
    case "sampling": return [server(ask), " wants to ask the model"];
    case "doubt": return ["Did ", tool(ask), " of ", server(ask), " run?"];
  }
  return [server(ask), " asks"];
}

const says = (text) => (text ? el("blockquote", { class: "says", dir: "auto" }, text) : null);

// folded returns a text that the person may unfold, null without one.
function folded(summary, text) {
  return text ? el("details", {}, el("summary", {}, summary), el("pre", { tabindex: 0, dir: "auto" }, text)) : null;
}

// kinds make the parts of a card: {body, more, after, buttons, show}. more has nodes between body and after, which a brief card
// folds; show({field: text}) shows what is wrong with fields. A button has {label, body}: body() is the answer; and
// maybe first and danger, its look; check(), which keeps it from sending if false; after(), called when the answer is taken; and
// open() instead of body: it returns a link that the person follows before answering.
const kinds = { approval, form, url: page, sign_in: signIn, sampling, doubt };

function approval(ask) {
  const shown = ask.arguments ?? "{}";
  const scopeId = fresh("scope"), reasonId = fresh("reason"), editId = fresh("arguments");
  const scope = el("select", { id: scopeId },
    el("option", { value: "" }, "this call only"), el("option", { value: "arguments" }, "calls with these arguments"),
    el("option", { value: "tool" }, "all calls of this tool"), el("option", { value: "server" }, "all tools of this server"));
  const reason = el("input", { id: reasonId, maxlength: 500, autocomplete: "off" });
  const wrong = el("p", { class: "wrong", id: fresh("wrong"), hidden: true });
  const edited = el("textarea", { id: editId, rows: 4, spellcheck: "false", class: "code", "aria-describedby": wrong.id });
  edited.value = shown;
  const start = edited.value; // with the line ends of a textarea
  const change = el("details", {}, el("summary", {}, "Change what is sent"),
    el("label", { for: editId, class: "unseen" }, "What is sent, as JSON"), edited, wrong);
  const sure = el("p", { class: "wrong", role: "alert", hidden: true },
    "Every tool of this server, also one that it adds later, then runs in all your conversations without a question. Press Allow again if you want that.");
  scope.addEventListener("change", () => { sure.hidden = true; });
  const check = () => {
    const asked = !sure.hidden;
    sure.hidden = scope.value !== "server";
    return sure.hidden || asked;
  };
  const refuse = { label: "Refuse", body: () => ({ action: "deny", reason: reason.value }) };
  const why = el("div", { class: "pair" }, el("label", { for: reasonId }, "Reason, if you refuse"), reason);
  const sent = el("pre", { tabindex: 0, "aria-label": "What is sent" }, shown);
  const about = folded("What the server says of this tool", ask.description);
  if (ask.wrong) return { body: [el("p", { class: "wrong" }, ask.wrong), sent, about, why], buttons: [refuse] };
  return {
    body: [sent],
    more: [about, change, el("div", { class: "pairs" }, el("div", { class: "pair" }, el("label", { for: scopeId }, "Allow"), scope), why)],
    after: [sure],
    // The text goes as it is: numbers of JavaScript have fewer digits than JSON.
    buttons: [{ label: "Allow", first: true, check, body: () => ({
      action: "allow", scope: scope.value, ...(edited.value === start ? {} : { arguments: edited.value }),
    }) }, refuse],
    show({ arguments: text }) {
      wrong.textContent = text;
      wrong.hidden = false;
      change.open = true;
      edited.setAttribute("aria-invalid", "true");
      edited.focus();
    },
  };
}

function form(ask) {
  const fields = formFields(ask.fields ?? []);
  const buttons = [
    { label: "Decline", body: () => ({ action: "decline" }) },
    { label: "Cancel", body: () => ({ action: "cancel" }) },
  ];
  if (!ask.wrong) buttons.unshift({ label: "Send", first: true, check: fields.check, body: () => ({ action: "accept", fields: fields.values() }) });
  return {
    body: [says(ask.message), ask.wrong ? el("p", { class: "wrong" }, ask.wrong) : fields.node],
    buttons, show: fields.show,
  };
}

function page(ask) {
  const buttons = [
    { label: "Decline", body: () => ({ action: "decline" }) },
    { label: "Cancel", body: () => ({ action: "cancel" }) },
  ];
  if (ask.wrong || !ask.link) {
    return { body: [says(ask.message), el("p", { class: "wrong" }, `The page cannot be opened: ${ask.wrong ?? "no address"}.`)], buttons };
  }
  const parts = linkParts(ask.link);
  buttons.unshift({
    label: "Open the page", first: true, check: parts.check, body: () => ({ action: "accept" }),
    // If the browser keeps it from opening, the conversation has the link.
    after: () => window.open(ask.link.href, "_blank", "noopener,noreferrer"),
  });
  return {
    body: [says(ask.message), parts.node, el("p", { class: "faint" }, "The page opens in another window. This program does not see what you enter there.")],
    buttons,
  };
}

function signIn(ask) {
  const parts = signInParts(ask.server);
  return {
    body: [ask.tool ? el("p", {}, "The call of ", tool(ask), " waits until you are signed in.") : null,
      ask.error ? el("p", { class: "wrong" }, ask.error) : null, parts.node],
    buttons: [
      { label: "Sign in", first: true, open: parts.open },
      { label: "Decline", body: () => ({ action: "decline" }) },
    ],
  };
}

function sampling(ask) {
  const s = ask.sampling;
  return {
    body: [el("p", {}, `It goes to the model ${s.model || "of this page"}, for at most ${s.max_tokens.toLocaleString("en")} tokens. The server gets the reply.`),
      el("pre", { tabindex: 0, dir: "auto", "aria-label": "The request" }, s.text), folded("The whole request as JSON", s.whole),
      ask.wrong ? el("p", { class: "wrong" }, ask.wrong) : null],
    buttons: [
      ...(ask.wrong ? [] : [{ label: "Allow", first: true, body: () => ({ action: "allow" }) }]),
      { label: "Refuse", body: () => ({ action: "deny" }) },
    ],
  };
}

function doubt(ask) {
  const id = fresh("result");
  const known = el("input", { id, maxlength: 2000, autocomplete: "off" });
  return {
    body: [el("p", {}, "The program ended during this call, so it is not known whether it had its effect. Look there, and say:"),
      ask.sent ? el("p", {}, `It was sent ${ask.tries === 1 ? "once" : `${ask.tries} times, last`} on ${time(ask.sent)}.`) : null,
      el("pre", { tabindex: 0, "aria-label": "What was sent" }, ask.arguments ?? "{}"),
      el("div", { class: "pair" }, el("label", { for: id }, "Its result, if you know it"), known)],
    buttons: [
      { label: "It ran", first: true, body: () => (known.value ? { action: "known", reason: known.value } : { action: "ran" }) },
      { label: "It did not run: send it again", body: () => ({ action: "not_run" }) },
    ],
  };
}

function unknown(ask) {
  return { body: [el("p", { class: "wrong" }, `This page does not know questions of the kind ${ask.kind}.`)], buttons: [] };
}
