import { usageError } from '../../errors.js';
import type { NativeTls } from '../../native.js';
import { DEFAULTS } from '../defaults.js';
import { readAuthorities, readIdentity } from '../input/certificates.js';
import type { LoadOptions } from '../options.js';
import type { RequestMix } from '../requests/request-mix.js';
import type { PlanSummary } from '../result.js';

/** The use of connections, and their TLS. */
export interface Transport {
  connection: PlanSummary['connection'];
  /** How TLS connections are used; `null` if no target is `https`. */
  tls: PlanSummary['tls'];
  native: NativeTls;
}

/** Reads the use of connections and TLS from the options. */
export function readTransport(options: LoadOptions, mix: RequestMix): Transport {
  const secure = mix.origins.some(({ tls }) => tls);
  refuseTlsWithoutHttps(options, secure);
  const connection = readConnection(options, mix.close);
  const tls = secure ? (options.tls ?? DEFAULTS.tls[connection === 'close' ? 1 : 0]) : null;
  if (tls === 'keep-alive' && connection === 'close') {
    throw usageError(
      'tls keep-alive cannot be combined with connection close: use tls resume or full',
    );
  }
  return { connection, tls, native: { ...readCertificates(options), mode: tls ?? 'keep-alive' } };
}

function readConnection(options: LoadOptions, headersClose: boolean): PlanSummary['connection'] {
  const { connection, tls } = options;
  const handshakes = tls === 'resume' || tls === 'full';
  if (connection === 'keep-alive' && handshakes) {
    throw usageError(
      `connection keep-alive cannot be combined with tls ${tls}, which opens a connection for each request`,
    );
  }
  if (connection === 'keep-alive' && headersClose) {
    throw usageError('connection keep-alive cannot be combined with a header Connection: close');
  }
  return handshakes || headersClose ? 'close' : (connection ?? DEFAULTS.connection);
}

function refuseTlsWithoutHttps(options: LoadOptions, secure: boolean): void {
  if (secure) return;
  for (const option of ['tls', 'ca', 'cert', 'key', 'sni', 'passphrase'] as const) {
    if (options[option] === undefined) continue;
    const value = option === 'passphrase' ? '***' : options[option];
    throw usageError(`${option} needs an https:// URL, and there is none (got '${value}')`);
  }
}

function readCertificates(options: LoadOptions): Omit<NativeTls, 'mode'> {
  const { insecure = false, ca, cert, key, passphrase } = options;
  return {
    verify: !insecure,
    ...(ca !== undefined && { ca: readAuthorities(ca, passphrase) }),
    ...readIdentity({ cert, key, passphrase }),
  };
}
