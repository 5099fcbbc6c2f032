// A page whose CPU time is known: 40 % in one function, 60 % in another.
import { createServer } from 'node:http';
import { compute } from '../../../compute.js';

const FIX = process.env.FIX === '1';

function applyDiscounts() {
  return FIX ? 0 : compute(4);
}

function renderRows() {
  return compute(6);
}

createServer((_request, response) => {
  response.end(String(applyDiscounts() + renderRows()));
}).listen(process.env.PORT ?? 0, '127.0.0.1');
