/** V8's CPU profile in the format of the DevTools protocol. Times are in microseconds. */
export interface CpuProfile {
  nodes: ProfileNode[];
  samples?: number[];
  timeDeltas?: number[];
}

/** A node of V8's CPU profile in the format of the DevTools protocol. Lines and columns count from 0. */
export interface ProfileNode {
  id: number;
  callFrame: CallFrame;
  children?: number[];
  /** Samples in the function itself by line, which counts from 1. */
  positionTicks?: { line: number; ticks: number }[];
}

/** A function: its name and place. The URL is empty for V8's built-ins. */
export interface CallFrame {
  functionName: string;
  url: string;
  lineNumber: number;
  columnNumber: number;
}

/** A function at one place in the call tree, with its caller. */
export interface CallNode {
  frame: CallFrame;
  parent: CallNode | null;
  ticks: NonNullable<ProfileNode['positionTicks']>;
}

/** Builds the call tree: the nodes of a profile by id. */
export function buildCallTree(nodes: ProfileNode[]): Map<number, CallNode> {
  const tree = new Map<number, CallNode>();
  for (const { id, callFrame, positionTicks = [] } of nodes) {
    tree.set(id, { frame: callFrame, parent: null, ticks: positionTicks });
  }
  for (const { id, children = [] } of nodes) {
    const parent = tree.get(id) ?? null;
    for (const child of children) {
      const node = tree.get(child);
      if (node) node.parent = parent;
    }
  }
  return tree;
}

/** Sums the time of each node in ms. A sample counts until the next one; the length of the last one is unknown. */
export function sumTimes({ samples = [], timeDeltas = [] }: CpuProfile): Map<number, number> {
  const times = new Map<number, number>();
  for (const [index, id] of samples.entries()) {
    const ms = Math.max(0, timeDeltas[index + 1] ?? 0) / 1000;
    times.set(id, (times.get(id) ?? 0) + ms);
  }
  return times;
}

/** Computes the time in ms in which the loop did not idle. */
export function computeBusyMs(profile: CpuProfile): number {
  const idle = new Set(
    profile.nodes.flatMap(({ id, callFrame }) => (isIdle(callFrame) ? [id] : [])),
  );
  let busyMs = 0;
  for (const [id, ms] of sumTimes(profile)) if (!idle.has(id)) busyMs += ms;
  return busyMs;
}

/** Whether a frame stands for a loop that waits for events. */
export function isIdle({ functionName }: CallFrame): boolean {
  return functionName === '(idle)';
}

/** The frames of a call, innermost first. */
export function* walkFrames(called: CallNode | null): Generator<CallFrame> {
  for (let at = called; at; at = at.parent) yield at.frame;
}

/** A key that is equal for all frames of a function. */
export function buildKey({ url, lineNumber, columnNumber }: CallFrame): string {
  return `${url}:${lineNumber}:${columnNumber}`;
}
