// Orders are booked step by step through a queue, which process.nextTick drains: no other request is read until it is empty.
import { createServer } from 'node:http';

const STEPS = 20_000;
const FEWER = 200;

function bookStep(order, step) {
  order.sum = (order.sum * 31 + step) % 1_000_003;
  order.trail = `${step}:${order.sum}`;
}

function drain(order, step, done) {
  if (step === 0) return done(order);
  bookStep(order, step);
  process.nextTick(drain, order, step - 1, done);
}

let next = 0;
createServer((_request, response) => {
  const order = { id: next++, sum: 1, trail: '' };
  // With the fix only the steps that changed are booked.
  drain(order, process.env.FIX === '1' ? FEWER : STEPS, ({ id, trail }) =>
    response.end(JSON.stringify({ id, trail })),
  );
}).listen(process.env.PORT ?? 0, '127.0.0.1');
