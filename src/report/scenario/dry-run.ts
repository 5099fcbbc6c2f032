import { plural } from '../../format/units.js';
import type { DryRun, DryRunStep } from '../../load/engine/dry-run.js';
import { decodeGrpcMessage, formatStatus } from '../../load/grpc-statuses.js';

/** Most lines of a body that are printed. */
const MAX_LINES = 40;

/** Formats a dry run: each request and response, what was saved and what was checked. */
export function formatDryRun({ result, steps }: DryRun): string {
  const parts = steps.map((step, index) => formatStep(step, index + 1));
  const { started = 0, completed = 0 } = result.iterations ?? {};
  const failed = started - completed;
  const end =
    failed === 0
      ? `${plural(completed, 'iteration')} completed`
      : `${failed} of ${plural(started, 'iteration')} failed: ${describeFailures(steps)}`;
  return [...parts, end].join('\n\n');
}

function describeFailures(steps: readonly DryRunStep[]): string {
  return steps
    .flatMap(({ name, failure }) => (failure ? [`${name}: ${failure.text}`] : []))
    .join('; ');
}

function formatStep(step: DryRunStep, number: number): string {
  const { scenario, name, durationMs, followed, failure } = step;
  const [statusLine = ''] = step.responseHead.split('\n');
  const outcome = describeOutcome(statusLine, step.responseHead);
  const time = statusLine === '' ? '' : ` in ${durationMs.toPrecision(3)} ms`;
  const lines = [
    `${number}. ${name} (${scenario}): ${outcome}${time}${followed ? ', followed' : ''}`,
    ...mark('>', step.requestHead, step.requestBody),
    ...mark('<', decodeGrpcMessage(step.responseHead), step.responseBody),
    ...step.saved.map(({ variable, json }) =>
      json === null
        ? `  saved  ${variable}: not found, optional`
        : `  saved  ${variable} = ${json}`,
    ),
    ...step.checks.map(({ check, found }) =>
      found === null ? `  passed ${check}` : `  FAILED ${check}: ${found}`,
    ),
  ];
  if (failure && failure.reason !== 'check')
    lines.push(`  FAILED ${failure.reason}: ${failure.text}`);
  return lines.join('\n');
}

/** Describes how a response ended: a call of gRPC by the name of its status. */
function describeOutcome(statusLine: string, head: string): string {
  if (statusLine === '') return 'no response';
  const call = /^grpc-status: *(\d+)/im.exec(head)?.[1];
  return call === undefined ? statusLine.replace(/^HTTP\/\S+ /, '') : formatStatus(call);
}

/** Marks the lines of a message. */
function mark(sign: string, head: string, body: string): string[] {
  if (head === '' && body === '') return [];
  const lines = body === '' ? [] : formatBody(head, body).split(/\r?\n/);
  const shown = lines.slice(0, MAX_LINES);
  const rest = lines.length - shown.length;
  return [
    ...head.split('\n').map((line) => `  ${sign} ${line}`),
    ...(lines.length === 0 ? [] : [`  ${sign}`]),
    ...shown.map((line) => `  ${sign} ${line}`),
    ...(rest > 0 ? [`  ${sign} (${plural(rest, 'line')} more)`] : []),
  ];
}

/** Most characters of a line of JSON that is printed as it is. */
const MAX_JSON_LINE = 100;

/** Indents JSON that would be a long line. */
function formatBody(head: string, body: string): string {
  if (body.length <= MAX_JSON_LINE || !/^content-type:.*json/im.test(head)) return body;
  try {
    return JSON.stringify(JSON.parse(body), null, 2);
  } catch {
    return body;
  }
}
