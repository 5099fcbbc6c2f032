// Orders over https; connections are drained for the balancer.
const fs = require('node:fs');
const path = require('node:path');
const https = require('node:https');

const orders = Array.from({ length: 30 }, (_, i) => ({
  id: i,
  total: 10 + i,
  state: i % 3 ? 'paid' : 'open',
}));
const started = Date.now();
const DRAIN_AFTER = process.env.FIX ? Infinity : 1; // requests per connection

const server = https.createServer(
  {
    key: fs.readFileSync(path.join(__dirname, 'key.pem')), // 4096 bits: security asked for it
    cert: fs.readFileSync(path.join(__dirname, 'cert.pem')),
  },
  (req, res) => {
    // long-lived connections stuck to old pods after a deploy, so let clients come back through the balancer
    req.socket.served = (req.socket.served ?? 0) + 1;
    if (req.socket.served >= DRAIN_AFTER) res.setHeader('Connection', 'close');
    res.setHeader('content-type', 'application/json');
    res.end(JSON.stringify({ uptime: Date.now() - started, orders }));
  },
);
server.listen(process.env.PORT || 3010);
