import type { AllocationProfile } from '../../../probe/protocol.cjs';
import { buildAllocations } from '../../allocations/allocations.js';
import type { Allocations } from '../../result.js';
import type { BlockLength } from '../../target/block-length.js';
import type { ServerUnderTest } from '../../target/server-under-test.js';

/** Time in which allocations are sampled, and that of the load meanwhile. */
const SAMPLE_MS = 2000;
const LENGTH: BlockLength = { settleMs: 0, measureMs: SAMPLE_MS + 300 };

/** Time that sampling takes, with its result. */
export const ALLOCATIONS_MS = LENGTH.measureMs + 700;

/** Samples what requests allocate under the configured load. Returns the reason as text if that is not possible. */
export async function sampleAllocations(subject: ServerUnderTest): Promise<Allocations | string> {
  const sampling = subject.hub?.command('allocations', { ms: SAMPLE_MS }).catch(toReason);
  await subject.runBlock(LENGTH);
  const profiles = await sampling;
  if (typeof profiles === 'string') return profiles;
  return buildAllocations((profiles ?? []) as AllocationProfile[]) ?? 'no request ended meanwhile';
}

function toReason(error: Error): string {
  return `the probe failed: ${error.message}`;
}
