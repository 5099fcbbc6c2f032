import { COMMANDS, findCommand } from './command-table.js';
import { acceptedFlags } from './flags/command-flags.js';
import { listNames } from './flags/flag.js';

/**
 * Names the commands that have a flag, and the alternative in `command`, which does not have it; `null` if no command
 * has the flag. `name` is without dashes.
 */
export async function siblingAdvice(command: string, name: string): Promise<string | null> {
  const owners: string[] = [];
  let mainName: string | undefined;
  for (const { name: owner, flags } of COMMANDS) {
    const flag = acceptedFlags(await flags()).find((flag) => listNames(flag).includes(name));
    if (!flag) continue;
    owners.push(`millrace ${owner}`);
    mainName ??= flag.name;
  }
  if (mainName === undefined) return null;
  const { alternatives = {} } = (await findCommand(command)?.flags()) ?? {};
  const alternative = alternatives[mainName];
  return `it is a flag of ${owners.join(', ')}${alternative ? `; here ${alternative}` : ''}`;
}
