import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createSecureContext, type SecureContext, type SecureContextOptions } from 'node:tls';
import { usageError } from '../errors.js';
import { describeValue, type Shape, shape } from '../validation/shape.js';

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

type PemOption = 'ca' | 'cert' | 'key';
type Pem = SecureContextOptions[PemOption];

const PEM_OPTIONS = ['ca', 'cert', 'key'] as const;

/** Refuses a value that is not PEM, such as a path: Node would accept it as `ca`, and trust nobody. */
export const pemShape: Shape = (value, name) => {
  const list = Array.isArray(value) ? value : [value];
  if (list.length > 0 && list.every(isPem)) return;
  throw usageError(
    `${name} must be PEM text or a Buffer, or a list of them; the option for a path is ${name}File`,
  );
};

export const pathShape = shape('the path of a file', (value) => typeof value === 'string');

function isPem(value: unknown): boolean {
  if (typeof value === 'string') return value.includes('-----BEGIN ');
  if (value instanceof Uint8Array) return Buffer.from(value).includes('-----BEGIN ');
  // An object of a key and its passphrase.
  return typeof value === 'object' && value !== null && 'pem' in value && isPem(value.pem);
}

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

function readPem(name: PemOption, options: TlsOptions): Pem {
  const file = `${name}File` as const;
  const path = options[file];
  if (path === undefined) return options[name];
  if (options[name] !== undefined) {
    throw usageError(`${name} and ${file} cannot be used together: remove one of them`);
  }
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    throw usageError(`${file} cannot be read: ${toOneLine(error)} (got ${describeValue(path)})`);
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
