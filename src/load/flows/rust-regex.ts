/** Why a regular expression of JavaScript cannot be expressed in the engine's syntax, that of Rust's crate `regex`. */
export class InexpressibleRegex extends Error {}

/** Classes of JavaScript that mean other characters in the engine's syntax: there they are Unicode's. */
const CLASSES: Record<string, string> = {
  d: '0-9',
  w: '0-9A-Za-z_',
  // ECMA-262, 22.2.2.9: white space and line terminators.
  s: '\\t\\n\\x{b}\\x{c}\\r \\x{a0}\\x{1680}\\x{2000}-\\x{200a}\\x{2028}\\x{2029}\\x{202f}\\x{205f}\\x{3000}\\x{feff}',
};

const FLAGS = new Map([
  ['i', 'i'],
  ['m', 'm'],
  ['s', 's'],
  // They say how the expression is used, or nothing here.
  ['g', ''],
  ['d', ''],
  ['u', ''],
]);

/** Translates a regular expression into the engine's syntax; throws an `InexpressibleRegex`. */
export function toRustRegex({ source, flags }: RegExp): string {
  let inline = '';
  for (const flag of flags) {
    const translated = FLAGS.get(flag);
    if (translated === undefined) throw new InexpressibleRegex(`the flag ${flag}`);
    inline += translated;
  }
  const body = new Translation(source, flags).run();
  return inline === '' ? body : `(?${inline})${body}`;
}

/** Finds the number of a group: the one that is given, otherwise the first one, or 0 if there is none. */
export function findGroup(pattern: RegExp, group: number | string | null): number | null {
  // An alternative that matches nothing tells how many groups there are.
  const match = new RegExp(`${pattern.source}|`, pattern.flags.replace(/[gy]/g, '')).exec('');
  const count = (match?.length ?? 1) - 1;
  if (group === null) return Math.min(count, 1);
  if (typeof group === 'number') {
    return Number.isSafeInteger(group) && group >= 0 && group <= count ? group : null;
  }
  const index = listGroupNames(pattern.source).get(group);
  return index ?? null;
}

/** Maps the names of groups to their numbers. */
function listGroupNames(source: string): Map<string, number> {
  const names = new Map<string, number>();
  let count = 0;
  let inClass = false;
  for (const [token, name] of source.matchAll(/\\.|\[|\]|\((?!\?)|\(\?<(?![=!])([^>]+)>/gs)) {
    if (token === '[') inClass = true;
    else if (token === ']') inClass = false;
    else if (token.startsWith('(') && !inClass) {
      count++;
      if (name !== undefined) names.set(name, count);
    }
  }
  return names;
}

/** The translation of one expression, character by character. */
class Translation {
  #at = 0;
  #out = '';
  readonly #source: string;
  readonly #dotAll: boolean;
  readonly #unicode: boolean;

  constructor(source: string, flags: string) {
    this.#source = source;
    this.#dotAll = flags.includes('s');
    this.#unicode = flags.includes('u');
  }

  run(): string {
    while (this.#at < this.#source.length) this.#translateNext();
    return this.#out;
  }

  #translateNext(): void {
    const char = this.#take();
    switch (char) {
      case '\\':
        this.#out += this.#translateEscape(false);
        return;
      case '[':
        this.#translateClass();
        return;
      case '.':
        this.#out += this.#dotAll ? '.' : '[^\\n\\r\\x{2028}\\x{2029}]';
        return;
      case '(':
        this.#translateGroup();
        return;
      default:
        this.#out += char;
    }
  }

  #take(): string {
    return this.#source[this.#at++] ?? '';
  }

  #translateGroup(): void {
    const rest = this.#source.slice(this.#at);
    if (/^\?<?[=!]/.test(rest)) throw new InexpressibleRegex('look-ahead and look-behind');
    this.#out += '(';
  }

  /** The part behind a backslash. */
  #translateEscape(inClass: boolean): string {
    const rest = this.#source.slice(this.#at);
    const char = this.#take();
    if (/^[1-9]/.test(rest) || (char === 'k' && rest.startsWith('k<'))) {
      throw new InexpressibleRegex('back-references');
    }
    const code =
      /^u\{([\da-f]+)\}/i.exec(this.#unicode ? rest : '') ??
      /^(?:u([\da-f]{4})|x([\da-f]{2}))/i.exec(rest);
    if (code) {
      this.#at += code[0].length - 1;
      return `\\x{${code[1] ?? code[2]}}`;
    }
    if (/^c[a-z]/i.test(rest)) return `\\x{${(this.#take().charCodeAt(0) % 32).toString(16)}}`;
    const lower = char.toLowerCase();
    const members = CLASSES[lower];
    if (members !== undefined) {
      if (char === lower) return inClass ? members : `[${members}]`;
      return `[^${members}]`;
    }
    switch (char) {
      case 'b':
        return inClass ? '\\x{8}' : '(?-u:\\b)';
      case 'B':
        return '(?-u:\\B)';
      case '0':
        return '\\x{0}';
      case 'v':
        return '\\x{b}';
      case 'f':
      case 'n':
      case 'r':
      case 't':
        return `\\${char}`;
      case 'p':
      case 'P':
        if (this.#unicode) return `\\${char}`;
        return char;
      default:
        return /[\w\s]|[^\x20-\x7e]/.test(char) ? char : `\\${char}`;
    }
  }

  #translateClass(): void {
    this.#out += '[';
    if (this.#source[this.#at] === '^') this.#out += this.#take();
    if (this.#source[this.#at] === ']') {
      // Nothing, or everything.
      const isNegated = this.#out.endsWith('^');
      this.#out =
        this.#out.slice(0, isNegated ? -2 : -1) + (isNegated ? '(?s:.)' : '[^\\x{0}-\\x{10ffff}]');
      this.#at++;
      return;
    }
    while (this.#at < this.#source.length) {
      const char = this.#take();
      if (char === ']') {
        this.#out += ']';
        return;
      }
      // They have a meaning in the engine's classes.
      if (char === '\\') this.#out += this.#translateEscape(true);
      else this.#out += '[&~'.includes(char) ? `\\${char}` : char;
    }
  }
}
