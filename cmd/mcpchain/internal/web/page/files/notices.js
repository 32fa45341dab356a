// What the page tells the person beside the conversation.

import { byId, el } from "./tree.js";

// announce has a screen reader say something that is new.
export function announce(text) {
  const status = byId("status");
  status.append(el("p", {}, text));
  while (status.childElementCount > 5) status.firstChild.remove();
}

let hide; // timer of the failure that is shown

// complain shows a failure for 8 s.
export function complain(text) {
  const toast = byId("trouble");
  toast.textContent = text;
  toast.hidden = false;
  clearTimeout(hide);
  hide = setTimeout(() => { toast.hidden = true; }, 8000);
}

let soon; // timer of a state that waits to be shown

// notice shows a state that lasts, "" for none. While none is shown, it first waits for after milliseconds: the state may be over
// by then.
export function notice(text, after = 0) {
  const line = byId("offline");
  if (after && soon) return; // another one waits already
  clearTimeout(soon);
  soon = undefined;
  if (text && !line.hidden) line.textContent = text;
  else if (text) soon = setTimeout(() => { soon = undefined; line.textContent = text; line.hidden = false; }, after);
  else line.hidden = true;
}
