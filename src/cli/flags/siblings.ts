import { CACHE_FLAGS } from '../commands/cache.js';
import { TEST_SERVER_FLAGS } from '../commands/testserver.js';
import { CAPACITY_FLAGS } from './capacity-flags.js';
import { EXPLAIN_FLAGS } from './explain-flags.js';
import { type Flag, listNames } from './flag.js';
import { LAB_FLAGS } from './lab-flags.js';
import { LOAD_FLAGS } from './load-flags.js';

/** The flags of each command. */
export const FLAGS_OF: Record<string, Flag<never>[]> = {
  load: LOAD_FLAGS,
  explain: EXPLAIN_FLAGS,
  capacity: CAPACITY_FLAGS,
  lab: LAB_FLAGS,
  testserver: TEST_SERVER_FLAGS,
  cache: CACHE_FLAGS,
};

const IN_A_LOAD = {
  port: 'a URL names the port: http://localhost:3000/',
  host: "a URL names the host; the field is -H 'Host: name'",
  unix: 'a Unix socket is --socketPath PATH',
  close: 'a connection for each request is --connection close',
};

/** What a command has in place of a flag of another one. */
const INSTEAD: Record<string, Record<string, string>> = {
  load: {
    ...IN_A_LOAD,
    budget: 'the time of a load is -d 60s',
    slo: "a condition is --fail-on 'p99<50ms'",
    even: 'arrivals are evenly spaced unless --poisson',
  },
  explain: IN_A_LOAD,
  capacity: IN_A_LOAD,
  lab: { duration: 'less time is --quick', budget: 'less time is --quick' },
};

/** What to do about a flag that a command does not have, if others have it; `name` is without dashes. */
export function siblingAdvice(command: string, name: string): string | null {
  const has = (flags: Flag<never>[]) => flags.find((flag) => listNames(flag).includes(name));
  const owners = Object.entries(FLAGS_OF).filter(([, flags]) => has(flags));
  const flag = owners[0] && has(owners[0][1]);
  if (!flag) return null;
  const commands = owners.map(([owner]) => `millrace ${owner}`).join(', ');
  const meant = INSTEAD[command]?.[flag.name];
  return `it is a flag of ${commands}${meant ? `; here ${meant}` : ''}`;
}
