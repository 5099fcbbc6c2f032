// Writes values as YAML: lists and objects in block style, text of several lines as it is where YAML can have it so.

/** What can be written. */
export type YamlValue =
  | string
  | number
  | boolean
  | readonly YamlValue[]
  | { readonly [key: string]: YamlValue };

/** Formats documents of YAML, one after the other. */
export function formatYaml(documents: readonly YamlValue[]): string {
  return documents
    .map((document) => `${formatBlock(document, 0).replace(/^\n/, '')}\n`)
    .join('---\n');
}

/** Formats a value behind the colon of its key or the dash of its list: in the same line, or in lines below that begin with a break. */
function formatBlock(value: YamlValue, indent: number): string {
  if (typeof value === 'string') return ` ${formatText(value, indent)}`;
  if (typeof value !== 'object') return ` ${value}`;
  const margin = ' '.repeat(indent);
  if (isList(value)) {
    if (value.length === 0) return ' []';
    // The first line of an item stands behind its dash.
    const items = value.map((item) => formatBlock(item, indent + 2).replace(/^\n +/, ' '));
    return items.map((item) => `\n${margin}-${item}`).join('');
  }
  const entries = Object.entries(value);
  if (entries.length === 0) return ' {}';
  return entries
    .map(([key, of]) => `\n${margin}${formatLine(key)}:${formatBlock(of, indent + 2)}`)
    .join('');
}

function isList(value: object): value is readonly YamlValue[] {
  return Array.isArray(value);
}

function formatText(text: string, indent: number): string {
  if (!isLiteral(text)) return formatLine(text);
  const margin = ' '.repeat(indent);
  const lines = text.replace(/\n$/, '').split('\n');
  const body = lines.map((line) => (line === '' ? '' : margin + line)).join('\n');
  return `|${text.endsWith('\n') ? '' : '-'}\n${body}`;
}

/** Whether a text can be a literal block without marks for its indentation and for several line breaks at its end. */
function isLiteral(text: string): boolean {
  return (
    text.includes('\n') &&
    !/^[\s]/.test(text) &&
    !/\n\s*\n$|\n[^\S\n]+$/.test(text) &&
    !UNPRINTABLE.test(text)
  );
}

/** What must be escaped (YAML 1.2.2, 5.1), and what a parser may take for a line break. */
const UNPRINTABLE =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for
  /[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]|\p{Surrogate}/u;

/** Words that mean something else than text in YAML 1.1 or 1.2. */
const RESERVED = /^(?:true|false|yes|no|on|off|y|n|null)$/i;

/** A text in one line: as it is where that is clear, else quoted as in JSON, which is YAML. */
function formatLine(text: string): string {
  if (/^[A-Za-z/][\w./-]*$/.test(text) && !RESERVED.test(text)) return text;
  const escaped = new RegExp(UNPRINTABLE.source, 'gu');
  return JSON.stringify(text).replace(
    escaped,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
