import { packageVersion } from '../environment/version.js';
import { MillraceError, usageError } from '../errors/millrace-error.js';
import { findServer } from '../load/engine/server.js';
import { speaksHttp2 } from '../load/http-version.js';
import { checkCommand } from '../load/input/command.js';
import type { LoadOptions } from '../load/options.js';
import { buildPlan, buildTrialRequest, FUTURE_SERVER, type Plan } from '../load/plan/plan.js';
import { checkPid } from '../process/discovery/check-pid.js';
import type { Endpoint } from '../process/listening/types.js';
import { findListeningPaths } from '../process/listening/unix-listeners.js';
import { checkOptions } from '../validation/shape.js';
import { parseDuration } from '../validation/units.js';
import { conclude } from './conclusion/conclusion.js';
import { EXPLAIN_DEFAULTS, MIN_BUDGET_MS, WAIT_STACKS } from './defaults.js';
import { investigate } from './investigation.js';
import { findCapabilities } from './observe/capabilities.js';
import { attachProbes } from './observe/probe/attach.js';
import { openProbeHub, type ProbeHub } from './observe/probe/hub.js';
import { EXPLAIN_OPTIONS } from './option-schema.js';
import type { ExplainOptions } from './options.js';
import { compareWithReference } from './phases/reference-server.js';
import type { ExplainProgress, Explanation } from './result.js';
import { explainProbeAbsence } from './target/probe-absence.js';
import { findTlsUrl, takeRequestSample } from './target/sample-request.js';
import { ServerUnderTest } from './target/server-under-test.js';

/** Runs an explanation; rejects as `explain()` does. */
export async function runExplain(
  options: ExplainOptions,
  onProgress: (progress: ExplainProgress) => void,
): Promise<Explanation> {
  checkOptions(options, EXPLAIN_OPTIONS);
  const startedMs = performance.now();
  const startedAt = new Date();
  const {
    command,
    env,
    cwd,
    attach = EXPLAIN_DEFAULTS.attach,
    allowMoreLoad = EXPLAIN_DEFAULTS.allowMoreLoad,
    allowDependencyExperiments = EXPLAIN_DEFAULTS.allowDependencyExperiments,
    budget,
    warmup = 0,
    pid,
    onCpuProfile,
    waitStacks = EXPLAIN_DEFAULTS.waitStacks,
    ...load
  } = options;
  checkCommand({ command, env, cwd });
  const budgetMs =
    budget === undefined ? EXPLAIN_DEFAULTS.budgetMs : parseDuration(budget, 'budget');
  const warmupMs = parseDuration(warmup, 'warmup');
  if (budgetMs < MIN_BUDGET_MS) {
    throw usageError(`budget must be at least ${MIN_BUDGET_MS / 1000}s (got ${budgetMs / 1000}s)`);
  }
  const [minStacks, maxStacks] = WAIT_STACKS;
  if (!Number.isInteger(waitStacks) || waitStacks < minStacks || waitStacks > maxStacks) {
    throw usageError(
      `waitStacks must be an integer from ${minStacks} to ${maxStacks} (got ${waitStacks})`,
    );
  }
  const signal = options.signal ?? new AbortController().signal;
  signal.throwIfAborted();
  const onStep = (step: string) =>
    onProgress({ step, elapsedMs: performance.now() - startedMs, budgetMs });
  const draft = await buildPlan(load as LoadOptions, command ? FUTURE_SERVER : undefined);
  if (pid !== undefined) {
    const verdict = checkPid(pid);
    if (verdict !== 'ok') throw usageError(verdict);
  }

  const http2 = speaksHttp2(draft.summary);
  const hub = command || attach ? await openProbeHub({ http2 }) : null;
  const ports = draft.toCommand ? [] : draft.native.origins.map(({ port }) => port);
  let notAttached: string[] = [];
  const subject = new ServerUnderTest(
    load,
    command === undefined ? null : { command, env, cwd },
    hub,
    signal,
    ports,
    buildTrialRequest(draft),
  );
  try {
    onStep(command ? 'starting the server' : 'examining the server');
    if (command) await subject.start();
    else {
      const known = findServer(pid, null, draft.native.origins);
      subject.observe(known?.pid ?? null, findEndpoint(draft));
      if (attach) notAttached = await attachToServer(subject, hub, signal);
    }
    const capabilities = findCapabilities(subject.pid, subject.endpoint);
    const requestSample = await takeRequestSample(subject.options, signal);
    if (requestSample.sample === null)
      await rejectTlsServer(subject.options, command !== undefined);
    await subject.checkServingProcess();
    // The answer is known once requests have been served.
    const probe = () => hub?.processes.some(({ serving }) => serving) ?? false;
    const untilMs = startedMs + budgetMs;
    const investigation = await investigate(subject, {
      setting: () => ({
        hasProbe: probe(),
        isNativeStack: hub?.processes.some(({ stack }) => stack !== null) ?? false,
        canRestart: subject.canRestart,
        canAddLoad: capabilities.sameHost || allowMoreLoad,
        canChangeDependencies: allowDependencyExperiments,
        socketPath: subject.pid === null ? null : (findListeningPaths(subject.pid)[0] ?? null),
      }),
      requestSample,
      signal,
      untilMs,
      warmupMs,
      onCpuProfile,
      waitStacks,
      onStep,
    });
    const otherPorts = draft.toCommand ? await subject.otherPorts() : [];
    const gaps = [
      ...capabilities.notObserved,
      // A probe whose process has ended did see the load.
      ...explainProbeAbsence(capabilities.isNode, subject, {
        probe: investigation.metrics.base.inside !== null || probe(),
        http2,
      }),
    ];
    const serverEnded = subject.endReason;
    const findings = await compareWithReference(investigation, subject, {
      untilMs,
      signal,
      onStep,
    });
    return {
      schemaVersion: 2,
      tool: { name: 'millrace', version: packageVersion() },
      startedAt: startedAt.toISOString(),
      durationMs: performance.now() - startedMs,
      serverEnded,
      interrupted: findings.interrupted,
      ...conclude(findings, [
        ...gaps,
        ...otherPorts.map(
          (other) => `port ${other}: the command listens there too; give its URL to load it`,
        ),
        ...notAttached.map((reason) => `inside some processes of the server: ${reason}`),
      ]),
    };
  } finally {
    try {
      await subject.close();
    } finally {
      await hub?.close();
    }
  }
}

function findEndpoint({ native }: Plan): Endpoint | null {
  const [origin] = native.origins;
  return origin && origin.unixPath === undefined ? { host: origin.host, port: origin.port } : null;
}

/** Throws a usage error if the server expects TLS: a plain-text load would only measure refused handshakes. */
async function rejectTlsServer(load: LoadOptions, started: boolean): Promise<void> {
  const url = await findTlsUrl(load);
  if (url === null) return;
  const secure = url.replace('http:', 'https:');
  throw usageError(`${url}: the server expects TLS: use ${secure}${started ? ' -- COMMAND' : ''}`);
}

/** Attaches the probe to a running server. Returns the reason for each process that could not get it. */
async function attachToServer(
  subject: ServerUnderTest,
  hub: ProbeHub | null,
  signal: AbortSignal,
): Promise<string[]> {
  if (subject.pid === null || !hub) {
    throw new MillraceError(
      'ERR_MILLRACE_USAGE',
      'attach needs the process of a server on this machine, which is unknown: give its pid',
    );
  }
  return attachProbes(subject.pid, subject.endpoint, hub, signal);
}
