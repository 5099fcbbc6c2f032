import { setTimeout as sleep } from 'node:timers/promises';
import { usageError } from '../../errors/millrace-error.js';
import { runAgent } from '../../hosts/agent/agent.js';
import { formatMessage } from '../../hosts/json-lines.js';
import { EXIT } from '../exit.js';
import { lowerPriority } from '../terminal/priority.js';

/** How long a run may take to end once nobody waits for it. */
const END_MS = 3000;

/** Runs a share of a load of another machine, which is at the other end of standard input and output. */
export async function agentCommand(): Promise<number> {
  if (process.stdin.isTTY) {
    throw usageError('agent is what millrace load --hosts starts on its hosts, by ssh');
  }
  const { stdin, stdout, stderr } = process;
  const write = stdout.write.bind(stdout);
  // What a scenario prints would be taken for a message.
  stdout.write = stderr.write.bind(stderr);
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(signal, () => stdin.destroy());
  }
  // Shells may print without a line break, as for the title of a window.
  write('\n');
  const ended = runAgent({
    input: stdin,
    send: (message) => void write(formatMessage(message)),
    onRunning: lowerPriority,
  });
  stdin.once('close', () => void sleep(END_MS).then(() => process.exit(EXIT.failure)));
  await ended;
  process.exit(EXIT.ok);
}
