// The keyboard belongs to the page. A view gets it by the person's pointer or by Tab, and never by a call of focus().

const most = 3; // thefts, of which the last one closes the view
const views = new Map(); // {shield, stolen, thefts, pressed} by frame
let holder; // the frame to which the person gave the keyboard; undefined while the page has it
let last; // the element of the page that last had the keyboard
let tab = false; // Tab was pressed, and nothing in the page got the focus: the next view that gets it, however late, may keep it
let over; // the frame below the pointer

const isField = (n) => Boolean(n?.matches?.("input, textarea, select"));
const hovers = matchMedia("(hover: hover)");

// guard watches a frame, and returns its shield, which covers the frame while only a click on it tells that the person wants
// the view: while a field of the page has the focus, and where no pointer hovers. stolen() is called at the last theft.
export function guard(frame, stolen) {
  const shield = document.createElement("div");
  shield.className = "shield";
  shield.title = "Click to use the view";
  const view = { shield, stolen, thefts: 0, pressed: false };
  shield.addEventListener("click", () => { view.pressed = true; frame.focus(); check(); });
  frame.addEventListener("pointerenter", () => { over = frame; });
  frame.addEventListener("pointerleave", () => { if (over === frame) over = undefined; });
  views.set(frame, view);
  arm();
  return shield;
}

export function unguard(frame) {
  views.delete(frame);
  if (holder === frame) holder = undefined;
  if (over === frame) over = undefined;
}

// arm covers the frames that need it with their shields.
function arm() {
  for (const [frame, view] of views) view.shield.hidden = holder === frame || hovers.matches && !isField(last);
}

// check looks who has the keyboard, and takes it back from a view that has taken it. Tab always leads into a view from the page: the
// button Close stands before each frame.
function check() {
  const frame = document.activeElement, view = views.get(frame);
  if (!view) {
    holder = undefined;
    if (!document.hasFocus()) tab = false; // it led out of the page
    arm();
    return;
  }
  if (frame === holder) return;
  if (view.pressed || tab || over === frame && view.shield.hidden) {
    holder = frame;
    view.pressed = tab = false;
    arm();
    return;
  }
  const back = holder ?? last;
  if (back?.isConnected) back.focus({ preventScroll: true });
  if (document.activeElement === frame) frame.blur();
  if (++view.thefts >= most) view.stolen();
}

// Within the event the browser has not moved the focus yet: what is focused there is focused for the page alone, and the
// view gets the keys.
addEventListener("blur", () => { setTimeout(check); });
addEventListener("focusin", (e) => {
  if (views.has(e.target)) return;
  [holder, last, tab] = [undefined, e.target, false];
  arm();
}, true);
addEventListener("keydown", (e) => { tab = e.key === "Tab"; }, true);
// No event tells that a view takes the keyboard from another view, or while the window is not in front.
setInterval(() => { if (views.size > 0) check(); }, 200);
