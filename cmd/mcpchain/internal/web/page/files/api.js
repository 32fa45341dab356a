// Requests to the server.

// Failure is an unsuccessful answer: its status, its words, and for a form its fields. The
// status of a server that cannot be reached is 0.
export class Failure extends Error {
  constructor(status, body) {
    super(body.error ?? `the server answers with ${status}`);
    this.status = status;
    this.fields = body.fields;
  }
}

let user = "";

// as names the user that the page shows. The server refuses a request if another one is signed in.
export const as = (name) => { user = name; };

// open returns the response of a request that succeeds; any other fails with a Failure. Options are those of fetch.
export async function open(method, path, body, options) {
  const headers = {};
  if (user) headers["Page-User"] = encodeURIComponent(user);
  if (body !== undefined) headers["Content-Type"] = "application/json";
  let response;
  try {
    response = await fetch(path, { ...options, method, headers, body: body === undefined ? undefined : JSON.stringify(body) });
  } catch {
    throw new Failure(0, { error: "the server cannot be reached" });
  }
  if (!response.ok) throw new Failure(response.status, await parsed(response));
  return response;
}

// parsed returns the JSON of an answer, {} for one without a body and for one that is not of this server: its status says enough.
async function parsed(response) {
  try {
    return JSON.parse(await response.text());
  } catch {
    return {};
  }
}

// request returns the JSON of a request that succeeds.
const request = async (method, path, body, options) => parsed(await open(method, path, body, options));

const conversation = (id) => `/api/conversations/${encodeURIComponent(id)}`;

export const me = () => request("GET", "/api/me");
export const signIn = (as) => request("POST", "/sign-in", as);
export const signOut = () => request("POST", "/api/sign-out", {});
export const begin = (text) => request("POST", "/api/conversations", { text });
export const older = ({ id, updated }) => request("GET", `/api/conversations?${new URLSearchParams({ after: id, updated })}`);
export const say = (id, text) => request("POST", `${conversation(id)}/messages`, { text });
export const edit = (id, seq, index, text) => request("POST", `${conversation(id)}/edits`, { seq, index, text });
export const answer = (id, body) => request("POST", `${conversation(id)}/answers`, body);
export const stop = (id) => request("POST", `${conversation(id)}/stop`, {});
export const retry = (id) => request("POST", `${conversation(id)}/retry`, {});
export const remove = (id) => request("DELETE", conversation(id));

// Of views: messages are JSON already.
const view = (session) => `/api/views/${encodeURIComponent(session)}`;

export const openView = (body) => request("POST", "/api/views", body);
export const viewSays = (session, first, messages) => request("POST", `${view(session)}/messages`, { first, messages: messages.map((text) => JSON.parse(text)) });
export const answerView = (session, ask, yes) => request("POST", `${view(session)}/answers`, { ask, yes });
export const viewMode = (session, mode) => request("POST", `${view(session)}/mode`, { mode });
export const viewSeen = (window, n) => request("POST", "/api/views/seen", { window, n });
export const endView = (session) => request("DELETE", view(session));
// leaveView ends a view of a page that is left, which does not wait for it.
export const leaveView = (session) => request("DELETE", `${view(session)}?gone`, undefined, { keepalive: true });

const server = (name) => `/api/servers/${encodeURIComponent(name)}`;

export const dropRule = (id) => request("DELETE", `/api/rules/${encodeURIComponent(id)}`);
export const signInTo = (name) => request("POST", `${server(name)}/sign-in`, {});
export const signOutOf = (name) => request("POST", `${server(name)}/sign-out`, {});
