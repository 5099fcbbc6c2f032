import { lstatSync, mkdirSync, realpathSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { CacheEntry, CacheSelection, CacheStats } from './server-cache.js';

/*
 * What `millrace cache` and the processes it looks at say to each other: a line of JSON each way, on a Unix socket in a
 * directory of the user's own.
 */

/** What is asked of a process. */
export interface ControlRequest {
  do: 'show' | 'entries' | 'delete' | 'clear';
  selection?: CacheSelection;
}

/** What is known of one server of a process. */
export interface ControlledServer {
  /** Where it listens. */
  address: string;
  stats: CacheStats | null;
  /** For `entries`. */
  entries?: CacheEntry[];
  /** For `delete` and `clear`: entries that were removed. */
  removed?: number;
}

/** What a process answers. */
export interface ControlAnswer {
  pid: number;
  servers: ControlledServer[];
}

// A user without an entry in the system's list has a number all the same.
const uid = process.getuid?.() ?? 0;

/** Where a process of this user listens; `null`: no directory is this user's alone. */
export function controlDirectory(): string | null {
  return firstOf([...runtimeFolders(), ...temporaryFolders()]);
}

/**
 * Where processes of this user meet, whatever their environments say: one that a login session has started, and one that
 * systemd has.
 */
export function meetingDirectory(): string | null {
  return firstOf([...temporaryFolders(), ...runtimeFolders()]);
}

/** Wherever a process of this user may listen, in an environment that may be another than this one's. */
export function controlDirectories(): string[] {
  const folders = [...runtimeFolders(), `/run/user/${uid}`, ...temporaryFolders()];
  const found = folders
    .map(inside)
    .filter(isOwn)
    .map((path) => realpathSync(path));
  return [...new Set(found)];
}

function firstOf(folders: string[]): string | null {
  return folders.map(inside).find((path) => make(path) && isOwn(path)) ?? null;
}

function inside(folder: string): string {
  return join(folder, `millrace-${uid}`);
}

/** `XDG_RUNTIME_DIR`, unless it was left over from another user, who may replace what is in it. */
function runtimeFolders(): string[] {
  const folder = process.env.XDG_RUNTIME_DIR;
  if (!folder) return [];
  try {
    const owner = statSync(folder).uid;
    return owner === uid || owner === 0 ? [folder] : [];
  } catch {
    return [];
  }
}

function temporaryFolders(): string[] {
  return ['/tmp', tmpdir()];
}

/** `false`: there is none. */
function make(path: string): boolean {
  try {
    mkdirSync(path, { mode: 0o700 });
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EEXIST';
  }
}

/** Somebody else may have made it. */
function isOwn(path: string): boolean {
  try {
    const found = lstatSync(path);
    return found.isDirectory() && found.uid === uid && (found.mode & 0o077) === 0;
  } catch {
    return false;
  }
}
