// The worker that asks the flag service.
'use strict';
const { workerData } = require('node:worker_threads');
const http = require('node:http');
const { signal, port, url } = workerData;
const view = new Int32Array(signal);
const agent = new http.Agent({ keepAlive: true });
port.on('message', ({ seq, name }) => {
  const done = (value) => {
    port.postMessage({ seq, value });
    Atomics.store(view, 0, seq);
    Atomics.notify(view, 0);
  };
  http
    .get(`${url}/flags/${name}`, { agent }, (r) => {
      let s = '';
      r.setEncoding('utf8')
        .on('data', (d) => {
          s += d;
        })
        .on('end', () => done(JSON.parse(s).on));
    })
    .on('error', () => done(false));
});
