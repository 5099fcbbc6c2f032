import { packageVersion } from '../environment/version.js';
import type { LoadWarning, PlanSummary } from '../load/result.js';
import { readRun } from './figures.js';
import { labelVersions, listVersions, planWithVersion, readVersions } from './http-versions.js';
import { evaluateRatioCondition } from './ratio-condition.js';
import type { ComparisonMetric, ComparisonResult } from './result.js';
import { describeFailures } from './rows/doubt.js';
import { compareRuns, DEFAULT_CONFIDENCE } from './rows/rows.js';
import type { CompareSettings } from './settings.js';
import { listInterrupted, type SideResult, summarizeWarnings } from './warnings.js';

/** What a comparison has measured. */
interface Measured {
  settings: CompareSettings;
  startedAt: Date;
  sides: ComparisonResult['sides'];
  /** At least one of A, which comes first. */
  runs: readonly SideResult[];
  ended: ComparisonResult['ended'];
  /** How the answers of the sides differ. */
  differences: readonly string[];
  stack?: ComparisonResult['stack'];
  /** Warnings that are not those of a run. */
  warnings?: readonly LoadWarning[];
}

/** Completes what was measured to the result. */
export function conclude(measured: Measured): ComparisonResult {
  const { settings, startedAt, sides, runs, ended, stack } = measured;
  const { margin, conditions, allowDifference } = settings;
  const plan = findPlan(runs);
  const versions = readVersions(runs);
  const compared = runs.map(readRun);
  const failures = describeFailures(compared, null);
  const judged = compareRuns(compared, {
    margin,
    metric: chooseMetric(plan),
    allowDifference,
    doubt: describeUnusedStack(stack),
  });
  return {
    schemaVersion: 2,
    kind: 'comparison',
    tool: { name: 'millrace', version: packageVersion() },
    startedAt: startedAt.toISOString(),
    durationMs: Date.now() - startedAt.getTime(),
    plan: planWithVersion(plan, versions),
    sides: labelVersions(sides, versions),
    margin,
    width: ended === 'files' ? null : settings.width,
    confidence: DEFAULT_CONFIDENCE,
    ended,
    runs: compared,
    ...judged,
    differences: [...measured.differences, ...(failures === null ? [] : [failures])],
    ...(stack !== undefined && { stack }),
    ...(conditions.length > 0 && {
      conditions: conditions.map((condition) => evaluateRatioCondition(condition, judged.rows)),
    }),
    warnings: [
      ...(measured.warnings ?? []),
      ...listInterrupted(runs),
      ...listVersions(plan, versions, stack !== undefined),
      ...summarizeWarnings(runs),
    ],
  };
}

/** Says that the stack was loaded and had no request: both sides then are Node's own. */
function describeUnusedStack(stack: ComparisonResult['stack']): string | null {
  const isUsed = !stack || stack.native + stack.fallback > 0;
  return isUsed ? null : "Millrace's HTTP stack served no request";
}

/** The plan of A's first run. */
function findPlan(runs: readonly SideResult[]): PlanSummary {
  const first = runs.find(({ side }) => side === 'a');
  if (!first) throw new TypeError('a comparison needs a run of A');
  return first.result.plan;
}

/** The verdict's metric: where the rate is given, throughput is the same on both sides. */
export function chooseMetric({ model }: Pick<PlanSummary, 'model'>): ComparisonMetric {
  return model === 'open' ? 'p99Ms' : 'throughput';
}
