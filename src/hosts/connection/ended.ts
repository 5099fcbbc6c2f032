import type { HostFailure } from '../failure.js';

/** How the process of a connection ended. */
export interface Ended {
  code: number | null;
  signal: NodeJS.Signals | null;
  /** The last lines of its standard error, and of what came before the first message. */
  lines: readonly string[];
}

/** What ran on the host. */
interface Remote {
  /** What was to start millrace. */
  remoteCommand: string;
  copy: boolean;
  /** Whether the agent had answered. */
  hasAnswered: boolean;
}

type Told = Omit<HostFailure, 'host'>;

/** Says why a connection ended, and what to do. */
export function describeEnd(ended: Ended, remote: Remote): Told {
  const message = remote.hasAnswered ? describeLoss(ended) : describeNoStart(ended, remote);
  return { code: 'ERR_MILLRACE_UNREACHABLE', message };
}

/** 255 is of ssh itself; also where a signal has ended what ran on the host. */
const SSH_FAILED = 255;
const NOT_FOUND = 127;

function describeLoss({ code, lines }: Ended): string {
  const last = lines.at(-1);
  const detail = last === undefined ? '' : ` (${last})`;
  if (code === SSH_FAILED) {
    return `the connection broke, or millrace was killed there${detail}: its share has no result`;
  }
  return `millrace ended there${detail}: its share has no result`;
}

function describeNoStart({ code, signal, lines }: Ended, { remoteCommand, copy }: Remote): string {
  const last = lines.at(-1) ?? '';
  const all = lines.join('\n');
  if (code === SSH_FAILED) return describeSsh(last, all);
  if (/\bnode\b.*(?:not found|no such file)/i.test(all)) {
    return `Node.js was not found there (${last}): install Node.js 20.19 or later, or put it into the PATH of commands that ssh runs`;
  }
  if (copy && code === NOT_FOUND) return `the shell there cannot run what ssh is given (${last})`;
  if (code === NOT_FOUND || /not found|not recognized/i.test(last)) {
    return `'${remoteCommand}' was not found there (${last}): install millrace or put it into the PATH of commands that ssh runs, or --copy brings it, or --remote-command names another command`;
  }
  const how = signal === null ? `code ${code}` : signal;
  const said = last === '' ? '' : `: ${last}`;
  return `'${remoteCommand} agent' ended there with ${how} before it answered${said}`;
}

function describeSsh(last: string, all: string): string {
  const said = last === '' ? 'ssh ended without a word' : last.replace(/\.$/, '');
  if (/permission denied/i.test(all)) {
    return `${said}: millrace asks for no password; load a key (ssh-add), or name it in ~/.ssh/config`;
  }
  if (/host key verification failed/i.test(all)) {
    return `${said}: connect once by hand (ssh) and accept its key`;
  }
  return said;
}
