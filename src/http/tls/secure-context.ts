import type { KeyObject, X509Certificate } from 'node:crypto';
import { syncBuiltinESMExports } from 'node:module';
import type tls from 'node:tls';
import { isOff } from '../reactor/disabled.js';
import { native } from '../reactor/native.js';
import type { FallbackReason } from '../state/fallback-reason.js';
import { suitesOf } from './cipher-suites.js';
import {
  areAuthoritiesKnown,
  currentAuthorities,
  type DefaultAuthorities,
  followAuthorities,
  readTexts,
} from './default-authorities.js';
import { nodeCrypto, nodeTls } from './node-tls.js';

/** The options of a secure context that the reactor needs. */
type ContextOptions = tls.SecureContextOptions & Record<string, unknown>;

/** The options that the server adds. */
export interface ServerSide {
  requestCert: boolean;
  rejectUnauthorized: boolean;
  protocols: Buffer[];
  ticketKeys: Buffer;
}

/** A context for the reactor, and its certificates. */
export interface NativeContext {
  context: InstanceType<typeof native.NativeSecureContext>;
  certificates: X509Certificate[];
  authorities: X509Certificate[];
}

/** Options without a counterpart in rustls. */
const OPENSSL_OPTIONS = [
  ...['pfx', 'sigalgs', 'crl', 'secureProtocol', 'clientCertEngine', 'privateKeyEngine'],
  ...['privateKeyIdentifier', 'allowPartialTrustChain', 'certificateCompression'],
];
const KEPT = [
  ...OPENSSL_OPTIONS,
  ...[
    'key',
    'cert',
    'ca',
    'passphrase',
    'ciphers',
    'ecdhCurve',
    'secureOptions',
    'honorCipherOrder',
  ],
  ...['minVersion', 'maxVersion', 'sessionIdContext', 'sessionTimeout'],
];

/** By the context's own object, which is what Node keeps in `server._contexts`. */
const remembered = new WeakMap<object, Remembered>();

interface Remembered {
  options: ContextOptions;
  /** For a context without `ca`. */
  authorities: DefaultAuthorities;
}

let isInstalled = false;

/** Lets `tls.createSecureContext` remember its options, once: the contexts themselves give no certificate or key. */
export function installSecureContext(): void {
  if (isInstalled || isOff) return;
  isInstalled = true;
  const tls = nodeTls();
  if (Object.isFrozen(tls)) return;
  const { createSecureContext } = tls;
  tls.createSecureContext = function (this: unknown, options) {
    const created = createSecureContext.call(this, options);
    const kept: Record<string, unknown> = {};
    for (const name of KEPT) {
      const value = (options as ContextOptions | undefined)?.[name];
      if (value !== undefined && value !== null) kept[name] = value;
    }
    remembered.set(created.context, { options: kept, authorities: currentAuthorities() });
    return created;
  } as typeof createSecureContext;
  Object.defineProperty(tls.createSecureContext, 'name', { value: 'createSecureContext' });
  followAuthorities();
  syncBuiltinESMExports();
}

const [major = 0, minor = 0] = (process.versions.openssl ?? '').split('.').map(Number);
/** As OpenSSL from 3.5 on. */
const POST_QUANTUM = major > 3 || (major === 3 && minor >= 5);

/** Returns the context for the reactor, or the reason why Node's own code must be used. */
export function nativeContext(context: object, side: ServerSide): NativeContext | FallbackReason {
  const known = remembered.get(context);
  if (!known) return 'tls-unknown-context';
  const { options } = known;
  const option = findOpensslOption(options);
  if (option) return `tls-option:${option}`;
  if (side.requestCert && !options.ca && !areAuthoritiesKnown()) return 'tls-default-authorities';
  try {
    return convert(known, side);
  } catch {
    return 'tls-key';
  }
}

/** Whether rustls has a counterpart for all of OpenSSL's options that are set. */
function areUnderstood(secureOptions: number): boolean {
  const { constants } = nodeCrypto();
  // Those that it keeps anyway.
  const implied =
    constants.SSL_OP_NO_SSLv2 |
    constants.SSL_OP_NO_SSLv3 |
    constants.SSL_OP_NO_TLSv1 |
    constants.SSL_OP_NO_TLSv1_1 |
    constants.SSL_OP_NO_COMPRESSION |
    constants.SSL_OP_NO_RENEGOTIATION |
    constants.SSL_OP_CIPHER_SERVER_PREFERENCE |
    constants.SSL_OP_NO_SESSION_RESUMPTION_ON_RENEGOTIATION;
  const understood =
    implied |
    constants.SSL_OP_NO_TLSv1_2 |
    constants.SSL_OP_NO_TLSv1_3 |
    constants.SSL_OP_NO_TICKET;
  return (secureOptions & ~understood) === 0;
}

function findOpensslOption(options: ContextOptions): string | undefined {
  const tls = nodeTls();
  const option = OPENSSL_OPTIONS.find((name) => options[name]);
  if (option) return option;
  if (suitesOf(options.ciphers ?? tls.DEFAULT_CIPHERS) === null) return 'ciphers';
  if ((options.ecdhCurve ?? tls.DEFAULT_ECDH_CURVE) !== 'auto') return 'ecdhCurve';
  if (!areUnderstood(options.secureOptions ?? 0)) return 'secureOptions';
  if (nodeCrypto().getFips()) return 'FIPS';
  return undefined;
}

function convert({ options, authorities: defaults }: Remembered, side: ServerSide) {
  const tls = nodeTls();
  const { constants } = nodeCrypto();
  const secureOptions = options.secureOptions ?? 0;
  const lowest = options.minVersion ?? tls.DEFAULT_MIN_VERSION;
  const highest = options.maxVersion ?? tls.DEFAULT_MAX_VERSION;
  const tls12 =
    lowest !== 'TLSv1.3' && highest >= 'TLSv1.2' && !(secureOptions & constants.SSL_OP_NO_TLSv1_2);
  const tls13 = highest === 'TLSv1.3' && !(secureOptions & constants.SSL_OP_NO_TLSv1_3);
  if (!tls12 && !tls13) return 'tls-option:maxVersion';

  const configured = options.ca ? certificatesOf(options.ca) : null;
  const identities = pair(options, configured ?? []);
  if (identities.length === 0) return 'tls-no-certificate';
  const authorities = side.requestCert ? (configured ?? parseAuthorities(defaults)) : [];
  const context = new native.NativeSecureContext({
    identities: identities.map(({ chain, key }) => ({
      chain: chain.map(raw),
      key: key.export({ type: 'pkcs8', format: 'der' }),
    })),
    protocols: side.protocols,
    tls12,
    tls13,
    suites: suitesOf(options.ciphers ?? tls.DEFAULT_CIPHERS) ?? [],
    clientOrder: options.honorCipherOrder === false,
    postQuantum: POST_QUANTUM,
    ticketContext: String(options.sessionIdContext ?? ''),
    // OpenSSL's own time.
    ticketLifetime: Number(options.sessionTimeout ?? 0) || 7200,
    ...(secureOptions & constants.SSL_OP_NO_TICKET ? {} : { ticketKeys: side.ticketKeys }),
    ...(side.requestCert && {
      clients: {
        required: side.rejectUnauthorized,
        roots: authorities.filter(isSelfSigned).map(raw),
        intermediates: authorities.filter((one) => !isSelfSigned(one)).map(raw),
        hint: configured !== null,
      },
    }),
  });
  return { context, certificates: identities[0]?.chain ?? [], authorities };
}

function raw(certificate: X509Certificate): Buffer {
  return certificate.raw;
}

export function isSelfSigned(certificate: X509Certificate): boolean {
  return certificate.checkIssued(certificate) && certificate.verify(certificate.publicKey);
}

type Text = string | Buffer;

function list<T>(value: T | T[] | undefined): T[] {
  return value === undefined || value === null ? [] : Array.isArray(value) ? value : [value];
}

const PEM =
  /-----BEGIN (?:X509 |TRUSTED )?CERTIFICATE-----[^-]*-----END (?:X509 |TRUSTED )?CERTIFICATE-----/g;

function certificatesOf(texts: Text | Text[]): X509Certificate[] {
  const { X509Certificate } = nodeCrypto();
  return list(texts).flatMap((text) =>
    (String(text).match(PEM) ?? []).map((pem) => new X509Certificate(pem)),
  );
}

function parseAuthorities(defaults: DefaultAuthorities): X509Certificate[] {
  defaults.certificates ??= certificatesOf([...readTexts(defaults)]);
  return defaults.certificates;
}

interface Identity {
  chain: X509Certificate[];
  key: KeyObject;
}

/** Certificates with their keys, elliptic curves first as OpenSSL prefers them. */
function pair(options: ContextOptions, authorities: X509Certificate[]): Identity[] {
  const keys = (list(options.key as never) as (Text | { pem: Text; passphrase?: string })[]).map(
    (entry) => {
      const plain =
        typeof entry === 'string' || Buffer.isBuffer(entry) || ArrayBuffer.isView(entry);
      const pem = plain ? entry : entry.pem;
      const passphrase = (plain ? undefined : entry.passphrase) ?? options.passphrase;
      return nodeCrypto().createPrivateKey({
        key: pem,
        format: 'pem',
        ...(passphrase && { passphrase }),
      });
    },
  );
  const identities: Identity[] = [];
  for (const text of list(options.cert)) {
    const chain = certificatesOf(text);
    const key = keys.find((candidate) => chain[0]?.checkPrivateKey(candidate));
    if (!chain[0] || !key) throw new Error('a certificate without its key');
    identities.push({ chain: chain.length > 1 ? chain : completed(chain[0], authorities), key });
  }
  return identities.sort((a, b) => rank(a.key) - rank(b.key));
}

function rank(key: KeyObject): number {
  return key.asymmetricKeyType === 'rsa' ? 1 : 0;
}

/** As OpenSSL, a certificate alone is followed by those that lead to its authority. */
function completed(
  certificate: X509Certificate,
  authorities: X509Certificate[],
): X509Certificate[] {
  const chain = [certificate];
  for (let last = certificate; chain.length < 10 && !isSelfSigned(last); ) {
    const issuer = issuerOf(last, authorities);
    if (!issuer) break;
    chain.push(issuer);
    last = issuer;
  }
  // Without the root it is no chain for OpenSSL either.
  return chain;
}

export function issuerOf(
  certificate: X509Certificate,
  among: X509Certificate[],
): X509Certificate | undefined {
  return among.find(
    (other) => certificate.checkIssued(other) && certificate.verify(other.publicKey),
  );
}
