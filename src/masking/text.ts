// Replaces secrets in text that is printed or stored; where they stood stays visible.
import { isSecretHeader, isSecretName } from './names.js';
import { findSecretSpans } from './spans.js';

export const MASK = '***';

/** The value of a header as it may be shown. */
export function maskHeader(name: string, value: string): string {
  const lower = name.toLowerCase();
  if (!isSecretHeader(name)) return maskText(value);
  // The scheme and the cookie's name tell what was asked for, and are not secret.
  if (lower.endsWith('authorization')) return value.replace(/^([\w-]+ +)?.*$/s, `$1${MASK}`);
  if (lower.startsWith('set-cookie')) return value.replace(/=[^;]*/, `=${MASK}`);
  return MASK;
}

/** Text with everything that looks like a secret replaced (`findSecretSpans`). Placeholders are not secrets. */
export function maskText(text: string): string {
  let masked = '';
  let done = 0;
  for (const { from, to, isBare } of findSecretSpans(text)) {
    if (isPlaceholder(text, from, to)) continue;
    masked += text.slice(done, from) + (isBare ? `"${MASK}"` : MASK);
    done = to;
  }
  return masked + text.slice(done);
}

/** A URL or request-target with its secrets replaced: in its query only & and # end a value. */
export function maskUrl(url: string): string {
  const query = url.indexOf('?');
  if (query < 0) return maskText(url);
  const masked = url.slice(query).replace(/([?&])([^=&#]{1,128})=([^&#]*)/g, maskParameter);
  return maskText(url.slice(0, query) + masked);
}

function maskParameter(whole: string, mark: string, name: string, value: string): string {
  const plain = name.replace(/%5B/gi, '[').replace(/(?:\]|%5D)+$/gi, '');
  if (!isSecretName(plain) || value === '' || isPlaceholder(value, 0, value.length)) return whole;
  return `${mark}${name}=${MASK}`;
}

/** The words of a command line with their secrets replaced: headers, assignments, values of flags whose names say so, scripts of a shell. */
export function maskArguments(words: readonly string[]): string[] {
  const isScript = (index: number) => words.length === 1 || /^-\w*c$/.test(words[index - 1] ?? '');
  return words.map((word, index) => {
    const [, flag = ''] = /^--?([\w.-]+)$/.exec(words[index - 1] ?? '') ?? [];
    if (isSecretName(flag) && !word.startsWith('-') && flag !== 'key') return MASK;
    const isShellLine = isScript(index) && /\s/.test(word);
    return isShellLine ? maskScript(word) : maskWord(word);
  });
}

function maskWord(word: string): string {
  const [assignment, name = ''] = /^-{0,2}([A-Za-z_][\w.-]{0,127})=/.exec(word) ?? [];
  // A form has further fields.
  const isForm = /^[a-z]/.test(word) && !/\s/.test(word) && /&[^=&]+=/.test(word);
  if (assignment !== undefined && isSecretName(name) && !isForm) {
    const value = word.slice(assignment.length);
    return value === '' || isPlaceholder(value, 0, value.length) ? word : `${assignment}${MASK}`;
  }
  const [header, field = ''] = /^([\w-]{1,128}):\s*/.exec(word) ?? [];
  if (header !== undefined && isSecretHeader(field) && !header.startsWith('//', header.length)) {
    return `${header}${maskHeader(field, word.slice(header.length))}`;
  }
  return /\s/.test(word) ? maskText(word) : maskUrl(word);
}

/** A line for a shell: its words are masked as those of a command, what stands between them stays. */
function maskScript(script: string): string {
  const pieces = splitShellWords(script);
  const words = pieces.filter((_, index) => index % 2 === 0);
  const masked = maskArguments(words.map(unquote));
  return pieces
    .map((piece, index) => {
      if (index % 2 === 1) return piece;
      const word = masked[index / 2] ?? '';
      return word === unquote(piece) ? piece : word;
    })
    .join('');
}

/** Words, and the space between them, in turn. */
function splitShellWords(script: string): string[] {
  const pieces: string[] = [];
  let [from, index, quote] = [0, 0, ''];
  for (; index < script.length; index += 1) {
    const char = script[index] as string;
    if (char === '\\' && quote !== "'") index += 1;
    else if (quote !== '') quote = char === quote ? '' : quote;
    else if (char === '"' || char === "'") quote = char;
    else if (/\s/.test(char)) {
      const start = index;
      while (/\s/.test(script[index + 1] ?? '')) index += 1;
      pieces.push(script.slice(from, start), script.slice(start, index + 1));
      from = index + 1;
    }
  }
  return [...pieces, script.slice(from)];
}

function unquote(word: string): string {
  return word.replace(/\\(.)|["']/gs, '$1');
}

/** Whether a value is a single placeholder. */
function isPlaceholder(text: string, from: number, to: number): boolean {
  return text.startsWith('{{', from) && text.indexOf('}}', from) === to - 2;
}
