// The table of a result, from its JSON schema.
import { readFileSync } from 'node:fs';
import { code, formatTable } from './tables.js';

const FOLDER = new URL('../../docs/reference/', import.meta.url);

/**
 * The properties of a result: a row for each, with the names of the properties within it. An object that several
 * properties refer to has a row of its own at the end.
 */
export function formatSchema(name) {
  const schema = readSchema(name);
  const shared = listShared(schema);
  const row = (title, node) => [title, describe(node, { schema, shared })];
  return formatTable(
    ['Field', 'Contents'],
    [
      ...Object.entries(schema.properties).map(([field, node]) => row(code(field), node)),
      ...shared.map((definition) => row(formatName(definition), schema.$defs[definition])),
    ],
  );
}

/** The properties of an object within a schema, to which the path leads, as in `/properties/connections`. */
export function formatSchemaObject(name, path) {
  const schema = readSchema(name);
  const node = followPath(schema, path);
  const { properties } = resolve(node, { schema });
  const context = { schema, shared: listShared(schema) };
  return formatTable(
    ['Field', 'Meaning'],
    Object.entries(properties).map(([field, value]) => [code(field), describe(value, context)]),
  );
}

/** Reads a schema of the folder of the reference pages. */
export function readSchema(name) {
  return JSON.parse(readFileSync(new URL(name, FOLDER), 'utf8'));
}

/** Lists the names of all properties in a schema. */
export function listProperties(node) {
  if (typeof node !== 'object' || node === null) return [];
  const own = Array.isArray(node) ? [] : Object.keys(node.properties ?? {});
  return [...new Set([...own, ...Object.values(node).flatMap(listProperties)])];
}

/** The definitions of objects that more than one property refers to. */
function listShared(schema) {
  const text = JSON.stringify(schema);
  return Object.keys(schema.$defs ?? {}).filter((name) => {
    const isUsedAgain = text.split(`"#/$defs/${name}"`).length > 2;
    return isUsedAgain && listProperties(schema.$defs[name]).length > 0;
  });
}

function describe(node, context) {
  const target = resolve(node, context);
  const description = escapePipes(node.description ?? target?.description ?? '');
  const parts = listParts(node, context).replace(/^as in/, 'As in');
  return [description, parts].filter((part) => part !== '').join(' ');
}

/** The names of the properties within a node, with theirs in parentheses. */
function listParts(node, context) {
  const { $ref } = node;
  const name = $ref?.startsWith('#/$defs/') ? $ref.slice('#/$defs/'.length) : undefined;
  if (context.shared.includes(name)) return formatName(name);
  if ($ref !== undefined && name === undefined) return linkOther($ref);
  const target = resolve(node, context);
  const properties = Object.entries(target.properties ?? {}).map(([field, value]) => {
    const parts = listParts(value, context);
    return parts === '' ? code(field) : `${code(field)} (${parts})`;
  });
  const inner = [target.items, target.additionalProperties, ...(target.prefixItems ?? [])]
    .concat(target.anyOf ?? [], target.oneOf ?? [])
    .filter((part) => typeof part === 'object')
    .map((part) => listParts(part, context));
  return [...new Set([...properties, ...inner, ...listValues(target)])]
    .filter((part) => part !== '')
    .join(', ');
}

/** Lists the values of a node that has few of them. */
function listValues({ const: only, enum: values = only === undefined ? [] : [only] }) {
  if (values.length > MAX_VALUES) return [];
  return values.filter((value) => value !== null).map((value) => code(formatValue(value)));
}

const MAX_VALUES = 12;

function formatValue(value) {
  return typeof value === 'string' ? `'${value}'` : String(value);
}

/** A link to the schema that a reference leads to, if that is an object. */
function linkOther($ref) {
  const [file, path = ''] = $ref.split('#');
  const schema = file === '' ? null : readSchema(file);
  const node = followPath(schema, path);
  if (listProperties(node).length === 0) return '';
  const { title } = schema;
  return `as in [${title.charAt(0).toLowerCase()}${title.slice(1)}](${file})`;
}

function followPath(schema, path) {
  return path.split('/').reduce((at, key) => (key === '' ? at : at?.[key]), schema);
}

/** The node that a reference within the schema leads to, else the node itself. */
function resolve(node, { schema }) {
  const { $ref } = node;
  return $ref?.startsWith('#/$defs/') ? schema.$defs[$ref.slice('#/$defs/'.length)] : node;
}

/** `sideName` as `*side name*`. */
function formatName(definition) {
  return `*${definition.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)}*`;
}

function escapePipes(text) {
  return text.replaceAll('|', '\\|');
}
