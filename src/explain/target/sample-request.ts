import { randomBytes } from 'node:crypto';
import { request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import type { Socket } from 'node:net';
import { type SecureContextOptions, TLSSocket } from 'node:tls';
import type { LoadOptions } from '../../load/options.js';
import { buildPlan } from '../../load/plan/plan.js';
import type { PlanSummary } from '../../load/result.js';
import type { NativeHeader, NativePlan, NativeTls } from '../../native/addon.js';
import { speaksTls } from '../../process/listening/trial-request.js';
import type { SampleResponse } from '../observe/types.js';
import { sendHttp2Request } from './http2-request.js';
import { withSingleUrl } from './load-variants.js';

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
  if (!first || !target || !/^https?:/.test(target.url)) return null;
  // Targets in the summary are masked, so the path comes from the request itself.
  const url = new URL(`${new URL(target.url).origin}${first.target}`);
  const kept = first.headers.filter(({ name }) => !(name.toLowerCase() in added));
  const fields = [...kept, ...Object.entries(added).map(([name, value]) => ({ name, value }))];
  const request = url.protocol === 'https:' ? httpsRequest : httpRequest;
  const security = url.protocol === 'https:' ? buildTlsOptions(native.tls, options) : {};
  const limited = AbortSignal.any([signal, AbortSignal.timeout(RESPONSE_TIMEOUT_MS)]);
  if (mayUseHttp2(summary, url)) {
    let rsaBits: number | null = null;
    const response = await sendHttp2Request({
      url,
      method: first.method,
      headers: groupFields(fields),
      body: first.body,
      security,
      socketPath: options.socketPath,
      signal: limited,
      onSocket: (socket) => {
        rsaBits = readRsaBits(socket);
      },
    }).catch(() => null);
    if (response) return { ...response, rsaBits };
    if (summary.httpVersion === '2') return null;
  }
  return new Promise<SampleResponse | null>((resolve) => {
    const resolveNull = () => resolve(null);
    const clientRequest = request(
      url,
      {
        method: first.method,
        headers: groupFields(fields),
        agent: false,
        signal: limited,
        ...security,
        ...(options.socketPath !== undefined && { socketPath: options.socketPath }),
      },
      (response) => {
        let bodyBytes = 0;
        const rsaBits = readRsaBits(response.socket);
        response.on('data', (chunk: Buffer) => {
          bodyBytes += chunk.length;
        });
        response.on('error', resolveNull);
        response.on('end', () => {
          const { statusCode: status = 0, headers } = response;
          resolve({ status, headers, bodyBytes, rsaBits });
        });
      },
    );
    clientRequest.on('error', resolveNull);
    clientRequest.on('close', resolveNull);
    clientRequest.end(first.body);
    // The load reports invalid options, such as a bad certificate, with a better message.
  }).catch(() => null);
}

/** Whether the load's requests to this URL may be ones of HTTP/2. */
function mayUseHttp2(
  { httpVersion }: Pick<PlanSummary, 'httpVersion'>,
  { protocol }: URL,
): boolean {
  return httpVersion === '2' || (httpVersion === '2 or 1.1' && protocol === 'https:');
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

/** Reads the size of the RSA key of the peer's certificate. */
function readRsaBits(socket: Socket | TLSSocket): number | null {
  if (!(socket instanceof TLSSocket)) return null;
  const { modulus, bits } = socket.getPeerCertificate();
  return modulus === undefined ? null : (bits ?? null);
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
function buildTlsOptions(
  { verify, ca, cert, key }: NativeTls,
  { sni }: LoadOptions,
): SecureContextOptions & { rejectUnauthorized: boolean; servername?: string } {
  return {
    rejectUnauthorized: verify,
    ...(ca && { ca }),
    ...(cert && { cert }),
    ...(key && { key }),
    ...(sni !== undefined && { servername: sni }),
  };
}
