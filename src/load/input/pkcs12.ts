// Reads PKCS #12 (RFC 7292) as browsers, OpenSSL and key stores write it: certificates and one key, encrypted by a password.
import {
  createDecipheriv,
  createHash,
  createPrivateKey,
  type KeyObject,
  pbkdf2Sync,
} from 'node:crypto';

/** The contents of a container. */
export interface Pkcs12 {
  key: KeyObject | null;
  /** The certificates in DER. */
  certificates: Buffer[];
}

const SEQUENCE = 0x30;
const OID = 0x06;
const INTEGER = 0x02;
const EXPLICIT = 0xa0;

const DATA = '2a864886f70d010701';
const ENCRYPTED_DATA = '2a864886f70d010706';
const KEY_BAG = '2a864886f70d010c0a0101';
const ENCRYPTED_KEY_BAG = '2a864886f70d010c0a0102';
const CERTIFICATE_BAG = '2a864886f70d010c0a0103';
const PBES2 = '2a864886f70d01050d';
const TRIPLE_DES = '2a864886f70d010c0103';
const DIGESTS: Record<string, string> = {
  '2a864886f70d0207': 'sha1',
  '2a864886f70d0209': 'sha256',
  '2a864886f70d020a': 'sha384',
  '2a864886f70d020b': 'sha512',
};
const CIPHERS: Record<string, [name: string, keyBytes: number]> = {
  '60864801650304012a': ['aes-256-cbc', 32],
  '608648016503040116': ['aes-192-cbc', 24],
  '608648016503040102': ['aes-128-cbc', 16],
  '2a864886f70d0307': ['des-ede3-cbc', 24],
};

/** Whether bytes look like a container: version 3, then a sequence. */
export function isPkcs12(bytes: Buffer): boolean {
  try {
    const [version, content] = readChildren(readElement(bytes, 0));
    return version?.tag === INTEGER && version.value[0] === 3 && content?.tag === SEQUENCE;
  } catch {
    return false;
  }
}

/** Opens a container; throws an error whose message says why it cannot be opened. */
export function readPkcs12(bytes: Buffer, password: string): Pkcs12 {
  const [, content] = readChildren(readElement(bytes, 0));
  const safe = readElement(readOctets(readContent(requireElement(content), DATA)), 0);
  const found: Pkcs12 = { key: null, certificates: [] };
  for (const part of readChildren(safe)) {
    const [type, body] = readChildren(part);
    const isEncrypted = requireElement(type).value.toString('hex') === ENCRYPTED_DATA;
    const bytes = isEncrypted
      ? decryptData(requireElement(body), password)
      : readOctets(readContent(part, DATA));
    for (const bag of readBags(bytes, isEncrypted)) readBag(bag, password, found);
  }
  return found;
}

function readBags(bytes: Buffer, wasEncrypted: boolean): Element[] {
  try {
    return readChildren(readElement(bytes, 0));
  } catch (error) {
    // One wrong key in 256 leaves a valid padding by chance.
    throw wasEncrypted ? new Error('the passphrase is wrong') : error;
  }
}

function readBag(bag: Element, password: string, found: Pkcs12): void {
  const [type, explicit] = readChildren(bag);
  const [value] = readChildren(requireElement(explicit));
  const { raw } = requireElement(value);
  switch (requireElement(type).value.toString('hex')) {
    case KEY_BAG:
      found.key = createPrivateKey({ key: raw, format: 'der', type: 'pkcs8' });
      break;
    case ENCRYPTED_KEY_BAG:
      found.key = decryptKey(raw, password);
      break;
    case CERTIFICATE_BAG: {
      const [, inner] = readChildren(requireElement(value));
      found.certificates.push(readOctets(requireElement(readChildren(requireElement(inner))[0])));
    }
  }
}

function decryptKey(raw: Buffer, passphrase: string): KeyObject {
  try {
    return createPrivateKey({ key: raw, format: 'der', type: 'pkcs8', passphrase });
  } catch {
    throw new Error('the passphrase is wrong, or its cipher is obsolete');
  }
}

/** Decrypts EncryptedData (RFC 5652, section 8). */
function decryptData(explicit: Element, password: string): Buffer {
  const [, info] = readChildren(requireElement(readChildren(explicit)[0]));
  const [, algorithm, encrypted] = readChildren(requireElement(info));
  const [name, parameters] = readChildren(requireElement(algorithm));
  const { cipher, key, iv } = deriveSecrets(
    requireElement(name),
    requireElement(parameters),
    password,
  );
  const decipher = createDecipheriv(cipher, key, iv);
  try {
    return Buffer.concat([
      decipher.update(readOctets(requireElement(encrypted))),
      decipher.final(),
    ]);
  } catch {
    throw new Error('the passphrase is wrong');
  }
}

interface DecryptionKey {
  cipher: string;
  key: Buffer;
  iv: Buffer;
}

function deriveSecrets(name: Element, parameters: Element, password: string): DecryptionKey {
  const algorithm = name.value.toString('hex');
  if (algorithm === TRIPLE_DES) {
    const [salt, rounds] = readChildren(parameters);
    const derive = (purpose: number, bytes: number) =>
      deriveKeyPkcs12(
        password,
        requireElement(salt).value,
        readNumber(requireElement(rounds)),
        purpose,
        bytes,
      );
    return { cipher: 'des-ede3-cbc', key: derive(1, 24), iv: derive(2, 8) };
  }
  if (algorithm === PBES2) return deriveSecretsPbes2(parameters, password);
  throw new Error(
    'its certificates are encrypted with an obsolete cipher (RC2); rewrite it with openssl pkcs12 -legacy and -export',
  );
}

/** Derives the key of PBES2 (RFC 8018, section 6.2). */
function deriveSecretsPbes2(parameters: Element, password: string): DecryptionKey {
  const [derivation, scheme] = readChildren(parameters);
  const [salt, rounds, ...more] = readChildren(
    requireElement(readChildren(requireElement(derivation))[1]),
  );
  const prf = more.find(({ tag }) => tag === SEQUENCE);
  const prfName = prf
    ? requireElement(readChildren(prf)[0]).value.toString('hex')
    : '2a864886f70d0207';
  const [cipherName, iv] = readChildren(requireElement(scheme));
  const digest = DIGESTS[prfName];
  const [cipher, keyBytes] = CIPHERS[requireElement(cipherName).value.toString('hex')] ?? [];
  if (digest === undefined || cipher === undefined || keyBytes === undefined) {
    throw new Error('its certificates are encrypted with an unknown cipher');
  }
  const key = pbkdf2Sync(
    password,
    requireElement(salt).value,
    readNumber(requireElement(rounds)),
    keyBytes,
    digest,
  );
  return { cipher, key, iv: requireElement(iv).value };
}

/** Derives a key as in RFC 7292, appendix B.2, with SHA-1. */
function deriveKeyPkcs12(
  password: string,
  salt: Buffer,
  rounds: number,
  purpose: number,
  bytes: number,
): Buffer {
  const block = 64;
  const repeated = (text: Buffer) =>
    Buffer.alloc(Math.ceil(text.length / block) * block, text.length > 0 ? text : undefined);
  const utf16 = Buffer.from(`${password}\0`, 'utf16le').swap16();
  const input = Buffer.concat([repeated(salt), repeated(utf16)]);
  const parts: Buffer[] = [];
  for (let done = 0; done < bytes; done += 20) {
    let hash = createHash('sha1').update(Buffer.alloc(block, purpose)).update(input).digest();
    for (let round = 1; round < rounds; round++) hash = createHash('sha1').update(hash).digest();
    parts.push(hash);
    const addend = Buffer.alloc(block, hash);
    for (let at = 0; at < input.length; at += block) addOne(input.subarray(at, at + block), addend);
  }
  return Buffer.concat(parts).subarray(0, bytes);
}

/** Adds `addend` and 1 to a big-endian number of the same length, in place. */
function addOne(number: Buffer, addend: Buffer): void {
  let carry = 1;
  for (let at = number.length - 1; at >= 0; at--) {
    carry += (number[at] ?? 0) + (addend[at] ?? 0);
    number[at] = carry & 0xff;
    carry >>= 8;
  }
}

/** One element of DER, or of BER with an indefinite length. */
interface Element {
  tag: number;
  value: Buffer;
  /** The whole element, with tag and length. */
  raw: Buffer;
}

function readElement(bytes: Buffer, at: number): Element {
  const tag = bytes.readUInt8(at);
  const first = bytes.readUInt8(at + 1);
  if (first === 0x80) return readIndefiniteLength(bytes, at, tag);
  const digits = first & 0x80 ? first & 0x7f : 0;
  const start = at + 2 + digits;
  const length = digits > 0 ? bytes.readUIntBE(at + 2, digits) : first;
  if (start + length > bytes.length) throw new Error('it is truncated');
  return {
    tag,
    value: bytes.subarray(start, start + length),
    raw: bytes.subarray(at, start + length),
  };
}

function readIndefiniteLength(bytes: Buffer, at: number, tag: number): Element {
  let end = at + 2;
  while (bytes.readUInt16BE(end) !== 0) end += readElement(bytes, end).raw.length;
  return { tag, value: bytes.subarray(at + 2, end), raw: bytes.subarray(at, end + 2) };
}

function readChildren({ value }: Element): Element[] {
  const children: Element[] = [];
  for (let at = 0; at < value.length; ) {
    const child = readElement(value, at);
    children.push(child);
    at += child.raw.length;
  }
  return children;
}

/** Returns the content of a ContentInfo of this type. */
function readContent(info: Element, type: string): Element {
  const [oid, explicit] = readChildren(info);
  if (oid?.tag !== OID || oid.value.toString('hex') !== type || explicit?.tag !== EXPLICIT) {
    throw new Error('it is signed by a key, which is not supported');
  }
  return requireElement(readChildren(explicit)[0]);
}

/** Returns the bytes of an octet string, which BER may split into several. */
function readOctets(element: Element): Buffer {
  const isConstructed = (element.tag & 0x20) !== 0;
  return isConstructed ? Buffer.concat(readChildren(element).map(readOctets)) : element.value;
}

function readNumber({ value }: Element): number {
  return value.readUIntBE(0, value.length);
}

function requireElement<T>(value: T | undefined): T {
  if (value === undefined) throw new Error('it is not well-formed');
  return value;
}
