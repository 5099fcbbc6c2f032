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

/** CPU time by a profile. */
export interface CpuGraph {
  graph: FlameGraph;
  /** Share of the profile's time in which the event loop did not idle. */
  busy: number;
}

/** Builds the graph of CPU time of a profile. Time in which the loop idles is not part of it. */
export function buildCpuGraph(profile: CpuProfile): CpuGraph {
  const tree = buildCallTree(profile.nodes);
  const resolver = new FrameResolver();
  const builder = new FlameGraphBuilder('ms');
  let [busyMs, idleMs] = [0, 0];
  for (const [id, ms] of sumTimes(profile)) {
    const node = tree.get(id);
    if (!node || isIdle(node.frame)) {
      idleMs += ms;
    } else if (!isProfilerFrame(node.frame)) {
      busyMs += ms;
      builder.add(listFrames(node, resolver), ms);
    }
  }
  return { graph: builder.build(), busy: busyMs / Math.max(1e-9, busyMs + idleMs) };
}

/** Lists the frames of a call, outermost first, without the root of the profile. */
function listFrames(called: CallNode, resolver: FrameResolver): FlameFrame[] {
  const frames = [...walkFrames(called)].filter(
    (frame) => frame.functionName !== '(root)' && !isProfilerFrame(frame),
  );
  return frames.reverse().map((frame) => resolver.resolve(frame));
}
