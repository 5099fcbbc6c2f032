// Flags for a load from several machines.
import { HOSTS_DEFAULTS } from '../../../hosts/defaults.js';
import { readHosts } from '../../../hosts/host.js';
import type { Flag } from '../flag.js';
import { storeIn } from '../kinds.js';
import type { UnsupportedFlags } from '../parse.js';
import type { Invocation } from './invocation.js';

const { duration, text, toggle } = storeIn(({ connecting }: Invocation) => connecting);

export const HOSTS_FLAGS: readonly Flag<Invocation>[] = [
  {
    name: 'hosts',
    value: 'HOST,...',
    repeatable: true,
    help: 'run the load on these machines, by ssh, as one',
    details:
      "a,user@b:2222 and names of ~/.ssh/config: the system's ssh with your keys, which must not have to ask. Each host runs a share of the plan (-c, -n and --users are divided, a rate is that of the whole), all start at one instant, and there is one result. The same version of millrace must be on each, or --copy brings it. Files that flags name and what a scenario imports by relative paths are sent; packages that it imports must be on the hosts. A host that fails is named, the others' result is given, and the exit code is 4. millrace merge does the same with results that were brought by other means.",
    set(invocation, value, flag) {
      const hosts = [...(invocation.hosts ?? []), ...value.split(',').map((host) => host.trim())];
      readHosts(hosts, flag);
      invocation.hosts = hosts;
    },
  },
  toggle('copy', 'copy', true, {
    help: 'bring millrace to the hosts for the time of the run',
    details:
      'They need Node.js alone, and the same system and processor as this machine. The copy is in a temporary folder, which is removed at the end.',
  }),
  text('remote-command', 'remoteCommand', {
    value: 'COMMAND',
    fallback: HOSTS_DEFAULTS.remoteCommand,
    help: 'what starts millrace on a host: npx millrace',
    details: "The shell there runs it, as in 'cd project && npx millrace'.",
  }),
  text('ssh', 'ssh', {
    value: 'COMMAND',
    fallback: HOSTS_DEFAULTS.ssh,
    help: "the client of ssh, with flags: 'ssh -F FILE'",
    details: 'Flags come before those of millrace, and win.',
  }),
  duration('clock-skew', 'clockSkew', {
    fallback: `${HOSTS_DEFAULTS.clockSkewMs}ms`,
    help: 'by how much the clock of a host may differ',
    details:
      'The difference is measured before the start, and the start and all times of the result are corrected by it. A host whose clock differs by more is refused.',
  }),
];

/** Advice about these flags for commands that run many loads. */
export const HOSTS_UNSUPPORTED: UnsupportedFlags = Object.fromEntries(
  HOSTS_FLAGS.map(({ name }) => [
    name,
    'one load runs on several machines, and not what needs many: millrace load --hosts a,b',
  ]),
);
