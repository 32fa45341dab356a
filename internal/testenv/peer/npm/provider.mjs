// An authorization server for tests: oidc-provider, with accounts that any
// password opens. It listens at a free port, and prints it. Arguments: the URL
// of the one resource that it gives tokens for, the life of an access token in
// seconds.
import { once } from 'node:events';
import { createServer } from 'node:http';
import { Provider, errors } from 'oidc-provider';

const [resource, life] = process.argv.slice(2);

const server = createServer();
server.listen(0, '127.0.0.1');
await once(server, 'listening');
const { port } = server.address();

const provider = new Provider(`http://127.0.0.1:${port}`, {
  scopes: ['openid', 'offline_access'],
  claims: { openid: ['sub'] },
  clients: [{
    client_id: 'service', client_secret: 'the-secret-of-the-service', redirect_uris: [], response_types: [],
    grant_types: ['client_credentials'], token_endpoint_auth_method: 'client_secret_basic',
  }],
  features: {
    clientCredentials: { enabled: true },
    devInteractions: { enabled: true },
    registration: { enabled: true },
    resourceIndicators: {
      enabled: true,
      defaultResource: () => undefined,
      useGrantedResource: () => true,
      getResourceServerInfo: (ctx, indicator) => {
        if (indicator !== resource) throw new errors.InvalidTarget();
        return { scope: 'notes:read notes:write', accessTokenFormat: 'jwt', accessTokenTTL: Number(life) };
      },
    },
  },
  rotateRefreshToken: true,
  ttl: { AccessToken: Number(life), ClientCredentials: Number(life), RefreshToken: 3600, Grant: 3600, Session: 3600, Interaction: 600, IdToken: 600 },
  findAccount: (ctx, id) => ({ accountId: id, claims: () => ({ sub: id }) }),
});
server.on('request', provider.callback());
console.log(`listening at ${port}`);
