import { usageError } from '../../errors/millrace-error.js';
import type { NativeTracedStep } from '../../native/addon.js';
import type { FlowSummary } from '../flow-summary.js';
import { nameStatus } from '../grpc-statuses.js';
import type { LoadOptions } from '../options.js';
import { decodeContent, splitResponse } from '../outcome/failing-responses.js';
import type { LoadResult } from '../result.js';
import { runLoad } from './run.js';

/** One iteration of each scenario, as it was done. */
export interface DryRun {
  result: LoadResult;
  steps: DryRunStep[];
}

/** A request of a dry run, with its response. Nothing is masked. */
export interface DryRunStep {
  scenario: string;
  name: string;
  /** Start line and fields; empty if the request could not be built. */
  requestHead: string;
  requestBody: string;
  /** Status line and fields; empty without a response. */
  responseHead: string;
  responseBody: string;
  durationMs: number;
  /** Values that were kept, as JSON; `null`: an optional one that was not found. */
  saved: { variable: string; json: string | null }[];
  /** What was checked, and what was found instead; `null` if it passed. */
  checks: { check: string; found: string | null }[];
  failure: { reason: string; text: string } | null;
  /** It is a redirection that was followed. */
  followed: boolean;
}

/** Sends one iteration of each scenario, one after the other, and keeps everything. */
export async function dryRun(options: LoadOptions): Promise<DryRun> {
  if (options.scenario === undefined) {
    throw usageError('a dry run needs a scenario: millrace run FILE --dry-run');
  }
  const {
    connections,
    connectionStages,
    rate,
    stages,
    arrivals,
    duration,
    warmup,
    threads,
    failOn,
    ...rest
  } = options;
  const single: LoadOptions = { ...rest, users: 1, requests: 1, abortOnFail: false };
  const { result, trace, variables } = await runLoad(single, { trace: true });
  const described = (result.plan.flows?.scenarios ?? []).flatMap(({ name, steps }) =>
    steps.map((step) => ({ scenario: name, ...step })),
  );
  // The engine knows why connections fail, not which step needed one.
  const why = result.errors.find(({ example }) => example !== null)?.example;
  const steps = trace
    .map((step) => describe(step, described[step.step], variables))
    .map((step) => (step.failure?.text === NO_CONNECTION && why ? withReason(step, why) : step));
  const { http1, http2 } = result.connections;
  return { result, steps: http2 > 0 && http1 === 0 ? steps.map(nameHttp2) : steps };
}

/** What the engine says of a step whose connection could not be opened. */
const NO_CONNECTION = 'no connection';

function withReason(step: DryRunStep, why: string): DryRunStep {
  return { ...step, failure: { reason: 'transport', text: `${NO_CONNECTION}: ${why}` } };
}

/** Names HTTP/2 in messages, which the engine gives as HTTP/1.1 has them. */
function nameHttp2(step: DryRunStep): DryRunStep {
  const requestHead = step.requestHead.replace(/HTTP\/1\.1(?=\n|$)/, 'HTTP/2');
  return { ...step, requestHead, responseHead: step.responseHead.replace(/^HTTP\/1\.1/, 'HTTP/2') };
}

type Described = FlowSummary['scenarios'][number]['steps'][number] & { scenario: string };

function describe(
  traced: NativeTracedStep,
  step: Described | undefined,
  variables: readonly string[],
): DryRunStep {
  const { request, response, durationMs, saved, checks, failure, followed } = traced;
  const end = request.indexOf('\r\n\r\n');
  const { head, content } = splitResponse(response);
  return {
    scenario: step?.scenario ?? '',
    name: step?.name ?? '',
    requestHead: request.toString('utf8', 0, Math.max(end, 0)).replaceAll('\r\n', '\n'),
    requestBody: decodeText(request.subarray(end < 0 ? request.length : end + 4)),
    responseHead: head,
    responseBody: decodeText(decodeContent(content, head)),
    durationMs,
    saved: saved.map(({ variable, json }) => ({
      variable: variables[variable] ?? '',
      json: json ?? null,
    })),
    checks: checks.map((found, index) => ({
      check: step?.checks[index] ?? '',
      found: found === '' ? null : nameStatus(found),
    })),
    failure: failure ? { reason: failure.reason, text: nameStatus(failure.example) } : null,
    followed,
  };
}

function decodeText(bytes: Buffer): string {
  const text = bytes.toString('utf8');
  return /[\0\uFFFD]/.test(text) ? `(${bytes.length} bytes that are not text)` : text;
}
