// A service that knows nothing of deadlines: makes the calls that its parent asks for, each a name of `calls` and its
// argument, and tells how they ended. At the end it tells of `stats()` of millrace/deadlines, if that was loaded.
import { AsyncLocalStorage } from 'node:async_hooks';
import { subscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import http from 'node:http';
import https from 'node:https';
import net from 'node:net';
import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import tls from 'node:tls';
import * as undici from 'undici';
import * as undici5 from 'undici-5';
import * as undici6 from 'undici-6';

const read = (module, options) =>
  new Promise((resolve, reject) => {
    const request = module.get({ host: '127.0.0.1', agent: false, ...options }, (response) => {
      let text = '';
      response.on('data', (chunk) => {
        text += chunk;
      });
      response.on('error', reject);
      response.on('end', () => resolve(text));
    });
    request.on('error', reject);
    if (options.onTimeout) {
      request.setTimeout(options.onTimeout, () => request.destroy(new Error('my own')));
    }
  });

const opened = (socket, event) =>
  new Promise((resolve, reject) => {
    socket.on('error', reject);
    socket.on(event, () => resolve(socket));
  });

const secret = { allowH2: true, connect: { rejectUnauthorized: false } };
const http2Agents = { 6: new undici6.Agent(secret), 7: new undici.Agent(secret) };

async function* slowly(ms) {
  yield 'half';
  await sleep(ms);
  yield 'half';
}

const never = { never() {} };

export const calls = {
  http: (options) => read(http, options),
  https: (options) => read(https, { rejectUnauthorized: false, ...options }),
  unresolved: () => read(http, { host: 'never.test', lookup: never.never }),
  signalled: ({ port, ms }) => read(http, { port, signal: AbortSignal.timeout(ms) }),
  /** With a signal that aborts by time or otherwise: made of others, one of which is made so itself. */
  anySignalled: async ({ port, url, ms }) => {
    const signal = () => {
      const inner = AbortSignal.any([new AbortController().signal, AbortSignal.timeout(ms)]);
      return AbortSignal.any([new AbortController().signal, inner]);
    };
    return [
      await read(http, { port, signal: signal() }),
      await (await fetch(url, { signal: signal() })).text(),
      await (await undici.request(url, { signal: signal() })).body.text(),
      await calls
        .fetch({ url, never: AbortSignal.any([new AbortController().signal]) })
        .catch(({ cause }) => cause.limit),
    ];
  },
  /** Beside a call of `millrace/client` that has such a signal. */
  besideClient: async ({ url, ms }) => {
    const { createClient } = await import('millrace/client');
    const client = createClient({ limits: { total: 0 }, retries: false });
    const own = client.request(url, { signal: AbortSignal.timeout(ms) });
    const other = fetch(url).catch(({ cause }) => cause.limit);
    const both = [(await own).status, await other];
    await client.destroy();
    return both;
  },
  /** With limits of its own, which are longer. */
  byClient: async ({ url }) => {
    const { createClient } = await import('millrace/client');
    const client = createClient({ limits: { total: '20s', firstByte: 1000, silence: 1000 } });
    const text = await (await client.request(url)).text();
    await client.destroy();
    return text;
  },
  /** As axios does it: listens to the signal, and makes its request then. */
  listensFirst: ({ port, ms }) => {
    const signal = AbortSignal.timeout(ms);
    signal.addEventListener('abort', never.never);
    return read(http, { port });
  },
  /** As node-fetch does it: makes its request, listens, and ends it. Meanwhile somebody calls without a signal. */
  listensThen: ({ port, url, ms }) => {
    const request = http.request({ host: '127.0.0.1', port, agent: false });
    AbortSignal.timeout(ms).addEventListener('abort', never.never);
    request.end();
    const without = fetch(url).then(
      () => null,
      ({ cause }) => cause.limit,
    );
    const own = once(request, 'response').then(([{ statusCode }]) => statusCode);
    return Promise.all([own, without]);
  },
  /** Two calls in one turn, of which the second has a signal. */
  secondHas: async ({ port, url, ms }) => {
    const first = read(http, { port }).catch(({ limit }) => limit);
    const second = fetch(url, { signal: AbortSignal.timeout(ms) });
    return Promise.all([first, second.then(({ status }) => status)]);
  },
  fetch: async ({ url, ms, never }) => {
    const signal = ms ? AbortSignal.timeout(ms) : never;
    const response = await fetch(url, signal ? { signal } : {});
    return response.text();
  },
  undici: async ({ url, ...options }) => {
    const { ms, ...rest } = options;
    const signal = ms ? { signal: AbortSignal.timeout(ms) } : {};
    const { body } = await undici.request(url, { ...rest, ...signal });
    return body.text();
  },
  /** Three calls at once by each of the clients, which makes one after another: what they give, or the limit that ended them. */
  undiciQueues: ({ url, clients }) => {
    const ask = async (client) => {
      try {
        return await (await client.request({ path: '/', method: 'GET' })).body.text();
      } catch ({ limit }) {
        return limit;
      }
    };
    const made = clients.map((options) => new undici.Client(url, options));
    return Promise.all(made.map((one) => Promise.all([ask(one), ask(one), ask(one)])));
  },
  /** By HTTP/2. Reads for so many milliseconds nothing after the first part, and then all. */
  http2: async ({ url, version = 7, ms = 0, upload, kind }) => {
    const { body } = await http2Agents[version].request({
      origin: url,
      path: '/',
      method: upload ? 'POST' : 'GET',
      ...(upload && { body: kind === 'stream' ? Readable.from(slowly(upload)) : slowly(upload) }),
    });
    let bytes = 0;
    for await (const chunk of body) {
      if (bytes === 0) await sleep(ms);
      bytes += chunk.length;
    }
    return bytes;
  },
  /** By HTTP/2, on one connection: how a call ends, and one beside it that waits longer by its own will. */
  http2Pair: async ({ url }) => {
    const client = new undici.Client(url, secret);
    const ask = async (path, options) => {
      const { body } = await client.request({ path, method: 'GET', ...options });
      return body.text();
    };
    await ask('/');
    const both = [ask('/never'), ask('/late', { headersTimeout: 5000 })];
    const [first, second] = await Promise.allSettled(both);
    return [first.reason?.limit, second.value ?? second.reason.message];
  },
  undiciSocket: async ({ socketPath }) => {
    const client = new undici.Client('http://localhost', { socketPath });
    const { body } = await client.request({ path: '/', method: 'GET' });
    return body.text();
  },
  /** Reads for so many milliseconds nothing, and then all. */
  slowReader: ({ port, ms }) =>
    new Promise((resolve, reject) => {
      const request = http.get({ host: '127.0.0.1', port, agent: false }, (response) => {
        let bytes = 0;
        response.on('error', reject);
        response.on('end', () => resolve(bytes));
        setTimeout(() => {
          response.on('data', (chunk) => {
            bytes += chunk.length;
          });
        }, ms);
      });
      request.on('error', reject);
    }),
  slowFetchReader: async ({ url, ms }) => {
    const response = await fetch(url);
    await sleep(ms);
    return (await response.arrayBuffer()).byteLength;
  },
  /** Has the answer, and reads it when its peer has said the rest. */
  slowUndiciReader: async ({ url, restAt }) => {
    const { body } = await undici.request(url);
    await (await fetch(restAt)).text();
    return body.text();
  },
  /** Sends the first half of its request, and after some time the second one. */
  slowWriter: ({ port, ms }) =>
    new Promise((resolve, reject) => {
      const options = { host: '127.0.0.1', port, agent: false, method: 'POST' };
      const request = http.request(options, (response) => {
        response.resume().on('end', () => resolve('sent'));
      });
      request.on('error', reject);
      request.write('half');
      setTimeout(() => request.end('half'), ms);
    }),
  /** The same, with the consent of its peer. */
  slowExpecter: ({ port, ms }) =>
    new Promise((resolve, reject) => {
      const headers = { Expect: '100-continue', 'Transfer-Encoding': 'chunked' };
      const options = { host: '127.0.0.1', port, agent: false, method: 'POST', headers };
      const request = http.request(options, (response) => {
        response.resume().on('end', () => resolve('sent'));
      });
      request.on('error', reject);
      request.on('continue', () => setTimeout(() => request.end('all'), ms));
      request.flushHeaders();
    }),
  slowFetchWriter: async ({ url, ms }) => {
    const body = async function* () {
      yield 'half';
      await sleep(ms);
      yield 'half';
    };
    const response = await fetch(url, { method: 'POST', body: body(), duplex: 'half' });
    return response.text();
  },
  /** Waits for so many events. */
  events: async ({ url, count }) => {
    const response = await fetch(url);
    let events = 0;
    for await (const _ of response.body) if (++events === count) break;
    return events;
  },
  eventsByHttp: ({ port, count }) =>
    new Promise((resolve, reject) => {
      const request = http.get({ host: '127.0.0.1', port, agent: false }, (response) => {
        let events = 0;
        response.on('error', reject);
        response.on('data', () => {
          if (++events === count) resolve(events);
        });
      });
      request.on('error', reject);
    }),
  /** Switches protocols, and waits for an echo of what is said later. */
  upgrade: ({ port, ms }) =>
    new Promise((resolve, reject) => {
      const headers = { Connection: 'Upgrade', Upgrade: 'echo' };
      const request = http.get({ host: '127.0.0.1', port, headers, agent: false });
      request.on('error', reject);
      request.on('upgrade', (_response, socket) => {
        socket.on('error', reject);
        socket.on('data', (chunk) => resolve(`${chunk}`));
        setTimeout(() => socket.write('hello'), ms);
      });
    }),
  undiciUpgrade: async ({ url, ms, version = 7 }) => {
    const { [version]: copy } = { 5: undici5, 6: undici6, 7: undici };
    // Copies share what `setGlobalDispatcher` sets.
    const dispatcher = new copy.Agent();
    const { socket } = await copy.upgrade(url, { protocol: 'echo', dispatcher });
    await sleep(ms);
    socket.write('hello');
    const [chunk] = await once(socket, 'data');
    return `${chunk}`;
  },
  /** A connection that says something after a long time. */
  quietSocket: async ({ port, ms }) => {
    const socket = await opened(net.connect(port, '127.0.0.1'), 'connect');
    await sleep(ms);
    socket.write('hello');
    const [chunk] = await once(socket, 'data');
    return `${chunk}`;
  },
  /** Requests that have no socket when their time is over: their events, and those of the ones after them. */
  withoutSocket: async ({ port }) => {
    const told = (options) =>
      new Promise((resolve) => {
        const events = [];
        const request = http.get({ host: '127.0.0.1', port, ...options });
        request.on('error', ({ limit }) => events.push(limit));
        request.on('close', () => {
          events.push('close');
          resolve(events);
        });
      });
    let late;
    const connecting = (_options, onSocket) => {
      late = onSocket;
    };
    /** And then its connection comes. */
    const connected = async (options) => {
      const events = await told(options);
      const socket = net.connect(port, '127.0.0.1');
      late(null, socket);
      await once(socket, 'close');
      return events;
    };
    const byConnection = await connected({ createConnection: connecting });
    const slow = Object.assign(new http.Agent(), { createConnection: connecting });
    const byAgent = await connected({ agent: slow });
    const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
    const response = await new Promise((resolve) => {
      http.get({ host: '127.0.0.1', port, path: '/events', agent }, resolve);
    });
    const queued = await told({ agent });
    const left = Object.keys(agent.requests);
    response.destroy();
    const next = await read(http, { port, agent });
    agent.destroy();
    return { byConnection, byAgent, queued, left, next };
  },
  /** The asynchronous context in which errors arrive. */
  contexts: async ({ port }) => {
    const storage = new AsyncLocalStorage();
    const agent = new http.Agent({ keepAlive: true });
    const one = (name) =>
      storage.run(name, () => {
        return new Promise((resolve) => {
          const request = http.get({ host: '127.0.0.1', port, agent });
          request.on('error', () => resolve(storage.getStore()));
        });
      });
    return Promise.all([one('a'), one('b'), one('c')]);
  },
  /** Keeps the event loop busy while the answer arrives. */
  busy: async ({ url, ms }) => {
    const response = fetch(url);
    await sleep(100);
    // From here timers come before what has arrived.
    await new Promise((resolve) => setImmediate(resolve));
    for (const end = performance.now() + ms; performance.now() < end; );
    return (await response).text();
  },
  /** Keeps the event loop busy as soon as each kind of call has begun: none has got its name, its connection, its answer. */
  busyAtOnce: async ({ port, ms }) => {
    const at = { port, host: 'localhost', agent: false };
    const begun = [
      opened(net.connect(port, 'localhost'), 'connect').then((socket) => socket.end()),
      read(http, at),
      fetch(`http://localhost:${port}/`).then((response) => response.text()),
    ];
    for (const end = performance.now() + ms; performance.now() < end; );
    return (await Promise.all(begun)).slice(1);
  },
  channels: async ({ port }) => {
    const { channels } = await import('millrace/deadlines');
    const told = {};
    for (const [name, channel] of Object.entries(channels)) {
      subscribe(channel, ({ error, ...message }) => {
        told[name] = { ...message, code: error?.code };
      });
    }
    await outcome(() => calls.http({ port }));
    await sleep(20);
    return told;
  },
  /** By a client library: with a limit that it is given, or with none. */
  library: async ({ name, url, ms }) => {
    const { limited, unlimited } = await import('./libraries.js');
    return ms ? limited[name](url, ms) : unlimited[name](url);
  },
  net: async ({ port }) => void (await opened(net.connect(port, '127.0.0.1'), 'connect')),
  tls: async ({ port }) => void (await opened(tls.connect(port, '127.0.0.1'), 'secureConnect')),
  /** TLS over a connection that is there already. */
  startTls: async ({ port }) => {
    const socket = await opened(net.connect(port, '127.0.0.1'), 'connect');
    await opened(tls.connect({ socket, servername: 'inner.test' }), 'secureConnect');
  },
};

/** How a call ended, as plain values. */
export async function outcome(call) {
  const since = performance.now();
  try {
    return { value: await call(), ms: performance.now() - since };
  } catch (error) {
    const cause = error.cause ?? error;
    const { name, code, syscall, limit, limitMs, host, elapsedMs, message } = cause;
    return {
      error: { outer: error.name, name, code, syscall, limit, limitMs, host, elapsedMs, message },
      isUndicis: Object.values(undici.errors).some(
        (one) => one.name === name && cause instanceof one,
      ),
      ms: performance.now() - since,
    };
  }
}

if (process.send) {
  process.on('message', async ({ call, argument }) => {
    if (call === 'stats') {
      const { stats } = await import('millrace/deadlines');
      process.send(stats());
      return;
    }
    process.send(await outcome(() => calls[call](argument)));
  });
}
