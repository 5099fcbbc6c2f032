// Prints figures of the structure of the sources, each with its bound; ends with code 1 if one is over.
//
//   npm run structure
//
// Circles: of files of `src`, and of its folders (the first two of a path); imports of types count.
// Lines: of a file of `src` or of `crates/*/src`, tests apart (`tests.rs`, `tests/`).
// Files: directly in a folder of `src`; folders in it do not count.
import { readdirSync, readFileSync } from 'node:fs';
import { join, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { countCircles, readImports } from './layers.js';
import { root } from './step.js';

const MAX_LINES = 600;
const MAX_FILES = 15;

/** The figures: `{ name, value, bound, place }`. */
function measureStructure() {
  const [ofFiles, ofFolders] = countCircles(readImports());
  const sources = listFiles('src');
  const crates = readdirSync(join(root, 'crates')).map((name) => `crates/${name}/src`);
  const files = [...sources, ...crates.flatMap(listFiles).filter((file) => !isTest(file))];
  const lines = findLargest(files.map((file) => [file, countLines(file)]));
  const folders = Object.entries(countBy(sources, (file) => file.replace(/\/[^/]+$/, '')));
  return [
    { name: 'circles of files', value: ofFiles, bound: 0 },
    { name: 'circles of folders', value: ofFolders, bound: 0 },
    { name: 'lines of the longest file', bound: MAX_LINES, ...lines },
    { name: 'files of the fullest folder', bound: MAX_FILES, ...findLargest(folders) },
  ];
}

/** Throws an Error with a line for each figure that is over its bound. */
export function checkStructure() {
  const over = measureStructure().filter(({ value, bound }) => value > bound);
  if (over.length > 0) throw new Error(over.map(toLine).join('\n'));
}

function listFiles(folder) {
  const entries = readdirSync(join(root, folder), { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(root.length).replaceAll(sep, '/'));
}

function isTest(file) {
  return /\/tests(\.rs$|\/)/.test(file);
}

function countLines(file) {
  return readFileSync(join(root, file), 'utf8').split('\n').length - 1;
}

function countBy(items, toKey) {
  const counts = {};
  for (const key of items.map(toKey)) counts[key] = (counts[key] ?? 0) + 1;
  return counts;
}

/** Of pairs of a place and a number: `{ place, value }` of the largest. */
function findLargest(pairs) {
  const [place, value] = pairs.reduce((one, other) => (other[1] > one[1] ? other : one));
  return { place, value };
}

function toLine({ name, value, bound, place }) {
  const columns = [name.padEnd(28), String(value).padStart(4), `  at most ${bound}`.padEnd(14)];
  return [...columns, place ?? ''].join('').trimEnd();
}

if (import.meta.main ?? process.argv[1] === fileURLToPath(import.meta.url)) {
  const figures = measureStructure();
  for (const figure of figures) console.log(toLine(figure));
  process.exitCode = figures.some(({ value, bound }) => value > bound) ? 1 : 0;
}
