// A service that logs each request as an object, at each of eight steps, since a bug of last summer.
'use strict';
const express = require('express');

function logRequest(request) {
  console.log('request', {
    method: request.method,
    url: request.url,
    headers: request.headers,
    socket: request.socket.address(),
    route: request.route,
    at: new Date(),
  });
}

const app = express();
app.get('/orders/:id', (request, response) => {
  if (process.env.FIX !== '1') for (let step = 0; step < 8; step++) logRequest(request);
  response.json({ id: request.params.id, state: 'sent' });
});
app.listen(Number(process.env.PORT ?? 0), '127.0.0.1');
