import type { CpuProfile } from '../../explain/profile/call-tree.js';
import type { Explanation } from '../../explain/result.js';
import { formatHeapProfile } from './heap-profile.js';
import { encodePprof } from './pprof.js';

/** A file for another tool. */
export interface ProfileFile {
  name: string;
  content: string | Uint8Array;
}

/** Lists the profiles of an explanation, in the formats of V8 (DevTools, speedscope) and of pprof. */
export function listProfileFiles(
  { cpu, waits, allocations, startedAt }: Explanation,
  cpuProfile: CpuProfile | null,
): ProfileFile[] {
  const pprof = (
    name: string,
    measured: Explanation['waits'] | Explanation['cpu'] | Explanation['allocations'],
  ) =>
    measured ? [{ name: `${name}.pb.gz`, content: encodePprof(measured.graph, startedAt) }] : [];
  return [
    ...(cpuProfile ? [{ name: 'cpu.cpuprofile', content: JSON.stringify(cpuProfile) }] : []),
    ...pprof('cpu', cpu),
    ...pprof('waits', waits),
    ...(allocations
      ? [{ name: 'heap.heapprofile', content: formatHeapProfile(allocations.graph) }]
      : []),
    ...pprof('heap', allocations),
  ];
}
