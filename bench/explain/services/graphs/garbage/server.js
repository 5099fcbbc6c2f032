// A service that allocates known amounts: three quarters in one function, one quarter in another. Nothing stays for longer
// than 64 requests, but that is long enough for the collector to move it.
import { createServer } from 'node:http';

const FIX = process.env.FIX === '1';
const RECENT = 64;
const recent = new Array(RECENT).fill(null);
let next = 0;

/** Rows of 64 bytes each: an object of four fields. */
function makeRows(count) {
  const rows = new Array(count);
  for (let i = 0; i < count; i++) rows[i] = { id: i, a: next, b: i + next, c: 1 };
  return rows;
}

const loadHistory = () => makeRows(FIX ? 90 : 9000);
const loadOrders = () => makeRows(FIX ? 30 : 3000);

createServer((_request, response) => {
  const history = loadHistory();
  const orders = loadOrders();
  recent[next++ % RECENT] = [history, orders];
  response.end(`${history.length + orders.length}\n`);
}).listen(process.env.PORT ?? 0, '127.0.0.1');
