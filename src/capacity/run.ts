import { usageError } from '../errors.js';
import { DEFAULTS, LIMITS } from '../load/defaults.js';
import { type Condition, parseCondition } from '../load/plan/condition.js';
import type { LoadResult } from '../load/result.js';
import { parseCount, parseDuration } from '../units.js';
import { checkOptions } from '../validation/shape.js';
import { packageVersion } from '../version.js';
import { Budget } from './budget.js';
import type { CapacityOptions } from './options.js';
import type { CapacityProgress, CapacityResult, Search, Sweep } from './result.js';
import { searchRate } from './search.js';
import { CAPACITY_OPTIONS } from './shapes.js';
import { sweepConnections } from './sweep.js';
import { Target } from './target.js';

const defaultBudgetMs = 60_000;
const leastBudgetMs = 5000;

/** Of a sweep: more than the knee of most services, and within the usual limit of descriptors. */
const sweepConnectionsAtMost = 1024;

/** Connections that load flat out, to see where to begin with rates. */
const flatOutConnections = 64;

/** Reads the options, starts the server if it is to be, and measures. */
export async function run(
  options: CapacityOptions,
  tell: (progress: CapacityProgress) => void,
): Promise<CapacityResult> {
  checkOptions(options, CAPACITY_OPTIONS);
  const { slo, budget: given = defaultBudgetMs, ...load } = options;
  const budgetMs = readBudget(given);
  const conditions = readObjective(slo);
  const most = readConnections(load.connections, conditions.length > 0);
  const startedAt = new Date();
  const budget = new Budget(budgetMs, tell);
  const target = new Target(load);
  budget.step('starting');
  await target.start();
  try {
    const measured =
      conditions.length > 0
        ? await searchRate(target, { conditions, budget }, Math.min(most, flatOutConnections))
        : await sweepConnections(target, budget, most);
    return {
      schemaVersion: 1,
      tool: { name: 'millrace', version: packageVersion() },
      startedAt: startedAt.toISOString(),
      durationMs: budget.elapsedMs,
      budgetMs,
      interrupted: target.interrupted,
      plan: { ...measured.first.plan, command: load.command ?? null },
      ...partsOf(measured),
      warnings: warningsOf(measured.first),
    };
  } finally {
    await target.stop();
  }
}

function partsOf(
  measured: { search: Search } | { sweep: Sweep },
): Pick<CapacityResult, 'sweep' | 'search'> {
  return 'search' in measured
    ? { sweep: null, search: measured.search }
    : { sweep: measured.sweep, search: null };
}

/** What is doubtful in every block alike; what is in single ones the levels and trials tell. */
function warningsOf({ warnings }: LoadResult): CapacityResult['warnings'] {
  const lasting = [
    'shared-cores',
    'target-not-reached',
    'several-ports',
    'addresses-left-out',
    'certificate-not-verified',
  ];
  return warnings.filter(({ id }) => lasting.includes(id));
}

function readBudget(given: number | string): number {
  const ms = parseDuration(given, 'budget');
  if (ms >= leastBudgetMs) return ms;
  throw usageError(`budget: '${given}' given; accepted: ${leastBudgetMs / 1000}s or more`);
}

function readObjective(slo: CapacityOptions['slo']): Condition[] {
  const conditions = [slo ?? []].flat().map((text) => parseCondition(text, 'slo'));
  if (slo !== undefined && conditions.length === 0) {
    throw usageError("slo: an empty list given; accepted: conditions such as 'p99<50ms'");
  }
  const bound = conditions.find(({ metric }) => metric === 'throughput');
  if (bound) {
    throw usageError(
      `slo: '${bound.text}' given; accepted: times, errors and timeouts: the throughput is what is looked for`,
    );
  }
  return conditions;
}

function readConnections(given: CapacityOptions['connections'], open: boolean): number {
  const fallback = open ? DEFAULTS.openConnections : sweepConnectionsAtMost;
  return parseCount(given ?? fallback, 'connections', LIMITS.connections);
}
