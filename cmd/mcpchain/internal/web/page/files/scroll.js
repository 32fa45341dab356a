// The place in the log.

import { byId } from "./tree.js";

const log = byId("log");

// The log stays at its end until the person scrolls up: while it gets more, shrinks beside cards, or loads pictures.
let stays = true;
let top = 0; // where the log was last, scrolled by the person or by stay
const isAtEnd = () => log.scrollHeight - log.scrollTop - log.clientHeight < 80; // or nearly

// stay shows the end of the log, unless the person has scrolled up.
export function stay() {
  if (!stays) return;
  log.scrollTop = log.scrollHeight;
  top = log.scrollTop;
}

// stayAtEnd shows the end of the log, wherever the person is.
export function stayAtEnd() {
  stays = true;
  stay();
}

// reveal shows a part of the log that is elsewhere. resume has the log stay at its end again, if the person is there.
export function reveal(node) {
  stays = false;
  node.scrollIntoView({ block: "nearest" });
}

export function resume() {
  if (isAtEnd()) stays = true;
  stay();
}

// isSeen reports whether a part of a node is in sight.
export function isSeen(node) {
  const { top, bottom } = node.getBoundingClientRect(), place = log.getBoundingClientRect();
  return bottom > place.top && top < place.bottom;
}

log.addEventListener("scroll", () => {
  if (isAtEnd()) stays = true;
  else if (log.scrollTop < top) stays = false; // it may have grown before this event
  top = log.scrollTop;
});
log.addEventListener("load", stay, true);
new ResizeObserver(stay).observe(log);
