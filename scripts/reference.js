// Writes the reference pages and the generated tables of the documents, from the sources and the build in dist/:
//
//   npm run build:ts && node scripts/reference.js
import { writeFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { formatDocuments } from './reference/blocks.js';
import { commandLinePage } from './reference/command-line-page.js';
import { constantsPage } from './reference/constants-page.js';
import { limitsPage } from './reference/limits-page.js';

/** Formats all documents that are generated, in whole or in part: `{ path, text }`. */
export async function formatPages() {
  return [
    { path: 'docs/reference/cli.md', text: await commandLinePage() },
    { path: 'docs/reference/limits.md', text: limitsPage() },
    { path: 'docs/reference/explain-constants.md', text: constantsPage() },
    ...(await formatDocuments()),
  ];
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) {
  for (const { path, text } of await formatPages()) {
    writeFileSync(new URL(`../${path}`, import.meta.url), text);
  }
}
