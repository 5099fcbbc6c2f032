// The generated blocks of the documents: `<!-- table: KIND ARGUMENTS -->` ... `<!-- end of table -->`. A page names what
// it shows, so that only a page has to change when an interface or a file gets another name.
import { readdirSync, readFileSync } from 'node:fs';
import { formatDeadlines } from './deadline-tables.js';
import { formatSchema, formatSchemaObject } from './schema-tables.js';
import { formatLoadOptions } from './shared-options.js';
import { formatCacheCounters, formatCacheSettings, formatStackLimits } from './stack-tables.js';
import {
  formatFields,
  formatFunctions,
  formatOptions,
  formatReasons,
  formatWords,
} from './tables.js';

/** The kinds of blocks. The arguments are names of declarations and files, without spaces. */
const KINDS = {
  options: formatOptions,
  fields: formatFields,
  functions: formatFunctions,
  codes: formatWords,
  reasons: formatReasons,
  schema: formatSchema,
  'schema-object': formatSchemaObject,
  'load-options': formatLoadOptions,
  'deadline-limits': formatDeadlines,
  'stack-limits': formatStackLimits,
  'cache-settings': formatCacheSettings,
  'cache-counters': formatCacheCounters,
};

const ROOT = new URL('../../', import.meta.url);
const BLOCK = /(<!-- table: (.*?) -->\n)[\s\S]*?(<!-- end of table -->)/g;

/** Formats the documents that have generated blocks: `{ path, text }`. */
export async function formatDocuments() {
  const names = readdirSync(new URL('docs', ROOT), { recursive: true });
  const paths = names.filter((name) => name.endsWith('.md')).map((name) => `docs/${name}`);
  const documents = [];
  for (const path of paths.sort()) {
    const text = readFileSync(new URL(path, ROOT), 'utf8');
    if (text.match(BLOCK)) documents.push({ path, text: await replaceBlocks(path, text) });
  }
  return documents;
}

async function replaceBlocks(path, text) {
  let [written, end] = ['', 0];
  for (const match of text.matchAll(BLOCK)) {
    const [block, begin, words, close] = match;
    const [kind, ...args] = words.split(' ');
    if (!Object.hasOwn(KINDS, kind)) throw new Error(`${path}: no table of kind '${kind}'`);
    written += `${text.slice(end, match.index)}${begin}${await KINDS[kind](...args)}${close}`;
    end = match.index + block.length;
  }
  return written + text.slice(end);
}
