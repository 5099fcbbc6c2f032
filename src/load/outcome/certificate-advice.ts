import { isIP } from 'node:net';

const TRUST = 'trust it with --ca FILE, or accept any certificate with -k';

/**
 * Puts the engine's message about a server's certificate into plain words and adds advice; `null` if the message is about
 * something else.
 */
export function adviseOnCertificate(message: string): string | null {
  if (!/certificate/.test(message) || /client certificate/.test(message)) return null;
  // By default openssl creates certificates that are authorities.
  const selfSigned = /the server's certificate is one of an authority$/;
  if (selfSigned.test(message)) {
    return message.replace(selfSigned, `the server's certificate is self-signed: ${TRUST}`);
  }
  const [prefix, reason = ''] = message.split('invalid peer certificate: ');
  const named = adviseOnName(reason);
  if (named !== null) return `${prefix}${named}`;
  const [untrusted] =
    /^(UnknownIssuer|BadSignature|UnsupportedSignatureAlgorithm\w*)/.exec(reason) ?? [];
  if (untrusted !== undefined) {
    return `${prefix}the server's certificate is not from a trusted authority (${untrusted}): ${TRUST}`;
  }
  // Trust does not help outside the certificate's period of validity.
  if (/expired|not valid yet/.test(reason)) return `${message}; accept any certificate with -k`;
  return `${message}; ${TRUST}`;
}

function adviseOnName(reason: string): string | null {
  const [, asked, names] =
    /^certificate not valid for name "(.*?)"; certificate is (?:only valid for (.*)|not valid for any)/.exec(
      reason,
    ) ?? [];
  if (asked === undefined) return null;
  if (names === undefined) {
    const entry = `${isIP(asked) ? 'IP' : 'DNS'}:${asked}`;
    return `the server's certificate has no name (no subjectAltName): create it with -addext subjectAltName=${entry}, or accept any certificate with -k`;
  }
  const dnsNames = [...names.matchAll(/DnsName\("([^"]*)"\)/g)].map(([, name]) => name);
  const all = names.replace(/\w+\("?([^")]*)"?\)/g, '$1');
  const sni = dnsNames.find((name) => name && !name.includes('*')) ?? 'NAME';
  return `the server's certificate is for ${all}, not for ${asked}: load that name, verify it as --sni ${sni}, or accept any certificate with -k`;
}
