// The minimum that deadlines could do for a call: note when it began, keep it in a list until it ends, count its
// duration. A call with limits cannot cost less than a call with this.
import { AsyncResource } from 'node:async_hooks';
import { subscribe } from 'node:diagnostics_channel';
import http from 'node:http';
import { performance } from 'node:perf_hooks';

const now = performance.now.bind(performance);
const kCall = Symbol('minimal.call');
const CONTEXT = { requireManualDestroy: true };
const times = new Uint32Array(300);
let first = null;

class Call {
  constructor(context) {
    this.startedAt = now();
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
    times[Math.max(0, Math.floor(Math.log2((now() - this.startedAt) * 1000) * 8))]++;
  }
}

function onClose() {
  this[kCall].end();
}

for (const name of ['request', 'get']) {
  const original = http[name];
  http[name] = (...args) => {
    const request = original(...args);
    request[kCall] = new Call(new AsyncResource('MINIMAL_CALL', CONTEXT));
    request.on('close', onClose);
    return request;
  };
}

const kIsPatched = Symbol('minimal.isPatched');

/** Patches the class of requests: the channels of headers and end would cost as much as everything else. */
function patchRequestClass(requests) {
  requests[kIsPatched] = true;
  const { onHeaders, onFinally } = requests;
  requests.onHeaders = function observe(status, headers, resume, statusText) {
    this[kCall].response = headers;
    return onHeaders.call(this, status, headers, resume, statusText);
  };
  requests.onFinally = function observe() {
    this[kCall].end();
    return onFinally.call(this);
  };
}

subscribe('undici:request:create', ({ request }) => {
  request[kCall] = new Call(null);
  if (request[kIsPatched] !== true) patchRequestClass(Object.getPrototypeOf(request));
});
