import { inspect } from 'node:util';
import type { NativeHookCall, NativeHookResponse, NativeHookResult } from '../../native/addon.js';
import type { HookContext, HookResponse } from '../../scenario/hooks.js';
import type { HookFigures } from '../outcome/scenarios/figures.js';
import type { Plan } from '../plan/plan.js';
import { OwnMetrics } from './own-metrics.js';

/** Takes results of hooks. */
interface Answerable {
  answerHooks(results: NativeHookResult[]): void;
}

/** Calls the hooks of scenarios for the engine, a batch at a time, and measures their time. */
export class HookDispatcher {
  readonly #plan: Pick<Plan, 'hooks' | 'data'>;
  readonly #names: readonly string[];
  readonly #indexes: ReadonlyMap<string, number>;
  readonly #metrics = new OwnMetrics();
  readonly #limitMs: number;
  #engine: Answerable | null = null;
  #calls = 0;
  #busyMs = 0;
  #waitMs = 0;

  constructor(plan: Pick<Plan, 'hooks' | 'data' | 'native'>) {
    this.#plan = plan;
    this.#limitMs = plan.native.timeoutMs;
    this.#names = plan.native.flows?.variables ?? [];
    this.#indexes = new Map(this.#names.map((name, index) => [name, index]));
  }

  /** Sets where results go. */
  answerTo(engine: Answerable): void {
    this.#engine = engine;
  }

  /** Calls a batch of hooks. Results of those that return at once go back together, those of promises as they settle. */
  readonly dispatch = (calls: NativeHookCall[]): void => {
    const arrived = performance.now();
    const results: NativeHookResult[] = [];
    for (const call of calls) {
      const started = performance.now();
      this.#waitMs += started - arrived;
      const result = this.#call(call);
      this.#busyMs += performance.now() - started;
      if (result instanceof Promise) result.then((late) => this.#engine?.answerHooks([late]));
      else results.push(result);
    }
    this.#calls += calls.length;
    if (results.length > 0) this.#engine?.answerHooks(results);
  };

  /** Returns what was measured so far. */
  figures(): HookFigures {
    const hooks = { calls: this.#calls, busyMs: this.#busyMs, waitMs: this.#waitMs };
    return { hooks, metrics: this.#metrics.summarize() };
  }

  #call(call: NativeHookCall): NativeHookResult | Promise<NativeHookResult> {
    const hook = this.#plan.hooks[call.hook];
    const before = readVariables(call, this.#names);
    const variables = { ...before };
    const context: HookContext = {
      variables,
      iteration: call.iteration,
      data: this.#plan.data,
      metrics: this.#metrics,
    };
    const finish = (error?: unknown) => this.#finish(call, before, variables, error);
    try {
      let returned: unknown;
      if (hook && 'before' in hook) returned = hook.before(context);
      else if (hook && call.response) returned = hook.after(new Response(call.response), context);
      if (!isThenable(returned)) return finish();
      return withinLimit(returned, this.#limitMs).then(
        () => finish(),
        (error) => finish(error ?? 'rejected'),
      );
    } catch (error) {
      return finish(error ?? 'thrown');
    }
  }

  #finish(
    { worker, user }: NativeHookCall,
    before: Record<string, unknown>,
    after: Record<string, unknown>,
    error: unknown,
  ): NativeHookResult {
    let failure = error === undefined ? undefined : describeError(error);
    const variables: NativeHookResult['variables'] = [];
    for (const name of new Set([...Object.keys(before), ...Object.keys(after)])) {
      const variable = this.#indexes.get(name);
      // A variable that no step uses is of no use to the engine.
      if (variable === undefined) continue;
      const value = after[name];
      if (value === before[name] && typeof value !== 'object') continue;
      try {
        const json = value === undefined ? undefined : JSON.stringify(value);
        variables.push(json === undefined ? { variable } : { variable, json });
      } catch (reason) {
        // A bigint, or an object that contains itself.
        failure ??= `variable ${name}: ${describeError(reason)}`;
      }
    }
    return { worker, user, variables, ...(failure !== undefined && { error: failure }) };
  }
}

/** Waits for what a hook returned, as long as a request may take: a user whose hook never ends would wait for ever. */
async function withinLimit(returned: PromiseLike<unknown>, limitMs: number): Promise<unknown> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    const fail = () => reject(new Error(`the hook has not ended within ${limitMs} ms (--timeout)`));
    timer = setTimeout(fail, limitMs);
  });
  try {
    return await Promise.race([returned, late]);
  } finally {
    clearTimeout(timer);
  }
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof (value as { then?: unknown } | null | undefined)?.then === 'function';
}

/** Returns what was thrown as one line. Anything can be thrown, also what has no text or throws when it is read. */
function describeError(error: unknown): string {
  try {
    const isText = typeof error === 'string';
    const isError = error instanceof Error;
    const message = isError ? `${error.name}: ${error.message}` : isText ? error : inspect(error);
    return message.replace(/\s*\n\s*/g, ' ');
  } catch {
    return 'a value that cannot be shown was thrown';
  }
}

function readVariables(
  { variables }: NativeHookCall,
  names: readonly string[],
): Record<string, unknown> {
  return Object.fromEntries(
    variables.map(({ variable, json }) => [
      names[variable] ?? '',
      json === undefined ? undefined : JSON.parse(json),
    ]),
  );
}

/** A response for hooks; what a hook does not ask for is not computed. */
class Response implements HookResponse {
  readonly status: number;
  readonly durationMs: number;
  readonly #native: NativeHookResponse;

  constructor(native: NativeHookResponse) {
    this.status = native.status;
    this.durationMs = native.durationMs;
    this.#native = native;
  }

  get headers(): Readonly<Record<string, string>> {
    const headers: Record<string, string> = {};
    for (const [name = '', value = ''] of this.#native.headers) {
      const key = name.toLowerCase();
      const earlier = headers[key];
      const separator = key === 'set-cookie' ? '\n' : ', ';
      headers[key] = earlier === undefined ? value : `${earlier}${separator}${value}`;
    }
    return headers;
  }

  get body(): Buffer {
    return this.#native.body ?? Buffer.alloc(0);
  }

  text(): string {
    return this.body.toString('utf8');
  }

  json<Value = unknown>(): Value {
    // As fetch does, without a byte order mark.
    return JSON.parse(this.text().replace(/^\uFEFF/, ''));
  }
}
