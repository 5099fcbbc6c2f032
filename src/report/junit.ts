import type { JudgedCondition } from './conditions.js';
import {
  REPLACEMENT,
  replaceControls,
  replaceRunnerLines,
  replaceRunnerMarks,
} from './encoding.js';

/** A run as a suite of tests: each condition is a case. */
export interface ConditionSuite {
  name: string;
  /** ISO 8601. */
  startedAt: string;
  durationMs: number;
  conditions: JudgedCondition[];
}

/** Renders runs as JUnit's XML. A condition that cannot be judged counts as skipped. */
export function renderJunit(suites: readonly ConditionSuite[]): string {
  return `<?xml version="1.0" encoding="UTF-8"?>
<testsuites>
${suites.map(renderSuite).join('')}</testsuites>
`;
}

function renderSuite({ name, startedAt, durationMs, conditions }: ConditionSuite): string {
  const failures = conditions.filter(({ holds }) => holds === false).length;
  const skipped = conditions.filter(({ holds }) => holds === null).length;
  const attributes = renderAttributes({
    name,
    tests: conditions.length,
    failures,
    errors: 0,
    skipped,
    time: (durationMs / 1000).toFixed(3),
    timestamp: startedAt.replace(/\.\d+Z$/, ''),
  });
  return `<testsuite${attributes}>
${conditions.map((condition) => renderCase(name, condition)).join('')}</testsuite>
`;
}

function renderCase(classname: string, { condition, holds, measured }: JudgedCondition): string {
  const attributes = renderAttributes({ classname, name: condition, time: '0.000' });
  const outcome = renderOutcome(holds, measured);
  return `<testcase${attributes}>${outcome}</testcase>
`;
}

function renderOutcome(holds: boolean | null, measured: string): string {
  if (holds === null)
    return `<skipped${renderAttributes({ message: `cannot be judged: ${measured}` })}/>`;
  if (holds) return `<system-out>${escapeXml(`measured: ${measured}`)}</system-out>`;
  return `<failure${renderAttributes({ message: `does not hold: ${measured}`, type: 'condition' })}/>`;
}

function renderAttributes(attributes: Record<string, string | number>): string {
  return Object.entries(attributes)
    .map(([name, value]) => ` ${name}="${escapeXml(String(value))}"`)
    .join('');
}

/** Escapes text for content and attributes; characters that XML 1.0 excludes (section 2.2) are replaced. */
function escapeXml(text: string): string {
  const toReference = (character: string) => `&#${character.codePointAt(0)};`;
  const known = text
    .replace(/[^\t\n\r\u{20}-\u{d7ff}\u{e000}-\u{fffd}\u{10000}-\u{10ffff}]/gu, REPLACEMENT)
    .replace(/[&<>"']/g, toReference);
  return replaceRunnerMarks(
    replaceRunnerLines(replaceControls(known, toReference), '&#58;'),
    '&#35;',
  );
}
