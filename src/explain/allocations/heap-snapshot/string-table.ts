import { SnapshotError } from './scanner.js';

/** Maximum number of bytes of all strings. */
const MAX_BYTES = 512 * 1024 * 1024;

/** The strings of a snapshot, decoded when they are asked for: most never are. */
export class StringTable {
  #bytes = new Uint8Array(1 << 16);
  #length = 0;
  #ends = new Uint32Array(1 << 12);
  #count = 0;
  readonly #decoded = new Map<number, string>();
  readonly #indexes = new Map<string, number>();

  /** Adds a string as it is in JSON; it may be cut off anywhere. */
  add(escaped: Uint8Array): void {
    if (this.#length + escaped.length > MAX_BYTES) {
      throw new SnapshotError('the snapshot is too large');
    }
    this.#bytes = withRoom(this.#bytes, this.#length + escaped.length);
    this.#bytes.set(escaped, this.#length);
    this.#length += escaped.length;
    this.#ends = withRoom(this.#ends, this.#count + 1);
    this.#ends[this.#count++] = this.#length;
  }

  /** The string with an index; empty if there is none. */
  get(index: number): string {
    const known = this.#decoded.get(index);
    if (known !== undefined) return known;
    if (index >= this.#count) return '';
    const text = decode(this.#bytes.subarray(this.#ends[index - 1] ?? 0, this.#ends[index]));
    this.#decoded.set(index, text);
    return text;
  }

  /** The first index of a string without escape sequences; -1 if there is none. */
  indexOf(text: string): number {
    const known = this.#indexes.get(text);
    if (known !== undefined) return known;
    const index = this.#search(Buffer.from(text));
    this.#indexes.set(text, index);
    return index;
  }

  #search(wanted: Uint8Array): number {
    let start = 0;
    for (let index = 0; index < this.#count; index++) {
      const end = this.#ends[index] ?? 0;
      if (end - start === wanted.length) {
        let same = 0;
        while (same < wanted.length && this.#bytes[start + same] === wanted[same]) same++;
        if (same === wanted.length) return index;
      }
      start = end;
    }
    return -1;
  }
}

function decode(escaped: Uint8Array): string {
  const text = Buffer.from(escaped).toString();
  if (!text.includes('\\')) return text;
  try {
    // A string that is cut off may end within an escape sequence.
    return JSON.parse(`"${text.replace(/\\(u[\da-f]{0,3})?$/i, '')}"`);
  } catch {
    return text;
  }
}

/** Returns an array with room for so many elements, with the same ones. */
function withRoom<Elements extends Uint8Array | Uint32Array>(array: Elements, length: number) {
  if (length <= array.length) return array;
  const larger = new (array.constructor as new (length: number) => Elements)(
    Math.max(length, 2 * array.length),
  );
  larger.set(array);
  return larger;
}
