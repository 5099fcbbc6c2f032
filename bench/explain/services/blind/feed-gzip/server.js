// Article feed, compressed with gzip and a cache.
'use strict';
const zlib = require('node:zlib');
const { createHash } = require('node:crypto');
const fastify = require('fastify')();

const FIX = process.env.FIX === '1';
const words =
  'river stone window market paper silver garden winter engine bridge harbour lamp'.split(' ');
const pick = (n) => words[((n * 2654435761) >>> 8) % words.length];
const articles = Array.from({ length: 120 }, (_, i) => ({
  id: i,
  title: `${pick(i)} ${pick(i + 3)} ${pick(i * 7)}`,
  teaser: Array.from({ length: 25 }, (_, k) => pick(i * 31 + k * k)).join(' '),
  author: { name: `${pick(i + 11)}son`, id: (i * 7919) % 5003 },
}));
// the list changes rarely: serialize it once
const json = JSON.stringify(articles);

const packed = new Map();
function gzipCached(body) {
  const key = createHash('md5').update(body).digest('base64');
  let z = packed.get(key);
  if (!z) {
    z = zlib.gzipSync(body, { level: 9 });
    packed.set(key, z);
    if (packed.size > 200) packed.delete(packed.keys().next().value);
  }
  return z;
}

fastify.get('/feed', async (_req, reply) => {
  reply.type('application/json');
  if (!FIX) return `{"generatedAt":${process.hrtime.bigint()},"articles":${json}}`;
  return `{"articles":${json}}`;
});

fastify.addHook('onSend', async (req, reply, payload) => {
  if (!/\bgzip\b/.test(req.headers['accept-encoding'] || '') || payload.length < 1024)
    return payload;
  reply.header('content-encoding', 'gzip').header('vary', 'accept-encoding');
  reply.removeHeader('content-length');
  return gzipCached(payload);
});

fastify.listen({ port: Number(process.env.PORT) || 3013, host: '127.0.0.1' });
