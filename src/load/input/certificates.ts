import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto';
import type { KeyObject as TlsKey } from 'node:tls';
import { usageError } from '../../errors/millrace-error.js';
import { loadNative, type NativePkcs12 } from '../../native/addon.js';
import { type PemOption, type PemOptions, selectPem } from '../../validation/pem.js';
import { readInput } from './file.js';
import { detectUtf16 } from './text.js';

/** The certificates and keys of a client as its options give them, and their passphrase. */
export type CertificateOptions = PemOptions & { passphrase?: string | undefined };

/** A client's certificates, its own first, and its key; both PEM. */
export interface Identity {
  cert: Buffer;
  key: Buffer;
}

/** Maximum size of a file; the authorities of a system take less than 1 MiB. */
const MAX_BYTES = 64 * 1024 * 1024;

const PEM = /-----BEGIN ([A-Z0-9 ]+)-----[\s\S]+?-----END \1-----/g;

/** Reads the certificates of authorities from PEM, DER or PKCS #12; returns PEM, or `null` without the options. */
export function readAuthorities(options: CertificateOptions): Buffer | null {
  const ca = openOption('ca', options);
  if (ca === null) return null;
  const certificates = ca.parts.flatMap((part) => part.readCertificates());
  if (certificates.length === 0) throw refuse(ca, 'contains no certificate');
  return toPem(certificates);
}

/** Selects the certificates of a PEM text; `null` without any. One that cannot be read is left out. */
export function readPemCertificates(text: Buffer): Buffer | null {
  const blocks = text.toString('latin1').match(PEM) ?? [];
  const certificates = blocks.filter((pem) => isCertificate(Buffer.from(pem)));
  return certificates.length === 0 ? null : Buffer.from(`${certificates.join('\n')}\n`);
}

/** Reads the client's certificate and key from PEM, DER or PKCS #12. One file, or `cert`, may contain both. */
export function readIdentity(options: CertificateOptions): Identity | null {
  const cert = openOption('cert', options);
  if (cert === null) {
    if (selectPem('key', options) === null) return null;
    throw usageError('key needs cert: the client certificate that it belongs to');
  }
  const separate = openOption('key', options);
  const source = separate ?? cert;
  const keys = source.parts.flatMap((part) => part.readKeys());
  if (keys.length === 0 && separate === null) {
    throw usageError(
      'cert needs key: the private key of the certificate, unless cert contains both',
    );
  }
  if (keys.length === 0) throw refuse(source, 'contains no private key');
  const certificates = cert.parts.flatMap((part) => part.readCertificates());
  if (certificates.length === 0) throw refuse(cert, 'contains no certificate');
  const pair = findPair(certificates, keys);
  if (pair === null) throw refuse(source, `does not belong to the certificate in ${cert.label}`);
  checkKeyType(pair.key, source);
  checkIdentityCertificate(pair.own, cert);
  const chain = [pair.own, ...certificates.filter((certificate) => certificate !== pair.own)];
  const pem = pair.key.export({ type: 'pkcs8', format: 'pem' });
  return { cert: toPem(chain), key: Buffer.from(pem) };
}

function findPair(
  certificates: X509Certificate[],
  keys: KeyObject[],
): { own: X509Certificate; key: KeyObject } | null {
  for (const key of keys) {
    const own = certificates.find((certificate) => certificate.checkPrivateKey(key));
    if (own) return { own, key };
  }
  return null;
}

/** Whether the key in a file needs a passphrase. */
export function isEncrypted(path: string): boolean {
  const [part] = openFile('key', path, undefined).parts;
  return part?.isEncrypted() ?? false;
}

/** What an option gives: one part, or one for each item of a list. */
interface Source {
  /** Its name in messages. */
  label: string;
  parts: CertificateBytes[];
}

function refuse({ label }: { label: string }, why: string): Error {
  return usageError(`${label} ${why}`);
}

function openOption(name: PemOption, options: CertificateOptions): Source | null {
  const { passphrase } = options;
  const source = selectPem(name, options);
  if (source === null) return null;
  if ('path' in source) return openFile(name, source.path, passphrase);
  const { contents } = source;
  const parts = Array.isArray(contents)
    ? contents.map((item, index) => openContents(item, `${name}[${index}]`, passphrase))
    : [openContents(contents, name, passphrase)];
  return { label: name, parts };
}

/** Opens text or bytes, or a key with a passphrase of its own. */
function openContents(
  item: string | Buffer | TlsKey,
  label: string,
  passphrase: string | undefined,
): CertificateBytes {
  if (typeof item === 'string') return new CertificateBytes(Buffer.from(item), label, passphrase);
  if ('pem' in item) return openContents(item.pem, label, item.passphrase ?? passphrase);
  return new CertificateBytes(Buffer.from(item), label, passphrase);
}

function openFile(name: PemOption, path: string, passphrase: string | undefined): Source {
  const label = `${name} file '${path}'`;
  return {
    label,
    parts: [new CertificateBytes(readInput(path, `${name} file`), label, passphrase)],
  };
}

/** Bytes with certificates, a key, or both. */
class CertificateBytes {
  readonly label: string;
  readonly #bytes: Buffer;
  readonly #passphrase: string | undefined;
  /** The blocks of PEM. */
  readonly #blocks: [label: string, pem: string][];
  #container: NativePkcs12 | null = null;

  constructor(bytes: Buffer, label: string, passphrase: string | undefined) {
    this.label = label;
    this.#bytes = bytes;
    this.#passphrase = passphrase;
    if (this.#bytes.length > MAX_BYTES) throw this.refuse('is too long for certificates and keys');
    const utf16 = detectUtf16(this.#bytes);
    const text = utf16
      ? new TextDecoder(utf16).decode(this.#bytes)
      : this.#bytes.toString('latin1');
    this.#blocks = [...text.matchAll(PEM)].map(([pem, label = '']) => [label, pem]);
  }

  refuse(why: string): Error {
    return refuse(this, why);
  }

  isEncrypted(): boolean {
    try {
      this.readKeys();
      return false;
    } catch (error) {
      return /is encrypted/.test((error as Error).message);
    }
  }

  readCertificates(): X509Certificate[] {
    if (this.#blocks.some(([label]) => label === 'PKCS7' || label === 'CMS')) {
      throw this.refuse('is PKCS #7; convert it with openssl pkcs7 -print_certs');
    }
    if (this.#blocks.length > 0) {
      return this.#blocks
        .filter(([label]) => /^(?:X509 |TRUSTED )?CERTIFICATE$/.test(label))
        .map(([, pem]) => this.#parseCertificate(pem));
    }
    const { certificates = [this.#bytes] } = this.#openContainer() ?? {};
    return certificates.map(this.#parseCertificate);
  }

  readKeys(): KeyObject[] {
    const [label, pem] = this.#blocks.find(([label]) => label.endsWith('PRIVATE KEY')) ?? [];
    if (pem !== undefined) {
      if (label === 'OPENSSH PRIVATE KEY') {
        throw this.refuse(
          "is in OpenSSH's own form; convert a copy with ssh-keygen -p -m PEM -f FILE",
        );
      }
      const isEncrypted = label === 'ENCRYPTED PRIVATE KEY' || pem.includes('ENCRYPTED');
      return [this.#decryptKey(isEncrypted, { key: pem, format: 'pem' })];
    }
    if (this.#blocks.length > 0) return [];
    const container = this.#openContainer();
    return container ? container.keys.map(this.#parseKey) : this.#readDerKey();
  }

  #readDerKey(): KeyObject[] {
    for (const type of ['pkcs8', 'pkcs1', 'sec1'] as const) {
      try {
        return [createPrivateKey({ key: this.#bytes, format: 'der', type })];
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'ERR_MISSING_PASSPHRASE') continue;
        return [this.#decryptKey(true, { key: this.#bytes, format: 'der', type: 'pkcs8' })];
      }
    }
    // A file with a certificate in DER contains no key.
    if (isCertificate(this.#bytes)) return [];
    throw this.#describeUnknown();
  }

  #decryptKey(
    isEncrypted: boolean,
    input: { key: string | Buffer; format: 'pem' | 'der'; type?: 'pkcs8' },
  ): KeyObject {
    if (isEncrypted && this.#passphrase === undefined) throw this.#requirePassphrase();
    try {
      return createPrivateKey({
        ...input,
        ...(isEncrypted && { passphrase: this.#passphrase ?? '' }),
      });
    } catch (error) {
      if (isEncrypted)
        throw this.refuse(
          'cannot be decrypted: the passphrase is wrong, or its cipher is obsolete',
        );
      throw this.refuse(`cannot be read: ${(error as Error).message}`);
    }
  }

  /** Opens PKCS #12; `null` if the bytes are something else. */
  #openContainer(): NativePkcs12 | null {
    const { openPkcs12 } = loadNative();
    try {
      this.#container ??= openPkcs12(this.#bytes, this.#passphrase ?? '');
      return this.#container;
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException;
      if (code === 'not-pkcs12') return null;
      if (code === 'wrong-passphrase' && this.#passphrase === undefined) {
        throw this.#requirePassphrase();
      }
      throw this.refuse(`cannot be opened: ${message}`);
    }
  }

  readonly #parseKey = (key: Buffer): KeyObject => {
    try {
      return createPrivateKey({ key, format: 'der', type: 'pkcs8' });
    } catch {
      throw this.refuse('contains a private key that cannot be read');
    }
  };

  #requirePassphrase(): Error {
    return this.refuse('is encrypted: give its passphrase with --passphrase (option passphrase)');
  }

  readonly #parseCertificate = (bytes: string | Buffer): X509Certificate => {
    try {
      return new X509Certificate(bytes);
    } catch {
      throw typeof bytes === 'string'
        ? this.refuse('contains a certificate that cannot be read')
        : this.#describeUnknown();
    }
  };

  #describeUnknown(): Error {
    const accepted = 'use PEM, DER or PKCS #12';
    if (this.#bytes.length === 0) return this.refuse('is empty');
    if (this.#bytes.subarray(0, 4).toString('hex') === 'feedfeed') {
      return this.refuse(
        'is a Java key store; convert it with keytool -importkeystore -deststoretype PKCS12',
      );
    }
    if (this.#bytes.includes('PuTTY-User-Key-File')) {
      return this.refuse(`is a key of PuTTY; ${accepted}`);
    }
    return this.refuse(`is not a certificate or key in a known format; ${accepted}`);
  }
}

function isCertificate(bytes: Buffer): boolean {
  try {
    return new X509Certificate(bytes).raw.length > 0;
  } catch {
    return false;
  }
}

/** Range of the RSA keys that the engine's TLS (rustls with AWS-LC) can sign with. */
const MIN_RSA_BITS = 2048;
const MAX_RSA_BITS = 8192;

const CURVES = ['prime256v1', 'secp384r1', 'secp521r1'];

/** Refuses keys that the engine cannot sign with. */
function checkKeyType(key: KeyObject, source: Source): void {
  const kind = key.asymmetricKeyType ?? 'unknown';
  const { namedCurve, modulusLength = 0 } = key.asymmetricKeyDetails ?? {};
  const accepted = 'use RSA from 2048 to 8192 bits, Ed25519, or EC on P-256, P-384 or P-521';
  if (kind === 'rsa' && modulusLength >= MIN_RSA_BITS && modulusLength <= MAX_RSA_BITS) return;
  if (kind === 'rsa')
    throw refuse(source, `contains an RSA key of ${modulusLength} bits; ${accepted}`);
  if (kind === 'ed25519') return;
  if (kind === 'ec' && CURVES.includes(namedCurve ?? '')) return;
  const curve = namedCurve === undefined ? '' : ` on ${namedCurve}`;
  throw refuse(source, `contains a key of kind ${kind}${curve}; ${accepted}`);
}

/** The OID prime-field (1.2.840.10045.1.1), which only explicit curve parameters contain. */
const PRIME_FIELD = Buffer.from('06072a8648ce3d0101', 'hex');

/** Refuses client certificates that the engine and servers do not accept. */
function checkIdentityCertificate(certificate: X509Certificate, source: Source): void {
  // RFC 5280, 4.1.2.1: version 1 has no extensions.
  if (!hasVersion(certificate.raw)) {
    throw refuse(
      source,
      'contains a certificate of X.509 version 1; use version 3, as openssl req -x509 and openssl x509 -extfile write it',
    );
  }
  // RFC 5480, 2.1.1, forbids explicit curve parameters.
  if (certificate.raw.includes(PRIME_FIELD)) {
    throw refuse(
      source,
      'contains a certificate whose EC key has explicit curve parameters; use a named curve (openssl ec -param_enc named_curve, and a new certificate)',
    );
  }
}

/** Whether a certificate in DER contains its version; one of version 1 leaves it out. */
function hasVersion(der: Buffer): boolean {
  const EXPLICIT_0 = 0xa0;
  const outer = findContent(der, 0);
  return der[findContent(der, outer)] === EXPLICIT_0;
}

/** Finds the offset of a DER element's content. */
function findContent(der: Buffer, element: number): number {
  const length = der[element + 1] ?? 0;
  return element + 2 + (length > 0x80 ? length - 0x80 : 0);
}

function toPem(certificates: X509Certificate[]): Buffer {
  return Buffer.from(certificates.map((certificate) => certificate.toString()).join(''));
}
