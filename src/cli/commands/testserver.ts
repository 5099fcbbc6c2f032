import { usageError } from '../../errors.js';
import { startTestServer, type TestServerOptions } from '../../index.js';
import { hasDurationUnit, parseBytes, parseCount, parseFlagDuration } from '../../units.js';
import { mustBe } from '../../validation/shape.js';
import { EXIT } from '../exit.js';
import type { Flag } from '../flags/flag.js';
import { parseArguments } from '../flags/parse.js';
import { onInterrupt } from '../interrupt.js';

const GROUP = 'Test server';
const DEFAULT_PORT = 8080;

export const TEST_SERVER_FLAGS: Flag<TestServerOptions>[] = [
  {
    name: 'port',
    short: 'p',
    value: 'N',
    group: GROUP,
    fallback: String(DEFAULT_PORT),
    help: 'port to listen on; 0: a free one',
    set(options, value, given) {
      options.port = parseCount(value, given, { min: 0, max: 65535 });
    },
  },
  {
    name: 'host',
    value: 'ADDRESS',
    group: GROUP,
    fallback: '127.0.0.1',
    help: 'address to listen on',
    set(options, value) {
      options.host = value;
    },
  },
  {
    name: 'unix',
    value: 'PATH',
    group: GROUP,
    help: 'listen on this Unix socket instead',
    set(options, value) {
      options.path = value;
    },
  },
  {
    name: 'processes',
    value: 'N',
    group: GROUP,
    fallback: 'one per core',
    help: 'processes that answer',
    set(options, value, given) {
      options.processes = parseCount(value, given, { min: 1, max: 1024 });
    },
  },
  {
    name: 'delay',
    value: 'DELAY',
    group: GROUP,
    fallback: '0',
    help: 'wait before answering: 50ms, 0-1000ms, 1s/10',
    details:
      '50ms: always; 0-1000ms: a random time between the two; 1s/10: every tenth request, the others at once.',
    set(options, value, given) {
      options.delay = parseDelay(value, given);
    },
  },
  {
    name: 'status',
    value: 'CODE',
    group: GROUP,
    fallback: '200',
    help: 'status of the responses',
    set(options, value, given) {
      options.status = parseCount(value, given, { min: 200, max: 599 });
    },
  },
  {
    name: 'size',
    value: 'BYTES',
    group: GROUP,
    fallback: 'a short text',
    help: 'bytes in a body: 1000, 16k, 1MB',
    set(options, value, given) {
      options.size = parseBytes(value, given);
    },
  },
  {
    name: 'chunked',
    group: GROUP,
    help: 'send the body in chunks',
    set(options) {
      options.chunked = true;
    },
  },
  {
    name: 'close',
    group: GROUP,
    help: 'close the connection after each response',
    set(options) {
      options.close = true;
    },
  },
  {
    name: 'error-rate',
    value: 'SHARE',
    group: GROUP,
    fallback: '0',
    help: 'share of the requests answered with 500: 0.1',
    set(options, value, given) {
      options.errorRate = parseShare(value, given);
    },
  },
  {
    name: 'tls',
    group: GROUP,
    help: 'HTTPS, with a certificate made on the spot',
    set(options) {
      options.tls = true;
    },
  },
];

/** Serves until Ctrl-C or SIGTERM; prints one line, the URL. */
export async function testServerCommand(args: string[]): Promise<number> {
  const options: TestServerOptions = { port: DEFAULT_PORT };
  const { positional, command } = parseArguments(
    args,
    TEST_SERVER_FLAGS,
    options,
    {},
    'testserver',
  );
  const [extra] = [...positional, ...(command ?? [])];
  if (extra !== undefined) throw usageError(`testserver takes flags only (got '${extra}')`);
  const interrupted = new Promise<number>((resolve) => onInterrupt(() => resolve(EXIT.ok)));
  const server = await startTestServer(options);
  console.log(`Listening on ${server.url}`);
  const code = await Promise.race([interrupted, server.exited.then(() => EXIT.failure)]);
  if (code === EXIT.failure) console.error('millrace: a process of the test server has ended');
  await server.close();
  return code;
}

function parseDelay(text: string, given: string): NonNullable<TestServerOptions['delay']> {
  const [, time, every] = /^([^/]+)\/(\d+)$/.exec(text) ?? [];
  if (time !== undefined && every !== undefined) {
    const range = { min: 1, max: Number.MAX_SAFE_INTEGER };
    return { ms: parseFlagDuration(time, given), every: parseCount(every, given, range) };
  }
  const [, from, to] = /^([^-]+)-([^-]+)$/.exec(text) ?? [];
  if (from === undefined || to === undefined) return parseFlagDuration(text, given);
  // In 0-1000ms the unit is that of both.
  const unit = hasDurationUnit(from) ? '' : (/[a-zµ]+$/.exec(to)?.[0] ?? '');
  return { from: parseFlagDuration(`${from}${unit}`, given), to: parseFlagDuration(to, given) };
}

function parseShare(text: string, given: string): number {
  const share = text.endsWith('%') ? Number(text.slice(0, -1)) / 100 : Number(text);
  if (text !== '' && share >= 0 && share <= 1) return share;
  throw mustBe(given, 'a share from 0 to 1, or in %', text);
}
