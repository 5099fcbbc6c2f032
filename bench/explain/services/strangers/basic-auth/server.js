// An internal API with basic authentication: each request brings the password, and bcrypt compares it, on the loop.
import { createHmac, randomBytes } from 'node:crypto';
import bcrypt from 'bcryptjs';
import Koa from 'koa';

const users = new Map([['ci', bcrypt.hashSync('correct horse', 7)]]);
const key = randomBytes(32);
const proven = new Set();

function checkPassword(name, password) {
  const hash = users.get(name);
  return hash !== undefined && bcrypt.compareSync(password, hash);
}

/** Compares a password once, and remembers a digest of it. */
function checkOnce(name, password) {
  const digest = createHmac('sha256', key).update(`${name}:${password}`).digest('hex');
  if (proven.has(digest)) return true;
  if (!checkPassword(name, password)) return false;
  proven.add(digest);
  return true;
}

const check = process.env.FIX === '1' ? checkOnce : checkPassword;
const app = new Koa();
app.use(async (context) => {
  const [, encoded = ''] = (context.get('authorization') ?? '').split(' ');
  const [name, password] = Buffer.from(encoded, 'base64').toString().split(':');
  if (!check(name, password)) context.throw(401);
  context.body = { user: name, builds: [17, 18, 19] };
});
app.listen(Number(process.env.PORT ?? 0), '127.0.0.1');
