// What the person has written and not sent, by conversation.

// drafts are the texts by the id of their conversation, "" for a new one.
export const drafts = new Map();

// keepDrafts stores the drafts of a user in case the page is loaded again. A browser may have no such place.
export function keepDrafts(user) {
  try { sessionStorage.setItem("drafts", JSON.stringify({ of: user, all: [...drafts] })); } catch { /* they are lost */ }
}

// takeDrafts takes the drafts that were stored for the same user.
export function takeDrafts(user) {
  try {
    const { of, all } = JSON.parse(sessionStorage.getItem("drafts") ?? "{}");
    if (of === user) for (const [id, text] of all) drafts.set(id, text);
    sessionStorage.removeItem("drafts");
  } catch { /* there are none */ }
}
