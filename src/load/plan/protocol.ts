import { usageError } from '../../errors/millrace-error.js';
import type { NativeOrigin, NativePlan } from '../../native/addon.js';
import type { TrialRequest } from '../../process/listening/trial-request.js';
import { parseBytes } from '../../validation/units.js';
import { DEFAULTS } from '../defaults.js';
import type { LoadOptions } from '../options.js';
import type { RequestMix } from '../requests/request-mix.js';
import type { PlanSummary } from '../result.js';

/** The versions of HTTP that the connections of a run speak. */
export interface Protocol {
  version: PlanSummary['httpVersion'];
  /** Absent where HTTP/1.1 alone is spoken. */
  native: NativePlan['http2'];
}

type ProtocolOptions = Pick<LoadOptions, 'http2' | 'preferHttp2' | 'h2c' | 'window'>;

/**
 * Reads the versions of HTTP from the options, and refuses those that do not fit the servers. `isFuture`: whether the command's
 * server speaks TLS is not known yet.
 */
export function readProtocol(
  options: ProtocolOptions,
  { origins, toCommand }: Pick<RequestMix, 'origins' | 'toCommand'>,
  isFuture: boolean,
): Protocol {
  const hasTls = origins.some(({ tls }) => tls);
  const hasCleartext = isFuture || origins.some(({ tls }) => !tls);
  const { http2, preferHttp2, h2c } = { ...DEFAULTS, ...options };
  // Servers with calls of gRPC speak HTTP/2, whether it is asked for or not.
  const isCalled = ({ http2 = false }: NativeOrigin) => http2;
  if (preferHttp2 && origins.every(isCalled)) {
    throw usageError('calls of gRPC need HTTP/2: http2 in place of preferHttp2, or neither');
  }
  if (http2 && preferHttp2) {
    throw usageError(
      'http2 cannot be combined with preferHttp2: the one offers HTTP/2 alone, the other HTTP/1.1 too',
    );
  }
  if ((http2 || preferHttp2) && !hasTls) {
    const flag = http2 ? 'http2' : 'preferHttp2';
    const found = toCommand ? "the command's server speaks http" : 'there is none';
    throw usageError(`${flag} needs an https:// URL, and ${found}: for http:// there is h2c`);
  }
  if (http2 && origins.some((it) => !it.tls && !isCalled(it)) && !h2c && !isFuture) {
    throw usageError('http2 needs https:// URLs, and some are http://: for those there is h2c');
  }
  if (h2c && !hasCleartext) {
    throw usageError(
      'h2c is HTTP/2 without TLS and needs an http:// URL: for https:// there is http2',
    );
  }
  if (!(http2 || preferHttp2 || h2c || origins.some(isCalled))) {
    if (options.window !== undefined)
      throw usageError('window is for HTTP/2: http2, preferHttp2 or h2c');
    return { version: '1.1', native: undefined };
  }
  const tls = http2 ? 'http2' : preferHttp2 ? 'either' : 'http1';
  const isHttp2 = (it: NativeOrigin) => isCalled(it) || (it.tls ? http2 : h2c);
  return {
    version: origins.every(isHttp2) || (isFuture && !preferHttp2) ? '2' : '2 or 1.1',
    native: { tls, cleartext: h2c, ...readWindow(options) },
  };
}

/** Chooses what the port of a command must speak to be loaded. */
export function chooseTrialProtocol({
  http2,
  origins,
}: Pick<NativePlan, 'http2' | 'origins'>): Pick<TrialRequest, 'h2c' | 'tls'> {
  if (!http2) return {};
  if (origins[0]?.http2) return { h2c: true };
  const { cleartext, tls } = http2;
  const forTls = tls !== 'http1';
  return { h2c: cleartext, ...(cleartext !== forTls && { tls: forTls }) };
}

function readWindow({ window }: ProtocolOptions): { window?: number } {
  if (window === undefined) return {};
  const bytes = parseBytes(window, 'window');
  if (bytes >= 1 && bytes <= DEFAULTS.window) return { window: bytes };
  throw usageError(`window must be from 1 to ${DEFAULTS.window} bytes (got ${window})`);
}
