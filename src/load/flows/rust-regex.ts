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
  // Lines also end with CR.
  ['m', 'mR'],
  // What it changes is translated.
  ['s', ''],
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
    if (translated === undefined) throw new InexpressibleRegex(`flag ${flag}`);
    inline += translated;
  }
  const body = new Translation(source, flags).run();
  return inline === '' ? body : `(?${inline})${body}`;
}

/** Finds the number of a group: the one that is given, otherwise the first one, or 0 if there is none. */
export function findGroup(pattern: RegExp, group: number | string | null): number | null {
  const count = countGroups(pattern.source, pattern.flags);
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

/** One character, or several: `\d`, `\p{Lu}`. */
type Atom = { code: number } | { members: string };

/** The translation of one expression. The engine's characters are code points, with and without the flag u. */
class Translation {
  #at = 0;
  readonly #source: string;
  readonly #unicode: boolean;
  readonly #hasNames: boolean;
  readonly #groups: number;
  /** Whether `.` is any character, by group around the place. */
  readonly #dotAll: boolean[];

  constructor(source: string, flags: string) {
    this.#source = source;
    this.#unicode = flags.includes('u');
    this.#dotAll = [flags.includes('s')];
    this.#hasNames = listGroupNames(source).size > 0;
    this.#groups = countGroups(source, flags);
  }

  run(): string {
    let out = '';
    while (this.#at < this.#source.length) out += this.#translateNext();
    return out;
  }

  #translateNext(): string {
    switch (this.#source[this.#at]) {
      case '[':
        return this.#translateClass();
      case '(':
        return this.#translateGroup();
      case ')':
        this.#at++;
        this.#dotAll.pop();
        return ')';
      case '.':
        this.#at++;
        return this.#dotAll.at(-1) ? '(?s:.)' : '[^\\n\\r\\x{2028}\\x{2029}]';
      case '^':
      case '$':
      case '|':
      case '*':
      case '+':
      case '?':
        return this.#source[this.#at++] ?? '';
      case '{':
        return this.#translateBrace();
      default:
        return this.#translateAssertion() ?? format(this.#takeAtom(false));
    }
  }

  /** Takes what a pattern matches here, if it does. */
  #take(pattern: RegExp): RegExpExecArray | null {
    const sticky = new RegExp(pattern.source, `${pattern.flags}y`);
    sticky.lastIndex = this.#at;
    const match = sticky.exec(this.#source);
    if (match) this.#at += match[0].length;
    return match;
  }

  #translateGroup(): string {
    if (this.#take(/\(\?<?[=!]/)) throw new InexpressibleRegex('look-ahead and look-behind');
    const [, on, off] = this.#take(/\(\?([ims]*)(?:-([ims]*))?:/) ?? [];
    if (on === undefined) {
      // Groups are known by their numbers: names may have other letters than the engine's.
      this.#take(/\((?:\?<[^>]*>)?/);
      this.#dotAll.push(this.#dotAll.at(-1) ?? false);
      return '(';
    }
    const isChanged = on.includes('s') || off?.includes('s');
    this.#dotAll.push(isChanged ? on.includes('s') : (this.#dotAll.at(-1) ?? false));
    const [added, removed] = [on, off ?? ''].map((flags) =>
      [...flags].map((flag) => FLAGS.get(flag) ?? '').join(''),
    );
    return `(?${added}${removed ? `-${removed}` : ''}:`;
  }

  /** A quantifier, or the character. */
  #translateBrace(): string {
    const quantifier = this.#take(/\{\d+(?:,\d*)?\}/);
    if (quantifier) return quantifier[0];
    this.#at++;
    return '\\{';
  }

  #translateAssertion(): string | null {
    const assertion = this.#take(/\\([bB])/)?.[1];
    if (assertion === undefined) return null;
    return assertion === 'b' ? '(?-u:\\b)' : '(?-u:\\B)';
  }

  #translateClass(): string {
    const isNegated = this.#take(/\[\^?/)?.[0] === '[^';
    let members = '';
    while (this.#at < this.#source.length && this.#source[this.#at] !== ']') {
      const first = this.#takeAtom(true);
      if (!this.#take(/-(?!\])/)) {
        members += format(first);
        continue;
      }
      const last = this.#takeAtom(true);
      // Beside a class a hyphen is one (Annex B).
      const isRange = 'code' in first && 'code' in last;
      members += `${format(first)}${isRange ? '-' : '\\-'}${format(last)}`;
    }
    this.#at++;
    if (members === '') return isNegated ? '(?s:.)' : '[^\\x{0}-\\x{10ffff}]';
    return `[${isNegated ? '^' : ''}${members}]`;
  }

  /** Takes a character, or a class with a backslash. */
  #takeAtom(inClass: boolean): Atom {
    if (this.#source[this.#at] === '\\' && this.#at + 1 < this.#source.length) {
      this.#at++;
      return this.#takeEscape(inClass);
    }
    const code = this.#source.codePointAt(this.#at) ?? 0;
    this.#at += code > 0xffff ? 2 : 1;
    return toAtom(code);
  }

  /** The part behind a backslash (ECMA-262, 22.2.1 and Annex B.1.2). */
  #takeEscape(inClass: boolean): Atom {
    const code = this.#takeCode() ?? this.#takeNumber(inClass);
    if (code !== null) return toAtom(code);
    const name = this.#take(/[dws]/i)?.[0];
    if (name !== undefined) {
      const lower = name.toLowerCase();
      return { members: `[${name === lower ? '' : '^'}${CLASSES[lower]}]` };
    }
    const property = this.#unicode ? this.#take(/[pP]\{[^}]*\}/) : null;
    if (property) return { members: `\\${property[0]}` };
    if (this.#hasNames && this.#take(/k</)) throw new InexpressibleRegex('back-references');
    const control = this.#take(/[fnrtv]/)?.[0];
    if (control !== undefined) return { code: CONTROLS[control] ?? 0 };
    if (inClass && this.#take(/b/)) return { code: 8 };
    // Not an escape: the backslash itself.
    if (this.#source[this.#at] === 'c') return { code: 0x5c };
    const char = this.#source.codePointAt(this.#at) ?? 0x5c;
    this.#at += char > 0xffff ? 2 : 1;
    return toAtom(char);
  }

  /** A character by its code: `\x41`, `\u0041`, `\u{1f600}`, `\cA`. */
  #takeCode(): number | null {
    const pair = this.#take(/u(d[89ab][\da-f]{2})\\u(d[c-f][\da-f]{2})/i);
    if (pair) {
      const [high, low] = [pair[1], pair[2]].map((hex) => Number.parseInt(hex ?? '', 16));
      return String.fromCharCode(high ?? 0, low ?? 0).codePointAt(0) ?? 0;
    }
    const hex = this.#take(/(?:u([\da-f]{4})|x([\da-f]{2}))/i);
    if (hex) return Number.parseInt(hex[1] ?? hex[2] ?? '', 16);
    const braces = this.#unicode ? this.#take(/u\{([\da-f]+)\}/i) : null;
    if (braces) return Number.parseInt(braces[1] ?? '', 16);
    const letter = this.#take(/c([a-z])/i)?.[1];
    return letter === undefined ? null : letter.charCodeAt(0) % 32;
  }

  /** A back-reference, or a character by its octal code. */
  #takeNumber(inClass: boolean): number | null {
    const digits = /^[1-9]\d*/.exec(this.#source.slice(this.#at))?.[0];
    if (digits !== undefined && !inClass && (this.#unicode || Number(digits) <= this.#groups)) {
      throw new InexpressibleRegex('back-references');
    }
    const octal = this.#take(/[0-3][0-7]{0,2}|[4-7][0-7]?/)?.[0];
    return octal === undefined ? null : Number.parseInt(octal, 8);
  }
}

const CONTROLS: Record<string, number> = { t: 9, n: 10, v: 11, f: 12, r: 13 };

/** An alternative that matches nothing tells how many groups there are. */
function countGroups(source: string, flags: string): number {
  return (new RegExp(`${source}|`, flags.replace(/[gy]/g, '')).exec('')?.length ?? 1) - 1;
}

function toAtom(code: number): Atom {
  if (code >= 0xd800 && code <= 0xdfff) throw new InexpressibleRegex('halves of surrogate pairs');
  return { code };
}

function format(atom: Atom): string {
  if ('members' in atom) return atom.members;
  const char = String.fromCodePoint(atom.code);
  // With a meaning in the engine's syntax, in a class or outside.
  if (/[\\.+*?()|[\]{}^$#&~-]/.test(char)) return `\\${char}`;
  if (/[ -~]|[^\0-\x9f]/.test(char)) return char;
  return `\\x{${atom.code.toString(16)}}`;
}
