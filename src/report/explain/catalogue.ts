import { usageError } from '../../errors/millrace-error.js';
import { LIMIT_IDS, type LimitId } from '../../explain/limit-ids.js';
import {
  LIMIT_GROUPS,
  type Limit,
  type LimitGroup,
  type LimitText,
} from '../../explain/limits/limit.js';
import { LIMITS } from '../../explain/limits/limits.js';
import { findNearest } from '../../validation/nearest.js';
import { createPainter } from '../text/paint.js';
import { formatParagraph, type Sheet } from '../text/sheet.js';

/** Headings of the groups. */
const HEADINGS: Record<LimitGroup, string> = {
  load: 'The load',
  CPU: "The server's CPU",
  'waiting inside': 'Waiting inside the server',
  'connections and TCP': 'Connections and TCP',
  machine: 'The machine and its network',
};

const sheet: Sheet = { width: 80, paint: createPainter(false) };
const ID_WIDTH = Math.max(...LIMIT_IDS.map((id) => id.length));
const FIELD_INDENT = 14;

/** Groups the limits under their headings, in the order of the ids. */
export function groupCatalogue(): [heading: string, limits: Limit[]][] {
  const all = LIMIT_IDS.map((id: LimitId) => LIMITS[id]);
  return LIMIT_GROUPS.map((group) => [HEADINGS[group], all.filter((it) => it.group === group)]);
}

/** Lists the named fields of a limit, except its title and description. */
export function listFields(text: LimitText): [name: string, text: string][] {
  const { shows, experiment, confirm, formula, remedy, detected, note } = text;
  const list = (name: string, words: string | undefined): [string, string][] =>
    words === undefined ? [] : [[name, words]];
  return [
    ['shows', shows],
    ['experiment', experiment],
    ...list('confirm', confirm),
    ['formula', formula],
    ['remedy', remedy],
    ['detected', detected],
    ...list('note', note),
  ];
}

/** Formats all limits by group, a line each, at most 80 columns wide. */
export function formatCatalogue(): string {
  const groups = groupCatalogue().map(([heading, limits]) => {
    const lines = limits.map(({ id, text: { title } }) => `  ${id.padEnd(ID_WIDTH)}  ${title}`);
    return [heading, ...lines].join('\n');
  });
  return [...groups, 'Details of a limit: millrace explain --why LIMIT'].join('\n\n');
}

/** Formats all fields of a limit, at most 80 columns wide. Throws a usage error for an unknown id. */
export function formatEntry(limit: string): string {
  const id = LIMIT_IDS.find((one) => one === limit);
  if (!id) {
    const near = findNearest(limit, LIMIT_IDS);
    throw usageError(
      `--why: unknown limit '${limit}'${near ? `; did you mean ${near}?` : ';'} --list prints all`,
    );
  }
  const { text } = LIMITS[id];
  return [
    `${text.title} (${id})`,
    '',
    ...indentField('', text.what, 2),
    '',
    ...listFields(text).flatMap(([name, words]) => indentField(name, words, FIELD_INDENT)),
  ].join('\n');
}

/** Formats a text with its name before the first line. */
function indentField(name: string, text: string, indent: number): string[] {
  const [first = '', ...others] = formatParagraph(sheet, text, indent);
  return [`  ${name}`.padEnd(indent) + first, ...others];
}
