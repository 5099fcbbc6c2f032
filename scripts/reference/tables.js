// Tables of the reference pages, from the declarations of the source.
import { hasInterface, readFields, readFunctions, readWords } from './declarations.js';

/** Formats a table in Markdown: the titles of the columns, and rows of cells. */
export function formatTable(titles, rows) {
  const line = (cells) => `| ${cells.join(' | ')} |\n`;
  return `${line(titles)}|${titles.map(() => '---|').join('')}\n${rows.map(line).join('')}`;
}

/** The options of an interface: a table for each group, under its heading. */
export function formatOptions(name, file) {
  const fields = readFields(file, name);
  const groups = [...new Set(fields.map(({ group }) => group))];
  const tables = groups.map((group) => {
    const own = fields.filter((field) => field.group === group);
    return `${heading(group)}${formatGroup(own, file)}`;
  });
  return tables.join('\n');
}

function heading(group) {
  return group === '' ? '' : `### ${group}\n\n`;
}

function formatGroup(fields, file) {
  const rows = fields.map(({ name, type, comment }) => {
    const { meaning, fallback } = splitDefault(comment);
    return [code(name), formatType(type, file), fallback, meaning];
  });
  return formatTable(['Option', 'Type', 'Default', 'Meaning'], rows);
}

/** Parts the sentence of a comment that names the default from the others. */
export function splitDefault(comment) {
  const [sentence, fallback = ''] = /(?:^| )Default:? (.*?)\.(?= |$)/.exec(comment) ?? [''];
  return { meaning: comment.replace(sentence, '').trim(), fallback };
}

/** The fields of an interface: a row for each. */
export function formatFields(name, file) {
  const rows = readFields(file, name).map(({ name: field, type, comment }) => [
    [code(field), ...listInlineFields(type)].join(' '),
    comment,
  ]);
  return formatTable(['Field', 'Meaning'], rows);
}

/** The exported functions of a file; with names, these alone. */
export function formatFunctions(file, ...names) {
  const functions = readFunctions(file).filter(
    ({ name }) => names.length === 0 || names.includes(name),
  );
  return formatTable(
    ['Function', 'Meaning'],
    functions.map(({ name, parameters, comment }) => [
      code(`${name}(${parameters.join(', ')})`),
      comment,
    ]),
  );
}

/** The words of a union. */
export function formatWords(name, file) {
  return formatUnion([code('code'), 'When'], name, file);
}

/** The reasons of a union, with their comments. */
export function formatReasons(name, file) {
  return formatUnion(['Reason', 'Meaning'], name, file);
}

function formatUnion(columns, name, file) {
  const words = readWords(file, name);
  return formatTable(
    columns,
    words.map(({ name: word, comment }) => [code(word), comment]),
  );
}

/** The names of an object's fields where it is on one line: its fields share a comment. */
function listInlineFields(type) {
  const [, body] = /^\{ (.*) \}/.exec(type) ?? [];
  if (body === undefined) return [];
  return [`(${[...body.matchAll(/(\w+)\??: /g)].map(([, name]) => code(name)).join(', ')})`];
}

/** A type as code; of a short interface of the same file its fields, as in `{ duration, rate }[]`. */
function formatType(type, file) {
  const expanded = type.replace(/^(\w+)(?=\[\]$)/, (name) => {
    if (!hasInterface(file, name)) return name;
    const names = readFields(file, name).map((field) => field.name);
    return names.length > 3 ? name : `{ ${names.join(', ')} }`;
  });
  return code(expanded.replaceAll('|', '\\|'));
}

/** Text as code in Markdown. */
export function code(text) {
  return `\`${text}\``;
}
