import type { X509Certificate } from 'node:crypto';
import { isSelfSigned, issuerOf } from './secure-context.js';

// Taken now: OpenSSL does not look at clocks that tests put into `Date` either.
const { now } = Date;

/**
 * What OpenSSL says of a client's certificate that rustls has not found valid, by the names that Node gives in
 * `authorizationError`; `null` if it is valid after all: a root itself, or of X.509 version 1 and directly
 * under a root. `chain` is as the client has sent it.
 */
export function authorizationError(
  chain: X509Certificate[],
  authorities: X509Certificate[],
): string | null {
  const [certificate, ...others] = chain;
  if (!certificate) return 'UNABLE_TO_GET_ISSUER_CERT';
  const path = [certificate];
  let error: string | null = null;
  for (let last = certificate; ; ) {
    if (isSelfSigned(last)) {
      const known = authorities.some((one) => one.raw.equals(last.raw));
      if (!known)
        error = path.length > 1 ? 'SELF_SIGNED_CERT_IN_CHAIN' : 'DEPTH_ZERO_SELF_SIGNED_CERT';
      break;
    }
    const issuer: X509Certificate | undefined =
      issuerOf(last, authorities) ?? issuerOf(last, others);
    if (!issuer || path.length > 100) {
      error = path.length > 1 ? 'UNABLE_TO_GET_ISSUER_CERT' : 'UNABLE_TO_VERIFY_LEAF_SIGNATURE';
      break;
    }
    path.push(issuer);
    last = issuer;
  }
  // OpenSSL reports the last error that it finds.
  error = validity(path) ?? error;
  if (error) return error;
  if (certificate.keyUsage?.length && !certificate.keyUsage.includes(CLIENT))
    return 'INVALID_PURPOSE';
  if (path.length === 1) return null;
  const root = path[1] as X509Certificate;
  const plain = path.length === 2 && isVersion1(certificate) && (root.ca || isVersion1(root));
  return plain ? null : 'CERT_UNTRUSTED';
}

/** Extended key usage: TLS client. */
const CLIENT = '1.3.6.1.5.5.7.3.2';

/** It has no field for a version (RFC 5280, section 4.1), so neither extensions. */
function isVersion1({ raw }: X509Certificate): boolean {
  const contents = (at: number) =>
    at + 2 + ((raw[at + 1] as number) & 0x80 ? (raw[at + 1] as number) & 0x7f : 0);
  return raw[contents(contents(0))] !== 0xa0;
}

function validity(path: X509Certificate[]): string | null {
  const present = now();
  for (const { validFrom, validTo } of path) {
    if (Date.parse(validFrom) > present) return 'CERT_NOT_YET_VALID';
    if (Date.parse(validTo) < present) return 'CERT_HAS_EXPIRED';
  }
  return null;
}
