import type { StackFrame, WaitSample, WaitSamples, WaitSource } from '../../probe/protocol.cjs';
import type { CallFrame } from '../profile/call-tree.js';
import { findPackage } from '../profile/code-origin.js';
import { FrameResolver } from '../profile/frame-resolver.js';
import type { FlameFrame } from '../result.js';
import { findQueue, nameWait, type Queue, refineSource } from './wait-names.js';

/** Time for which requests of one route waited for one thing at one place in the code. */
export interface WaitPath {
  source: WaitSource;
  /** What is waited for, in words. */
  waitsFor: string;
  /** The queue in which they wait; `null` if it is none, or not known. */
  queue: Queue | null;
  route: string;
  /** The code that waits, outermost first: from the service's own outermost function on; without Node.js's own. */
  frames: FlameFrame[];
  ms: number;
}

/** Resolves and names what the processes of a server have waited for. */
export function toWaitPaths(answers: readonly WaitSamples[]): WaitPath[] {
  const resolver = new FrameResolver();
  return answers.flatMap(({ frames, samples }) => {
    const calls = frames.map(toCallFrame);
    const resolved = calls.map((call) => resolver.resolve(call));
    return samples.map((sample) => toPath(sample, calls, resolved));
  });
}

function toPath(
  { source, route, stack, ms }: WaitSample,
  calls: readonly CallFrame[],
  resolved: readonly FlameFrame[],
): WaitPath {
  const isOutside = (frame: number) => {
    const origin = resolved[frame]?.origin;
    return origin === 'application' || origin === 'dependency';
  };
  const isOwn = (frame: number) => resolved[frame]?.origin === 'application';
  const own = stack.findIndex(isOwn);
  const inner = own < 0 ? stack : stack.slice(0, own);
  const packages = inner.flatMap((frame) => findPackage(calls[frame] as CallFrame) ?? []);
  const outside = stack.findIndex(isOutside);
  const called = stack[outside - 1] ?? -1;
  const isNode = resolved[called]?.origin === 'node';
  const nodeFunction = isNode ? nameFunction(resolved[called]?.name ?? '') : null;
  const nodeModule = isNode ? (calls[called]?.url ?? null) : null;
  // Outside of the service's own code are its framework and Node.js.
  const code = stack.slice(0, own < 0 ? stack.length : stack.findLastIndex(isOwn) + 1);
  const waiting = { packages, nodeFunction, nodeModule };
  const refined = refineSource(source, waiting);
  return {
    source: refined,
    waitsFor: nameWait(refined, waiting),
    queue: findQueue(refined, waiting),
    route,
    frames: code
      .filter(isOutside)
      .map((frame) => resolved[frame] as FlameFrame)
      .reverse(),
    ms,
  };
}

/** The name of a function without that of its object. */
function nameFunction(name: string): string {
  return name.slice(name.lastIndexOf('.') + 1);
}

/** V8's form of a frame: places count from 0. Built-in functions have none. */
function toCallFrame({ name, file, line, column }: StackFrame): CallFrame {
  return {
    functionName: name ?? '',
    url: file ?? '',
    lineNumber: (line ?? 1) - 1,
    columnNumber: (column ?? 1) - 1,
  };
}
