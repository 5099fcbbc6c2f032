// The total of a shopping cart, logged with winston.
'use strict';
const fs = require('node:fs');
const http = require('node:http');
const os = require('node:os');
const path = require('node:path');
const winston = require('winston');

const FIX = process.env.FIX === '1';
const file = path.join(os.tmpdir(), `checkout-${process.pid}.log`);
const { combine, timestamp, json, splat, errors, metadata } = winston.format;

// ops asked for a quiet console: only errors there
const log = winston.createLogger({
  level: FIX ? 'warn' : 'debug',
  format: combine(
    errors({ stack: true }),
    splat(),
    timestamp(),
    metadata({ fillExcept: ['level', 'message', 'timestamp'] }),
    json(),
  ),
  transports: [
    new winston.transports.Console({ level: 'error' }),
    new winston.transports.File({ filename: file, maxsize: 64 << 20, maxFiles: 1, tailable: true }),
  ],
});
// winston formats first and looks at the level in the transports: ask before
const enabled = { debug: log.isLevelEnabled('debug'), info: log.isLevelEnabled('info') };
const logger = (meta) => {
  const child = enabled.info ? log.child(meta) : null;
  return {
    debug: (...a) => {
      if (enabled.debug) child.debug(...a);
    },
    info: (...a) => {
      if (enabled.info) child.info(...a);
    },
  };
};

const prices = {
  apple: 120,
  pear: 140,
  plum: 90,
  fig: 210,
  lemon: 65,
  quince: 180,
  cherry: 240,
  lime: 70,
};

http
  .createServer((req, res) => {
    const rlog = logger({ rid: Math.random().toString(36).slice(2), ip: req.socket.remoteAddress });
    rlog.debug('request', { method: req.method, url: req.url, headers: req.headers });
    const m = /^\/cart\/(\w+)$/.exec(req.url);
    if (!m) {
      res.statusCode = 404;
      return res.end('{}');
    }
    let total = 0;
    for (const item of Object.keys(prices)) {
      rlog.debug('price %s', item, {
        cart: m[1],
        cents: prices[item],
        rule: { type: 'list', currency: 'CHF' },
      });
      total += prices[item];
    }
    rlog.debug('tax', { total, rate: 0.081 });
    const body = JSON.stringify({ id: m[1], total: Math.round(total * 1.081) });
    res.on('finish', () => rlog.info('response %d', res.statusCode, { len: body.length }));
    res.setHeader('content-type', 'application/json');
    res.end(body);
  })
  .listen(Number(process.env.PORT) || 3003, '127.0.0.1');

function bye() {
  for (const f of fs.readdirSync(os.tmpdir()))
    if (f.startsWith(`checkout-${process.pid}`))
      fs.rmSync(path.join(os.tmpdir(), f), { force: true });
  process.exit(0);
}
process.on('SIGTERM', bye);
process.on('SIGINT', bye);
