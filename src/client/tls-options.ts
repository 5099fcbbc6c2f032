import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createSecureContext, type SecureContext, type SecureContextOptions } from 'node:tls';
import { usageError } from '../errors/millrace-error.js';
import { type Pem, type PemOption, selectPem } from '../validation/pem.js';
import { describeValue } from '../validation/shape.js';

/** Trusted authorities, and the certificate of the client. */
export interface TlsOptions {
  /** Certificates of authorities to trust in place of the system's: PEM text or a Buffer, or a list of them. */
  ca?: SecureContextOptions['ca'];
  /** Certificate of the client, with its chain: PEM text or a Buffer, or a list of them. */
  cert?: SecureContextOptions['cert'];
  /** Private key of `cert`: PEM text or a Buffer, or a list of them. */
  key?: SecureContextOptions['key'];
  /** Path of a PEM file, in place of `ca`. */
  caFile?: string;
  /** Path of a PEM file, in place of `cert`. */
  certFile?: string;
  /** Path of a PEM file, in place of `key`. */
  keyFile?: string;
}

const PEM_OPTIONS = ['ca', 'cert', 'key'] as const;

/** Reads files, and checks certificates and key; returns `null` if no option is set. */
export function buildSecureContext(options: TlsOptions): SecureContext | null {
  const context: SecureContextOptions = {};
  for (const name of PEM_OPTIONS) {
    const pem = readPem(name, options);
    if (pem === undefined) continue;
    const option = options[name] === undefined ? `${name}File` : name;
    wrapErrors(option, () => validatePem(name, pem));
    Object.assign(context, { [name]: pem });
  }
  if (Object.keys(context).length === 0) return null;
  refuseHalf(context);
  return wrapErrors(options.key === undefined ? 'keyFile' : 'key', () =>
    createSecureContext(context),
  );
}

function readPem(name: PemOption, options: TlsOptions): Pem | undefined {
  const source = selectPem(name, options);
  if (source === null || 'contents' in source) return source?.contents;
  try {
    return readFileSync(source.path, 'utf8');
  } catch (error) {
    throw usageError(
      `${name}File cannot be read: ${toOneLine(error)} (got ${describeValue(source.path)})`,
    );
  }
}

function validatePem(name: PemOption, pem: Pem): void {
  // Node ignores authorities that it cannot read.
  if (name === 'ca') for (const one of [pem].flat()) new X509Certificate(one as string | Buffer);
  createSecureContext({ [name]: pem });
}

function refuseHalf({ cert, key }: SecureContextOptions): void {
  if ((cert === undefined) === (key === undefined)) return;
  const [one, other] = cert === undefined ? ['key', 'cert'] : ['cert', 'key'];
  throw usageError(`${one} needs ${other}: set ${other} or ${other}File`);
}

function wrapErrors<Result>(name: string, work: () => Result): Result {
  try {
    return work();
  } catch (error) {
    throw usageError(`${name} cannot be used: ${toOneLine(error)}`);
  }
}

function toOneLine(error: unknown): string {
  return String((error as Error).message).replace(/\s*\n\s*/g, ' ');
}
