// The defaults that comments of options and the help of flags name, against those of the code.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { CAPACITY_DEFAULTS } from '#internal/capacity/defaults.js';
import { COMMANDS } from '#internal/cli/command-table.js';
import { resolveOptions } from '#internal/client/options.js';
import { COMPARE_DEFAULTS } from '#internal/compare/defaults.js';
import { EXPLAIN_DEFAULTS, WATCH_DEFAULTS } from '#internal/explain/defaults.js';
import { HOSTS_DEFAULTS } from '#internal/hosts/defaults.js';
import { LAB_DEFAULTS } from '#internal/lab/defaults.js';
import { DEFAULTS } from '#internal/load/defaults.js';
import { planTestServer } from '#internal/testserver/options.js';
import { prepareReply } from '#internal/testserver/reply.js';
import { readFields } from '../../../scripts/reference/declarations.js';
import { splitDefault } from '../../../scripts/reference/tables.js';

const { retries, timeouts, ...client } = resolveOptions({});
const { listen, delay, tls, processes: _cores, ...testServer } = await planTestServer({});
const load = {
  ...DEFAULTS,
  // Statuses below those of errors: `3xx` is the last class.
  expect: (Number.parseInt(DEFAULTS.expect.at(-1), 10) + 1) * 100,
};

// With a condition to wait for, the interval is shorter.
const { intervalMs, untilMs, ...lengths } = WATCH_DEFAULTS;
const watch = { ...lengths, attach: false, intervalMs: [intervalMs, untilMs] };

const UNITS_MS = { ms: 1, s: 1000, m: 60_000, minutes: 60_000 };

/** Interfaces of options, and the defaults of the code: by the option's name, or by that and `Ms`. */
const SOURCES = [
  ['LoadOptions', 'src/load/options.ts', load],
  ['CapacityOptions', 'src/capacity/options.ts', CAPACITY_DEFAULTS],
  ['HostsOptions', 'src/hosts/options.ts', HOSTS_DEFAULTS],
  ['CompareOptions', 'src/compare/options.ts', COMPARE_DEFAULTS],
  ['ExplainOptions', 'src/explain/options.ts', EXPLAIN_DEFAULTS],
  ['WatchOptions', 'src/explain/watch/options.ts', watch],
  ['LabOptions', 'src/lab/options.ts', LAB_DEFAULTS],
  ['ClientOptions', 'src/client/options.ts', client],
  ['ClientTimeouts', 'src/client/options.ts', timeouts],
  ['RetryOptions', 'src/client/options.ts', retries],
  [
    'TestServerOptions',
    'src/testserver/options.ts',
    {
      ...testServer,
      ...{ host: listen.host, port: listen.port, delayMs: delay.toMs, tls: tls !== null },
      size: prepareReply({ ...testServer, size: null }).last.length,
    },
  ],
];

for (const [name, file, defaults] of SOURCES) {
  describe(`the comments of ${name}`, () => {
    for (const { name: option, comment } of readFields(file, name)) {
      const { fallback } = splitDefault(comment);
      const stated = readLiterals(fallback);
      const coded = findDefaults(defaults, option);
      // As another option, or one per core: no value.
      const isValue = !/^(?:as|one per) /.test(fallback);
      if (stated.length > 0 || (coded.length > 0 && isValue)) {
        test(`name the default of ${option}`, () => assertSame(stated, coded, fallback));
      }
    }
  });
}

const OF_COMMANDS = {
  load: { ...load, ...HOSTS_DEFAULTS },
  capacity: { ...load, ...CAPACITY_DEFAULTS },
  compare: { ...load, ...COMPARE_DEFAULTS },
  explain: { ...load, ...EXPLAIN_DEFAULTS, ...watch },
};

describe('the help of flags names the defaults', () => {
  for (const { name: command, flags } of COMMANDS) {
    const defaults = OF_COMMANDS[command];
    if (defaults === undefined) continue;
    test(`of ${command}`, async () => {
      const { groups } = await flags();
      for (const { name, fallback = '' } of groups.flatMap((group) => group.flags)) {
        const stated = readLiterals(fallback);
        if (stated.length > 0) {
          const option = name.replace(/-(\w)/g, (_dash, letter) => letter.toUpperCase());
          assertSame(stated, findDefaults(defaults, option), `--${name}: ${fallback}`);
        }
      }
    });
  }
});

/** The values of an option's defaults: of an open run, too. `as` another option is no value. */
function findDefaults(defaults, option) {
  const open = `open${option.charAt(0).toUpperCase()}${option.slice(1)}`;
  const keys = [option, `${option}Ms`, open].filter((key) => Object.hasOwn(defaults, key));
  return keys
    .flatMap((key) => defaults[key])
    .filter((value) => ['string', 'number', 'boolean'].includes(typeof value));
}

function assertSame(stated, coded, text) {
  const isKnown = (value) => coded.some((one) => String(one) === String(value));
  assert.ok(coded.length > 0, `the code has no default (${text})`);
  assert.deepEqual(
    stated.filter((value) => !isKnown(value)),
    [],
    `${text}: the code has ${coded.join(', ')}`,
  );
  assert.ok(stated.length > 0, `${text}: the code has ${coded.join(', ')}`);
}

/**
 * The values in a text: quoted words, `true` and `false`, numbers, durations in milliseconds. That of another option, as in
 * `with connection: 'close'`, is none.
 */
function readLiterals(text) {
  const found = text
    .replace(/`\w+: '[^']*'`/g, '')
    .matchAll(
      /`?(?<!\w)'([^']*)'`?|\b(true|false)\b|(?<![\w.])(\d[\d ]*(?:\.\d+)?) ?(ms|s|minutes|m)?(?![\w%])/g,
    );
  return [...found].map(([, word, truth, number, unit]) => {
    if (word !== undefined) return word;
    if (truth !== undefined) return truth === 'true';
    return Number(number.replaceAll(' ', '')) * (UNITS_MS[unit] ?? 1);
  });
}
