// Flags for opening and reusing connections, and for time limits.
import { DEFAULTS } from '../../../load/defaults.js';
import { parseBytes } from '../../../validation/units.js';
import type { Flag } from '../flag.js';
import { storeIn } from '../kinds.js';
import { addHeaders } from './headers.js';
import type { Invocation } from './invocation.js';
import { reinterpret } from './reinterpret.js';

const { choice, duration, list, parsed, text, toggle } = storeIn(
  ({ options }: Invocation) => options,
);

export const CONNECTION_FLAGS: readonly Flag<Invocation>[] = [
  toggle('http2', 'http2', true, {
    help: 'HTTP/2 for https:// URLs',
    details:
      'HTTP/2 alone is offered: a server without it cannot be loaded. Without the flag HTTP/1.1 is spoken.',
  }),
  toggle('prefer-http2', 'preferHttp2', true, {
    help: 'HTTP/2 for https:// URLs where the server has it',
    details: 'Otherwise HTTP/1.1. The report says how many connections spoke which.',
  }),
  toggle('h2c', 'h2c', true, {
    help: 'HTTP/2 for http:// URLs, without TLS',
    details: 'With prior knowledge, over TCP and Unix sockets: there is no upgrade from HTTP/1.1.',
  }),
  parsed('window', 'window', (value, flag) => parseBytes(value, flag), {
    value: 'SIZE',
    fallback: String(DEFAULTS.window),
    help: 'flow-control window of HTTP/2 streams and connections',
    details:
      'How much a server may send before the load tester has taken it, per stream, and per connection with a minimum of 65,535 bytes. The default never limits a server; browsers and Node have smaller windows.',
  }),
  choice('connection', 'connection', ['keep-alive', 'close'], {
    fallback: DEFAULTS.connection,
    help: 'keep-alive, or close: a connection per request',
    details: 'close: a new connection for each request, which sends Connection: close.',
  }),
  reinterpret(
    duration('timeout', 'timeout', {
      short: 'T',
      aliases: ['max-time'],
      common: true,
      fallback: `${DEFAULTS.timeoutMs / 1000}s`,
      help: 'time limit of a request, to the end of its response',
      details:
        'From the first byte sent. A request that exceeds it counts as longer than the limit, and its connection is closed. -T with a media type, as in -T application/json, is taken as a Content-Type header, and the report says so.',
    }),
    ({ options }, value, flag) => {
      if (flag !== '-T' || !/^[a-z]+\/[\w.+-]+/i.test(value)) return null;
      addHeaders(options, [['Content-Type', value]]);
      return `-T ${value} is taken as -H 'Content-Type: ${value}'; a timeout is -T 10s`;
    },
  ),
  duration('connect-timeout', 'connectTimeout', {
    fallback: `${DEFAULTS.connectTimeoutMs / 1000}s`,
    help: 'time limit of the connect, and of the handshake',
  }),
  list('resolve', 'resolve', {
    value: 'HOST:PORT:ADDRESS',
    help: 'the addresses of a host, as in curl',
    details:
      'Several addresses, separated by commas, are used in turn. * is every host. The Host header and the server name remain those of the URL.',
  }),
  list('connect-to', 'connectTo', {
    value: 'HOST1:PORT1:HOST2:PORT2',
    help: 'connect to another host and port, as in curl',
    details: 'An empty HOST1 or PORT1 matches all; an empty HOST2 or PORT2 keeps the value.',
  }),
  {
    name: 'local-address',
    aliases: ['interface', 'laddr', 'local-addr', 'local-ips'],
    value: 'ADDRESS',
    repeatable: true,
    help: 'IP address of this host that connections come from',
    details:
      'Several, separated by commas or by several flags, are used in turn: each has ports of its own, some 28,000 for one server. Those of another family than the server address are left out.',
    set({ options }, value) {
      const known = [options.localAddress ?? []].flat();
      options.localAddress = [...known, ...value.split(',').map((address) => address.trim())];
    },
  },
  text('socket-path', 'socketPath', {
    short: 'S',
    aliases: ['socketPath', 'unix-socket'],
    value: 'PATH',
    help: "connect to this Unix socket instead of the URL's host",
  }),
];
