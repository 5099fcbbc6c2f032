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
  /** By how much the clock of its machine differed: `2.00 s behind (within 250 µs)`; empty where that is unknown or little. */
  clock: string;
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
      clock: describeClock(generator),
      verdict: describeVerdict(generator),
    };
  });
  if (rows.length <= most) return rows;
  const [bound, others] = [true, false].map((is) =>
    rows.filter(({ generator }) => generator.clientBound === is),
  ) as [GeneratorRow[], GeneratorRow[]];
  return [...bound, ...others].slice(0, most);
}

/** The least difference of a clock that is worth a word. */
const MIN_OFFSET_MS = 1;

function describeClock({ clock }: GeneratorResult): string {
  if (!clock || Math.abs(clock.offsetMs) < MIN_OFFSET_MS) return '';
  const way = clock.offsetMs > 0 ? 'ahead' : 'behind';
  return `${time(Math.abs(clock.offsetMs))} ${way} (within ${time(clock.boundMs)})`;
}

/** Describes the clocks of generators that differed, a line each. */
export function describeClocks(rows: readonly GeneratorRow[]): string[] {
  return rows.flatMap(({ name, clock }) =>
    clock === '' ? [] : [`${name}: its clock was ${clock}; all times are corrected`],
  );
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
  if (shares === undefined || shares === 1) return noun;
  return missing.length === 0
    ? `${noun}, all ${count(shares)} shares of one run`
    : `${noun} of ${count(shares)} shares of one run`;
}
