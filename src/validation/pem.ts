import type { SecureContextOptions } from 'node:tls';
import { usageError } from '../errors/millrace-error.js';
import { type Shape, shape } from './shape.js';

// The options for certificates and keys. `ca`, `cert` and `key` are contents, as in `tls.createSecureContext`; the
// options with `File` are paths.

export type PemOption = 'ca' | 'cert' | 'key';

/** What these options accept: text or bytes, or a list of them; in a list of keys also a key with its passphrase. */
export type Pem<Name extends PemOption = PemOption> = NonNullable<SecureContextOptions[Name]>;

/** Each option may have its contents or its path, not both. */
export type PemOptions = { [Name in PemOption]?: SecureContextOptions[Name] } & {
  [Name in `${PemOption}File`]?: string | undefined;
};

const BEGIN = '-----BEGIN ';

/** Accepts PEM alone. */
export const pemShape = contentsShape((bytes) => Buffer.from(bytes).includes(BEGIN));

/** Accepts PEM, and bytes in any format, such as DER or PKCS #12. */
export const certificateShape = contentsShape(() => true);

export const pathShape = shape('the path of a file', (value) => typeof value === 'string');

/** Refuses other text, such as a path: Node would accept it as `ca`, and trust nobody. No message contains a key. */
function contentsShape(acceptsBytes: (bytes: Uint8Array) => boolean): Shape {
  const isContents = (value: unknown): boolean => {
    if (typeof value === 'string') return value.includes(BEGIN);
    if (value instanceof Uint8Array) return acceptsBytes(value);
    // An object of a key and its passphrase.
    return typeof value === 'object' && value !== null && 'pem' in value && isContents(value.pem);
  };
  return (value, name) => {
    const list = Array.isArray(value) ? value : [value];
    if (list.length > 0 && list.every(isContents)) return;
    throw usageError(
      `${name} must be PEM text or a Buffer, or a list of them; the option for a path is ${name}File`,
    );
  };
}

/** Returns the path or the contents that the options give; `null` without either. Both are refused. */
export function selectPem<Name extends PemOption>(
  name: Name,
  options: PemOptions,
): { path: string } | { contents: Pem<Name> } | null {
  const path: string | undefined = options[`${name}File`];
  const contents: SecureContextOptions[Name] = options[name];
  if (path !== undefined && contents !== undefined) {
    throw usageError(`${name} and ${name}File cannot be used together: remove one of them`);
  }
  if (path !== undefined) return { path };
  return contents === undefined ? null : { contents };
}
