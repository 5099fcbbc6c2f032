// settings.get('tenant') looks like a plain property read, as the old code base (no async) wants it.
const { Worker, MessageChannel, receiveMessageOnPort } = require('node:worker_threads');
const ttl = process.env.FIX ? 30_000 : 0;
const cache = new Map();
let port, state;
exports.connect = (base) => {
  const { port1, port2 } = new MessageChannel();
  const flag = new SharedArrayBuffer(4);
  state = new Int32Array(flag);
  port = port1;
  new Worker(`${__dirname}/settings-worker.js`, {
    workerData: { port: port2, flag, base },
    transferList: [port2],
  }).unref();
  port.unref();
};
exports.get = (tenant) => {
  const hit = cache.get(tenant);
  if (hit && hit.until > Date.now()) return hit.value;
  Atomics.store(state, 0, 0);
  port.postMessage(`/${tenant}`);
  Atomics.wait(state, 0, 0, 5000);
  const { message } = receiveMessageOnPort(port) ?? { message: { error: 'timeout' } };
  if (message.error) throw new Error(message.error);
  cache.set(tenant, { value: message.value, until: Date.now() + ttl });
  return message.value;
};
