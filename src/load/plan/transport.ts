import { usageError } from '../../errors/millrace-error.js';
import type { NativeTls } from '../../native/addon.js';
import { selectPem } from '../../validation/pem.js';
import { DEFAULTS } from '../defaults.js';
import { readAuthorities, readIdentity } from '../input/certificates.js';
import { NO_EXTRA, readExtraAuthorities } from '../input/extra-authorities.js';
import type { LoadOptions } from '../options.js';
import type { RequestMix } from '../requests/request-mix.js';
import type { PlanSummary } from '../result.js';

/** The use of connections, and their TLS. */
export interface Transport {
  connection: PlanSummary['connection'];
  /** `null` if no target is `https`. */
  handshake: PlanSummary['handshake'];
  native: NativeTls;
  /** Why the authorities of NODE_EXTRA_CA_CERTS are not trusted; `null` if they are, or are not needed. */
  extraAuthoritiesError: string | null;
}

/** Reads the use of connections and TLS from the options. */
export function readTransport(options: LoadOptions, mix: RequestMix): Transport {
  const secure = mix.origins.some(({ tls }) => tls);
  if (!secure) refuseTlsOptions(options, mix.toCommand);
  const connection = readConnection(options, mix.close);
  const handshake = secure ? (options.handshake ?? DEFAULTS.handshake) : null;
  if (handshake === 'resume' && connection === 'keep-alive') {
    throw usageError(
      'handshake resume needs connection close: a connection that is kept has one handshake',
    );
  }
  const extra = secure && options.insecure !== true ? readExtraAuthorities(options) : NO_EXTRA;
  return {
    connection,
    handshake,
    native: {
      ...readCertificates(options),
      ...(extra.pem && { extraCa: extra.pem }),
      mode: connection === 'keep-alive' ? 'keep-alive' : (handshake ?? 'keep-alive'),
    },
    extraAuthoritiesError: extra.error,
  };
}

function readConnection(options: LoadOptions, headersClose: boolean): PlanSummary['connection'] {
  const { connection } = options;
  if (connection === 'keep-alive' && headersClose) {
    throw usageError('connection keep-alive cannot be combined with a header Connection: close');
  }
  return headersClose ? 'close' : (connection ?? DEFAULTS.connection);
}

const TLS_OPTIONS = ['handshake', 'ca', 'cert', 'key', 'sni', 'passphrase'] as const;

/** Refuses options that have no effect on http. */
function refuseTlsOptions(options: LoadOptions, toCommand: boolean): void {
  for (const option of TLS_OPTIONS) {
    const given = describeTlsOption(option, options);
    if (given === null) continue;
    const found = toCommand ? "the command's server speaks http" : 'there is none';
    throw usageError(`${option} needs an https:// URL, and ${found} (got ${given})`);
  }
}

/** What the options give for one of them, without secrets; `null`: nothing. */
function describeTlsOption(
  option: (typeof TLS_OPTIONS)[number],
  options: LoadOptions,
): string | null {
  if (option === 'ca' || option === 'cert' || option === 'key') {
    const source = selectPem(option, options);
    if (source === null) return null;
    return 'path' in source ? `'${source.path}'` : 'its contents';
  }
  if (options[option] === undefined) return null;
  return option === 'passphrase' ? "'***'" : `'${options[option]}'`;
}

function readCertificates(options: LoadOptions): Omit<NativeTls, 'mode'> {
  const ca = readAuthorities(options);
  return {
    verify: !(options.insecure ?? DEFAULTS.insecure),
    ...(ca !== null && { ca }),
    ...readIdentity(options),
  };
}
