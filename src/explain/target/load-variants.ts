import type { LoadOptions } from '../../load/options.js';
import type { Change } from '../experiments/types.js';

/** The load with what is different about it. */
export function applyChange(options: LoadOptions, { oneAtATime, url, load }: Change): LoadOptions {
  const base = oneAtATime ? withOneConnection(options) : options;
  return { ...(url === undefined ? base : withSingleUrl(url, base)), ...load };
}

/** Requests without content for one URL. */
export function withSingleUrl(url: string, options: LoadOptions): LoadOptions {
  const { body, bodyFile, targets, targetsFile, ...others } = options;
  return { ...others, url, method: 'GET' };
}

/** The same requests, one at a time; to several hosts one each. */
function withOneConnection(options: LoadOptions): LoadOptions {
  const hosts = new Set(
    [options.url ?? []].flat().map((url) => url.split('/').slice(0, 3).join('/')),
  );
  return toClosedLoad(options, Math.max(1, hosts.size));
}

/** No more threads than connections. */
export function limitThreads({
  connections,
  threads,
}: LoadOptions): Pick<LoadOptions, 'threads'> {
  if (connections === undefined || threads === undefined) return {};
  return Number(threads) > Number(connections) ? { threads: connections } : {};
}

/** The same requests by so many connections, each answer followed by the next request. */
export function toClosedLoad(options: LoadOptions, connections: number): LoadOptions {
  const { rate, stages, arrivals, maxPending, ...others } = options;
  return { ...others, connections, threads: 1, pipelining: 1 };
}

/** The same load, sent to another origin: the URLs that begin with `/`, or all if there are none. */
export function withOrigin(options: LoadOptions, origin: string): LoadOptions {
  const urls = [options.url ?? '/'].flat();
  return { ...options, url: urls.map((url) => (url.startsWith('/') ? `${origin}${url}` : url)) };
}
