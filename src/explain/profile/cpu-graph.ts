import { FlameGraphBuilder } from '../flame-graph/builder.js';
import type { FlameFrame, FlameGraph } from '../result.js';
import {
  buildCallTree,
  type CallNode,
  type CpuProfile,
  isIdle,
  sumTimes,
  walkFrames,
} from './call-tree.js';
import { isProfilerFrame } from './code-origin.js';
import { FrameResolver } from './frame-resolver.js';
import { HotLines } from './hot-lines.js';

/** CPU time by a profile. */
export interface CpuGraph {
  graph: FlameGraph;
  hotLines: HotLines;
  /** Share of the profile's time in which the event loop did not idle. */
  busy: number;
}

/** Builds the graph of CPU time of a profile. Time in which the loop idles is not part of it. */
export function buildCpuGraph(profile: CpuProfile): CpuGraph {
  const tree = buildCallTree(profile.nodes);
  const resolver = new FrameResolver();
  const builder = new FlameGraphBuilder('ms');
  const hotLines = new HotLines();
  let [busyMs, idleMs] = [0, 0];
  for (const [id, ms] of sumTimes(profile)) {
    const node = tree.get(id);
    if (!node || isIdle(node.frame)) {
      idleMs += ms;
    } else if (!isProfilerFrame(node.frame)) {
      busyMs += ms;
      const frames = listFrames(node, resolver);
      builder.add(frames, ms);
      hotLines.add(frames, ms, shareByLine(node, resolver));
    }
  }
  return { graph: builder.build(), hotLines, busy: busyMs / Math.max(1e-9, busyMs + idleMs) };
}

/** Divides the time of a call itself by place, as far as places are known; empty if it is not the service's own code. */
function shareByLine({ frame, ticks }: CallNode, resolver: FrameResolver): Map<string, number> {
  const shares = new Map<string, number>();
  if (resolver.resolve(frame).origin !== 'application') return shares;
  const all = ticks.reduce((sum, { ticks: count }) => sum + count, 0);
  for (const { line, ticks: count } of ticks) {
    const place = resolver.resolveLine(frame, line - 1);
    if (place !== null) shares.set(place, (shares.get(place) ?? 0) + count / all);
  }
  return shares;
}

/** Lists the frames of a call, outermost first, without the root of the profile. */
function listFrames(called: CallNode, resolver: FrameResolver): FlameFrame[] {
  const frames = [...walkFrames(called)].filter(
    (frame) => frame.functionName !== '(root)' && !isProfilerFrame(frame),
  );
  return frames.reverse().map((frame) => resolver.resolve(frame));
}
