import { execFile } from 'node:child_process';
import { accessSync, constants, statSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Peer } from './peers.js';

/** A tool that is here. */
export interface FoundPeer {
  peer: Peer;
  /** The words that start it. */
  program: string[];
  /** `null`: it does not tell. */
  version: string | null;
}

const VERSION_MS = 5000;

/** Looks for tools, and asks those that are here for their versions; `home` is for what they write into a home folder. */
export async function findPeers(
  peers: Peer[],
  home: string,
  folders = listSearchPath(),
): Promise<{ found: FoundPeer[]; missing: Peer[] }> {
  const all = await Promise.all(
    peers.map(async (peer) => {
      const program = resolveProgram(peer, folders);
      return { peer, program, version: program && (await readVersion(peer, program, home)) };
    }),
  );
  return {
    found: all.flatMap(({ program, ...one }) => (program ? [{ ...one, program }] : [])),
    missing: all.filter(({ program }) => program === null).map(({ peer }) => peer),
  };
}

/** As npx looks, but nothing is fetched: what the project here and the folders above it have installed, then `PATH`. */
export function listSearchPath(from = process.cwd()): string[] {
  const projects: string[] = [];
  for (let folder = from; ; folder = dirname(folder)) {
    projects.push(join(folder, 'node_modules', '.bin'));
    if (dirname(folder) === folder) break;
  }
  return [...projects, ...(process.env.PATH ?? '').split(delimiter).filter(Boolean)];
}

/** The first program of this name in these folders. */
export function findProgram(name: string, folders = listSearchPath()): string | null {
  return folders.map((folder) => join(folder, name)).find(isExecutable) ?? null;
}

/** Millrace is run as a command as well, so that all tools are measured the same way. */
function resolveProgram({ name, program }: Peer, folders: string[]): string[] | null {
  if (name === 'millrace') {
    return [process.execPath, fileURLToPath(new URL('../../../bin/millrace.js', import.meta.url))];
  }
  const path = findProgram(program, folders);
  return path === null ? null : [path];
}

function readVersion(
  { version }: Peer,
  [program = '', ...args]: string[],
  home: string,
): Promise<string | null> {
  if (version === null) return Promise.resolve(null);
  return new Promise((resolve) => {
    const env = { ...process.env, HOME: home };
    const options = { timeout: VERSION_MS, killSignal: 'SIGKILL', env } as const;
    // Some tools call it an error to be asked.
    execFile(program, [...args, ...version.args], options, (_, stdout, stderr) => {
      resolve(version.pattern.exec(`${stdout}${stderr}`)?.[1] ?? null);
    });
  });
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}
