// The pricing client.
'use strict';
// It speaks async TCP in a worker; callSync() is for the old rules engine, which cannot await.
const net = require('node:net');
const {
  Worker,
  isMainThread,
  workerData,
  parentPort,
  MessageChannel,
  receiveMessageOnPort,
} = require('node:worker_threads');

if (!isMainThread && workerData?.port) {
  const { port, flag } = workerData;
  const state = new Int32Array(flag);
  const sock = net.connect(port, '127.0.0.1').setNoDelay(true);
  const waiting = new Map();
  let buf = '';
  sock.on('data', (d) => {
    buf += d;
    for (let i = buf.indexOf('\n'); i >= 0; i = buf.indexOf('\n')) {
      const { id, value } = JSON.parse(buf.slice(0, i));
      buf = buf.slice(i + 1);
      const m = waiting.get(id);
      waiting.delete(id);
      m.reply.postMessage({ id, value });
      if (m.sync) {
        Atomics.store(state, 0, 1);
        Atomics.notify(state, 0);
      }
    }
  });
  let reply;
  parentPort.on('message', (m) => {
    if (m.reply) {
      reply = m.reply;
      return;
    }
    waiting.set(m.id, { reply, sync: m.sync });
    sock.write(`${m.id} ${m.sku}\n`);
  });
}

exports.createClient = (port) => {
  const flag = new SharedArrayBuffer(4);
  const state = new Int32Array(flag);
  const w = new Worker(__filename, { workerData: { port, flag } });
  const { port1, port2 } = new MessageChannel();
  w.postMessage({ reply: port2 }, [port2]);
  let id = 0;
  const pending = new Map();
  return {
    callSync(sku) {
      Atomics.store(state, 0, 0);
      w.postMessage({ id: ++id, sku, sync: true });
      Atomics.wait(state, 0, 0, 5000);
      return receiveMessageOnPort(port1).message.value;
    },
    call(sku) {
      if (id === 0)
        port1.on('message', ({ id, value }) => {
          pending.get(id)(value);
          pending.delete(id);
        });
      return new Promise((r) => {
        pending.set(++id, r);
        w.postMessage({ id, sku, sync: false });
      });
    },
  };
};
