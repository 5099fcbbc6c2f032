import type { Metrics } from '../../metrics/types.js';
import type { ExplainEvidence } from '../../result.js';
import { buildLoopEvidence } from '../event-loop/loop-capacity.js';

/** Lists the measurements of a pool: its connections to `origin`, and the share of them in use where it is known. */
export function buildPoolEvidence(
  metrics: Metrics,
  origin: string,
  connections: number,
  inUse: number | null,
): ExplainEvidence[] {
  const what = 'connections waiting for a response';
  return [
    { what: `connections to ${origin}`, value: connections, unit: 'sockets', source: 'sockets' },
    ...(inUse === null ? [] : [{ what, value: inUse, unit: '1', source: 'probe' }]),
    ...buildLoopEvidence(metrics),
  ];
}
