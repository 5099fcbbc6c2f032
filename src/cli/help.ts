import { usageError } from '../errors/millrace-error.js';
import { findNearest } from '../validation/nearest.js';
import { COMMANDS, type Command, LOAD, USAGE, type Usage } from './command-table.js';
import { EXIT_CODES } from './exit.js';
import { acceptedFlags, ownFlags } from './flags/command-flags.js';
import { dashed, type Flag, listNames, mainName, signature } from './flags/flag.js';

/** Formats forms of the command line with their meanings, a line each. */
export function usageLines(forms: readonly Usage[]): string[] {
  return forms.map(([words, meaning]) => `${words.padEnd(37)}  ${meaning}`);
}

/** Returns the text of `millrace --help`, which fits a screen. */
export async function overview(): Promise<string> {
  const flags = acceptedFlags(await LOAD.flags());
  const rows = flags.filter((flag) => flag.common).map(row);
  const others = flags.filter((flag) => !flag.common);
  const codes = EXIT_CODES.map(([code, meaning]) => `${code} ${meaning}`);
  return [
    usage(USAGE),
    ...rows,
    ...wrap(`Also: ${listDashed(others)}`),
    ...wrap(`Exit codes: ${codes.join('; ')}.`),
  ].join('\n');
}

/** Returns the text of `millrace COMMAND --help`. */
export async function commandHelp(command: Command): Promise<string> {
  if (command === LOAD) return overview();
  const table = await command.flags();
  const { shared, epilogue } = table;
  return [
    usage(command.usage),
    ...ownFlags(table).map(row),
    ...(shared ? ['', ...wrap(`As in millrace load: ${listDashed(shared)}`)] : []),
    ...(epilogue ? ['', epilogue] : []),
  ].join('\n');
}

/** Returns the text of `millrace help FLAG`: all flags of that name, which may have dashes. */
export async function flagHelp(flag: string): Promise<string> {
  const tables = await Promise.all(COMMANDS.map(({ flags }) => flags()));
  // Commands share flags.
  const flags = [...new Set(tables.flatMap(ownFlags))];
  const name = flag.replace(/^--?/, '');
  const found = flags.filter((known) => listNames(known).includes(name));
  if (found.length > 0) return found.map(describe).join('\n\n');
  const near = findNearest(name, flags.flatMap(listNames));
  throw usageError(
    `help: there is no flag '${flag}'${near ? `; did you mean ${dashed(near)}?` : ''}`,
  );
}

const WIDTH = 80;
const NAMES_WIDTH = 26;

function usage(forms: readonly Usage[]): string {
  return `Usage: ${usageLines(forms).join('\n       ')}\n`;
}

function listDashed(flags: readonly Flag<never>[]): string {
  return flags.map(mainName).join(' ');
}

function row(flag: Flag<never>): string {
  const names = `${flag.short ? '' : '    '}${signature(flag)}`;
  const line = `  ${names.padEnd(NAMES_WIDTH)} ${flag.help}`;
  const withFallback = `${line} (${flag.fallback})`;
  return flag.fallback !== undefined && withFallback.length <= WIDTH ? withFallback : line;
}

function describe(flag: Flag<never>): string {
  const { sentences, facts } = describeFlag(flag, dashed);
  const lines = [sentences, facts]
    .filter((texts) => texts.length > 0)
    .flatMap((texts) => wrap(texts.join(' '), '  '));
  return [signature(flag), ...lines].join('\n');
}

/** The help of a flag in sentences, and its default, repetition and further names; `format` formats a name. */
export function describeFlag(
  flag: Flag<never>,
  format: (name: string) => string,
): { sentences: string[]; facts: string[] } {
  const others = listNames(flag).filter((name) => name !== flag.name && name !== flag.short);
  const help = `${flag.help.charAt(0).toUpperCase()}${flag.help.slice(1)}.`;
  return {
    sentences: [help, ...(flag.details ? [flag.details] : [])],
    facts: [
      ...(flag.fallback === undefined ? [] : [`Default: ${flag.fallback}.`]),
      ...(flag.repeatable ? ['May be given several times.'] : []),
      ...(others.length > 0 ? [`Also: ${others.map(format).join(', ')}.`] : []),
    ],
  };
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
