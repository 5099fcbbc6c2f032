import type { LoadOptions } from '../../load/options.js';
import { listUrls } from '../../load/requests/url.js';
import type { Change } from './change.js';

/** Returns the load with a change applied. */
export function applyChange(options: LoadOptions, { oneAtATime, url, load }: Change): LoadOptions {
  const base = oneAtATime ? withOneConnection(options) : options;
  return { ...(url === undefined ? base : withSingleUrl(url, base)), ...load };
}

/** Returns the load as requests without content to one URL. */
export function withSingleUrl(url: string, options: LoadOptions): LoadOptions {
  const { body, bodyFile, targets, targetsFile, scenario, users, maxBody, ...others } = options;
  const connections = others.connections ?? (scenario === undefined ? undefined : users);
  const rest = keepVersions(url, others);
  return { ...rest, ...(connections !== undefined && { connections }), url, method: 'GET' };
}

/**
 * Leaves only those options of HTTP/2 that are for the URL's scheme: other URLs of the load may have another one. A server of
 * gRPC speaks HTTP/2 alone.
 */
function keepVersions(url: string, { grpc, proto, ...options }: LoadOptions): LoadOptions {
  const isCall = grpc !== undefined;
  const { http2 = isCall, preferHttp2 = false, h2c = isCall, window, ...others } = options;
  const versions = /^https:/i.test(url) ? { http2, preferHttp2 } : { h2c };
  const isHttp2 = Object.values(versions).includes(true);
  return isHttp2 ? { ...others, ...versions, ...(window !== undefined && { window }) } : others;
}

/** Returns the load as one request at a time; with several hosts, one for each. */
function withOneConnection(options: LoadOptions): LoadOptions {
  const hosts = new Set(listUrls(options.url).map((url) => url.split('/').slice(0, 3).join('/')));
  return toClosedLoad(options, Math.max(1, hosts.size));
}

/** Limits the number of threads to the number of connections. */
export function limitThreads({ connections, threads }: LoadOptions): Pick<LoadOptions, 'threads'> {
  if (connections === undefined || threads === undefined) return {};
  return Number(threads) > Number(connections) ? { threads: connections } : {};
}

/** Returns the load as a closed one: each connection sends the next request after the response. */
export function toClosedLoad(options: LoadOptions, connections: number): LoadOptions {
  const { rate, stages, arrivals, maxPending, users, ...others } = options;
  return { ...others, connections, threads: 1, pipelining: 1 };
}

/** Returns the load with another origin for the URLs that begin with `/`, or for `/` if there are no URLs. */
export function withOrigin(options: LoadOptions, origin: string): LoadOptions {
  const urls = listUrls(options.url ?? '/');
  return { ...options, url: urls.map((url) => (url.startsWith('/') ? `${origin}${url}` : url)) };
}
