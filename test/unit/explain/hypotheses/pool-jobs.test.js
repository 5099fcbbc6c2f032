// The thread pool: what runs in it, and name look-ups, which get only half of its threads.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { sumPoolJobs } from '#internal/explain/observe/probe/pool-jobs.js';
import { evaluate } from '../../../fixtures/explain/evaluation.js';

describe('name look-ups that fill their half of the thread pool', () => {
  /** 20 requests in flight, which call a service by name; 30 end per second. */
  const lookUp =
    (pending, size = null) =>
    (metrics) => {
      Object.assign(metrics, { inFlight: 20, maxConcurrency: 20, throughput: 32 });
      Object.assign(metrics, { responseMs: 640, unloadedLatencyMs: 68 });
      const { inside } = metrics.base;
      Object.assign(inside, { resources: { GetAddrInfoReqWrap: pending }, threadPoolSize: size });
      Object.assign(inside.outbound[0], { answering: 19.8, answerMs: 630, answerP50Ms: 630 });
    };

  test('are the limit, though other jobs of the pool do not wait', () => {
    const { hypothesis } = evaluate('threadpool', lookUp(19.5));
    assert.match(hypothesis.sentence, /name look-ups .* 4 threads run at most 2 at a time/);
    assert.match(hypothesis.remedy.change, /UV_THREADPOOL_SIZE=16.* 8 look-ups/);
    // 32 x 4 = 128/s, fewer than 20 requests of 68 ms each ask for.
    const { low, high } = hypothesis.remedy.predictedThroughput;
    assert.ok(low > 100 && low < 128 && high > 128 && high < 160);
  });

  test('are found though none of them ended, and promise nothing then', () => {
    const { hypothesis } = evaluate('threadpool', (metrics) => {
      lookUp(34)(metrics);
      metrics.throughput = 0;
    });
    assert.match(hypothesis.sentence, /20\.0 of 20 requests in flight/);
    assert.equal(hypothesis.remedy.predictedThroughput, null);
  });

  test('are not the limit if fewer of them are pending than can run', () => {
    assert.equal(evaluate('threadpool', lookUp(2)).hypothesis, undefined);
    assert.equal(evaluate('threadpool', lookUp(19.5, '64')).hypothesis, undefined);
  });

  test('are not taken for a slow or saturated service, whose calls begin with them', () => {
    for (const limit of ['saturated-dependency', 'slow-dependency']) {
      const { hypothesis, why } = evaluate(limit, lookUp(19.5));
      assert.equal(hypothesis, undefined);
      assert.match(why, /19\.5 of 20 calls are still looking up the name/);
    }
    assert.notEqual(
      evaluate('saturated-dependency', (metrics) => {
        lookUp(0)(metrics);
        metrics.single.inside = structuredClone(metrics.single.inside);
        Object.assign(metrics.single.inside.outbound[0], { answerMs: 60, answerP50Ms: 60 });
      }).hypothesis,
      undefined,
    );
  });
});

describe('the jobs of a full thread pool', () => {
  const full = (change) => (metrics) => {
    metrics.base.inside = { ...metrics.base.inside, poolMs: { mean: 40, max: 60 } };
    change(metrics);
  };
  const compute = (metrics) => {
    const [process] = metrics.base.outside.processes;
    process.others = [101, 102, 103, 104].map((tid) => ({ ...process.main, tid, run: 0.95 }));
    Object.assign(metrics.base.outside.cpu, { server: 4, idle: 0 });
  };

  test('that compute are named as they were counted, and so is what makes them cheaper', () => {
    const name = (poolJobs) =>
      evaluate(
        'threadpool',
        full((metrics) => {
          compute(metrics);
          metrics.poolJobs = { compression: 0, cryptography: 0, files: 0, lookups: 0, ...poolJobs };
        }),
      ).hypothesis;
    const hashes = name({ cryptography: 500, files: 900 });
    assert.match(hashes.sentence, /which runs cryptography \(crypto\):/);
    assert.match(hashes.remedy.change, /lower cost factor/);
    assert.match(name({ compression: 200 }).sentence, /which runs compression \(zlib\):/);
    assert.match(
      name({ compression: 200, cryptography: 300 }).sentence,
      /crypto.* and compression/,
    );
  });

  test('that wait for files are named', () => {
    const { hypothesis } = evaluate(
      'threadpool',
      full(({ base }) => Object.assign(base.inside, { resources: { FSReqPromise: 40 } })),
    );
    assert.match(hypothesis.sentence, /which runs file access \(fs\):/);
  });

  test('are not named if nothing is known of them', () => {
    assert.match(
      evaluate('threadpool', full(compute)).hypothesis.sentence,
      /^the thread pool: all/,
    );
  });
});

test('resources of async_hooks are summed by kind', () => {
  const counts = [
    { ZLIB: 2, PBKDF2REQUEST: 3 },
    { FSREQCALLBACK: 4, SCRYPTREQUEST: 1 },
  ];
  assert.deepEqual(sumPoolJobs(counts), { compression: 2, cryptography: 4, files: 4, lookups: 0 });
  assert.equal(sumPoolJobs([{ GETADDRINFOREQWRAP: 7 }]).lookups, 7);
});
