// The least that deadlines could do for a call: know when it began, keep it in a list until it ends, count its time.
// What a call costs with this, limits cannot go below.
import { AsyncResource } from 'node:async_hooks';
import { subscribe } from 'node:diagnostics_channel';
import http from 'node:http';
import { performance } from 'node:perf_hooks';

const now = performance.now.bind(performance);
const kCall = Symbol('least.call');
const CONTEXT = { requireManualDestroy: true };
const times = new Uint32Array(300);
let first = null;

class Call {
  constructor(context) {
    this.begun = now();
    this.context = context;
    this.response = null;
    this.previous = null;
    this.next = first;
    if (first !== null) first.previous = this;
    first = this;
  }

  end() {
    const { previous, next } = this;
    if (previous === null) first = next;
    else previous.next = next;
    if (next !== null) next.previous = previous;
    times[Math.max(0, Math.floor(Math.log2((now() - this.begun) * 1000) * 8))]++;
  }
}

function onClose() {
  this[kCall].end();
}

for (const name of ['request', 'get']) {
  const original = http[name];
  http[name] = (...args) => {
    const made = original(...args);
    made[kCall] = new Call(new AsyncResource('LEAST_CALL', CONTEXT));
    made.on('close', onClose);
    return made;
  };
}

const kIsHeard = Symbol('least.isHeard');

/** By their class: the channels of the head and of the end would cost as much as all else. */
function hear(requests) {
  requests[kIsHeard] = true;
  const { onHeaders, onFinally } = requests;
  requests.onHeaders = function heard(status, headers, resume, statusText) {
    this[kCall].response = headers;
    return onHeaders.call(this, status, headers, resume, statusText);
  };
  requests.onFinally = function heard() {
    this[kCall].end();
    return onFinally.call(this);
  };
}

subscribe('undici:request:create', ({ request }) => {
  request[kCall] = new Call(null);
  if (request[kIsHeard] !== true) hear(Object.getPrototypeOf(request));
});
