import { usageError } from '../errors.js';
import { findNearest } from '../validation/nearest.js';
import { CACHE_FLAGS } from './commands/cache.js';
import { TEST_SERVER_FLAGS } from './commands/testserver.js';
import { EXIT_CODES } from './exit.js';
import { CAPACITY_FLAGS, CAPACITY_OWN_FLAGS } from './flags/capacity-flags.js';
import { EXPLAIN_FLAGS, OWN_FLAGS } from './flags/explain-flags.js';
import { dashed, type Flag, listNames, signature } from './flags/flag.js';
import { LAB_FLAGS } from './flags/lab-flags.js';
import { LOAD_FLAGS } from './flags/load-flags.js';

const CAPACITY_USAGE = form('millrace capacity URL | -- COMMAND', 'how much can it take?');
const EXPLAIN_USAGE = form('millrace explain URL | -- COMMAND', 'what limits the throughput?');
const TEST_SERVER_USAGE = form('millrace testserver [flags]', 'a server to load, until Ctrl-C');

const LAB_USAGE = form('millrace lab [STUDY...] [flags]', 'known studies, repeated here');
const CACHE_USAGE = form('millrace cache [PID] [flags]', 'output caches of running processes');

/** The forms of the command line, a line each; for help and reference page. */
export const USAGE = [
  form('millrace [load] [flags] URL...', 'load a server and measure it'),
  form('millrace [load] [flags] -- COMMAND...', 'start a server, load it, stop it'),
  EXPLAIN_USAGE,
  CAPACITY_USAGE,
  TEST_SERVER_USAGE,
  LAB_USAGE,
  CACHE_USAGE,
  form('millrace', 'a demo of both'),
  form('millrace help FLAG', 'all about one flag'),
];

function form(words: string, meaning: string): string {
  return `${words.padEnd(37)}  ${meaning}`;
}

function usage(forms: string[]): string {
  return `Usage: ${forms.join('\n       ')}\n`;
}

/** What `millrace --help` prints: a screen. */
export function helpText(): string {
  const rows = LOAD_FLAGS.filter((flag) => flag.common).map(row);
  const others = LOAD_FLAGS.filter((flag) => !flag.common).map(({ name }) => dashed(name));
  return [
    usage(USAGE),
    ...rows,
    ...wrap(`Also: ${others.join(' ')}`),
    ...wrap(`Exit codes: ${EXIT_CODES.map(([code, meaning]) => `${code} ${meaning}`).join('; ')}.`),
  ].join('\n');
}

/** What `millrace explain --help` prints. */
export function explainHelpText(): string {
  return subcommandHelp([EXPLAIN_USAGE], OWN_FLAGS, EXPLAIN_FLAGS);
}

/** What `millrace capacity --help` prints. */
export function capacityHelpText(): string {
  return subcommandHelp([CAPACITY_USAGE], CAPACITY_OWN_FLAGS, CAPACITY_FLAGS);
}

function subcommandHelp<Own extends Flag<never>>(forms: string[], own: Own[], all: Own[]): string {
  const others = all.filter((flag) => !own.includes(flag));
  return [
    usage(forms),
    ...own.map(row),
    '',
    ...wrap(`As in millrace load: ${others.map(({ name }) => dashed(name)).join(' ')}`),
  ].join('\n');
}

/** What `millrace testserver --help` prints. */
export function testServerHelpText(): string {
  return [usage([TEST_SERVER_USAGE]), ...TEST_SERVER_FLAGS.map(row)].join('\n');
}

/** What `millrace lab --help` prints. */
export function labHelpText(): string {
  return [usage([LAB_USAGE]), ...LAB_FLAGS.map(row), '', 'millrace lab lists the studies.'].join(
    '\n',
  );
}

/** What `millrace cache --help` prints. */
export function cacheHelpText(): string {
  return [usage([CACHE_USAGE]), ...CACHE_FLAGS.map(row)].join('\n');
}

/** All about the flag of that name, with or without dashes. */
export function flagHelp(given: string): string {
  const own: Flag<never>[] = [...OWN_FLAGS, ...CAPACITY_OWN_FLAGS];
  const flags: Flag<never>[] = [
    ...LOAD_FLAGS,
    ...own,
    ...TEST_SERVER_FLAGS,
    ...LAB_FLAGS,
    ...CACHE_FLAGS,
  ];
  const name = given.replace(/^--?/, '');
  const found = flags.filter((flag) => listNames(flag).includes(name));
  if (found.length > 0) return found.map(describe).join('\n\n');
  const near = findNearest(name, flags.flatMap(listNames));
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
  const others = listNames(flag).filter((name) => name !== flag.name && name !== flag.short);
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
