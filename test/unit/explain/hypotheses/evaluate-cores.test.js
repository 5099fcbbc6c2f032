// Detectors of limits by cores: who uses them, how many a quota allows, and the gain of further ones.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  computeBusyMs,
  deriveMachineUse,
  deriveMetrics,
  refineMetrics,
} from '#internal/explain/metrics/derive.js';
import { detect, evaluate } from '../../../fixtures/explain/evaluation.js';
import { buildHealthyMetrics } from '../../../fixtures/explain/metrics.js';

describe('a generator at its limit', () => {
  const second = (cpu) =>
    evaluate('generator-saturated', (metrics) => {
      metrics.base.load.generator = { ...metrics.base.load.generator, busy: 0.99, starved: 0 };
      Object.assign(metrics.base.outside.cpu, { server: 0.57, self: 0.99, others: 0, ...cpu });
      metrics.machine = deriveMachineUse([metrics.base]);
    }).hypothesis;

  test('yields more with a second one that has a core', () => {
    const { predictions, remedy } = second({ cores: 4, idle: 2.4 });
    assert.ok(predictions['generator-threads-x2'].low > 1);
    assert.match(remedy.change, /-t/);
  });

  test('may yield nothing with a second one whose core the host may withhold', () => {
    const { predictions, remedy } = second({ cores: 16, idle: 14, wanted: 2, steal: 0.4 });
    const { low, high } = predictions['generator-threads-x2'];
    assert.ok(low < 0.85 && high > 1.9 && high < 2.2, `${low} to ${high}`);
    assert.match(remedy.change, /-t/);
  });

  test('yields less with a second one that takes the core of the server', () => {
    const { predictions, remedy } = second({ cores: 2, idle: 0.4 });
    assert.ok(predictions['generator-threads-x2'].low < 0.85);
    assert.match(remedy.change, /another machine/);
  });
});

test('injected work first uses the idle time of a loop, and then costs throughput', () => {
  const injected = (busy) => {
    const metrics = buildHealthyMetrics();
    Object.assign(metrics.loop, { busy, run: busy });
    return detect('event-loop-cpu', metrics).predictions['cpu-injection'];
  };
  const [full, nearly] = [injected(1), injected(0.88)];
  assert.ok(Math.abs(nearly.high / full.high - 1 / 0.88) < 0.001, `${nearly.high}, ${full.high}`);
  assert.equal(nearly.low, full.low);
});

test('a second process may save the collections that a busy loop makes, as each has fewer requests in flight', () => {
  const predicted = (young) => {
    const metrics = buildHealthyMetrics();
    Object.assign(metrics.loop, { busy: 1, run: 1 });
    Object.assign(metrics.base.outside.cpu, { cores: 4, others: 0 });
    metrics.base.inside.gc = { young, old: 0, other: 0, longestMs: 5 };
    return detect('event-loop-cpu', metrics).predictions['second-process'];
  };
  const [without, with40] = [predicted(0), predicted(0.4)];
  assert.ok(Math.abs(with40.high - without.high / 0.6) < 1e-9, `${with40.high}, ${without.high}`);
  assert.equal(with40.low, without.low);
});

describe('without a CPU quota', () => {
  /** 250 requests per second with a quarter of a core, each of 1 ms in the loop and 1.2 ms in all threads. */
  const unbound = (change = () => {}) =>
    evaluate('cpu-quota', (metrics) => {
      const { outside } = metrics.base;
      outside.quota = { cores: 0.25, throttledPeriods: 1, throttledShare: 0.8 };
      const quota = { cores: 0.25, throttledPeriods: 0, throttledShare: 0 };
      metrics.single = { ...metrics.single, outside: { ...outside, quota } };
      Object.assign(outside.processes[0].main, { run: 0.25 });
      outside.cpu.server = 0.3;
      metrics.base.throughput = 250;
      Object.assign(metrics, { throughput: 250, unloadedLatencyMs: 2 });
      change(metrics);
    }).hypothesis.remedy.predictedThroughput;

  test('one loop can be busy all the time', () => {
    const { low, high } = unbound();
    assert.ok(
      Math.abs(low - 1000 / 1.2) < 1e-9 && Math.abs(high - 1100) < 1e-9,
      `${low} to ${high}`,
    );
  });

  test('throughput is no more than the requests in flight ask for', () => {
    const { low, high } = unbound((metrics) =>
      Object.assign(metrics, { maxConcurrency: 20, unloadedLatencyMs: 51 }),
    );
    assert.ok(low < 393 && high < 393 && low > 350, `${low} to ${high}`);
  });

  test('a single request is not stopped either', () => {
    // A single request took 20 ms, for 15 of which the server was stopped: 2 / 5 ms.
    const { high } = unbound((metrics) => {
      Object.assign(metrics, { maxConcurrency: 2, unloadedLatencyMs: 20 });
      const quota = { cores: 0.25, throttledPeriods: 1, throttledShare: 0.75 };
      metrics.single = { ...metrics.single, outside: { ...metrics.base.outside, quota } };
    });
    assert.ok(Math.abs(high - 400) < 1e-9, `${high}`);
  });

  test('a request that several threads work on takes no longer than before', () => {
    // 1.2 ms of CPU on all threads, in 0.8 ms.
    const { high } = unbound((metrics) =>
      Object.assign(metrics, { maxConcurrency: 0.5, unloadedLatencyMs: 0.8 }),
    );
    assert.ok(Math.abs(high - 625) < 1e-9, `${high}`);
  });

  test('throughput is no less than before', () => {
    const { low } = unbound((metrics) => {
      metrics.base.outside.cpu.server = 1.5;
    });
    assert.equal(low, 250);
  });
});

describe('noisy-machine', () => {
  const crowded = {
    cores: 2,
    server: 0.6,
    self: 0.1,
    others: 1.2,
    dependencies: 0,
    idle: 0.1,
    wanted: 1.9,
    steal: 0,
  };

  test('programs that come and go are measured over all blocks', () => {
    const { hypothesis } = evaluate('noisy-machine', (metrics) => {
      const [process] = metrics.base.outside.processes;
      const starved = {
        ...metrics.base,
        outside: {
          ...metrics.base.outside,
          cpu: crowded,
          processes: [{ ...process, main: { ...process.main, run: 0.55, queued: 0.45 } }],
        },
      };
      const quiet = deriveMetrics(metrics);
      return { ...quiet, machine: deriveMachineUse([metrics.base, starved, starved, starved]) };
    });
    assert.match(hypothesis.sentence, /other processes use 0.9/);
  });

  test('what the service calls on this machine is no noise', () => {
    const crowd = (dependencies) =>
      evaluate('noisy-machine', (metrics) => {
        const [{ main, ...process }] = metrics.base.outside.processes;
        metrics.base.outside = {
          ...metrics.base.outside,
          cpu: { ...crowded, dependencies },
          processes: [{ ...process, main: { ...main, run: 0.55, queued: 0.45 } }],
        };
        return deriveMetrics(metrics);
      });
    assert.match(crowd(0.1).hypothesis.sentence, /other processes use 1.10/);
    assert.match(crowd(1.1).why, /that the service is not seen to call use 0.10 cores/);
  });

  /** Metrics of a loop whose host takes `steal` of the `wanted` cores, and whose thread had `run`. */
  const withSteal = (steal, { run = 0.45, utilization = 0.99, wanted = 1.4 } = {}) => {
    const metrics = buildHealthyMetrics();
    const { outside, inside } = metrics.base;
    const [process] = outside.processes;
    const main = { ...process.main, run, queued: 0.05 };
    metrics.base.inside = { ...inside, utilization };
    metrics.base.outside = {
      ...outside,
      cpu: {
        ...{ cores: 2, server: run, self: 0.1, others: 0, dependencies: 0 },
        ...{ idle: 2 - wanted, wanted, steal },
      },
      processes: [{ ...process, main }],
    };
    return deriveMetrics(metrics);
  };

  test('steal from a busy loop is the limit, though another core is idle', () => {
    const metrics = withSteal(0.7);
    assert.ok(metrics.base.outside.cpu.idle > 0.5);
    const hypothesis = detect('noisy-machine', metrics);
    // Half of the wanted time is stolen: the thread ran for 0.45, half of what it wanted but for the queue.
    assert.match(hypothesis.sentence, /takes 50 % .* lacks its core 45 % of the time/);
    const { low, high } = hypothesis.remedy.predictedThroughput;
    assert.ok(low < 2000 && 2000 < high, `${low} to ${high}`);
    // The host holds it back, not a synchronous call.
    assert.ok(metrics.loop.waiting < 0.05, `${metrics.loop.waiting}`);
    assert.match(detect('event-loop-sync-wait', metrics).why, /without a core/);
    // The loop is busy nonetheless, and the only one.
    assert.ok(detect('event-loop-cpu', metrics).weight >= 0.7);
    assert.ok('weight' in detect('single-core', { ...metrics, base: withIdle(metrics.base, 0.7) }));
  });

  const withIdle = (base, idle) => ({
    ...base,
    outside: { ...base.outside, cpu: { ...base.outside.cpu, idle } },
  });

  test('without a probe no time counts as stolen, as the time on a core may include it', () => {
    const { loop } = withSteal(0.5, { utilization: null });
    assert.deepEqual([loop.stolen, loop.busy], [0, 0.5]);
  });

  test('without a probe a host that takes most of the wanted CPU time is the only possible verdict', () => {
    const unseen = (metrics) => ({ ...metrics, loop: { ...metrics.loop, isFromProbe: false } });
    const taken = withSteal(1, { run: 0.4, wanted: 1.5, utilization: null });
    assert.equal(taken.loop.isFromProbe, false);
    const hypothesis = detect('noisy-machine', taken);
    assert.match(hypothesis.sentence, /takes 67 % .* without the probe it is unknown/);
    assert.ok(hypothesis.weight >= 0.7);
    // If throughput doubled, a core was not what was missing.
    assert.ok(hypothesis.predictions['connections-x2'].high < 1.5);
    // A loop that would not be busy even with the stolen time, and one with less steal.
    assert.equal(
      detect('noisy-machine', unseen(withSteal(1, { run: 0.1, wanted: 1.5 }))).weight,
      undefined,
    );
    assert.equal(
      detect('noisy-machine', unseen(withSteal(0.4, { run: 0.6, wanted: 1.5 }))).weight,
      undefined,
    );
  });

  test('a little steal is not the limit and does not explain a synchronous wait', () => {
    const metrics = withSteal(0.1, { wanted: 1 });
    assert.match(detect('noisy-machine', metrics).why, /idle/);
    assert.ok(Math.abs(metrics.loop.stolen - 0.05) < 1e-9, `${metrics.loop.stolen}`);
    assert.ok(metrics.loop.waiting > 0.4, `${metrics.loop.waiting}`);
    assert.ok(detect('event-loop-sync-wait', metrics).weight > 0.5);
  });

  test('a synchronous wait is not named if the host may have taken most of the missing time', () => {
    const metrics = withSteal(0.4, { run: 0.55, wanted: 2.2 });
    assert.ok(metrics.loop.waiting > 0.25 * metrics.loop.busy);
    assert.ok(metrics.loop.waiting > 0.2, `${metrics.loop.waiting}`);
    assert.match(
      detect('event-loop-sync-wait', metrics).why,
      /without a core .*, of which the host may have taken/,
    );
  });

  test('a little steal among many threads does not explain a synchronous wait', () => {
    const metrics = withSteal(0.6, { run: 0.45, wanted: 30 });
    assert.ok(detect('event-loop-sync-wait', metrics).weight > 0.5);
  });

  test('the time that was missing in one block is averaged over all blocks', () => {
    const metrics = withSteal(0.4, { run: 0.6, wanted: 2.2 });
    const { base } = withSteal(0, { run: 0.94 });
    const { loop, machine } = refineMetrics(metrics, [base, base, base]);
    assert.ok(Math.abs(machine.cpu.steal - 0.1) < 1e-9);
    const near = { run: 0.855, queued: 0.05, busy: 0.99 };
    for (const [name, value] of Object.entries(near)) {
      assert.ok(Math.abs(loop[name] - value) < 1e-9, `${name} ${loop[name]}`);
    }
    assert.ok(loop.waiting < 0.06 && loop.stolen > 0.01, `${loop.waiting} ${loop.stolen}`);
    assert.ok(Math.abs(loop.run + loop.queued + loop.stolen + loop.waiting - loop.busy) < 1e-9);
  });

  test('a core that the host may withhold does not count for a second process', () => {
    const second = (metrics) =>
      detect('event-loop-cpu', { ...metrics, unloadedLatencyMs: 1 }).predictions['second-process']
        .low;
    assert.ok(second(withSteal(0, { run: 0.94 })) > 1);
    assert.ok(second(withSteal(0.3, { run: 0.72, wanted: 1.4 })) < 0.9);
  });

  test('two loops yield no more than the requests in flight ask for', () => {
    const metrics = withSteal(0, { run: 0.94 });
    const least = (unloadedLatencyMs) =>
      detect('event-loop-cpu', { ...metrics, unloadedLatencyMs }).predictions['second-process'].low;
    assert.equal(least(null), 1.05);
    assert.equal(least(1), 1.05);
    // Requests take as long alone as with others.
    assert.equal(least((metrics.maxConcurrency * 1000) / metrics.throughput), 0.95);
  });

  test('the use of other threads and the generator does not bound the gain of a second process', () => {
    const metrics = withSteal(0, { run: 0.72 });
    Object.assign(metrics.base.outside.cpu, { server: 1.3, self: 0.4 });
    const { low, high } = detect('event-loop-cpu', {
      ...metrics,
      loop: { ...metrics.loop, run: 0.9 },
    }).predictions['second-process'];
    assert.ok(low < 1.06 && high > 2, `${low} to ${high}`);
  });

  test('the arithmetic of a busy loop states how much of its time the host takes', () => {
    const [most] = detect('event-loop-cpu', withSteal(0.7)).arithmetic;
    assert.match(most, /the machine's host takes its core 45 % of the time \(steal\)$/);
    assert.doesNotMatch(
      detect('event-loop-cpu', withSteal(0, { run: 0.94 })).arithmetic[0],
      /host/,
    );
  });

  /** Two processes with loops `[run, utilization]`, of whose wanted time the host takes `part`. */
  const two = (loops, part) => {
    const metrics = structuredClone(buildHealthyMetrics());
    const { outside, inside } = metrics.base;
    const [process] = outside.processes;
    const pids = loops.map((_, index) => 100 + index);
    const processes = loops.map(([run], index) => {
      const pid = pids[index];
      return { ...process, pid, main: { ...process.main, pid, run, queued: 0 } };
    });
    const busy = loops.map(([, utilization]) => utilization);
    const busyLoops = busy.reduce((sum, one) => sum + one, 0);
    Object.assign(inside, { pids, processes: 2, utilization: Math.max(...busy), busyLoops });
    const cpu = { ...outside.cpu, wanted: 2, steal: 2 * part };
    return deriveMetrics({
      ...metrics,
      base: { ...metrics.base, outside: { ...outside, cpu, processes } },
    });
  };

  test('no time counts as stolen from a second loop whose busy time is explained', () => {
    const loops = [
      [0.95, 0.95],
      [0.3, 0.3],
    ];
    const { base } = two(loops, 0.25);
    assert.ok(Math.abs(computeBusyMs(base) - (1000 * 1.25) / base.throughput) < 1e-9);
  });

  test('a worker with stolen time is the busiest nonetheless', () => {
    const loops = [
      [0.6, 0.88],
      [0.1, 0.15],
    ];
    const imbalance = detect('worker-imbalance', two(loops, 0.32));
    assert.match(imbalance.sentence, /one is on a core 88 % of the time/);
  });

  test('balanced workers gain as much as there are cores for', () => {
    const judgement = (cpu) => {
      const metrics = two(
        [
          [1, 1],
          [0.2, 0.2],
        ],
        0,
      );
      // Observing takes most of the generator's time, however few requests there are.
      Object.assign(metrics.base.outside.cpu, { self: 0.4, ...cpu });
      const { remedy, arithmetic } = detect('worker-imbalance', metrics);
      const { low, high } = remedy.predictedThroughput;
      const gain = [low, high].map((one) => (one / metrics.throughput).toFixed(2));
      return { gain, arithmetic: arithmetic.join(), next: remedy.nextLimit };
    };
    const free = judgement({ cores: 4, server: 1.2 });
    assert.deepEqual(free.gain, [(0.85 / 0.6).toFixed(2), (1 / 0.6).toFixed(2)]);
    assert.equal(free.next, 'event-loop-cpu');
    const tight = judgement({ cores: 2, server: 1.59 });
    assert.deepEqual(tight.gain, ['1.06', '1.25']);
    assert.match(tight.arithmetic, /the cores suffice for/);
    assert.equal(tight.next, 'shared-cores');
    assert.deepEqual(judgement({ cores: 2, server: 2 }).gain, ['1.00', '1.05']);
  });

  test('a busy loop that loses a quarter of its time to the host has another limit', () => {
    const metrics = withSteal(0.5);
    assert.ok(metrics.loop.stolen > 0.2 && metrics.loop.stolen < 0.3, `${metrics.loop.stolen}`);
    const busy = {
      ...metrics,
      machine: { ...metrics.machine, loop: { run: 0.7, queued: 0, stolen: 0.29 } },
    };
    assert.equal(detect('noisy-machine', busy).weight, undefined);
  });

  test('a loop that is not busy is not limited by steal', () => {
    const metrics = withSteal(1, { run: 0.3, utilization: 0.7, wanted: 2 });
    assert.ok(metrics.loop.stolen > 0.29, `${metrics.loop.stolen}`);
    assert.match(detect('noisy-machine', metrics).why, /takes 50 % of the wanted CPU time/);
  });

  test('other programs that take more than the host precede it', () => {
    const metrics = withSteal(0.8, { wanted: 2 });
    const loop = { run: 0.3, queued: 0.4, stolen: 0.31 };
    assert.match(
      detect('noisy-machine', { ...metrics, machine: { ...metrics.machine, loop } }).why,
      /host takes/,
    );
  });
});
