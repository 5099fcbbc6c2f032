import type { Session } from 'node:inspector';
import { memoryUsage } from 'node:process';
import type { AllocatedObjects, AllocationProfile, AllocationTree } from '../protocol.cjs';
import { every, pause } from './clock.cjs';
import { openInspector, post, withInspector } from './inspector.cjs';
import { restoreCallFrames } from './source-places.cjs';

/** Share of the time for a first sampling that estimates the allocation rate, and its interval in bytes. */
const PILOT_SHARE = 0.15;
const PILOT_INTERVAL = 256 * 1024;
/** Number of samples to aim at: a site that allocates a tenth is measured to 4 %, and all cost a few hundred ms. */
const WANTED_SAMPLES = 8000;
/** Range of the mean number of bytes between two samples. */
const [MIN_INTERVAL, MAX_INTERVAL] = [1024, 1024 * 1024];
/** How often the memory outside the heap is read. */
const OUTSIDE_MS = 5;
/** Maximum number of nodes of a tree: further nodes count for their callers. */
const MAX_NODES = 20_000;

/** A node of V8's sampling heap profile. Sizes are estimates of all bytes that were allocated there, not only of the samples. */
interface SamplingNode {
  id: number;
  callFrame: AllocationTree['frames'][number];
  selfSize: number;
  children: SamplingNode[];
}

interface SamplingProfile {
  head: SamplingNode;
  samples: { size: number; nodeId: number }[];
}

/** Samples what is allocated, also what is collected meanwhile. The number of samples does not depend on the rate. */
export function sampleAllocations(
  ms: number,
  countRequests: () => number,
): Promise<AllocationProfile> {
  return withInspector(async (session) => {
    if (await isSampling(session)) throw new Error('the service samples its heap by itself');
    const pilotMs = PILOT_SHARE * ms;
    const pilot = await sampleFor(session, pilotMs, PILOT_INTERVAL);
    const restMs = ms - pilotMs;
    const expected = (sumSizes(pilot.head) / pilotMs) * restMs;
    const interval = Math.min(MAX_INTERVAL, Math.max(MIN_INTERVAL, expected / WANTED_SAMPLES));
    const outside = new OutsideAllocations();
    const before = countRequests();
    const { head } = await sampleFor(session, restMs, Math.round(interval)).finally(outside.stop);
    return {
      pid: process.pid,
      requests: countRequests() - before,
      tree: flatten(head).tree,
      outsideBytes: outside.bytes,
    };
  });
}

/** Whether the heap is being sampled. V8 has one sampler: another user would lose it. */
async function isSampling(session: Session): Promise<boolean> {
  return post(session, 'HeapProfiler.getSamplingProfile').then(
    () => true,
    () => false,
  );
}

async function sampleFor(session: Session, ms: number, interval: number): Promise<SamplingProfile> {
  await post(session, 'HeapProfiler.startSampling', {
    samplingInterval: interval,
    includeObjectsCollectedByMajorGC: true,
    includeObjectsCollectedByMinorGC: true,
  });
  await pause(ms);
  return stopSampling(session);
}

async function stopSampling(session: Session): Promise<SamplingProfile> {
  const { profile } = (await post(session, 'HeapProfiler.stopSampling')) as {
    profile: SamplingProfile;
  };
  return profile;
}

/** Bytes of ArrayBuffers, whose memory is outside the heap: at least as many as the sum of all rises that are seen. */
class OutsideAllocations {
  bytes = 0;
  #level = memoryUsage().arrayBuffers;
  readonly #timer = every(OUTSIDE_MS, () => {
    const level = memoryUsage().arrayBuffers;
    this.bytes += Math.max(0, level - this.#level);
    this.#level = level;
  });
  readonly stop = () => clearInterval(this.#timer);
}

/** Interval at which objects that stay are sampled: of 6 MB that stay there are thousands of samples. */
const LIVE_INTERVAL = 2048;

/** Samples what is allocated and stays. */
export class LiveAllocations {
  #session: Session | null = null;

  /** Starts, unless the service samples its heap by itself. */
  async start(): Promise<void> {
    this.stop();
    const session = await openInspector();
    if (await isSampling(session)) {
      session.disconnect();
      return;
    }
    this.#session = session;
    await post(this.#session, 'HeapProfiler.startSampling', { samplingInterval: LIVE_INTERVAL });
  }

  /** Returns what was allocated since the start and is still in use. */
  async read(): Promise<AllocatedObjects | null> {
    const session = this.#session;
    if (!session) return null;
    const { head, samples } = await stopSampling(session);
    const { tree, indexes } = flatten(head);
    // By the same session, as the end of any session gives objects new ids.
    await restoreCallFrames(tree.frames, (use) => use(session));
    return { tree, interval: LIVE_INTERVAL, objects: groupSamples(samples, indexes) };
  }

  /** Closes the session. V8 then gives all objects new ids, so that snapshots before and after cannot be compared. */
  stop(): void {
    this.#session?.disconnect();
    this.#session = null;
  }
}

/** Counts the samples by node and size. */
function groupSamples(
  samples: SamplingProfile['samples'],
  indexes: ReadonlyMap<number, number>,
): AllocatedObjects['objects'] {
  const counts = new Map<string, AllocatedObjects['objects'][number]>();
  for (const { size, nodeId } of samples) {
    const node = indexes.get(nodeId);
    if (node === undefined) continue;
    const key = `${node} ${size}`;
    const known = counts.get(key);
    if (known) known.samples++;
    else counts.set(key, { node, size, samples: 1 });
  }
  return [...counts.values()];
}

function sumSizes({ selfSize, children }: SamplingNode): number {
  return children.reduce((sum, child) => sum + sumSizes(child), selfSize);
}

/** Converts a tree to arrays; `indexes` has the index of each of V8's nodes by its id. */
function flatten(head: SamplingNode): { tree: AllocationTree; indexes: Map<number, number> } {
  const tree: AllocationTree = { frames: [], parents: [], frameOf: [], bytes: [] };
  const indexes = new Map<number, number>();
  const frameIds = new Map<string, number>();
  const numberFrame = ({
    functionName,
    url,
    lineNumber,
    columnNumber,
  }: SamplingNode['callFrame']) => {
    const key = `${functionName}\n${url}:${lineNumber}:${columnNumber}`;
    const known = frameIds.get(key);
    if (known !== undefined) return known;
    frameIds.set(key, tree.frames.length);
    return tree.frames.push({ functionName, url, lineNumber, columnNumber }) - 1;
  };
  const visit = (node: SamplingNode, parent: number) => {
    let index = parent;
    if (tree.bytes.length < MAX_NODES) {
      tree.parents.push(parent);
      tree.frameOf.push(numberFrame(node.callFrame));
      index = tree.bytes.push(0) - 1;
    }
    indexes.set(node.id, index);
    tree.bytes[index] = (tree.bytes[index] ?? 0) + node.selfSize;
    for (const child of node.children) visit(child, index);
  };
  visit(head, -1);
  return { tree, indexes };
}
