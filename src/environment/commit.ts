import { readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';

/** The variables in which systems of CI name the commit that they check out. */
const VARIABLES = [
  // GitHub and Forgejo, GitLab, Jenkins, Azure Pipelines, Bitbucket, Buildkite, CircleCI, Drone, Travis CI.
  ...['GITHUB_SHA', 'CI_COMMIT_SHA', 'GIT_COMMIT', 'BUILD_SOURCEVERSION', 'BITBUCKET_COMMIT'],
  ...['BUILDKITE_COMMIT', 'CIRCLE_SHA1', 'DRONE_COMMIT_SHA', 'TRAVIS_COMMIT'],
];

/** The hash of a commit: SHA-1 or SHA-256. */
const HASH = /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/i;

/**
 * Reads the commit that is checked out: what CI says of it, otherwise what the repository of a folder says. Git is not
 * run. `null` where neither says it.
 */
export function readCommit(folder: string, env: NodeJS.ProcessEnv = process.env): string | null {
  const named = VARIABLES.map((name) => env[name] ?? '').find((value) => HASH.test(value));
  return (named ?? readHead(resolve(folder)))?.toLowerCase() ?? null;
}

/** Reads the commit of the repository that a folder is in. */
function readHead(folder: string): string | null {
  const repository = findRepository(folder);
  if (repository === null) return null;
  const head = readLine(join(repository, 'HEAD'));
  const [, branch] = /^ref: (refs\/.+)$/.exec(head ?? '') ?? [];
  const hash = branch === undefined ? head : readBranch(repository, branch);
  return hash !== null && HASH.test(hash) ? hash : null;
}

/** Finds the folder with the HEAD: `.git`, or the one that a file `.git` names in a worktree or a submodule. */
function findRepository(folder: string): string | null {
  const own = join(folder, '.git');
  if (readLine(join(own, 'HEAD')) !== null) return own;
  const [, named] = /^gitdir: (.+)$/.exec(readLine(own) ?? '') ?? [];
  if (named !== undefined) return resolve(folder, named);
  const above = dirname(folder);
  return above === folder ? null : findRepository(above);
}

/** Reads a branch, which is a file or a line of `packed-refs`. The branches of a worktree are in the main repository. */
function readBranch(repository: string, branch: string): string | null {
  const main = resolve(repository, readLine(join(repository, 'commondir')) ?? '.');
  const own = readLine(join(main, branch));
  if (own !== null) return own;
  const lines = readText(join(main, 'packed-refs'))?.split('\n') ?? [];
  return lines.find((line) => line.endsWith(` ${branch}`))?.split(' ')[0] ?? null;
}

function readLine(path: string): string | null {
  return readText(path)?.split('\n', 1)[0]?.trim() ?? null;
}

/** Reads a file; `null` if that is not possible, as where it is a folder. */
function readText(path: string): string | null {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return null;
  }
}
