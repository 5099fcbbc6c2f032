import { randomBytes } from 'node:crypto';
import type { LoadOptions } from '../../load/options.js';
import { buildPlan } from '../../load/plan/plan.js';
import type { PlanSummary } from '../../load/result.js';
import type { NativeHeader, NativePlan, NativeTls } from '../../native/addon.js';
import { speaksTls } from '../../process/listening/trial-request.js';
import type { SampleResponse } from '../observe/types.js';
import { withSingleUrl } from './load-variants.js';
import { type SingleRequest, sendSingleRequest } from './single-request.js';

const NOT_FOUND = 404;

/** Result of one sample request of the load. */
export interface RequestSample {
  sample: SampleResponse | null;
  /** A URL to which the server responds 404; `null` if it answers every path alike. */
  unknownPath: string | null;
  /** Time until the response was complete, including the opening of the connection. */
  durationMs: number | null;
  /** Bytes of the body with identity encoding; `null` if the response is never compressed, or always. */
  identityBytes: number | null;
}

/** Sends the first request of the load once or twice. All fields are `null` if the server does not answer. */
export async function takeRequestSample(
  options: LoadOptions,
  signal: AbortSignal,
): Promise<RequestSample> {
  const take = (load: LoadOptions, added = {}) => sendSample(load, added, signal);
  // The first response is discarded: its code is still being compiled.
  if ((await take(options)) === null) {
    return { sample: null, unknownPath: null, durationMs: null, identityBytes: null };
  }
  const startedMs = performance.now();
  const sample = await take(options);
  const durationMs = sample ? performance.now() - startedMs : null;
  const encoding = sample?.headers['content-encoding'];
  const identity = encoding ? await take(options, { 'accept-encoding': 'identity' }) : null;
  const isPlain = identity !== null && identity.headers['content-encoding'] === undefined;
  const unknownPath =
    sample && sample.status !== NOT_FOUND ? await findUnknownPath(options, take) : null;
  return { sample, unknownPath, durationMs, identityBytes: isPlain ? identity.bodyBytes : null };
}

/** Returns the URL if the load is plain text but the server expects a TLS handshake; otherwise `null`. */
export async function findTlsUrl(options: LoadOptions): Promise<string | null> {
  const { targets } = (await buildPlan(options)).summary;
  const url = targets[0]?.url ?? '';
  if (!url.startsWith('http://') || options.socketPath !== undefined) return null;
  const { hostname, port } = new URL(url);
  const endpoint = { host: hostname.replace(/^\[|\]$/g, ''), port: Number(port || 80) };
  return (await speaksTls(endpoint)) ? url : null;
}

async function findUnknownPath(
  options: LoadOptions,
  take: (options: LoadOptions) => Promise<SampleResponse | null>,
): Promise<string | null> {
  const { targets } = (await buildPlan(options)).summary;
  const origins = new Set(targets.map(({ url }) => new URL(url).origin));
  const [origin] = origins;
  if (!origin || origins.size > 1) return null;
  const url = `${origin}/no-such-path-${randomBytes(4).toString('hex')}`;
  const response = await take(withSingleUrl(url, options));
  return response?.status === NOT_FOUND ? url : null;
}

/** A response that takes longer is not used. */
const RESPONSE_TIMEOUT_MS = 5000;

async function sendSample(
  options: LoadOptions,
  added: Record<string, string>,
  signal: AbortSignal,
): Promise<SampleResponse | null> {
  const { native, summary } = await buildPlan(options);
  const index = findSampleIndex(native);
  // The steps of a scenario depend on each other: the root of the server says as much about it.
  if (index < 0) return sendSample(withRoot(summary, options), added, signal);
  const [first, target] = [native.requests[index], summary.targets[index]];
  const origin = native.origins[first?.origin ?? 0];
  if (!first || !origin || !target || !/^https?:/.test(target.url)) return null;
  const kept = first.headers.filter(({ name }) => !(name.toLowerCase() in added));
  const fields = [...kept, ...Object.entries(added).map(([name, value]) => ({ name, value }))];
  return sendSingleRequest({
    origin,
    http2: origin.http2 ? { tls: 'http2', cleartext: true } : native.http2,
    security: buildTlsOptions(native.tls),
    method: first.method,
    target: first.target,
    headers: groupFields(fields),
    body: first.body,
    signal: AbortSignal.any([signal, AbortSignal.timeout(RESPONSE_TIMEOUT_MS)]),
  });
}

/** Finds the request that is sent as a sample: the first one, of a scenario the first one without placeholders; or -1. */
function findSampleIndex({ requests, flows }: NativePlan): number {
  if (!flows) return 0;
  return requests.findIndex(({ method, target, headers }) => {
    const texts = [target, ...headers.map(({ value }) => value)];
    return method === 'GET' && !texts.some((text) => text.includes('{{'));
  });
}

function withRoot({ targets }: Pick<PlanSummary, 'targets'>, options: LoadOptions): LoadOptions {
  return withSingleUrl(new URL('/', targets[0]?.url).href, options);
}

/** Groups header fields by name, as Node.js accepts them: a field that occurs once must be a string (Host). */
function groupFields(fields: NativeHeader[]): Record<string, string | string[]> {
  const values: Record<string, string | string[]> = {};
  for (const { name, value } of fields) {
    const earlier = values[name];
    values[name] = earlier === undefined ? value : [earlier, value].flat();
  }
  return values;
}

/** Verifies certificates as the load does: the request may contain secrets for the right server only. */
function buildTlsOptions({ verify, ca, cert, key }: NativeTls): SingleRequest['security'] {
  return {
    rejectUnauthorized: verify,
    ...(ca && { ca }),
    ...(cert && { cert }),
    ...(key && { key }),
  };
}
