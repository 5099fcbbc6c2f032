// Tickets API with a home-grown logger.
'use strict';
// LOG_LEVEL=warn in production.
const util = require('node:util');
const express = require('express');

const LEVELS = { debug: 10, info: 20, warn: 30, error: 40 };
const threshold = LEVELS[process.env.LOG_LEVEL || 'warn'];

const log = {};
for (const [name, value] of Object.entries(LEVELS)) {
  log[name] = (...args) => {
    if (process.env.FIX && value < threshold) return;
    // Build the record first: "child" loggers and the Sentry hook want it whatever the level is.
    const record = {
      time: new Date().toISOString(),
      level: name,
      msg: args
        .map((a) =>
          typeof a === 'string' ? a : util.inspect(a, { depth: 2, breakLength: Infinity }),
        )
        .join(' '),
    };
    if (value < threshold) return;
    process.stderr.write(`${JSON.stringify(record)}\n`);
  };
}

const tickets = new Map([['1', { id: 1, title: 'Printer on fire', state: 'open' }]]);
const app = express();
app.disable('x-powered-by');
app.use((req, _res, next) => {
  log.debug('request', req);
  next();
});
app.get('/tickets/:id', (req, res) => {
  const t = tickets.get(req.params.id);
  if (!t) return res.sendStatus(404);
  log.debug('found', t);
  res.json(t);
});
app.listen(process.env.PORT || 3010, () => log.info('up'));
