// Storefront with feature flags.
'use strict';
// The old flag SDK had a synchronous isEnabled(); this shim keeps that signature on
// top of the new HTTP flag service so that the templates did not have to change.
const path = require('node:path');
const http = require('node:http');
const { fork } = require('node:child_process');
const { Worker, MessageChannel, receiveMessageOnPort } = require('node:worker_threads');

class FlagClient {
  constructor(url) {
    const { port1, port2 } = new MessageChannel();
    this.signal = new Int32Array(new SharedArrayBuffer(4));
    this.port = port1;
    this.seq = 0;
    this.cache = new Map();
    this.ttl = process.env.FIX ? 5000 : 0;
    this.worker = new Worker(path.join(__dirname, 'flag-worker.js'), {
      workerData: { signal: this.signal.buffer, port: port2, url },
      transferList: [port2],
    });
    this.worker.unref();
  }
  isEnabled(name) {
    const hit = this.cache.get(name);
    if (hit && Date.now() - hit.at < this.ttl) return hit.value;
    const seq = ++this.seq;
    this.port.postMessage({ seq, name });
    while (Atomics.load(this.signal, 0) < seq) Atomics.wait(this.signal, 0, seq - 1, 1000);
    const { value } = receiveMessageOnPort(this.port).message;
    this.cache.set(name, { value, at: Date.now() });
    return value;
  }
}

const page = (flags) => `<!doctype html><title>Shop</title>
<main>${flags.isEnabled('checkout') ? '<a href="/checkout2">Pay</a>' : '<a href="/checkout">Pay</a>'}</main>`;

const dep = fork(path.join(__dirname, 'flag-service.js'));
dep.once('message', (port) => {
  const flags = new FlagClient(`http://127.0.0.1:${port}`);
  http
    .createServer((_req, res) => {
      res.setHeader('content-type', 'text/html');
      res.end(page(flags));
    })
    .listen(process.env.PORT || 3003);
});
process.on('exit', () => dep.kill());
