import { readFileSync } from 'node:fs';
import { basename, isAbsolute } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isMillraceCode } from '../../profile/code-origin.js';
import { formatPlace } from '../../profile/frame-resolver.js';
import { SourceMaps } from '../../profile/source-maps.js';

/** Files of the service, and where in them variables are declared. */
export class Declarations {
  readonly #maps = new SourceMaps();
  readonly #sources = new Map<string, string[]>();

  /** Whether a file, as V8 names it, is code of the service or of a package. */
  isOutsideNode(file: string): boolean {
    return isAbsolute(toPath(file)) && !isMillraceCode({ url: file, ...NO_PLACE });
  }

  /** Returns the place where a variable is declared; only the file if it is not found in the source. */
  locate(file: string, variable: string): string {
    const path = toPath(file);
    const line = findDeclaration(this.#read(path), variable);
    if (line < 0) return this.shorten(file);
    const column = this.#read(path)[line]?.indexOf(variable) ?? 0;
    return formatPlace(this.#maps.findOriginal({ file: path, line, column }));
  }

  /** Shortens the path of a file, if it is below the working directory. */
  shorten(file: string): string {
    const path = toPath(file);
    return isAbsolute(path) ? formatPlace({ file: path, line: 0, column: 0 }).slice(0, -2) : path;
  }

  #read(path: string): string[] {
    const known = this.#sources.get(path);
    if (known) return known;
    const lines = readLines(path);
    this.#sources.set(path, lines);
    return lines;
  }
}

const NO_PLACE = { functionName: '', lineNumber: 0, columnNumber: 0 };

/** Maximum length of a source: a larger file is no source that somebody wrote. */
const MAX_SOURCE_LENGTH = 20_000_000;

function readLines(path: string): string[] {
  try {
    const text = isAbsolute(path) ? readFileSync(path, 'utf8') : '';
    return text.length > MAX_SOURCE_LENGTH ? [] : text.split('\n');
  } catch {
    return [];
  }
}

/** Finds the line that declares a variable, counted from 0; -1 if none does. */
function findDeclaration(lines: string[], variable: string): number {
  const name = variable.replace(/[^\w$]/g, '').replaceAll('$', '\\$');
  if (name === '') return -1;
  const declared = new RegExp(
    `\\b(?:const|let|var|class|function\\*?|import)\\b[^=;]*(?<![\\w$.])${name}(?![\\w$])`,
  );
  return lines.findIndex((line) => declared.test(line));
}

function toPath(file: string): string {
  try {
    return file.startsWith('file:') ? fileURLToPath(file) : file;
  } catch {
    return basename(file);
  }
}
