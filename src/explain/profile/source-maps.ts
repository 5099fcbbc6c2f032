import { readFileSync, statSync } from 'node:fs';
import { SourceMap, type SourceMapPayload } from 'node:module';
import { dirname, isAbsolute, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

/** A place in a file. Line and column count from 0. */
export interface Place {
  file: string;
  line: number;
  column: number;
}

const COMMENT = /^\/\/[#@] *sourceMappingURL=(\S+) *$/gm;
const INLINE = /^data:application\/json[^,]*?(;base64)?,/;

interface LoadedMap {
  map: SourceMap;
  /** The folder to which sources are relative. */
  folder: string;
  /** The lines of the generated file. */
  lines: string[];
}

/** Sources that bundlers name by a URL of their own: `webpack://name/./src/server.ts`. */
const BUNDLER_URL = /^(?!file:)[a-z][a-z0-9+.-]*:\/\/[^/]*\/(?:\.\/)?/i;
/** Maximum distance in characters of a function's name from its parameters. */
const MAX_NAME_DISTANCE = 200;

/** Source maps of JavaScript files, found by the comment at the end of the file. */
export class SourceMaps {
  readonly #maps = new Map<string, LoadedMap | null>();

  /** Returns the original place; the place itself if no map covers it. */
  findOriginal(place: Place): Place {
    const loaded = this.#find(place.file);
    if (!loaded) return place;
    const entry = loaded.map.findEntry(place.line, place.column);
    // Code added by a bundler has a segment without a source.
    if (!('originalSource' in entry) || !entry.originalSource) return place;
    const { originalSource, originalLine, originalColumn } = entry;
    const file = locateSource(originalSource, loaded.folder);
    return { file, line: originalLine, column: originalColumn };
  }

  /** Returns the original place of the first code on a line. */
  findOriginalLine(file: string, line: number): Place {
    const text = this.#find(file)?.lines[line] ?? '';
    return this.findOriginal({ file, line, column: Math.max(0, text.search(/\S/)) });
  }

  /**
   * Returns the original name of a function; `null` if the map has none.
   *
   * @param place the start of the function's parameters, which V8 reports
   * @param generated its name in the generated file, which stands before them
   */
  findOriginalName({ file, line, column }: Place, generated: string): string | null {
    const loaded = this.#find(file);
    const name = generated.split('.').at(-1) ?? '';
    if (!loaded || name === '') return null;
    const before = (loaded.lines[line] ?? '').slice(0, column).slice(-MAX_NAME_DISTANCE);
    const at = before.lastIndexOf(name);
    // Between the two there is at most the beginning of a function expression: `a=async(`, `a:function(`.
    if (
      at < 0 ||
      !/^[\s=:]*(?:async)?[\s*]*(?:function)?[\s*]*$/.test(before.slice(at + name.length))
    )
      return null;
    const nameColumn = Math.max(0, column - before.length) + at;
    // The types of Node.js lack the name.
    const entry: { generatedColumn?: number; name?: string } = loaded.map.findEntry(
      line,
      nameColumn,
    );
    return entry.generatedColumn === nameColumn ? (entry.name ?? null) : null;
  }

  #find(file: string): LoadedMap | null {
    const known = this.#maps.get(file);
    if (known !== undefined) return known;
    const loaded = isAbsolute(file) ? loadMap(file) : null;
    this.#maps.set(file, loaded);
    return loaded;
  }
}

/** Reads a file. Throws if it is none, as a pipe that nobody may ever write to. */
function readText(path: string): string {
  if (!statSync(path).isFile()) throw new Error('not a file');
  return readFileSync(path, 'utf8');
}

/** Loads the source map of a file; `null` if there is none, or if it is unusable. */
function loadMap(file: string): LoadedMap | null {
  try {
    const generated = readText(file);
    const comment = [...generated.matchAll(COMMENT)].at(-1)?.[1];
    if (!comment) return null;
    const [prefix, encoded] = INLINE.exec(comment) ?? [];
    const path = resolve(dirname(file), comment);
    const text = prefix ? decode(comment.slice(prefix.length), encoded) : readText(path);
    const payload: SourceMapPayload = JSON.parse(text);
    const folder = dirname(prefix ? file : path);
    return {
      map: new SourceMap(payload),
      folder: resolve(folder, payload.sourceRoot ?? ''),
      lines: generated.split('\n'),
    };
  } catch {
    return null;
  }
}

/** Returns the path of a source: absolute, or relative to the project where a bundler has replaced the rest. */
function locateSource(source: string, folder: string): string {
  if (source.startsWith('file:')) return fileURLToPath(source);
  if (BUNDLER_URL.test(source)) return source.replace(BUNDLER_URL, '');
  return resolve(folder, source);
}

function decode(text: string, base64: string | undefined): string {
  return base64 ? Buffer.from(text, 'base64').toString() : decodeURIComponent(text);
}
