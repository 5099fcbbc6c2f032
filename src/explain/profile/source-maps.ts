import { readFileSync } from 'node:fs';
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
}

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
    const file = originalSource.startsWith('file:')
      ? fileURLToPath(originalSource)
      : resolve(loaded.folder, originalSource);
    return { file, line: originalLine, column: originalColumn };
  }

  #find(file: string): LoadedMap | null {
    const known = this.#maps.get(file);
    if (known !== undefined) return known;
    const loaded = isAbsolute(file) ? loadMap(file) : null;
    this.#maps.set(file, loaded);
    return loaded;
  }
}

/** Loads the source map of a file; `null` if there is none, or if it is unusable. */
function loadMap(file: string): LoadedMap | null {
  try {
    const comment = [...readFileSync(file, 'utf8').matchAll(COMMENT)].at(-1)?.[1];
    if (!comment) return null;
    const [prefix, encoded] = INLINE.exec(comment) ?? [];
    const path = resolve(dirname(file), comment);
    const text = prefix
      ? decode(comment.slice(prefix.length), encoded)
      : readFileSync(path, 'utf8');
    const payload: SourceMapPayload = JSON.parse(text);
    const folder = dirname(prefix ? file : path);
    return { map: new SourceMap(payload), folder: resolve(folder, payload.sourceRoot ?? '') };
  } catch {
    return null;
  }
}

function decode(text: string, base64: string | undefined): string {
  return base64 ? Buffer.from(text, 'base64').toString() : decodeURIComponent(text);
}
