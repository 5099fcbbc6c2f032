// The files, links and paths that the documents name exist.
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { test } from 'node:test';
import { DOCUMENTS, readDocument, root } from '../../fixtures/documents/documents.js';

const ALL = ['ARCHITECTURE.md', 'RELEASING.md', 'SECURITY.md', 'CHANGELOG.md', ...DOCUMENTS];

test('every link leads to a file, and to a heading of it', () => {
  const broken = ALL.flatMap((document) =>
    [...readDocument(document).matchAll(/\]\((?!https?:)([^)#\s]*)(#[^)\s]+)?\)/g)]
      .filter(([, path, anchor]) => !leadsSomewhere(document, path, anchor))
      .map(([link]) => `${document}: ${link}`),
  );
  assert.deepEqual(broken, []);
});

function leadsSomewhere(document, path, anchor) {
  const target = path === '' ? document : normalize(join(dirname(document), path));
  if (!existsSync(join(root, target))) return false;
  return anchor === undefined || !target.endsWith('.md') || listAnchors(target).has(anchor);
}

/** The anchors of a document's headings, as GitHub makes them. */
function listAnchors(document) {
  const text = readFileSync(join(root, document), 'utf8').replace(/^```[\s\S]*?^```$/gm, '');
  return new Set(
    [...text.matchAll(/^#+ (.*)$/gm)].map(
      ([, heading]) =>
        `#${heading
          .toLowerCase()
          .replace(/[^\w\- ]/g, '')
          .replaceAll(' ', '-')}`,
    ),
  );
}

test('every path of the checkout that a document for developers names exists', () => {
  const missing = ['ARCHITECTURE.md', 'CONTRIBUTING.md', 'RELEASING.md', 'bench/README.md'].flatMap(
    (document) =>
      [
        ...readDocument(document).matchAll(
          /`((?:src|crates|scripts|test|bench|docs|fuzz)\/[\w./-]+)`/g,
        ),
      ]
        .map(([, path]) => path)
        .filter(
          (path) => !existsSync(join(root, path)) && !existsSync(`${join(root, path)}.test.js`),
        )
        .map((path) => `${document}: ${path}`),
  );
  assert.deepEqual(missing, []);
});
