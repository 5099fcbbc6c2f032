import type { Session } from 'node:inspector';
import { findSourceMap, SourceMap } from 'node:module';
import { fileURLToPath, pathToFileURL } from 'node:url';
import type { StackFrame } from '../protocol.cjs';
import { post } from './inspector.cjs';

/** A place as V8 counts it: line and column from 0. */
interface Place {
  line: number;
  column: number;
}

/** Files that a loader such as tsx or ts-node transforms in memory: what runs is in no file that Millrace could read. */
const TRANSFORMED = /\.(?:[cm]?tsx?|jsx)$/i;
const INLINE = /^data:application\/json[^,]*?(;base64)?,/;

/** Runs a function with a session of V8's inspector. */
type WithSession = (use: (session: Session) => Promise<void>) => Promise<void>;

/** A function as V8 describes it in its profiles. */
interface CallFrame {
  url: string;
  lineNumber: number;
  columnNumber: number;
}

interface ProfileNode {
  callFrame: CallFrame;
  positionTicks?: unknown;
}

/**
 * Replaces the places in a profile by those in the files of the scripts.
 *
 * @param inspect see `SourcePlaces.load`
 */
export async function restoreProfile(
  nodes: ProfileNode[],
  inspect: WithSession | null,
): Promise<void> {
  const places = await SourcePlaces.load(
    nodes.map(({ callFrame }) => callFrame.url),
    inspect,
  );
  for (const node of nodes) {
    restoreCallFrame(node.callFrame, places);
    // Ticks have no column, and a transformed script may be a single line.
    if (places.has(node.callFrame.url)) Reflect.deleteProperty(node, 'positionTicks');
  }
}

/** Does the same for functions. */
export async function restoreCallFrames(
  frames: CallFrame[],
  inspect: WithSession | null,
): Promise<void> {
  const places = await SourcePlaces.load(
    frames.map(({ url }) => url),
    inspect,
  );
  for (const frame of frames) restoreCallFrame(frame, places);
}

/** Does the same for frames of stacks. */
export async function restoreStackFrames(
  frames: StackFrame[],
  inspect: WithSession | null,
): Promise<void> {
  const places = await SourcePlaces.load(
    frames.flatMap(({ file }) => file ?? []),
    inspect,
  );
  for (const frame of frames) {
    const { file, line, column } = frame;
    if (file === null || line === null || column === null) continue;
    const found = places.find(file, { line: line - 1, column: column - 1 });
    Object.assign(frame, { line: found.line + 1, column: found.column + 1 });
  }
}

function restoreCallFrame(frame: CallFrame, places: SourcePlaces): void {
  const { lineNumber, columnNumber } = frame;
  const { line, column } = places.find(frame.url, { line: lineNumber, column: columnNumber });
  Object.assign(frame, { lineNumber: line, columnNumber: column });
}

/** The places in the files of transformed scripts, by the source maps that Node.js or V8 has of them. */
class SourcePlaces {
  readonly #maps: ReadonlyMap<string, SourceMap>;

  private constructor(maps: ReadonlyMap<string, SourceMap>) {
    this.#maps = maps;
  }

  /**
   * Finds the source maps of scripts.
   *
   * @param inspect asks V8 for those that Node.js does not keep, which stops the process for a moment; `null`: V8 is not asked
   */
  static async load(files: readonly string[], inspect: WithSession | null): Promise<SourcePlaces> {
    const paths = new Set([...new Set(files)].filter(isTransformed).map(toPath));
    const maps = new Map<string, SourceMap>();
    for (const path of paths) {
      const map = findKeptMap(path);
      if (map) maps.set(path, map);
    }
    const missing = new Set([...paths].filter((path) => !maps.has(path)));
    if (inspect === null || missing.size === 0) return new SourcePlaces(maps);
    const read = (session: Session) => readInlineMaps(session, missing, maps);
    // Without V8's answer the places stay as they are.
    await inspect(read).catch(() => {});
    return new SourcePlaces(maps);
  }

  /** Whether there is a source map of a script. */
  has(file: string): boolean {
    return this.#maps.size > 0 && this.#maps.has(toPath(file));
  }

  /** Finds a place of a script in its file; the place itself without a source map, as where types were only blanked out. */
  find(file: string, place: Place): Place {
    if (this.#maps.size === 0) return place;
    const entry = this.#maps.get(toPath(file))?.findEntry(place.line, place.column);
    if (!entry || !('originalLine' in entry) || entry.originalLine === undefined) return place;
    return { line: entry.originalLine, column: entry.originalColumn };
  }
}

function isTransformed(file: string): boolean {
  return TRANSFORMED.test(file);
}

/** Finds the source map that Node.js keeps of a script; `null` without one, or with an unusable one. */
function findKeptMap(path: string): SourceMap | null {
  try {
    return findSourceMap(path) ?? findSourceMap(toUrl(path)) ?? null;
  } catch {
    return null;
  }
}

/** Reads the source maps that scripts contain, from V8. */
async function readInlineMaps(
  session: Session,
  paths: ReadonlySet<string>,
  maps: Map<string, SourceMap>,
): Promise<void> {
  session.on('Debugger.scriptParsed', ({ params: { url, sourceMapURL = '' } }) => {
    const path = toPath(url);
    const map = paths.has(path) ? parseInlineMap(sourceMapURL) : null;
    if (map) maps.set(path, map);
  });
  // V8 reports all scripts that it has.
  await post(session, 'Debugger.enable');
  await post(session, 'Debugger.disable');
}

function parseInlineMap(url: string): SourceMap | null {
  const [prefix, encoded] = INLINE.exec(url) ?? [];
  if (prefix === undefined) return null;
  try {
    const data = url.slice(prefix.length);
    const text = encoded ? Buffer.from(data, 'base64').toString() : decodeURIComponent(data);
    return new SourceMap(JSON.parse(text));
  } catch {
    return null;
  }
}

/** Converts the URL of a script to the path of its file, if it has one. */
function toPath(url: string): string {
  if (!url.startsWith('file:')) return url;
  try {
    return fileURLToPath(url);
  } catch {
    return url;
  }
}

function toUrl(path: string): string {
  return path.startsWith('/') ? pathToFileURL(path).href : path;
}
