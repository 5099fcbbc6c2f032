// What makes a measurement doubtful, and which exit code it has: on results made by hand.
import assert from 'node:assert/strict';
import { availableParallelism } from 'node:os';
import { test } from 'node:test';
import { exitCode } from '#internal/cli/exit.js';
import { findClientBoundReasons } from '#internal/load/outcome/client-bound.js';
import { adviseOnClientBound, clientBound } from '#internal/load/outcome/client-bound-words.js';
import { findWarnings } from '#internal/load/outcome/warnings.js';
import { resultWith } from '../../fixtures/closed-result.js';

const calm = {
  refusedAddresses: [],
  serverEnded: null,
  otherPorts: [],
  unreachedTargets: [],
  redirections: new Map(),
  files: null,
  extraAuthoritiesError: null,
};
function open(result) {
  const schedule = { rate: 1000, stages: [], arrivals: 'constant', maxPending: 100 };
  const length = { durationMs: 10_000, requests: null, initialConnections: 10 };
  Object.assign(result.plan, { model: 'open', ...length, ...schedule });
}

const CASES = [
  ['a calm run', () => {}, []],
  [
    'client-bound',
    ({ generator }) => Object.assign(generator, { clientBound: true, reasons: ['busy'] }),
    ['client-bound'],
  ],
  [
    'certificate',
    ({ plan }) => Object.assign(plan, { handshake: 'full', verifyCertificate: false }),
    ['certificate-not-verified'],
  ],
  [
    'errors of several kinds',
    ({ requests, errors }) => {
      requests.transportErrors = 3;
      errors.push({ kind: 'reset', count: 2, example: 'ECONNRESET' });
      errors.push({ kind: 'protocol', count: 1, example: null });
    },
    ['errors-reset', 'errors-protocol'],
  ],
  [
    'timeouts, not twice',
    ({ requests, errors }) => {
      requests.timeouts = 3;
      errors.push({ kind: 'timeout', count: 3, example: null });
    },
    ['timeouts'],
  ],
  [
    'fewer streams than asked for',
    ({ plan, connections }) => {
      Object.assign(plan, { httpVersion: '2', pipelining: 100 });
      connections.maxConcurrentStreams = 10;
    },
    ['max-concurrent-streams'],
  ],
  [
    'as many streams as asked for',
    ({ plan, connections }) => {
      plan.pipelining = 10;
      connections.maxConcurrentStreams = 10;
    },
    [],
  ],
  [
    'bodies that waited',
    (result) => {
      result.windowWaits = { requests: 100, totalMs: 500 };
    },
    ['window-waits'],
  ],
  [
    'few bodies that waited',
    (result) => {
      result.windowWaits = { requests: 99, totalMs: 500 };
    },
    [],
  ],
  [
    'error statuses',
    (result) => {
      Object.assign(result.requests, { ok: 9000, statusErrors: 1000 });
      result.statusCodes = { 200: 9000, 503: 1000 };
    },
    ['status-errors'],
  ],
  [
    'all failed',
    ({ requests }) => Object.assign(requests, { ok: 0, statusErrors: 10_000 }),
    ['all-failed', 'status-errors'],
  ],
  [
    'no response at all: nothing is advised that would not help',
    (result) => {
      Object.assign(result.requests, { ok: 0, transportErrors: 10_000 });
      Object.assign(result, { durationMs: 500, statusCodes: {} });
      result.errors.push({ kind: 'closed-early', count: 10_000, example: null });
      Object.assign(result.connections, { closedByServer: 10_000 });
      Object.assign(result.latencyMs, { censored: 10_000, atLeast: { p50: true, p99: true } });
    },
    ['all-failed', 'errors-closed-early'],
  ],
  ['an open run that kept up', open, []],
  [
    'a rate that was not sent',
    (result) => {
      open(result);
      Object.assign(result.requests, { sent: 9000, ok: 9000 });
      result.requests.notSent.overflow = 1000;
    },
    ['rate-not-reached', 'not-sent'],
  ],
  [
    'a server that was away: its requests were tried',
    (result) => {
      open(result);
      Object.assign(result.requests, { sent: 7500, ok: 7500 });
      result.requests.notSent.connectFailed = 2500;
      result.errors.push({ kind: 'connect-refused', count: 2500, example: null });
    },
    ['not-sent', 'errors-connect-refused'],
  ],
  [
    'connections that this process could not open: their requests were not tried',
    (result) => {
      open(result);
      Object.assign(result.requests, { sent: 7500, ok: 7500 });
      result.requests.notSent.connectFailed = 2500;
      result.errors.push({ kind: 'fd-limit', count: 2500, example: null });
    },
    ['rate-not-reached', 'not-sent', 'errors-fd-limit'],
  ],
  [
    'a generator that stood still',
    ({ generator }) => {
      const times = [{ atMs: 1300, durationMs: 900 }];
      generator.stalled = { times, samples: 2, maxMs: 908 };
    },
    ['generator-stalled'],
  ],
  [
    'a schedule that was missed a little',
    (result) => {
      open(result);
      result.generator.latenessMs = { p50: 0.1, p99: 1.3, max: 3 };
    },
    ['late'],
  ],
  [
    'idle connections that the server closed and nobody needed',
    (result) => {
      open(result);
      Object.assign(result.connections, { opened: 10, closedByServer: 8 });
    },
    [],
  ],
  [
    'a rate that was sent and not completed',
    (result) => {
      open(result);
      Object.assign(result.requests, { ok: 9400, inFlightAtEnd: 600 });
    },
    ['rate-not-reached'],
  ],
  [
    'a slow but steady server is no rate missed',
    (result) => {
      open(result);
      Object.assign(result.requests, { ok: 9400, inFlightAtEnd: 600 });
      result.meanInFlight = 600;
      Object.assign(result.latencyMs, { min: 600, p50: 600, p99: 610 });
      Object.assign(result.serviceTimeMs, { min: 600, p50: 600, p99: 610 });
    },
    [],
  ],
  [
    'chance is no rate missed',
    (result) => {
      open(result);
      Object.assign(result.plan, { rate: 1, arrivals: 'poisson' });
      Object.assign(result.requests, { sent: 6, ok: 6 });
    },
    ['short-run'],
  ],
  [
    'arrivals that waited for a connection',
    (result) => {
      open(result);
      result.latencyMs.p99 = 50;
    },
    ['waiting-for-connections'],
  ],
  ['many censored', ({ latencyMs }) => Object.assign(latencyMs, { censored: 600 }), []],
  [
    'many censored that are older than all that ended',
    ({ latencyMs }) =>
      Object.assign(latencyMs, { censored: 600, atLeast: { p95: true, p99: true, mean: true } }),
    ['censored'],
  ],
  [
    'a percentile of which a bound is known, above those that are looked at',
    ({ latencyMs }) =>
      Object.assign(latencyMs, { censored: 10, atLeast: { p99_9: true, mean: true } }),
    [],
  ],
  [
    'failures without a response',
    ({ requests, errors }) => {
      Object.assign(requests, { ok: 9890, transportErrors: 110 });
      errors.push({ kind: 'reset', count: 110, example: null });
    },
    ['errors-reset', 'failures-related'],
  ],
  [
    'reopened',
    ({ connections }) => Object.assign(connections, { opened: 60, closedByServer: 10 }),
    ['reopened'],
  ],
  [
    'connects that failed',
    ({ connections }) => Object.assign(connections, { failed: 2 }),
    ['connect-failed'],
  ],
  ['short', (result) => Object.assign(result, { durationMs: 500 }), ['short-run']],
  [
    'a stream without an end',
    ({ requests, unfinished }) => {
      Object.assign(requests, { sent: 4, ok: 0, inFlightAtEnd: 4 });
      Object.assign(unfinished, { atEnd: 4, succeeding: 4, headMs: 3, bytes: 4000 });
    },
    ['unfinished'],
  ],
  [
    'downloads that were in flight at the end',
    ({ unfinished }) => Object.assign(unfinished, { atEnd: 4, succeeding: 4, headMs: 3 }),
    [],
  ],
  [
    'a server that never answers',
    ({ requests }) => Object.assign(requests, { sent: 4, ok: 0, inFlightAtEnd: 4 }),
    ['all-failed'],
  ],
  [
    'a host that takes cores',
    (result) => Object.assign(result, { machine: { wantedCores: 1.2, stolenCores: 0.3 } }),
    ['cpu-stolen'],
  ],
  [
    'a host that takes a little of what is wanted',
    (result) => Object.assign(result, { machine: { wantedCores: 8, stolenCores: 0.3 } }),
    [],
  ],
  [
    'a host that takes a moment of next to nothing',
    (result) => Object.assign(result, { machine: { wantedCores: 0.05, stolenCores: 0.04 } }),
    [],
  ],
  [
    'shared cores',
    (result) => {
      result.server = { cpuMean: availableParallelism() };
    },
    ['shared-cores'],
  ],
];

for (const [name, change, ids] of CASES) {
  test(`the warnings are ${ids.join(', ') || 'none'} for ${name}`, () => {
    const warnings = findWarnings(resultWith(change), calm);
    assert.deepEqual(
      warnings.map(({ id }) => id),
      ids,
    );
    for (const { message } of warnings) assert.match(message, /^[A-Z\d].*\.$/, 'a sentence');
  });
}

test('the warnings name how the server ended, its other ports and the addresses that were left out', () => {
  const [ended, several, leftOut] = findWarnings(resultWith(), {
    refusedAddresses: ['[::1]:80'],
    serverEnded: 'ended with exit code 1',
    otherPorts: [3001, 3002],
    unreachedTargets: [],
    redirections: new Map(),
    files: null,
    extraAuthoritiesError: null,
  });
  assert.equal(
    ended.message,
    'The server ended with exit code 1, which ended the run after 10.0 s.',
  );
  assert.match(several.message, /also listens on port 3001, 3002; the load went to 127.0.0.1:8080/);
  assert.match(leftOut.message, /\[::1\]:80/);
});

test('names that are counted together are those of the targets without figures of their own', () => {
  const change = (names) => (result) => {
    result.plan.targets = names.map((name) => ({ ...result.plan.targets[0], name }));
    const [one] = result.byName;
    result.byName = ['a', 'other requests'].map((name) => ({ ...one, name }));
  };
  const [joined] = findWarnings(resultWith(change(['a', 'b', 'c', 'd'])), calm);
  assert.equal(joined.id, 'names-joined');
  assert.match(joined.message, /the requests of 3 targets are counted together/);
  assert.deepEqual(findWarnings(resultWith(change(['a', 'other requests'])), calm), []);
});

test('a target that was not reached has its own warning, and its address is not among those left out', () => {
  const dead = {
    targets: ['GET http://localhost:3001/b'],
    addresses: ['127.0.0.1:3001'],
    reason: '127.0.0.1:3001: connection refused',
  };
  const circumstances = { ...calm, refusedAddresses: dead.addresses, unreachedTargets: [dead] };
  const warnings = findWarnings(resultWith(), circumstances);
  assert.deepEqual(warnings, [
    {
      id: 'target-not-reached',
      message:
        'These targets could not be reached and were not measured: GET http://localhost:3001/b (127.0.0.1:3001: connection refused). The figures are those of the other targets.',
    },
  ]);
});

test('the advice on requests without a response depends on whether their methods are idempotent', () => {
  const withMethods = (...methods) =>
    findWarnings(
      resultWith(({ plan, requests, errors }) => {
        plan.targets = methods.map((method) => ({ method, url: 'http://h/' }));
        requests.transportErrors = 1;
        errors.push({ kind: 'closed-early', count: 1, example: null });
      }),
      calm,
    )[0].message;
  assert.match(withMethods('GET', 'PUT'), /all are idempotent/);
  assert.match(withMethods('GET', 'POST'), /POST is not idempotent/);
});

test('a TLS error whose message contains advice gets no further advice', () => {
  const withExample = (example) =>
    findWarnings(
      resultWith(({ requests, errors }) => {
        requests.transportErrors = 1;
        errors.push({ kind: 'tls', count: 1, example });
      }),
      calm,
    )[0].message;
  const asks = 'the server asks for a client certificate: --cert and --key';
  assert.equal(withExample(asks), `1 error of kind tls (${asks}).`);
  assert.match(
    withExample('h:1: invalid peer certificate: UnknownIssuer'),
    /trust it with --ca FILE/,
  );
  assert.match(withExample('handshake failure'), /: check the certificate/);
});

test('the client-bound warning has the same words as the report', () => {
  const change = ({ generator }) => Object.assign(generator, { clientBound: true, reasons: ['x'] });
  const [{ message }] = findWarnings(resultWith(change), calm);
  const { title, meaning } = clientBound;
  assert.equal(
    message,
    `${title}: x. ${meaning} ${adviseOnClientBound({ ...calmGenerator, reasons: ['x'] })}`,
  );
});

const calmGenerator = { busy: 0.1, starved: null, stalled: null, latenessMs: null, reasons: [] };

test('the advice on a client-bound run follows the cause that was measured', () => {
  const advise = (generator) => adviseOnClientBound({ ...calmGenerator, ...generator });
  const stalled = { times: [{ atMs: 0, durationMs: 500 }], samples: 0, maxMs: 0 };
  assert.match(advise({ busy: 0.9, starved: 0.1 }), /more threads \(-t\)/);
  assert.match(advise({ busy: 0.89, starved: 0.1 }), /^Another process took its core/);
  assert.match(advise({ stalled, starved: 0.1 }), /without stopping or suspending it/);
  assert.match(advise({ reasons: ['the limit of open files was reached: x'] }), /ulimit -n/);
  assert.doesNotMatch(advise({}), /threads|core|process/);
});

test('the warning of lower bounds names the first percentile and the parts of the longest time', () => {
  const late = (result) => {
    open(result);
    Object.assign(result.plan, { timeoutMs: 300 });
    Object.assign(result.requests, { ok: 6800, timeouts: 3200 });
    const bounds = { p75: true, p90: true, p95: true, p99: true, max: true, mean: true };
    Object.assign(result.latencyMs, { censored: 3200, max: 349, atLeast: bounds });
  };
  const { message } = findWarnings(resultWith(late), calm).find(({ id }) => id === 'censored');
  assert.match(
    message,
    /^32 % of the requests did not finish, so p75 and above are lower bounds \("at least"\): no request was observed for longer than 349 ms, the timeout of 300 ms and up to 49\.0 ms that requests were sent late\./,
  );
});

for (const [obstacle, first] of [
  ['it leads to another server', { location: 'https://id.test/' }],
  ['it has no Location', { location: null }],
]) {
  test(`the warning of redirections that were not followed says why: ${obstacle}`, () => {
    const redirecting = (result) => {
      result.plan.follow = 2;
      result.statusCodes = { 302: 10_000 };
    };
    const circumstances = { ...calm, redirections: new Map([[302, { ...first, obstacle }]]) };
    const { message } = findWarnings(resultWith(redirecting), circumstances)[0];
    assert.ok(
      message.includes(`which were not followed (of the first: ${obstacle}): the figures are`),
    );
  });
}

/**
 * The reasons of a run of 10,000 requests, of the closed model without a rate.
 *
 * @param {object} generator
 * @param {any} [parts]
 */
function reasonsOf(generator, { p50 = 5, p99 = p50, samples = 10_000, rate, ...rest } = {}) {
  const result = resultWith(rate === undefined ? () => {} : open);
  Object.assign(result.latencyMs, { count: samples, p50, p99 });
  Object.assign(result.generator, { starved: null, ...calmGenerator, ...generator });
  return findClientBoundReasons({ ...result, ...rest }, result.plan);
}

test('the rule of client-bound holds at its bounds', () => {
  const bound = (...run) => reasonsOf(...run).length > 0;
  const stalled = (durationMs) => ({
    stalled: { times: [{ atMs: 0, durationMs }], samples: 1, maxMs: durationMs },
  });
  assert.equal(bound({}), false);
  assert.equal(bound({ busy: 0.89 }), false);
  assert.equal(bound({ busy: 0.9 }), true);
  assert.equal(bound({ starved: 0.19 }), false);
  assert.equal(bound({ starved: 0.2 }), true);
  assert.equal(bound(stalled(999)), false, 'less than a tenth of the run');
  assert.equal(bound(stalled(1000)), true);
  const errors = [{ kind: 'fd-limit', count: 1, example: null }];
  assert.match(reasonsOf({}, { errors }).join(), /^the limit of open files was reached/);
});

test('a rate that was reached is not the generator’s, however busy it was', () => {
  const busy = { busy: 0.95, starved: 0.3 };
  assert.deepEqual(reasonsOf(busy, { rate: 1000 }), []);
  const requests = { ...resultWith().requests, sent: 9000, ok: 9000 };
  assert.equal(reasonsOf(busy, { rate: 1000, requests }).length, 2);
});

test('a generator without its core was behind where it was late by over 10 ms and a tenth of the latency', () => {
  const reasons = (generator, p99) =>
    reasonsOf({ starved: 0.3, ...generator }, { rate: 1000, p50: 5, p99 });
  const late = (p99, p50 = 0) => ({ latenessMs: { p50, p99, max: p99 } });
  assert.deepEqual(reasons(late(10), 40), [], 'a note');
  assert.match(reasons(late(11), 110).join(), /^a thread of the generator waited for a core 30 %/);
  assert.equal(reasons(late(11, 2), 110).length, 1, 'late at the median by less');
  assert.deepEqual(reasons(late(11), 111), []);
  assert.deepEqual(reasons({ ...late(11), starved: 0.19 }, 110), []);
});

test('requests that a server refused count for the rate as long as most were sent', () => {
  const bound = (sent, connectFailed) => {
    const notSent = { overflow: 0, queuedAtEnd: 0, connectFailed };
    const requests = { ...resultWith().requests, sent, ok: sent, notSent };
    return reasonsOf({ starved: 0.3 }, { rate: 1000, requests }).length > 0;
  };
  assert.equal(bound(5000, 5000), false);
  assert.equal(bound(4999, 5001), true);
});

test('lateness is the generator’s if it is half of a percentile that has enough samples', () => {
  const late = (p99, p50 = 0) => ({ latenessMs: { p50, p99, max: p99 } });
  const bound = (generator, run) => reasonsOf(generator, { rate: 1000, ...run }).length > 0;
  assert.equal(bound(late(1), { p99: 1 }), false, 'not more than 1 ms');
  assert.equal(bound(late(1.1), { p99: 2.2 }), true);
  assert.equal(bound(late(1.1), { p99: 2.3 }), false, 'less than half');
  assert.equal(bound(late(9), { p99: 9, samples: 99 }), false);
  assert.equal(bound(late(9), { p99: 9, samples: 100 }), true);
  assert.equal(bound(late(9, 5), { p50: 5, p99: 90, samples: 19 }), false);
  assert.equal(bound(late(9, 5), { p50: 5, p99: 90, samples: 20 }), true);
});

test('more connections are advised only where all have been opened', () => {
  const messages = (opened) => {
    const result = resultWith((result) => {
      open(result);
      Object.assign(result.requests, { sent: 9000, ok: 9000 });
      result.latencyMs.p99 = 50;
      result.connections.opened = opened;
    });
    return findWarnings(result, calm)
      .map(({ message }) => message)
      .join('\n');
  };
  const { connections } = resultWith(() => {}).plan;
  assert.match(messages(connections), /Lower it \(-R\), or allow more.*raise -c \(now/s);
  assert.match(
    messages(connections - 1),
    /Lower it \(-R\)\.\n.*open connections before the start: -c N/s,
  );
});

test('the reason of late requests names the cause if one was measured', () => {
  const late = { latenessMs: { p50: 0, p99: 8, max: 8 } };
  const reason = (generator) => reasonsOf({ ...late, ...generator }, { rate: 1000, p99: 9 }).join();
  assert.equal(reason({}), 'requests were sent late: 8.00 ms of the p99 of 9.00 ms is lateness');
  // Of requests of which many have not ended.
  const more = { latenessMs: { p50: 0, p99: 12, max: 12 } };
  assert.match(reason(more), /late: all of the p99 of 9\.00 ms is lateness$/);
  assert.match(
    reason({ starved: 0.1 }),
    /lateness, as a thread of the generator waited for a core/,
  );
  const stalled = { times: [{ atMs: 0, durationMs: 500 }], samples: 9, maxMs: 500 };
  assert.match(reason({ stalled }), /lateness, as the generator stood still for 500 ms$/);
});

test('exit codes have their order', () => {
  const code = (change, strict = false, failedConditions = 0, conditions = failedConditions) =>
    exitCode(resultWith(change), { strict, conditions, failedConditions });
  const clientBound = ({ generator }) => Object.assign(generator, { clientBound: true });
  const slow = ({ warnings }) => warnings.push({ id: 'rate-not-reached', message: '' });
  const failed = (result) => {
    slow(result);
    result.requests.ok = 0;
  };
  assert.equal(code(), 0);
  assert.equal(code(clientBound), 0);
  assert.equal(code(clientBound, true), 4);
  assert.equal(code(slow), 4);
  assert.equal(code(slow, false, 1), 99);
  assert.equal(code(failed, false, 1), 3);
  const unreached = ({ warnings }) => warnings.push({ id: 'target-not-reached', message: '' });
  assert.equal(code(unreached), 3);
  const interrupted = (result) => Object.assign(result, { interrupted: true });
  assert.equal(code(interrupted), 0);
  assert.equal(code(interrupted, true), 130, 'a gate that saw a part of its run');
  assert.equal(code(interrupted, false, 0, 1), 130);
  assert.equal(code(interrupted, true, 1), 99);
  const nothing = (result) => Object.assign(interrupted(result).requests, { sent: 0, ok: 0 });
  assert.equal(code(nothing), 130);
});
