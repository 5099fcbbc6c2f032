// The baseline before any experiment, on a simulated server whose queue outlives its clients.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { measureBaseline } from '#internal/explain/phases/baseline.js';
import { buildHealthyMetrics } from '../../fixtures/explain/metrics.js';

const CAPACITY = 120;
const ALONE_MS = 41;
const SAMPLED = { sample: null, unknownPath: null, durationMs: ALONE_MS, identityBytes: null };

/** Stands in for a server of one queue, asked at a rate: blocks take no time. */
class Simulated {
  hub = null;
  responseCount = 0;
  queued = 0;
  /** What was asked of it, in order. */
  blocks = [];
  #connections = null;

  constructor(rate) {
    this.options = { rate };
  }

  /** What the system shows of it without load: always the same, or a list of what it shows in turn. */
  outside = null;
  /** Cores that other programs use under load. */
  othersUnderLoad = 0;

  async waitIdle() {
    return { fromMs: 0, toMs: 0 };
  }

  observedBetween() {
    return Array.isArray(this.outside) ? this.outside.shift() : this.outside;
  }

  useClosedLoad(connections) {
    this.#connections = connections;
  }

  lengths = [];

  async runBlock({ settleMs, measureMs }, { oneAtATime = false } = {}) {
    const seconds = (settleMs + measureMs) / 1000;
    this.lengths.push(settleMs + measureMs);
    const before = this.queued;
    const isOpen = !oneAtATime && this.#connections === null;
    this.blocks.push({ oneAtATime, isOpen, queuedBefore: before });
    const asked = isOpen ? this.options.rate * seconds : 0;
    this.queued = Math.max(0, before + asked - CAPACITY * seconds);
    const closed = before > 0 ? 0 : CAPACITY;
    const throughput = isOpen ? Math.min(this.options.rate, CAPACITY) : closed;
    return this.#seen({ isOpen, throughput, waitMs: (1000 * before) / CAPACITY, measureMs });
  }

  #seen({ isOpen, throughput, waitMs, measureMs }) {
    const { base } = structuredClone(buildHealthyMetrics());
    const { load } = base;
    base.outside.cpu.others = this.othersUnderLoad;
    const open = { model: 'open', rate: this.options.rate, connections: 1000 };
    const closed = { model: 'closed', rate: null, connections: this.#connections ?? 1 };
    Object.assign(load.plan, isOpen ? open : closed);
    Object.assign(load, { durationMs: measureMs, meanInFlight: isOpen ? this.queued : 1 });
    load.latencyMs.p50 = ALONE_MS + waitMs;
    load.requests.sent = 1000;
    return { ...base, throughput };
  }
}

async function measure(
  rate,
  { canAddLoad = true, outside = null, othersUnderLoad = 0, warmupMs = 0 } = {},
) {
  const subject = new Simulated(rate);
  Object.assign(subject, { outside, othersUnderLoad });
  const untilMs = performance.now() + 60_000;
  const options = { setting: () => ({ canAddLoad }), untilMs, warmupMs, onStep() {} };
  return { subject, ...(await measureBaseline(subject, SAMPLED, options)) };
}

test('a rate that is sustained stays the load', async () => {
  const { metrics } = await measure(100);
  assert.deepEqual([metrics.overload, metrics.model], [null, 'open']);
});

test('a closed load replaces a rate that is not sustained, once its queue is empty', async () => {
  const { metrics, subject } = await measure(200);
  assert.deepEqual(metrics.overload, { rate: 200, answered: CAPACITY });
  assert.equal(metrics.model, 'closed');
  assert.equal(metrics.throughput, CAPACITY);
  const last = subject.blocks.at(-1);
  assert.deepEqual(last, { oneAtATime: false, isOpen: false, queuedBefore: 0 });
  const waits = subject.blocks.filter(
    ({ oneAtATime, queuedBefore }) => oneAtATime && queuedBefore > 0,
  );
  assert.ok(waits.length > 1, JSON.stringify(subject.blocks));
});

test('a requested warm-up precedes the measurement and takes at most half of the time', async () => {
  const { subject } = await measure(100, { warmupMs: 7777 });
  assert.ok(subject.lengths.includes(7777), `${subject.lengths}`);
  const { subject: other } = await measure(100, { warmupMs: 600_000 });
  assert.ok(Math.max(...other.lengths) <= 30_000, `${other.lengths}`);
});

test('the rate stays the load if no other load is allowed', async () => {
  const { metrics } = await measure(200, { canAddLoad: false });
  assert.deepEqual([metrics.overload, metrics.model], [null, 'open']);
});

test('work without load counts only the loops that serve the load', async () => {
  const { outside } = buildHealthyMetrics().base;
  const [server] = outside.processes;
  const processes = [
    { ...server, main: { ...server.main, run: 0.02 } },
    // A process of the same command that encodes videos all the time.
    { ...server, pid: 101, main: { ...server.main, pid: 101, run: 0.6 } },
  ];
  const { metrics } = await measure(100, { outside: { ...outside, processes } });
  assert.equal(metrics.idleShare, 0.02);
});

test('other programs that use cores under load are observed without load before and after it', async () => {
  const { outside } = buildHealthyMetrics().base;
  const [server] = outside.processes;
  const processes = [{ ...server, main: { ...server.main, run: 0.01 } }];
  const views = [0.05, 0.9].map((others) => ({
    ...outside,
    processes,
    cpu: { ...outside.cpu, others },
  }));
  const idleOthers = async (othersUnderLoad) => {
    const { metrics } = await measure(100, { outside: [...views], othersUnderLoad });
    return metrics.idleOthers;
  };
  // What starts after the first look is no database that works for the requests.
  assert.equal(await idleOthers(1), 0.9);
  assert.equal(await idleOthers(0.1), 0.05);
});
