import { observeProcess } from '../explain/observe/process-observer.js';
import type { OutsideView } from '../explain/observe/types.js';
import { run as runExplain } from '../explain/run.js';
import { runLoad } from '../load/engine/run.js';
import type { LoadOptions } from '../load/options.js';
import type { LabCause } from './result.js';
import { commandOf, type Service, type ServiceSetting, typed, withService } from './service.js';
import type { Bench, ExplainedLoad, Loaded } from './study.js';

/** Time that `explain` gets for a cause. */
const EXPLAIN_MS = { quick: 20_000, full: 45_000 };

/** What a study works with: it notes down whatever is started and loaded. */
export function openBench(
  quick: boolean,
  signal: AbortSignal,
  onStep: (what: string) => void,
): Bench {
  const setup: string[] = [];
  const doubts: string[] = [];
  const note = (line: string, list = setup) => {
    if (!list.includes(line)) list.push(line);
  };
  return {
    quick,
    signal,
    setup,
    doubts,
    step: onStep,
    withService<T>(setting: ServiceSetting, use: (service: Service) => Promise<T>): Promise<T> {
      note(typed(setting));
      return withService(setting, signal, use);
    },
    async load(service, options): Promise<Loaded> {
      const line = `millrace ${flagsOf(options)} ${pathOf(options)}`.trimEnd();
      note(line);
      const url = `${service.origin}${options.url ?? '/'}`;
      const watch = observeProcess(service.pid);
      try {
        const measured = await runLoad({ pid: service.pid, ...options, url, signal });
        signal.throwIfAborted();
        const { result, completed, fromMs, toMs } = measured;
        const { clientBound, reasons } = result.generator;
        if (clientBound) {
          const what = `${typed(service.setting)} under ${line}`;
          note(`${what}: ${reasons.join('; ')}, so it is no measure of the server`, doubts);
        }
        const rate = (completed * 1000) / Math.max(1, toMs - fromMs);
        return { ...result, rate, writes: writesOf(watch?.between(fromMs, toMs) ?? null, rate) };
      } finally {
        watch?.stop();
      }
    },
    async explain(setting, load: ExplainedLoad): Promise<LabCause> {
      onStep('explaining it');
      const { env = {} } = setting;
      const budget = quick ? EXPLAIN_MS.quick : EXPLAIN_MS.full;
      const { verdict, remedy } = await runExplain(
        { ...load, command: [...environment(env), ...commandOf(setting)], budget, signal },
        () => {},
      );
      signal.throwIfAborted();
      const { limit, status, sentence, arithmetic } = verdict;
      const explain = `millrace explain ${flagsOf(load)} -- `.replace('  ', ' ');
      const command = typed(setting, explain);
      return { limit, status, sentence, arithmetic, remedy, command };
    },
  };
}

/** Writes per response below which the server sends by calls that the system does not count, as `sendmsg`. */
const COUNTED = 0.5;

/** What the server writes: to its sockets, if it prints nothing. */
function writesOf(seen: OutsideView | null, rate: number): Loaded['writes'] {
  const calls = seen?.processes[0]?.calls;
  if (!calls || calls.writes < COUNTED * rate) return null;
  return { perResponse: calls.writes / rate, bytesEach: calls.writtenBytes / calls.writes };
}

/** A command has no environment of its own: `env` gives it one. */
function environment(env: Record<string, string>): string[] {
  const pairs = Object.entries(env).map(([name, value]) => `${name}=${value}`);
  return pairs.length > 0 ? ['env', ...pairs] : [];
}

/** The options that a study sets, as flags. */
const FLAGS: Partial<Record<keyof LoadOptions, (value: unknown) => string>> = {
  connections: (value) => `-c ${value}`,
  threads: (value) => `-t ${value}`,
  rate: (value) => `-R ${value}`,
  pipelining: (value) => `-p ${value}`,
  duration: (value) => `-d ${inUnits(value)}`,
  requests: (value) => `-n ${value}`,
  warmup: (value) => (value === 0 ? '' : `--warmup ${inUnits(value)}`),
  method: (value) => `-m ${value}`,
  body: (value) => `-b '${value}'`,
  connection: (value) => `--connection ${value}`,
  tls: (value) => `--tls ${value}`,
  insecure: (value) => (value ? '-k' : ''),
  timeout: (value) => `--timeout ${inUnits(value)}`,
  arrivals: (value) => (value === 'poisson' ? '--poisson' : ''),
};

/** The command line of a load, without its URL. */
function flagsOf(options: LoadOptions): string {
  return Object.entries(options)
    .flatMap(([name, value]) => FLAGS[name as keyof LoadOptions]?.(value) ?? [])
    .filter((text) => text !== '')
    .join(' ');
}

function pathOf({ url }: LoadOptions): string {
  return url === undefined || url === '/' ? 'URL' : `URL${url}`;
}

function inUnits(value: unknown): string {
  if (typeof value !== 'number') return String(value);
  return value % 1000 === 0 ? `${value / 1000}s` : `${value}ms`;
}
