// Deposits to wallets, whose balances are in a store.
'use strict';
const net = require('node:net');
const path = require('node:path');
const { fork } = require('node:child_process');
const fastify = require('fastify')();

const FIX = process.env.FIX === '1';
const store = fork(path.join(__dirname, 'store.js'));
process.on('exit', () => store.kill());
for (const s of ['SIGTERM', 'SIGINT']) process.on(s, () => process.exit(0));

// One mutex per wallet: a balance is read, changed and written back.
const tails = new Map();
function withLock(key, fn) {
  const prev = tails.get(key) ?? Promise.resolve();
  const run = prev.then(fn, fn);
  const tail = run.catch(() => {});
  tails.set(key, tail);
  tail.then(() => {
    if (tails.get(key) === tail) tails.delete(key);
  });
  return run;
}

function client(port) {
  const sock = net.connect(port, '127.0.0.1').setNoDelay(true);
  const q = [];
  let buf = '';
  sock.on('data', (d) => {
    buf += d;
    for (let i = buf.indexOf('\n'); i >= 0; i = buf.indexOf('\n')) {
      q.shift()(buf.slice(0, i));
      buf = buf.slice(i + 1);
    }
  });
  return (...cmd) =>
    new Promise((r) => {
      q.push(r);
      sock.write(`${cmd.join(' ')}\n`);
    });
}

store.once('message', ({ port }) => {
  const cmd = client(port);
  fastify.post('/wallets/:wallet/deposit', async (req) => {
    // (the route parameter was once called walletId)
    const key = FIX ? req.params.wallet : req.params.walletId;
    return withLock(key, async () => {
      const old = Number(await cmd('GET', req.params.wallet)) || 0;
      const balance = old + Number(req.body.cents);
      await cmd('SET', req.params.wallet, balance);
      return { wallet: req.params.wallet, balance };
    });
  });
  fastify.listen({ port: Number(process.env.PORT) || 3012, host: '127.0.0.1' });
});
