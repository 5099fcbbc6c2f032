import type http from 'node:http';
import { fromEnvironment } from '../../environment/variables.js';
import { usageError } from '../../errors/millrace-error.js';
import { describeValue } from '../../validation/shape.js';
import { warnOfValue } from '../node/added-properties.js';

/** Servers whose options say whether they speak HTTP/2. */
const chosen = new WeakMap<http.Server, boolean>();

const byDefault = fromEnvironment(readVariable);

/** Reads `http2` from a server's options. A text or a number is a mistake; any other value is the application's own. */
export function applyHttp2Option(server: http.Server, options: unknown): void {
  if (typeof options !== 'object' || options === null) return;
  const { http2 } = options as { http2?: unknown };
  if (typeof http2 === 'boolean') chosen.set(server, http2);
  else if (typeof http2 === 'string' || typeof http2 === 'number') {
    const must = `the option http2 must be true or false (got ${describeValue(http2)})`;
    warnOfValue('http2', `${must}; the value is ignored`);
  }
}

/** Whether servers of `node:http2` are served natively. */
export const servesNodeHttp2 = byDefault;

/** Whether a server speaks HTTP/2 with clients that ask for it. */
export function speaksHttp2(server: http.Server): boolean {
  return chosen.get(server) ?? byDefault;
}

function readVariable(): boolean {
  const text = process.env.MILLRACE_HTTP2;
  if (text === 'on') return true;
  if (!text || text === 'off') return false;
  throw usageError(`MILLRACE_HTTP2 must be 'on' or 'off' (got '${text}')`);
}
