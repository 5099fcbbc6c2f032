import { existsSync } from 'node:fs';
import { usageError } from '../errors.js';

/** What starts servers; a host may have such a name, too. */
const PROGRAMS = new Set(
  'node npm npx pnpm yarn bun bunx deno tsx ts-node nodemon cross-env env sh bash python python3 ruby php java go cargo dotnet docker'.split(
    ' ',
  ),
);

/** Refuses a command that was typed without `--`, as in `millrace node server.js`; `rest` is what follows its first word. */
export function refuseBareCommand(first: string, rest: string[]): void {
  const [next = ''] = rest;
  const isProgram = PROGRAMS.has(first) && next !== '' && !/^(\/|-|\w+:\/\/)/.test(next);
  const isAssignment = /^[A-Z_][A-Z\d_]*=/.test(first);
  const isScript = /\.[cm]?[jt]sx?$/.test(first) && existsSync(first);
  if (!isProgram && !isAssignment && !isScript) return;
  const end = rest.findIndex((word) => word.startsWith('-'));
  const words = [first, ...rest.slice(0, end < 0 ? rest.length : end)];
  const typed = [...(isScript ? ['node'] : []), ...words].join(' ');
  throw usageError(
    `'${words.join(' ')}' given where a URL is taken; a command follows --, as in -- ${typed}`,
  );
}
