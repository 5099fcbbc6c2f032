import { execFile } from 'node:child_process';
import { accessSync, constants, statSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Peer } from './peers.js';

/** An installed tool. */
export interface FoundPeer {
  peer: Peer;
  /** The command that starts it. */
  program: string[];
  /** `null` if the tool does not report its version. */
  version: string | null;
}

const VERSION_MS = 5000;

/** Finds installed tools and reads their versions. `home` is the home folder for files that tools write. */
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

/** Lists the folders that npx searches: `node_modules/.bin` here and in all parent folders, then `PATH`. */
export function listSearchPath(from = process.cwd()): string[] {
  const projects: string[] = [];
  for (let folder = from; ; folder = dirname(folder)) {
    projects.push(join(folder, 'node_modules', '.bin'));
    if (dirname(folder) === folder) break;
  }
  return [...projects, ...(process.env.PATH ?? '').split(delimiter).filter(Boolean)];
}

/** Finds the first program of this name in the folders. */
export function findProgram(name: string, folders = listSearchPath()): string | null {
  return folders.map((folder) => join(folder, name)).find(isExecutable) ?? null;
}

/** Resolves the command that starts a tool. Millrace runs as a command, too, so that all tools are measured alike. */
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
    // Some tools exit with an error after printing their version.
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
