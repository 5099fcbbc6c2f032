import { readFileSync } from 'node:fs';
import { createSecureContext, type KeyObject, type SecureContextOptions } from 'node:tls';
import { fileErrorReason } from '../errors/file-errors.js';
import { usageError } from '../errors/millrace-error.js';
import { selfSignedCertificate } from '../native/addon.js';
import { type Pem, pathShape, pemShape, selectPem } from '../validation/pem.js';
import { objectOf } from '../validation/shape.js';

/** A certificate with its chain, and its key: contents, as in Node's `tls`, or paths. */
export interface TestServerTls {
  /** PEM text or a Buffer, or a list of them. */
  cert?: SecureContextOptions['cert'];
  /** PEM text or a Buffer, or a list of them. */
  key?: SecureContextOptions['key'];
  /** Path of a PEM file, in place of `cert`. */
  certFile?: string;
  /** Path of a PEM file, in place of `key`. */
  keyFile?: string;
}

/** A certificate and its key as text: bytes would not survive JSON. */
export interface PlannedTls {
  cert: string[];
  key: (string | { pem: string; passphrase?: string | undefined })[];
}

export const tlsShape = objectOf<Required<TestServerTls>>(
  'an object with cert and key',
  { cert: pemShape, key: pemShape, certFile: pathShape, keyFile: pathShape },
  [],
);

/** Reads files and checks that certificate and key belong together; generates both for `true`. */
export async function planTls(
  tls: boolean | TestServerTls,
  host: string,
): Promise<PlannedTls | null> {
  if (tls === false) return null;
  const names = [...new Set(['localhost', '127.0.0.1', '::1', host])];
  const given = tls === true ? await selfSignedCertificate(names) : tls;
  const [cert, key] = [readPem('cert', given), readPem('key', given)];
  try {
    createSecureContext({ cert, key });
  } catch (error) {
    const { message } = error as Error;
    throw usageError(`tls: cert and key are not a PEM certificate and its key: ${message}`);
  }
  return { cert: [cert].flat().map(toText), key: [key].flat().map(toKey) };
}

function readPem<Name extends 'cert' | 'key'>(name: Name, options: TestServerTls): Pem<Name> {
  const source = selectPem(name, options);
  if (source === null) throw usageError(`tls needs ${name}: set ${name} or ${name}File`);
  if ('contents' in source) return source.contents;
  try {
    return readFileSync(source.path, 'utf8');
  } catch (error) {
    throw usageError(`${name} file '${source.path}' cannot be read: ${fileErrorReason(error)}`);
  }
}

function toKey(key: string | Buffer | KeyObject): PlannedTls['key'][number] {
  const isObject = typeof key === 'object' && 'pem' in key;
  return isObject ? { ...key, pem: toText(key.pem) } : toText(key);
}

function toText(pem: string | Buffer): string {
  return typeof pem === 'string' ? pem : Buffer.from(pem).toString();
}
