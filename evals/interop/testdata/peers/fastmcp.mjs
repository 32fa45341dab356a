// The server of the scenario on fastmcp. Argument: stdio, or http, which serves
// Streamable HTTP at /mcp and HTTP+SSE at /sse.
import { FastMCP, UserError } from 'fastmcp';
import { z } from 'zod';

const notes = 'file:///notes.txt';
const server = new FastMCP({ name: 'fastmcp', version: '4.20.16' });

// connected is the session, which fastmcp has a moment after the handshake.
async function connected() {
  while (server.sessions.length === 0) await new Promise((resolve) => { setTimeout(resolve, 10); });
  const session = server.sessions.at(-1);
  await session.waitForReady();
  return session;
}

// roots are what the client said when fastmcp last asked, which it does by itself.
async function roots() {
  const session = await connected();
  while (session.roots.length === 0) await new Promise((resolve) => { session.once('rootsChanged', resolve); });
  return session.roots;
}

// fillers take what zod makes of its less common types.
const fillers = [
  z.object({ pair: z.tuple([z.string(), z.number()]) }),
  z.object({ shape: z.discriminatedUnion('kind', [
    z.object({ kind: z.literal('circle'), radius: z.number().positive() }),
    z.object({ kind: z.literal('square'), side: z.number().positive() }),
  ]) }),
  z.object({ counts: z.record(z.string(), z.number().int()) }),
  z.object({ anything: z.any(), list: z.array(z.unknown()) }),
  z.object({ name: z.string().nullable(), mail: z.email().optional(), size: z.enum(['s', 'm']).default('m') }),
  z.object({ id: z.union([z.string(), z.number()]), on: z.boolean().or(z.null()) }),
  z.looseObject({ first: z.string() }),
  z.object({ tree: z.object({ get children() { return z.array(z.string()).max(9); } }) }),
];

// What became of the calls of the tool that waits, for another tool to tell.
const events = [];
let wake = () => {};
const happened = (event) => { events.push(event); wake(); };

const filler = (i) => ({ name: `filler_${i}`, parameters: fillers[i], execute: async () => '' });
fillers.forEach((_, i) => server.addTool(filler(i)));

server.addTool({
  name: 'add',
  parameters: z.object({ a: z.number(), b: z.number() }),
  outputSchema: z.object({ sum: z.number() }),
  execute: async ({ a, b }) => ({ sum: a + b }),
});
server.addTool({
  name: 'think',
  execute: async () => JSON.stringify(await (await connected()).requestSampling({
    maxTokens: 64, messages: [{ role: 'user', content: { type: 'text', text: 'What now?' } }],
  })),
});
server.addTool({
  name: 'ask',
  execute: async (_, { elicit }) => JSON.stringify(await elicit({
    message: 'Which colour?',
    requestedSchema: {
      type: 'object', required: ['color'],
      properties: { color: { type: 'string' }, shade: { type: 'string', default: 'dark' } },
    },
  })),
});
server.addTool({
  name: 'visit',
  execute: async (_, { elicit }) => (await elicit({
    mode: 'url', message: 'Pay here.', url: 'https://pay.example/1', elicitationId: '1',
  })).action,
});
server.addTool({ name: 'where', execute: async () => JSON.stringify(await roots()) });
server.addTool({
  name: 'count',
  execute: async (_, { reportProgress }) => {
    for (let progress = 1; progress <= 3; progress++) await reportProgress({ progress, total: 3 });
    return 'counted';
  },
});
server.addTool({ name: 'fail', execute: async () => { throw new UserError('out of paper'); } });
server.addTool({
  name: 'wait',
  execute: (_, { signal }) => new Promise((resolve) => {
    signal.addEventListener('abort', () => { happened('cancelled'); resolve('gave up waiting'); });
    happened('waiting');
  }),
});
server.addTool({
  name: 'heard',
  execute: async () => {
    while (events.length === 0) await new Promise((resolve) => { wake = resolve; });
    return events.shift();
  },
});
server.addTool({
  name: 'change',
  execute: async () => {
    await connected();
    server.removeTool('filler_0');
    server.addTool(filler(0));
    await server.sendResourceUpdated(notes);
    return 'changed';
  },
});
server.addResource({ uri: notes, name: 'notes', mimeType: 'text/plain', load: async () => ({ text: 'buy milk' }) });
server.addResourceTemplate({
  uriTemplate: 'note:///{name}', name: 'note', mimeType: 'text/plain', arguments: [{ name: 'name', required: true }],
  load: async ({ name }) => ({ text: `note ${name}` }),
});
server.addPrompt({
  name: 'greet',
  arguments: [{ name: 'name', required: true, complete: async (value) => ({ values: ['Ada'].filter((name) => name.startsWith(value)) }) }],
  load: async ({ name }) => `Greet ${name}`,
});

if (process.argv[2] === 'stdio') {
  await server.start({ transportType: 'stdio' });
} else {
  await server.start({ transportType: 'httpStream', httpStream: { port: 0, host: '127.0.0.1' } });
}
