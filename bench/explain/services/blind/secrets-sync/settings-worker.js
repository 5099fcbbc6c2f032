// The worker that asks the vault.
const {
  workerData: { port, flag, base },
} = require('node:worker_threads');
const http = require('node:http');
const agent = new http.Agent({ keepAlive: true });
const state = new Int32Array(flag);
port.on('message', (path) => {
  const done = (m) => {
    port.postMessage(m);
    Atomics.store(state, 0, 1);
    Atomics.notify(state, 0);
  };
  http
    .get(base + path, { agent }, (res) => {
      let s = '';
      res
        .setEncoding('utf8')
        .on('data', (d) => (s += d))
        .on('end', () => done({ value: JSON.parse(s) }));
    })
    .on('error', (e) => done({ error: e.message }));
});
