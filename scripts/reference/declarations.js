// Reads what the reference pages need of TypeScript's declarations, in the form that Biome gives them: the fields of an
// interface and the words of a union, with their comments.
import { readFileSync } from 'node:fs';

/**
 * Lists the fields of an interface in order: `{ name, type, comment, group }`. A line comment in the interface names the
 * group of the fields after it. A field of an object that takes several lines is named `object.field`.
 */
export function readFields(file, name) {
  const fields = [];
  const objects = [];
  let [group, comment] = ['', ''];
  for (const line of joinLines(find(file, interfaceOf(name)))) {
    const [, field, type] =
      /^(?:readonly )?(\w+(?:(?:<[^>]*>)?\([^)]*\))?)\??: (.*?);?$/.exec(line) ?? [];
    const doc = readComment(line);
    if (line.startsWith('// ')) group = line.slice('// '.length);
    else if (line.startsWith('}')) objects.pop();
    else if (type === '{') objects.push(field);
    else if (field) {
      // A method has its parentheses, without parameters.
      const own = field.replace(/(?:<[^>]*>)?\([^)]*\)/, '()');
      fields.push({ name: [...objects, own].join('.'), type, comment, group });
    }
    comment = doc ?? '';
  }
  return fields;
}

/** Lists the words of a union with their comments: `{ name, comment }`. */
export function readWords(file, name) {
  const lines = joinLines(find(file, new RegExp(`^export type ${name} =\\n([^]*?;)\\n`, 'm')));
  return lines.flatMap((line, index) => {
    const [, word] = /^\| '(.*)';?$/.exec(line) ?? [];
    return word ? [{ name: word, comment: readComment(lines[index - 1] ?? '') ?? '' }] : [];
  });
}

/** Lists the exported functions of a file with their comments, without examples: `{ name, parameters, comment }`. */
export function readFunctions(file) {
  const found = read(file).matchAll(
    /\/\*\*((?:(?!\*\/)[\s\S])*)\*\/\nexport (?:async )?function (\w+)\(([\s\S]*?)\): /g,
  );
  return [...found].map(([, comment, name, parameters]) => ({
    name,
    parameters: listParameters(parameters),
    comment: comment
      .split('@')[0]
      .replace(/\n \* ?/g, ' ')
      .trim(),
  }));
}

/** The names of parameters; one that is taken apart where it is declared is called `options`. */
function listParameters(text) {
  const flat = text.replace(/\{[^{}]*\}(?=: )/g, 'options').replace(/\{[^{}]*\}/g, '');
  return [...flat.matchAll(/(\w+)\??: /g)].map(([, parameter]) => parameter);
}

/** Reports whether a file declares an interface. */
export function hasInterface(file, name) {
  return interfaceOf(name).test(read(file));
}

function interfaceOf(name) {
  return new RegExp(`^(?:export )?interface ${name}\\b[^{]*\\{\\n([^]*?)\\n\\}`, 'm');
}

function read(file) {
  return readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8');
}

function find(file, declaration) {
  const [, body] = declaration.exec(read(file)) ?? [];
  if (body === undefined) throw new Error(`${file} has no ${declaration.source.split('\\n')[0]}`);
  return body;
}

function readComment(line) {
  return /^\/\*\* (.*) \*\/$/.exec(line)?.[1];
}

/** The lines of a declaration, where a comment or a type of several lines is one. */
function joinLines(body) {
  const lines = [];
  let open = '';
  for (const line of body.split('\n').map((one) => one.trim())) {
    if (line === '') continue;
    const isOpenComment = open.startsWith('/**');
    const text =
      open === '' ? line : `${open} ${isOpenComment ? line.replace(/^\* ?(?!\/)/, '') : line}`;
    const isDone = text.startsWith('/**') ? text.endsWith('*/') : /[;{]$|^\/\/|^\| /.test(text);
    if (isDone) lines.push(text.replace(/^\/\*\* +/, '/** '));
    open = isDone ? '' : text;
  }
  return lines;
}
