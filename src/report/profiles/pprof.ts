import { gzipSync } from 'node:zlib';
import {
  Function as Func,
  Line,
  Location,
  Profile,
  Sample,
  StringTable,
  ValueType,
} from 'pprof-format';
import type { FlameFrame, FlameGraph } from '../../explain/result.js';
import { replaceControls } from '../encoding.js';

/** What a weight is in pprof, whose values are integers with a unit. */
const VALUES: Record<FlameGraph['unit'], { type: string; unit: string; scale: number }> = {
  ms: { type: 'cpu', unit: 'nanoseconds', scale: 1e6 },
  // N requests that wait are N seconds of waiting per second.
  requests: { type: 'wait', unit: 'nanoseconds', scale: 1e9 },
  bytes: { type: 'alloc_space', unit: 'bytes', scale: 1 },
};

/** Encodes a graph as a compressed profile of pprof. Waits are those of one second, allocations those of one request. */
export function encodePprof(graph: FlameGraph, startedAt: string): Uint8Array {
  const { type, unit, scale } = VALUES[graph.unit];
  const strings = new StringTable();
  const value = new ValueType({ type: strings.dedup(type), unit: strings.dedup(unit) });
  const functions = graph.frames.map((frame, index) => createFunction(frame, index + 1, strings));
  const sample = graph.parents.flatMap((_, node) => {
    const weight = Math.round((graph.self[node] ?? 0) * scale);
    return weight > 0 ? [new Sample({ locationId: listFrames(graph, node), value: [weight] })] : [];
  });
  const profile = new Profile({
    sampleType: [value],
    sample,
    function: functions,
    location: functions.map(
      ({ id, startLine }) =>
        new Location({ id, line: [new Line({ functionId: id, line: startLine })] }),
    ),
    stringTable: strings,
    timeNanos: BigInt(Date.parse(startedAt)) * 1_000_000n,
    ...(graph.unit === 'requests' && { durationNanos: 1_000_000_000 }),
    periodType: value,
    period: 1,
  });
  return gzipSync(profile.encode());
}

/** Lists the frames from a node to its outermost caller, as pprof's ids. */
function listFrames({ parents, frameOf }: FlameGraph, node: number): number[] {
  const ids: number[] = [];
  for (let at = node; at >= 0; at = parents[at] ?? -1) ids.push((frameOf[at] ?? 0) + 1);
  return ids;
}

function createFunction({ name, place }: FlameFrame, id: number, strings: StringTable): Func {
  const { file, line } = splitPlace(place);
  const nameId = strings.dedup(replaceControls(name));
  return new Func({
    ...{
      id,
      name: nameId,
      systemName: nameId,
      filename: strings.dedup(replaceControls(file)),
      startLine: line,
    },
  });
}

/** Splits `file:line`. */
export function splitPlace(place: string): { file: string; line: number } {
  const [, file = place, line = '0'] = /^(.*):(\d+)$/.exec(place) ?? [];
  return { file, line: Number(line) };
}
