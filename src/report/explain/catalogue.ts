import { usageError } from '../../errors.js';
import {
  type CatalogueEntry,
  LIMIT_GROUPS,
  type LimitGroup,
} from '../../explain/limits/catalogue/entry.js';
import { CATALOGUE } from '../../explain/limits/catalogue.js';
import { LIMIT_IDS, type LimitId } from '../../explain/limits/ids.js';
import { nearest } from '../../validation/nearest.js';
import { painter } from '../text/paint.js';
import { paragraph, type Sheet } from '../text/sheet.js';

/** The names of the groups, for readers. */
const headings: Record<LimitGroup, string> = {
  load: 'The load',
  CPU: "The server's CPU",
  'waiting inside': 'Waiting inside the server',
  'connections and TCP': 'Connections and TCP',
  machine: 'The machine and its network',
};

const sheet: Sheet = { width: 80, paint: painter(false) };
const idWidth = Math.max(...LIMIT_IDS.map((id) => id.length));
const fieldIndent = 14;

/** The groups under their names for readers, with their entries in the order of the ids. */
export function catalogueGroups(): [heading: string, entries: CatalogueEntry[]][] {
  const all = LIMIT_IDS.map((id: LimitId) => CATALOGUE[id]);
  return LIMIT_GROUPS.map((group) => [headings[group], all.filter((it) => it.group === group)]);
}

/** What there is to say about a limit beside its title and what it is, each with its name. */
export function entryFields(entry: CatalogueEntry): [name: string, text: string][] {
  const { shows, experiment, formula, remedy, told, note } = entry;
  return [
    ['shows', shows],
    ['experiment', experiment],
    ['formula', formula],
    ['remedy', remedy],
    ['told', told],
    ...(note === undefined ? [] : [['note', note] satisfies [string, string]]),
  ];
}

/** All limits that explain knows, a line each, by group; at most 80 columns. */
export function catalogueText(): string {
  const groups = catalogueGroups().map(([heading, entries]) => {
    const lines = entries.map(({ id, title }) => `  ${id.padEnd(idWidth)}  ${title}`);
    return [heading, ...lines].join('\n');
  });
  return [...groups, 'All about one: millrace explain --why LIMIT'].join('\n\n');
}

/** All about one limit; at most 80 columns. Throws a usage error for an unknown id. */
export function entryText(given: string): string {
  const id = LIMIT_IDS.find((one) => one === given);
  if (!id) {
    const near = nearest(given, LIMIT_IDS);
    throw usageError(
      `why: there is no limit '${given}'${near ? `; did you mean ${near}?` : ';'} --list prints all`,
    );
  }
  const entry = CATALOGUE[id];
  return [
    `${entry.title} (${id})`,
    '',
    ...indented('', entry.what, 2),
    '',
    ...entryFields(entry).flatMap(([name, text]) => indented(name, text, fieldIndent)),
  ].join('\n');
}

/** A text with its name before the first line. */
function indented(name: string, text: string, indent: number): string[] {
  const [first = '', ...others] = paragraph(sheet, text, indent);
  return [`  ${name}`.padEnd(indent) + first, ...others];
}
