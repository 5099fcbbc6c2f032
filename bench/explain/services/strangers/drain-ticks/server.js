// Orders are booked step by step through a queue, which process.nextTick drains: no other request is read until it is empty.
import { createServer } from 'node:http';

const STEPS = 4000;
const FEWER = 40;
const ENTRIES = 60;

function bookStep(order, step) {
  for (let entry = 0; entry < ENTRIES; entry++)
    order.sum = (order.sum * 31 + step * entry) % 1_000_003;
}

function drain(order, step, done) {
  if (step === 0) return done(order);
  bookStep(order, step);
  process.nextTick(drain, order, step - 1, done);
}

let next = 0;
createServer((_request, response) => {
  const order = { id: next++, sum: 1 };
  // With the fix only the steps that changed are booked.
  drain(order, process.env.FIX === '1' ? FEWER : STEPS, ({ id, sum }) =>
    response.end(JSON.stringify({ id, sum })),
  );
}).listen(process.env.PORT ?? 0, '127.0.0.1');
