import { readFileSync } from 'node:fs';
import { request as httpRequest, type IncomingHttpHeaders } from 'node:http';
import { request as httpsRequest } from 'node:https';
import type { SecureContextOptions } from 'node:tls';
import type { LoadOptions } from '../load/options.js';
import { planOf } from '../load/plan.js';

/** One response, looked at whole before the load. */
export interface Sample {
  status: number;
  headers: IncomingHttpHeaders;
  bodyBytes: number;
}

/** What one request of the load showed. */
export interface Sampled {
  sample: Sample | null;
  /** Until the response was complete, the connection's opening included. */
  tookMs: number | null;
  /** Bytes of the body when no compression is asked for; `null` if there is none anyway. */
  identityBytes: number | null;
}

/** Sends the first request of the load once or twice; a server that does not answer gives nothing. */
export async function sampleOf(options: LoadOptions): Promise<Sampled> {
  // The first times are those of code that is being compiled.
  await take(options, {});
  const begun = performance.now();
  const sample = await take(options, {});
  const tookMs = sample ? performance.now() - begun : null;
  const encoding = sample?.headers['content-encoding'];
  const identity = encoding ? await take(options, { 'accept-encoding': 'identity' }) : null;
  const isPlain = identity !== null && identity.headers['content-encoding'] === undefined;
  return { sample, tookMs, identityBytes: isPlain ? identity.bodyBytes : null };
}

const PATIENCE_MS = 10_000;

async function take(options: LoadOptions, added: Record<string, string>): Promise<Sample | null> {
  const { summary } = await planOf(options);
  const [target] = summary.targets;
  if (!target || !/^https?:/.test(target.url)) return null;
  const url = new URL(target.url);
  const given = Array.isArray(options.headers)
    ? options.headers
    : Object.entries(options.headers ?? {});
  const kept = given.filter(([name]) => !(name.toLowerCase() in added));
  const body = options.body ?? (options.bodyFile ? readFileSync(options.bodyFile) : undefined);
  const request = url.protocol === 'https:' ? httpsRequest : httpRequest;
  const security = url.protocol === 'https:' ? securityOf(options) : {};
  return new Promise((resolve) => {
    const nothing = () => resolve(null);
    const sent = request(
      url,
      {
        method: target.method,
        headers: { ...Object.fromEntries(kept), ...added },
        agent: false,
        timeout: PATIENCE_MS,
        ...security,
        ...(options.socketPath !== undefined && { socketPath: options.socketPath }),
      },
      (response) => {
        let bodyBytes = 0;
        response.on('data', (chunk: Buffer) => {
          bodyBytes += chunk.length;
        });
        response.on('error', nothing);
        response.on('end', () => {
          resolve({ status: response.statusCode ?? 0, headers: response.headers, bodyBytes });
        });
      },
    );
    sent.on('timeout', () => sent.destroy());
    sent.on('error', nothing);
    sent.on('close', nothing);
    sent.end(body);
  });
}

/** As the load verifies: the request may carry what only the right server is to see. */
function securityOf({ insecure, ca, cert, key, sni }: LoadOptions): SecureContextOptions & {
  rejectUnauthorized: boolean;
  servername?: string;
} {
  return {
    rejectUnauthorized: !insecure,
    ...(ca !== undefined && { ca: readFileSync(ca) }),
    ...(cert !== undefined && { cert: readFileSync(cert) }),
    ...(key !== undefined && { key: readFileSync(key) }),
    ...(sni !== undefined && { servername: sni }),
  };
}
