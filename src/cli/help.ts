import { usageError } from '../errors.js';
import { nearest } from '../load/nearest.js';
import { dashed, type Flag, namesOf, signature } from './flag.js';
import { LOAD_FLAGS } from './flags.js';
import { TEST_SERVER_FLAGS } from './testserver.js';

const USAGE = `Usage: millrace [load] [flags] URL...         load a server and measure it
       millrace [load] [flags] -- COMMAND...  start a server, load it, stop it
       millrace testserver [flags]            a server to load
       millrace                               a demo of both
`;

const EXIT_CODES = `Exit codes: 0 ok, 2 usage, 3 unreachable or every request failed,
4 client-bound (--strict) or rate not reached, 99 a --fail-on failed.`;

/** What `millrace --help` prints: a screen. */
export function helpText(): string {
  const rows = LOAD_FLAGS.filter((flag) => flag.common).map(row);
  const others = LOAD_FLAGS.filter((flag) => !flag.common).map(({ name }) => dashed(name));
  return [
    USAGE,
    ...rows,
    '',
    ...wrap(`Also: ${others.join(' ')}`),
    'All about one flag: millrace help FLAG',
    EXIT_CODES,
  ].join('\n');
}

/** What `millrace testserver --help` prints. */
export function testServerHelpText(): string {
  const usage = 'Usage: millrace testserver [flags]   a server to load, until Ctrl-C\n';
  return [usage, ...TEST_SERVER_FLAGS.map(row)].join('\n');
}

/** All about the flag of that name, with or without dashes. */
export function flagHelp(given: string): string {
  const flags: Flag<never>[] = [...LOAD_FLAGS, ...TEST_SERVER_FLAGS];
  const name = given.replace(/^--?/, '');
  const found = flags.filter((flag) => namesOf(flag).includes(name));
  if (found.length > 0) return found.map(describe).join('\n\n');
  const near = nearest(name, flags.flatMap(namesOf));
  throw usageError(
    `help: there is no flag '${given}'${near ? `; did you mean ${dashed(near)}?` : ''}`,
  );
}

const WIDTH = 80;
const NAMES_WIDTH = 26;

function row(flag: Flag<never>): string {
  const names = `${flag.short ? '' : '    '}${signature(flag)}`;
  const line = `  ${names.padEnd(NAMES_WIDTH)} ${flag.help}`;
  const withFallback = `${line} (${flag.fallback})`;
  return flag.fallback !== undefined && withFallback.length <= WIDTH ? withFallback : line;
}

function describe(flag: Flag<never>): string {
  const others = namesOf(flag).filter((name) => name !== flag.name && name !== flag.short);
  const facts = [
    flag.fallback !== undefined && `Default: ${flag.fallback}.`,
    flag.repeatable && 'May be given several times.',
    others.length > 0 && `Also: ${others.map(dashed).join(', ')}.`,
  ].filter((fact) => typeof fact === 'string');
  const help = `${flag.help.charAt(0).toUpperCase()}${flag.help.slice(1)}.`;
  const paragraphs = [`${help}${flag.details ? ` ${flag.details}` : ''}`, facts.join(' ')];
  const lines = paragraphs.filter((text) => text !== '').flatMap((text) => wrap(text, '  '));
  return [signature(flag), ...lines].join('\n');
}

function wrap(text: string, indent = ''): string[] {
  const lines: string[] = [];
  let line = indent;
  for (const word of text.split(' ')) {
    const longer = line.trim() === '' ? `${line}${word}` : `${line} ${word}`;
    if (longer.length > WIDTH && line.trim() !== '') {
      lines.push(line);
      line = `${indent}${word}`;
    } else {
      line = longer;
    }
  }
  return [...lines, line];
}
