// The advice on a server's certificate, by the engine's message.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { adviseOnCertificate } from '#internal/load/outcome/certificate-advice.js';

const AT = 'cannot connect to 127.0.0.1:8443: ';
const PEER = `${AT}invalid peer certificate: `;

for (const [message, advised] of [
  [
    `${AT}the server's certificate is one of an authority`,
    `${AT}the server's certificate is self-signed: trust it with --ca FILE, or accept any certificate with -k`,
  ],
  [
    `${PEER}UnknownIssuer`,
    `${AT}the server's certificate is not from a trusted authority (UnknownIssuer): trust it with --ca FILE, or accept any certificate with -k`,
  ],
  [
    `${PEER}certificate not valid for name "localhost"; certificate is not valid for any names (according to its subjectAltName extension)`,
    `${AT}the server's certificate has no name (no subjectAltName): create it with -addext subjectAltName=DNS:localhost, or accept any certificate with -k`,
  ],
  [
    `${PEER}certificate not valid for name "::1"; certificate is not valid for any names (according to its subjectAltName extension)`,
    /subjectAltName=IP:::1, or accept any certificate with -k$/,
  ],
  [
    `${PEER}certificate not valid for name "127.0.0.1"; certificate is only valid for DnsName("*.a.test") or DnsName("a.test")`,
    `${AT}the server's certificate is for *.a.test or a.test, not for 127.0.0.1: load that name, verify it as --sni a.test, or accept any certificate with -k`,
  ],
  [`${PEER}certificate expired: verified at time 5 (UNIX)`, /; accept any certificate with -k$/],
  [`${AT}the server asks for a client certificate: --cert and --key`, null],
  [`${AT}connection refused`, null],
]) {
  test(`the message about a certificate gets its advice: ${message.slice(AT.length, AT.length + 70)}`, () => {
    const found = adviseOnCertificate(message);
    if (advised instanceof RegExp) assert.match(found, advised);
    else assert.equal(found, advised);
  });
}
