// Checkout: every order is scored for fraud.
const { fork } = require('node:child_process');
const fastify = require('fastify')();
const connect = require('./rpc');
let scorer,
  seq = 0;

fastify.get('/checkout', async (_req) => {
  const order = { id: ++seq, amount: 1000 + ((seq * 37) % 5000), country: 'DE', items: [1, 2, 3] };
  const { score } = await scorer.call(order);
  return { order: order.id, accepted: score < 0.9, score };
});

const dep = fork(`${__dirname}/scorer.js`);
dep.once('message', ({ port }) => {
  scorer = connect(port);
  fastify.listen({ port: +process.env.PORT || 3002, host: '127.0.0.1' });
});
for (const s of ['SIGTERM', 'SIGINT'])
  process.on(s, () => {
    dep.kill();
    process.exit();
  });
