import { isCredentialHeader, isSecretHeader, isSecretName } from './names.js';
import { findSecretSpans } from './spans.js';
import { MASK, maskText } from './text.js';

/** Shorter values are parts of other words. */
const MIN_LENGTH = 6;

/** Length of a body that is searched for secrets. */
const MAX_BODY = 65_536;

/** A table whose values placeholders insert: `{{csv:NAME:COLUMN}}`. */
interface Table {
  name: string;
  columns: readonly string[];
  rows: readonly (readonly string[])[];
}

/** Values that were sent as secrets, to be found again in the responses of a server. */
export class Secrets {
  /** By their first characters, then by their length. */
  readonly #values = new Map<string, Map<number, Set<string>>>();
  readonly #tables: readonly Table[];
  /** Columns that were added, as `NAME:COLUMN`. */
  readonly #added = new Set<string>();

  constructor(tables: readonly Table[] = []) {
    this.#tables = tables;
  }

  /** Adds the secrets of a header that is sent. */
  addHeader(name: string, value: string): void {
    if (!isSecretHeader(name)) return;
    const lower = name.toLowerCase();
    if (lower === 'cookie') {
      for (const pair of value.split(';')) this.add(pair.slice(pair.indexOf('=') + 1).trim());
    } else if (lower.endsWith('authorization') && isCredentialHeader(name)) {
      const credentials = value.replace(/^[\w-]+ +/, '');
      this.add(credentials);
      if (/^basic /i.test(value)) this.#addBasic(credentials);
    } else this.add(value);
  }

  /** Adds the secrets in the query of a request-target that is sent. */
  addTarget(target: string): void {
    const [, ...query] = target.split('?');
    for (const pair of query.join('?').split('&')) {
      const [name = '', ...value] = pair.split('=');
      if (isSecretName(name.replace(/(?:\]|%5D)+$/i, ''))) this.add(value.join('='));
    }
  }

  /** Adds the secrets in a body that is sent. */
  addBody(body: Uint8Array): void {
    const text = Buffer.from(
      body.buffer,
      body.byteOffset,
      Math.min(body.length, MAX_BODY),
    ).toString();
    for (const { from, to } of findSecretSpans(text)) this.add(text.slice(from, to));
  }

  /** Adds a value, in the forms in which a server may repeat it; of a placeholder the values of its column. */
  add(value: string): void {
    if (value.includes('{{')) this.#addColumns(value);
    else for (const form of listForms(value)) this.#add(form);
  }

  /** Masks these values and everything that looks like a secret. */
  mask(text: string): string {
    if (this.#values.size === 0) return maskText(text);
    let masked = '';
    for (let index = 0; index < text.length; ) {
      const length = this.#lengthAt(text, index);
      masked += length > 0 ? MASK : text[index];
      index += Math.max(1, length);
    }
    return maskText(masked);
  }

  /** The length of the longest value that stands at `index`; 0: none does. */
  #lengthAt(text: string, index: number): number {
    const sameStart = this.#values.get(text.slice(index, index + MIN_LENGTH));
    let longest = 0;
    for (const [length, values] of sameStart ?? []) {
      if (length > longest && values.has(text.slice(index, index + length))) longest = length;
    }
    return longest;
  }

  #add(value: string): void {
    if (value.length < MIN_LENGTH) return;
    const start = value.slice(0, MIN_LENGTH);
    const sameStart = this.#values.get(start) ?? new Map<number, Set<string>>();
    this.#values.set(start, sameStart);
    const sameLength = sameStart.get(value.length) ?? new Set();
    sameStart.set(value.length, sameLength.add(value));
  }

  #addColumns(template: string): void {
    for (const { name, columns, rows } of this.#tables) {
      for (const [index, column] of columns.entries()) {
        const placeholder = `${name}:${column}`;
        if (!template.includes(placeholder) || this.#added.has(placeholder)) continue;
        this.#added.add(placeholder);
        for (const row of rows) for (const form of listForms(row[index] ?? '')) this.#add(form);
      }
    }
  }

  #addBasic(credentials: string): void {
    const plain = Buffer.from(credentials, 'base64').toString();
    this.add(plain.slice(plain.indexOf(':') + 1));
  }
}

/** A value as it is, and as URLs, JSON and HTML write it. */
function listForms(value: string): string[] {
  if (/^[\w.~-]*$/.test(value)) return [value];
  const decoded = decode(value);
  const plain = new Set([value, decoded, unescapeJson(value)]);
  const forms = [...plain].flatMap((form) => [
    form,
    encode(form),
    encode(form).replaceAll('%20', '+'),
    JSON.stringify(form).slice(1, -1),
    form.replace(/[&<>"']/g, (char) => HTML[char] ?? char),
  ]);
  return [...new Set(forms)];
}

const HTML: Record<string, string> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

function decode(value: string): string {
  try {
    return decodeURIComponent(value.replaceAll('+', ' '));
  } catch {
    return value;
  }
}

function encode(value: string): string {
  try {
    return encodeURIComponent(value);
  } catch {
    return value;
  }
}

function unescapeJson(value: string): string {
  try {
    return String(JSON.parse(`"${value}"`));
  } catch {
    return value;
  }
}
