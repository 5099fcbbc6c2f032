import { isObject } from '../../validation/shape.js';
import { LatestValue } from './latest-value.js';

/**
 * A run: the promise of its result, and an iterable of its progress. At the end of a block that begins with
 * `await using run = load(...)` it is ended as by an abort, and its end is awaited.
 */
export interface Run<Result, Progress> extends Promise<Result>, AsyncIterable<Progress> {
  [Symbol.asyncDispose](): Promise<void>;
}

/** Starts a run that reports its progress. Its options are those given, with a signal that also disposing of it aborts. */
export function startRun<Options extends { signal?: AbortSignal }, Progress, Result>(
  options: Options,
  run: (options: Options, onProgress: (progress: Progress) => void) => Promise<Result>,
): Run<Result, Progress> {
  const progress = new LatestValue<Progress>();
  return followRun(options, progress, (own) => run(own, (value) => progress.push(value)));
}

/** Starts a run whose progress is followed; see `startRun()`. */
export function followRun<Options extends { signal?: AbortSignal }, Progress, Result>(
  options: Options,
  progress: Pick<LatestValue<Progress>, 'follow' | 'end'>,
  run: (options: Options) => Promise<Result>,
): Run<Result, Progress> {
  const stop = new AbortController();
  const unlink = linkSignal(options, stop);
  const own = unlink === null ? options : { ...options, signal: stop.signal };
  const result = run(own).finally(() => {
    unlink?.();
    progress.end();
  });
  const dispose = async () => {
    stop.abort();
    await result.catch(() => {});
  };
  return Object.assign(progress.follow(result), { [Symbol.asyncDispose]: dispose });
}

/** Makes the signal of the options abort a controller until the returned function is called; `null` if they have no proper one. */
function linkSignal(options: { signal?: AbortSignal }, stop: AbortController): (() => void) | null {
  // What is not proper is refused by the run.
  if (!isObject(options)) return null;
  const { signal } = options;
  if (signal === undefined) return () => {};
  if (!(signal instanceof AbortSignal)) return null;
  const abort = () => stop.abort(signal.reason);
  if (signal.aborted) abort();
  signal.addEventListener('abort', abort, { once: true });
  return () => signal.removeEventListener('abort', abort);
}
