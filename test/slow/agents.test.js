// Agents and middleware from npm: what they see of an application is the same on Node's own server and on the stack.
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { run, SIDES } from '../fixtures/agents/side.js';
import { installed } from '../fixtures/packages.js';

const EXPRESS = { express: '5.3.0' };
const major = Number(process.versions.node.split('.')[0]);
/** The newest versions of some refuse Node.js 20. */
const isOld = major < 22;

const AGENTS = {
  middleware: {
    ...EXPRESS,
    ...{ compression: '1.8.2', 'express-prom-bundle': '8.0.0', 'express-session': '1.19.0' },
    ...{ morgan: '1.12.1', 'on-finished': '2.4.2', 'on-headers': '1.1.0', 'pino-http': '11.0.0' },
    ...{ 'prom-client': '15.1.3' },
  },
  'dd-trace': {
    ...EXPRESS,
    ...{ '@msgpack/msgpack': '3.1.3', 'dd-trace': isOld ? '5.132.0' : '6.21.0' },
  },
  opentelemetry: {
    ...EXPRESS,
    '@opentelemetry/api': '1.9.1',
    '@opentelemetry/exporter-metrics-otlp-http': '0.223.0',
    '@opentelemetry/exporter-trace-otlp-http': '0.223.0',
    '@opentelemetry/instrumentation': '0.223.0',
    '@opentelemetry/instrumentation-http': '0.223.0',
    '@opentelemetry/sdk-metrics': '2.12.0',
    '@opentelemetry/sdk-trace-node': '2.12.0',
  },
  sentry: { ...EXPRESS, '@sentry/node': '11.12.0' },
  newrelic: { ...EXPRESS, newrelic: isOld ? '13.9.2' : '14.5.1' },
  'elastic-apm': { ...EXPRESS, 'elastic-apm-node': '4.18.0' },
};

for (const [agent, dependencies] of Object.entries(AGENTS)) {
  describe(agent, async () => {
    const { folder, reason } = await installed(`agents-${agent}`, dependencies);
    const applications = agent === 'middleware' ? ['express'] : ['express', 'http'];
    for (const application of applications) {
      test(`${application}: sees the same`, {
        skip: reason ?? false,
        timeout: 120_000,
      }, async () => {
        const unpack = agent === 'dd-trace' ? unpacking(folder) : undefined;
        const runs = [];
        for (const side of Object.keys(SIDES)) {
          runs.push(await run({ agent, application, side, folder, unpack }));
        }
        const [plain, ...stack] = runs;
        assert.ok(plain.seen.length > 8, `too little was seen: ${plain.seen.join('\n')}`);
        for (const { isNative, ...seen } of stack) {
          assert.ok(isNative, 'nothing was served natively');
          const { isNative: _, ...expected } = plain;
          assert.deepEqual(seen, expected);
        }
      });
    }
  });
}

function unpacking(folder) {
  const { decode } = createRequire(join(folder, 'package.json'))('@msgpack/msgpack');
  return (bytes) => decode(bytes, { useBigInt64: true });
}
