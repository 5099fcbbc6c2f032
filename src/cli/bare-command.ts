import { existsSync } from 'node:fs';
import { usageError } from '../errors/millrace-error.js';

/** Programs that start servers. A host may have such a name, too. */
const PROGRAMS = new Set(
  'node npm npx pnpm yarn bun bunx deno tsx ts-node nodemon cross-env env sh bash python python3 ruby php java go cargo dotnet docker'.split(
    ' ',
  ),
);

/** Refuses a body where a URL is expected, as in curl's `--json '{"a":1}'`. */
export function refuseBody(operand: string): void {
  if (!/^\s*[{[](?![\da-f:.]*\])/i.test(operand)) return;
  throw usageError(
    `'${operand}' is not a URL; a body is -b '${operand}' -H 'Content-Type: application/json'`,
  );
}

/** Refuses a file where a URL is expected, as in `--json result.json`: no host has such a name. */
export function refuseJsonFile(operand: string): void {
  if (!/^[^:/]+\.json$/i.test(operand)) return;
  throw usageError(`'${operand}' is not a URL; the result goes to a file by -o ${operand}`);
}

/** Refuses a file of scenarios that is not the first operand, as in `millrace http://localhost checkout.mjs`. */
export function refuseLateScenario(operand: string): never {
  throw usageError(
    `'${operand}' given where a URL is taken; one file of scenarios comes before it: millrace run ${operand} URL`,
  );
}

/** Commands of other tools. */
const FOREIGN_COMMANDS = new Set(
  'attack bench benchmark plot test start watch clinic doctor flame bubbleprof heapprofiler'.split(
    ' ',
  ),
);

/** Refuses the command of another tool, as in `millrace run script.js`; `rest` are the arguments after it. */
export function refuseForeignCommand(first: string, rest: string[], commands: string[]): void {
  const [next = ''] = rest;
  const hasOperand = /^[^-]/.test(next) && first !== 'localhost' && !PROGRAMS.has(first);
  if (!/^[a-z][a-z_-]*$/.test(first) || !(hasOperand || FOREIGN_COMMANDS.has(first))) return;
  throw usageError(
    `'${first}' is no command of millrace: ${commands.join(', ')}; a host of that name is http://${first}/`,
  );
}

/**
 * Refuses a command that was typed without `--`, as in `millrace node server.js`; `rest` are the arguments after its
 * first word.
 */
export function refuseBareCommand(first: string, rest: string[]): void {
  const [next = ''] = rest;
  const isProgram = PROGRAMS.has(first) && next !== '' && !/^(\/|-|\w+:\/\/)/.test(next);
  const isAssignment = /^[A-Z_][A-Z\d_]*=/.test(first);
  const isScript = /\.[cm]?[jt]sx?$/.test(first) && existsSync(first);
  if (!isProgram && !isAssignment && !isScript) return;
  const end = rest.findIndex((word) => word.startsWith('-'));
  const words = [first, ...rest.slice(0, end < 0 ? rest.length : end)];
  const corrected = [...(isScript ? ['node'] : []), ...words].join(' ');
  throw usageError(
    `'${words.join(' ')}' given where a URL is taken; a command follows --, as in -- ${corrected}`,
  );
}
