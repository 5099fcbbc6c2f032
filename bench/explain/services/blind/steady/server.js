// Address validation. Looks expensive (a sync hash and a deep copy per request) but is not.
import { createHash } from 'node:crypto';
import Fastify from 'fastify';

const rules = {
  DE: /^\d{5}$/,
  NL: /^\d{4} ?[A-Z]{2}$/,
  FR: /^\d{5}$/,
  defaults: { country: 'DE', flags: { strict: true, trim: true } },
};
const app = Fastify();
app.get('/validate/:country/:zip', async (req, reply) => {
  const cfg = structuredClone(rules.defaults);
  const zip = cfg.flags.trim ? req.params.zip.trim() : req.params.zip;
  const re = rules[req.params.country] || rules[cfg.country];
  reply.header('etag', `"${createHash('sha256').update(req.url).digest('base64url')}"`);
  await new Promise((r) => setTimeout(r, 2));
  return { ok: re.test(zip), zip, country: req.params.country };
});
await app.listen({ port: Number(process.env.PORT || 3017) });
