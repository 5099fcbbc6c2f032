import { cores, count, rate, share, time } from '../../format/units.js';
import { hasResponse } from '../../load/answered.js';
import { clientBound } from '../../load/outcome/client-bound-words.js';
import type { GeneratorResult, LoadResult } from '../../load/result.js';
import { nameGenerator } from '../../load/segment.js';
import { formatStatistic } from '../distributions/distribution.js';
import { countFailed } from '../failed.js';

/** A generator of a merged result in words, as all reports list it. */
export interface GeneratorRow {
  name: string;
  generator: GeneratorResult;
  /** From the start of the merged measurement, as `+1.2 ms`. */
  start: string;
  throughput: string;
  p50: string;
  p99: string;
  max: string;
  sent: string;
  failed: string;
  busy: string;
  /** Mean CPU of the server's processes that it measured; `–` where it knew none. */
  serverCpu: string;
  /** CLIENT-BOUND, interrupted, or empty. */
  verdict: string;
}

/** Lists at most some of the generators of a merged result: those that were the limit first, if there are more. */
export function listGeneratorRows(
  { generators = [], startedAtMs }: LoadResult,
  most: number,
): GeneratorRow[] {
  const rows = generators.map((generator, index) => {
    const { latencyMs, busy, throughput, requests, server } = generator;
    const failed = countFailed({ requests });
    const format = (point: 'p50' | 'p99' | 'max') =>
      hasResponse(generator) ? formatStatistic(latencyMs, point, '≥') : '–';
    return {
      ...{ name: nameGenerator(generator, index), generator },
      start: `+${time(generator.startedAtMs - startedAtMs)}`,
      throughput: rate(throughput.mean),
      p50: format('p50'),
      p99: format('p99'),
      max: format('max'),
      sent: count(requests.sent),
      failed: count(failed),
      busy: share(busy),
      serverCpu: server ? cores(server.cpuMean) : '–',
      verdict: describeVerdict(generator),
    };
  });
  if (rows.length <= most) return rows;
  const [bound, others] = [true, false].map((is) =>
    rows.filter(({ generator }) => generator.clientBound === is),
  ) as [GeneratorRow[], GeneratorRow[]];
  return [...bound, ...others].slice(0, most);
}

function describeVerdict({
  clientBound: isBound,
  interrupted,
  abortedBy,
}: GeneratorResult): string {
  if (isBound) return clientBound.title;
  if (abortedBy !== undefined) return 'ended early';
  return interrupted ? 'interrupted' : '';
}

/** Describes how many generators there are, and of how many shares: `3 generators, of 4 shares`. */
export function describeGenerators({ generators = [], missing = [] }: LoadResult): string {
  const number = generators.length;
  const noun = number === 1 ? '1 generator' : `${count(number)} generators`;
  const shares = generators[0]?.segment?.count;
  if (shares === undefined) return noun;
  return missing.length === 0
    ? `${noun}, all ${count(shares)} shares of one run`
    : `${noun} of ${count(shares)} shares of one run`;
}
