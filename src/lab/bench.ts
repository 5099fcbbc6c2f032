import { observeProcess } from '../explain/observe/process-observer.js';
import type { OutsideView } from '../explain/observe/types.js';
import { runExplain } from '../explain/run.js';
import { runLoad } from '../load/engine/run.js';
import type { LoadOptions } from '../load/options.js';
import type { LabCause } from './result.js';
import {
  buildCommand,
  formatCommandLine,
  type Service,
  type ServiceSetting,
  withService,
} from './service.js';
import type { Bench, ExplainedLoad, MeasuredLoad } from './study.js';

/** Time budget of `explain` for a cause, in milliseconds. */
const EXPLAIN_MS = { quick: 20_000, full: 45_000 };

/** Creates the bench of a study. It records the command line of each service and load. */
export function createBench(
  quick: boolean,
  signal: AbortSignal,
  onStep: (what: string) => void,
): Bench {
  const setup: string[] = [];
  const warnings: string[] = [];
  const note = (line: string, list = setup) => {
    if (!list.includes(line)) list.push(line);
  };
  return {
    quick,
    signal,
    setup,
    warnings,
    step: onStep,
    withService<T>(setting: ServiceSetting, use: (service: Service) => Promise<T>): Promise<T> {
      note(formatCommandLine(setting));
      return withService(setting, signal, use);
    },
    async load(service, options): Promise<MeasuredLoad> {
      const line = `millrace ${formatFlags(options)} ${formatUrl(options)}`.trimEnd();
      note(line);
      const url = `${service.origin}${options.url ?? '/'}`;
      const watch = observeProcess(service.pid);
      try {
        const measured = await runLoad({ pid: service.pid, ...options, url, signal });
        signal.throwIfAborted();
        const { result, completed, fromMs, toMs } = measured;
        const { clientBound, reasons } = result.generator;
        if (clientBound) {
          const what = `${formatCommandLine(service.setting)} under ${line}`;
          note(
            `${what}: ${reasons.join('; ')}, so the figures describe the load generator`,
            warnings,
          );
        }
        const rate = (completed * 1000) / Math.max(1, toMs - fromMs);
        return {
          ...result,
          rate,
          writes: measureWrites(watch?.between(fromMs, toMs) ?? null, rate),
        };
      } finally {
        watch?.stop();
      }
    },
    async explain(setting, load: ExplainedLoad): Promise<LabCause> {
      onStep('running explain');
      const { env = {} } = setting;
      const budget = quick ? EXPLAIN_MS.quick : EXPLAIN_MS.full;
      const { verdict, remedy } = await runExplain(
        { ...load, command: [...buildEnvCommand(env), ...buildCommand(setting)], budget, signal },
        () => {},
      );
      signal.throwIfAborted();
      const { limit, status, sentence, arithmetic } = verdict;
      const explain = `millrace explain ${formatFlags(load)} -- `.replace('  ', ' ');
      const command = formatCommandLine(setting, explain);
      return { limit, status, sentence, arithmetic, remedy, command };
    },
  };
}

/** Writes per response below which the server must be using calls that the system does not count, such as `sendmsg`. */
const MIN_COUNTED_WRITES = 0.5;

/** Measures the write calls of the server. They go to its sockets, provided that it prints nothing. */
function measureWrites(view: OutsideView | null, rate: number): MeasuredLoad['writes'] {
  const calls = view?.processes[0]?.calls;
  if (!calls || calls.writes < MIN_COUNTED_WRITES * rate) return null;
  return { perResponse: calls.writes / rate, bytesEach: calls.writtenBytes / calls.writes };
}

/** Builds the `env` command that sets environment variables for the command after it. */
function buildEnvCommand(env: Record<string, string>): string[] {
  const pairs = Object.entries(env).map(([name, value]) => `${name}=${value}`);
  return pairs.length > 0 ? ['env', ...pairs] : [];
}

/** The command-line flag of each option that a study sets. */
const FLAG_FORMATS: Partial<Record<keyof LoadOptions, (value: unknown) => string>> = {
  connections: (value) => `-c ${value}`,
  threads: (value) => `-t ${value}`,
  rate: (value) => `-R ${value}`,
  pipelining: (value) => `-p ${value}`,
  duration: (value) => `-d ${formatTime(value)}`,
  requests: (value) => `-n ${value}`,
  warmup: (value) => (value === 0 ? '' : `--warmup ${formatTime(value)}`),
  method: (value) => `-m ${value}`,
  body: (value) => `-b '${value}'`,
  connection: (value) => `--connection ${value}`,
  handshake: (value) => `--tls ${value}`,
  insecure: (value) => (value ? '-k' : ''),
  timeout: (value) => `--timeout ${formatTime(value)}`,
  arrivals: (value) => (value === 'poisson' ? '--poisson' : ''),
};

/** Formats the flags of a load, without its URL. */
function formatFlags(options: LoadOptions): string {
  return Object.entries(options)
    .flatMap(([name, value]) => FLAG_FORMATS[name as keyof LoadOptions]?.(value) ?? [])
    .filter((text) => text !== '')
    .join(' ');
}

function formatUrl({ url }: LoadOptions): string {
  return url === undefined || url === '/' ? 'URL' : `URL${url}`;
}

function formatTime(value: unknown): string {
  if (typeof value !== 'number') return String(value);
  return value % 1000 === 0 ? `${value / 1000}s` : `${value}ms`;
}
