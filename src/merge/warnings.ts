import { count, plural, share, time } from '../format/units.js';
import { findWarnings } from '../load/outcome/warnings.js';
import type { GeneratorResult, LoadResult, LoadWarning } from '../load/result.js';
import { nameGenerator } from '../load/segment.js';
import { findDifferentPart, formatPart, readPart } from '../validation/different-part.js';
import { findSpan } from './generators.js';

/** The share of a merged run in which all generators were under way, below which its figures are of several loads. */
const MIN_TOGETHER = 0.9;

/**
 * Warnings of a run that are listed with its generator's name: those of its machine and its surroundings, and those by its own
 * time, as runs that began one after the other took longer together.
 */
const OWN = new Set([
  ...['generator-stalled', 'rate-not-reached'],
  ...['server-ended', 'aborted', 'target-not-reached', 'several-ports', 'addresses-left-out'],
  ...['cpu-stolen', 'shared-cores', 'extra-authorities', 'started-late'],
]);

/** Most generators that a line names. */
const MAX_NAMED = 5;

/** Finds reasons to doubt a merged result: those of any load, those of one generator, and those of the merge. */
export function findMergedWarnings(
  result: LoadResult,
  generators: readonly GeneratorResult[],
): LoadWarning[] {
  const { missing = [], differences = [] } = result;
  const merge: [id: string, message: string | null][] = [
    ['shares-missing', describeMissing(missing, generators)],
    ['not-together', describeApart(generators)],
    ['versions-differ', describeVersions(generators)],
  ];
  for (const { field, values } of differences) {
    merge.push(['plans-differ', describeDifference(field, values)]);
  }
  const circumstances = {
    ...{ refusedAddresses: [], serverEnded: null, otherPorts: [], unreachedTargets: [] },
    ...{ redirections: new Map(), files: null, extraAuthoritiesError: null },
  };
  const whole = findWarnings(result, circumstances).filter(({ id }) => !OWN.has(id));
  const own = listOwn(generators);
  return [
    ...merge.flatMap(([id, message]) => (message === null ? [] : [{ id, message }])),
    ...whole,
    ...own,
  ];
}

function describeDifference(field: string, values: readonly string[]): string {
  const all: unknown[] = values.map((value) => JSON.parse(value));
  const path = findDifferentPart(all[0], all[1]);
  const parts = [...new Set(all.map((value) => JSON.stringify(readPart(value, path))))];
  const shown = parts.slice(0, MAX_NAMED).map((part) => cut(part));
  const rest = parts.length > shown.length ? ', ...' : '';
  return `The plans differ in ${formatPart(field, path)}: ${shown.join(', ')}${rest}.`;
}

function describeMissing(
  missing: readonly number[],
  generators: readonly GeneratorResult[],
): string | null {
  if (missing.length === 0) return null;
  const all = generators[0]?.segment?.count ?? 0;
  const shares = missing.length === 1 ? 'share' : 'shares';
  return `${count(missing.length)} of ${plural(all, 'share')} missing: ${shares} ${listSome(missing.map(String))}. The figures are those of the others.`;
}

function describeApart(generators: readonly GeneratorResult[]): string | null {
  if (generators.length < 2) return null;
  const { durationMs } = findSpan(generators);
  const starts = generators.map(({ startedAtMs }) => startedAtMs);
  const ends = generators.map((generator) => generator.startedAtMs + generator.durationMs);
  const togetherMs = Math.min(...ends) - Math.max(...starts);
  if (togetherMs >= MIN_TOGETHER * durationMs) return null;
  const [told, ...others] = new Set(generators.map(({ start }) => start?.at));
  const wereTold = told !== undefined && others.length === 0;
  const advice = wereTold ? '' : ' Begin them at one instant (--start-at).';
  if (togetherMs > 0) {
    return `All generators were under way together for ${time(togetherMs)} of ${time(durationMs)} (${share(togetherMs / durationMs)}): the throughput is the mean over all of it.${advice}`;
  }
  const [last, first] = [starts.indexOf(Math.max(...starts)), ends.indexOf(Math.min(...ends))];
  const name = (index: number) => nameGenerator(generators[index] as GeneratorResult, index);
  return `The runs did not overlap in time: ${name(first)} had ended ${time(-togetherMs)} before ${name(last)} began. The figures are of loads one after the other.${advice}`;
}

function describeVersions(generators: readonly GeneratorResult[]): string | null {
  const versions = [...new Set(generators.map(({ version }) => version))].sort();
  return versions.length < 2
    ? null
    : `The generators have different versions of millrace: ${versions.join(', ')}.`;
}

/** Lists what generators warn of themselves, with their names; of many of a kind the first. */
function listOwn(generators: readonly GeneratorResult[]): LoadWarning[] {
  const byId = new Map<string, Map<string, string[]>>();
  for (const [index, generator] of generators.entries()) {
    for (const { id, message } of generator.warnings.filter((one) => OWN.has(one.id))) {
      const messages = byId.get(id) ?? new Map<string, string[]>();
      byId.set(id, messages);
      messages.set(message, [...(messages.get(message) ?? []), nameGenerator(generator, index)]);
    }
  }
  return [...byId].flatMap(([id, messages]) => {
    const lines = [...messages].map(([message, names]) => `${listSome(names)}: ${message}`);
    const rest = lines.slice(MAX_LINES);
    const more =
      rest.length > 0 ? [`Such a warning is of ${plural(rest.length, 'generator')} more.`] : [];
    return [...lines.slice(0, MAX_LINES), ...more].map((message) => ({ id, message }));
  });
}

/** Most lines of one kind of warning. */
const MAX_LINES = 3;

/** Lists why generators were the limit, with their names. */
export function listReasons(generators: readonly GeneratorResult[]): string[] {
  const bound = generators.flatMap((generator, index) =>
    generator.clientBound
      ? [`${nameGenerator(generator, index)}: ${generator.reasons.join('; ')}`]
      : [],
  );
  const rest = bound.length - MAX_NAMED;
  return rest > 1 ? [...bound.slice(0, MAX_NAMED), `and ${plural(rest, 'generator')} more`] : bound;
}

function listSome(names: readonly string[]): string {
  const rest = names.length - MAX_NAMED;
  return rest > 1 ? `${names.slice(0, MAX_NAMED).join(', ')} and ${rest} more` : names.join(', ');
}

/** Length of a value in a line. */
const MAX_VALUE = 60;

function cut(value: string): string {
  return value.length > MAX_VALUE ? `${value.slice(0, MAX_VALUE)}…` : value;
}
