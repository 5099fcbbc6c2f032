// Partners post the orders of a day as one JSON text of some 110 kB, but most of the answers need its head alone.
'use strict';
const { createServer } = require('node:http');

async function readText(request) {
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

function parseOrders(text) {
  const { partner, orders } = JSON.parse(text);
  return { partner, count: orders.length };
}

// With the fix partners send the head in headers of the request, and a job reads the rest at night.
const readHead = (request) => ({
  partner: request.headers['x-partner'],
  count: Number(request.headers['x-count']),
});

createServer(async (request, response) => {
  try {
    const text = await readText(request);
    const { partner, count } = process.env.FIX === '1' ? readHead(request) : parseOrders(text);
    response.statusCode = 202;
    response.end(JSON.stringify({ partner, accepted: count }));
  } catch ({ message }) {
    response.statusCode = 400;
    response.end(JSON.stringify({ message }));
  }
}).listen(process.env.PORT ?? 0, '127.0.0.1');
