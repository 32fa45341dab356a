// The server of the scenario on the official SDK for TypeScript. Argument: stdio,
// or http, which prints its port.
import { createServer } from 'node:http';
import { toNodeHandler } from '@modelcontextprotocol/node';
import { completable, createMcpHandler, inputRequired, McpServer, ResourceTemplate } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { z } from 'zod';

const notes = 'file:///notes.txt';
const text = (text) => ({ content: [{ type: 'text', text }] });

// asks makes a tool that asks the client once and returns the answer.
const asks = (request) => (ctx) => {
  const answer = ctx.mcpReq.inputResponses?.answer;
  if (answer === undefined) return inputRequired({ inputRequests: { answer: request } });
  return text(JSON.stringify(answer));
};

async function count(ctx) {
  const progressToken = ctx.mcpReq._meta?.progressToken;
  for (let progress = 1; progressToken !== undefined && progress <= 3; progress++) {
    await ctx.mcpReq.notify({ method: 'notifications/progress', params: { progressToken, progress, total: 3 } });
  }
  return text('counted');
}

// What became of the calls of the tool that waits, for another tool to tell.
const events = [];
let wake = () => {};
const happened = (event) => { events.push(event); wake(); };

const wait = (ctx) => new Promise((resolve) => {
  ctx.mcpReq.signal.addEventListener('abort', () => { happened('cancelled'); resolve(text('gave up waiting')); });
  happened('waiting');
});

async function heard() {
  while (events.length === 0) await new Promise((resolve) => { wake = resolve; });
  return text(events.shift());
}

// make returns a server that announces changes with announce, or by itself.
const make = (announce) => () => {
  const server = new McpServer({ name: 'typescript-sdk', version: '2.4.0' }, {
    capabilities: { tools: { listChanged: true }, resources: { subscribe: true, listChanged: true }, prompts: {}, completions: {} },
  });
  for (let i = 0; i < 8; i++) server.registerTool(`filler_${i}`, {}, () => ({ content: [] }));
  server.registerTool('add', {
    inputSchema: z.object({ a: z.number(), b: z.number() }),
    outputSchema: z.object({ sum: z.number() }),
  }, ({ a, b }) => ({ ...text(`${a + b}`), structuredContent: { sum: a + b } }));
  server.registerTool('think', {}, asks(inputRequired.createMessage({
    maxTokens: 64, messages: [{ role: 'user', content: { type: 'text', text: 'What now?' } }],
  })));
  server.registerTool('ask', {}, asks(inputRequired.elicit({
    message: 'Which colour?',
    requestedSchema: {
      type: 'object', required: ['color'],
      properties: { color: { type: 'string' }, shade: { type: 'string', default: 'dark' } },
    },
  })));
  server.registerTool('where', {}, asks(inputRequired.listRoots()));
  server.registerTool('count', {}, count);
  server.registerTool('fail', {}, () => { throw new Error('out of paper'); });
  server.registerTool('wait', {}, wait);
  server.registerTool('heard', {}, heard);
  server.registerTool('change', {}, async () => {
    if (announce) {
      announce().toolsChanged();
      announce().resourceUpdated(notes);
    } else {
      server.sendToolListChanged();
      await server.server.sendResourceUpdated({ uri: notes });
    }
    return text('changed');
  });
  server.server.setRequestHandler('resources/subscribe', () => ({}));
  server.server.setRequestHandler('resources/unsubscribe', () => ({}));
  server.registerResource('notes', notes, { mimeType: 'text/plain' }, (uri) => ({ contents: [{ uri: uri.href, mimeType: 'text/plain', text: 'buy milk' }] }));
  server.registerResource('note', new ResourceTemplate('note:///{name}', { list: undefined }), {}, (uri, { name }) => ({ contents: [{ uri: uri.href, text: `note ${name}` }] }));
  server.registerPrompt('greet', {
    argsSchema: z.object({ name: completable(z.string(), (value) => ['Ada'].filter((name) => name.startsWith(value))) }),
  }, ({ name }) => ({ messages: [{ role: 'user', content: { type: 'text', text: `Greet ${name}` } }] }));
  return server;
};

if (process.argv[2] === 'stdio') {
  serveStdio(make());
} else {
  const handler = createMcpHandler(make(() => handler.notify));
  const http = createServer(toNodeHandler(handler));
  http.listen(0, '127.0.0.1', () => console.log(http.address().port));
}
