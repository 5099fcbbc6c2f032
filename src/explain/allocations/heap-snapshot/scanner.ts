// Reads the JSON of a heap snapshot piece by piece: it may be larger than the longest string.

/** A snapshot that is no heap snapshot, is damaged or too large. */
export class SnapshotError extends Error {}

/** Receives the parts of a snapshot. */
export interface SnapshotSink {
  /** The text of the header, a JSON object. */
  header(text: string): void;
  /** An element of a flat array of numbers. */
  number(of: NumberArray, value: number): void;
  /** A string, still escaped and cut off after some bytes. */
  string(bytes: Uint8Array): void;
}

/** The arrays of numbers that are read; others are skipped. */
export type NumberArray = 'nodes' | 'edges';

const NUMBER_ARRAYS = new Set<string>(['nodes', 'edges']);

/** Maximum length of the header and of a key. */
const MAX_HEADER_BYTES = 1_000_000;
const MAX_KEY_BYTES = 1000;
/** Bytes of a string that are kept: enough for the path of a file. */
const MAX_STRING_BYTES = 512;
/** Maximum depth of what is skipped. */
const MAX_DEPTH = 10_000;

const [QUOTE, BACKSLASH, COMMA, COLON] = [0x22, 0x5c, 0x2c, 0x3a];
const [OPEN_BRACE, CLOSE_BRACE, OPEN_BRACKET, CLOSE_BRACKET] = [0x7b, 0x7d, 0x5b, 0x5d];
const [ZERO, NINE] = [0x30, 0x39];

/** What is expected next. */
type State =
  | 'start'
  | 'key'
  | 'colon'
  | 'value'
  | 'header'
  | 'numbers'
  | 'strings'
  | 'skipped'
  | 'after value'
  | 'end';

/** Splits the JSON of a heap snapshot into its parts. */
export class SnapshotScanner {
  readonly #sink: SnapshotSink;
  #state: State = 'start';
  #key = '';
  /** Bytes of the current header, key or string. */
  readonly #kept = new ByteBuffer();
  #isInString = false;
  #isEscaped = false;
  #depth = 0;
  /** The current number; -1 between numbers. */
  #number = -1;

  constructor(sink: SnapshotSink) {
    this.#sink = sink;
  }

  /** Reads the next bytes. */
  push(chunk: Uint8Array): void {
    let at = 0;
    while (at < chunk.length) {
      if (this.#state === 'numbers') at = this.#readNumbers(chunk, at);
      else this.#read(chunk[at++] ?? 0);
    }
  }

  /** Checks that the snapshot was complete. */
  finish(): void {
    if (this.#state !== 'end') throw new SnapshotError('the snapshot is not complete');
  }

  #read(byte: number): void {
    if (this.#isInString) this.#readString(byte);
    else if (this.#state === 'header' || this.#state === 'skipped') this.#readNested(byte);
    else if (this.#state === 'strings') this.#readStrings(byte);
    else if (!isSpace(byte)) this.#readBetween(byte);
  }

  /** Reads what separates keys and values. */
  #readBetween(byte: number): void {
    switch (this.#state) {
      case 'start':
        this.#expect(byte, OPEN_BRACE, 'key');
        break;
      case 'key':
        if (byte !== QUOTE) throw unexpected();
        this.#beginString();
        break;
      case 'colon':
        this.#expect(byte, COLON, 'value');
        break;
      case 'value':
        this.#beginValue(byte);
        break;
      case 'after value':
        if (byte === CLOSE_BRACE) this.#state = 'end';
        else this.#expect(byte, COMMA, 'key');
        break;
      default:
        throw unexpected();
    }
  }

  #expect(byte: number, wanted: number, next: State): void {
    if (byte !== wanted) throw unexpected();
    this.#state = next;
  }

  #beginValue(byte: number): void {
    if (this.#key === 'snapshot') {
      if (byte !== OPEN_BRACE) throw unexpected();
      this.#state = 'header';
      this.#kept.clear();
      this.#readNested(byte);
    } else if (byte !== OPEN_BRACKET) throw unexpected();
    else if (NUMBER_ARRAYS.has(this.#key)) this.#state = 'numbers';
    else if (this.#key === 'strings') this.#state = 'strings';
    else {
      this.#state = 'skipped';
      this.#readNested(byte);
    }
  }

  #beginString(): void {
    this.#isInString = true;
    if (this.#state !== 'header') this.#kept.clear();
  }

  #readString(byte: number): void {
    if (byte === QUOTE && !this.#isEscaped) {
      this.#isInString = false;
      this.#endString(byte);
      return;
    }
    this.#isEscaped = byte === BACKSLASH && !this.#isEscaped;
    if (this.#state === 'header') this.#keepHeader(byte);
    else if (this.#state === 'strings') this.#kept.add(byte, MAX_STRING_BYTES);
    else if (this.#state === 'key') this.#kept.add(byte, MAX_KEY_BYTES);
  }

  #endString(byte: number): void {
    if (this.#state === 'header') this.#keepHeader(byte);
    else if (this.#state === 'strings') this.#sink.string(this.#kept.bytes);
    else if (this.#state === 'key') {
      this.#key = this.#kept.text;
      this.#state = 'colon';
    }
  }

  /** Reads an object or array with all that is in it. */
  #readNested(byte: number): void {
    if (byte === QUOTE) this.#beginString();
    else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) this.#depth++;
    else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) this.#depth--;
    if (this.#depth > MAX_DEPTH) throw unexpected();
    if (this.#state === 'header') this.#keepHeader(byte);
    if (this.#depth > 0) return;
    if (this.#state === 'header') this.#sink.header(this.#kept.text);
    this.#state = 'after value';
  }

  #keepHeader(byte: number): void {
    if (this.#kept.bytes.length >= MAX_HEADER_BYTES) throw unexpected();
    this.#kept.add(byte, MAX_HEADER_BYTES);
  }

  #readStrings(byte: number): void {
    if (byte === QUOTE) this.#beginString();
    else if (byte === CLOSE_BRACKET) this.#state = 'after value';
    else if (byte !== COMMA && !isSpace(byte)) throw unexpected();
  }

  /** Reads numbers until the end of the chunk or of the array. Returns where it stopped. */
  #readNumbers(chunk: Uint8Array, from: number): number {
    const key = this.#key as NumberArray;
    const sink = this.#sink;
    let number = this.#number;
    let at = from;
    for (; at < chunk.length; at++) {
      const byte = chunk[at] ?? 0;
      if (byte >= ZERO && byte <= NINE) {
        number = Math.max(0, number) * 10 + byte - ZERO;
        continue;
      }
      if (number >= 0) sink.number(key, number);
      number = -1;
      if (byte === CLOSE_BRACKET) {
        this.#state = 'after value';
        at++;
        break;
      }
      if (byte !== COMMA && !isSpace(byte)) throw unexpected();
    }
    this.#number = number;
    return at;
  }
}

/** Bytes that are kept for some time. */
class ByteBuffer {
  #bytes = new Uint8Array(MAX_KEY_BYTES);
  #length = 0;

  /** Adds a byte, unless there are so many already. */
  add(byte: number, limit: number): void {
    if (this.#length >= limit) return;
    if (this.#length === this.#bytes.length) {
      const larger = new Uint8Array(2 * this.#length);
      larger.set(this.#bytes);
      this.#bytes = larger;
    }
    this.#bytes[this.#length++] = byte;
  }

  get bytes(): Uint8Array {
    return this.#bytes.subarray(0, this.#length);
  }

  get text(): string {
    return Buffer.from(this.bytes).toString();
  }

  clear(): void {
    this.#length = 0;
  }
}

function isSpace(byte: number): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
}

function unexpected(): SnapshotError {
  return new SnapshotError('the file is no heap snapshot, or damaged');
}
