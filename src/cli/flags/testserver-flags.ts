import { usageError } from '../../errors/millrace-error.js';
import type { TestServerOptions } from '../../index.js';
import { mustBe } from '../../validation/shape.js';
import {
  hasDurationUnit,
  parseBytes,
  parseCount,
  parseFlagDuration,
} from '../../validation/units.js';
import type { CommandFlags } from './command-flags.js';
import type { Flag } from './flag.js';
import { storeIn } from './kinds.js';

const DEFAULT_PORT = 8080;

const { count, parsed, text, toggle } = storeIn((options: TestServerOptions) => options);

const FLAGS: Flag<TestServerOptions>[] = [
  count(
    'port',
    'port',
    { min: 0, max: 65535 },
    {
      short: 'p',
      fallback: String(DEFAULT_PORT),
      help: 'port to listen on; 0: a free one',
    },
  ),
  text('host', 'host', {
    value: 'ADDRESS',
    fallback: '127.0.0.1',
    help: 'address to listen on',
  }),
  text('unix', 'path', { value: 'PATH', help: 'listen on this Unix socket instead' }),
  count(
    'processes',
    'processes',
    { min: 1, max: 1024 },
    {
      fallback: 'one per core',
      help: 'processes that answer',
    },
  ),
  parsed('delay', 'delay', parseDelay, {
    value: 'DELAY',
    fallback: '0',
    help: 'wait before answering: 50ms, 0-1000ms, 1s/10',
    details:
      '50ms: always; 0-1000ms: a random time between the two; 1s/10: every tenth request, the others at once.',
  }),
  count(
    'status',
    'status',
    { min: 200, max: 599 },
    {
      value: 'CODE',
      fallback: '200',
      help: 'status of the responses',
    },
  ),
  parsed('size', 'size', parseBytes, {
    value: 'BYTES',
    fallback: 'a short text',
    help: 'bytes in a body: 1000, 16k, 1MB',
  }),
  toggle('chunked', 'chunked', true, { help: 'send the body in chunks' }),
  toggle('close', 'close', true, { help: 'close the connection after each response' }),
  parsed('error-rate', 'errorRate', parseShare, {
    value: 'SHARE',
    fallback: '0',
    help: 'share of the requests answered with 500: 0.1',
  }),
  toggle('tls', 'tls', true, { help: 'HTTPS, with a certificate made on the spot' }),
  toggle('http2', 'http2', true, {
    help: 'HTTP/2, with --tls beside HTTP/1.1',
    details: 'Without --tls a client has to know it: --h2c.',
  }),
  count(
    'max-streams',
    'maxStreams',
    { min: 1, max: 2 ** 32 - 1 },
    {
      fallback: 'no limit',
      help: 'streams at once on a connection of HTTP/2',
    },
  ),
];

/** The flags of `millrace testserver`. */
export const TESTSERVER: CommandFlags<TestServerOptions> = {
  groups: [{ title: 'millrace testserver', flags: FLAGS }],
  create: () => ({ port: DEFAULT_PORT }),
  setOperands(_, { positional, command }) {
    const [operand] = [...positional, ...(command ?? [])];
    if (operand !== undefined) throw usageError(`testserver takes flags only (got '${operand}')`);
  },
};

function parseDelay(text: string, flag: string): NonNullable<TestServerOptions['delay']> {
  const [, time, every] = /^([^/]+)\/(\d+)$/.exec(text) ?? [];
  if (time !== undefined && every !== undefined) {
    const range = { min: 1, max: Number.MAX_SAFE_INTEGER };
    return { ms: parseFlagDuration(time, flag), every: parseCount(every, flag, range) };
  }
  const [, from, to] = /^([^-]+)-([^-]+)$/.exec(text) ?? [];
  if (from === undefined || to === undefined) return parseFlagDuration(text, flag);
  // In 0-1000ms the unit is that of both.
  const unit = hasDurationUnit(from) ? '' : (/[a-zµ]+$/.exec(to)?.[0] ?? '');
  return { from: parseFlagDuration(`${from}${unit}`, flag), to: parseFlagDuration(to, flag) };
}

function parseShare(text: string, flag: string): number {
  const share = text.endsWith('%') ? Number(text.slice(0, -1)) / 100 : Number(text);
  if (text !== '' && share >= 0 && share <= 1) return share;
  throw mustBe(flag, 'a share from 0 to 1, or in %', text);
}
