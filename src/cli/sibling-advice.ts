import { COMMANDS, findCommand } from './command-table.js';
import { acceptedFlags } from './flags/command-flags.js';
import { listNames } from './flags/flag.js';

/** Says what to do about a flag that a command does not have and others have; `null` if none has it. `name` has no dashes. */
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
