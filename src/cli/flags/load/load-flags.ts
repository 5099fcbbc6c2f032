import { usageError } from '../../../errors/millrace-error.js';
import type { CommandFlags } from '../command-flags.js';
import type { Flag, FlagGroup } from '../flag.js';
import { FOREIGN_FLAGS } from '../foreign-flags.js';
import { checkJunit } from '../output-flags.js';
import { CONNECTION_FLAGS } from './connection-flags.js';
import { HOSTS_FLAGS } from './hosts-flags.js';
import { type Invocation, newInvocation } from './invocation.js';
import { REQUEST_FLAGS } from './request-flags.js';
import { RESULT_FLAGS } from './result-flags.js';
import { SCHEDULE_FLAGS } from './schedule-flags.js';
import { SERVER_FLAGS } from './server-flags.js';
import { checkUrlOperand, setTarget } from './target.js';
import { TLS_FLAGS } from './tls-flags.js';

const GROUPS: FlagGroup<Invocation>[] = [
  { title: 'Load', flags: SCHEDULE_FLAGS },
  { title: 'Requests', flags: REQUEST_FLAGS },
  { title: 'Connections', flags: CONNECTION_FLAGS },
  { title: 'TLS', flags: TLS_FLAGS },
  { title: 'Command', flags: SERVER_FLAGS },
  { title: 'Machines', flags: HOSTS_FLAGS },
  { title: 'Result', flags: RESULT_FLAGS },
];

export const LOAD_FLAGS: readonly Flag<Invocation>[] = GROUPS.flatMap(({ flags }) => flags);

/** Advice about flags of other commands, for the commands that send a load. */
export const LOAD_ALTERNATIVES = {
  port: 'a URL names the port: http://localhost:3000/',
  host: "a URL names the host; the field is -H 'Host: name'",
  unix: 'a Unix socket is --socket-path PATH',
  close: 'a connection for each request is --connection close',
  chunked: 'a body is sent with its Content-Length',
};

/** The flags of `millrace load`. */
export const LOAD: CommandFlags<Invocation> = {
  groups: GROUPS,
  unsupported: FOREIGN_FLAGS,
  alternatives: {
    ...LOAD_ALTERNATIVES,
    budget: 'the time of a load is -d 60s',
    slo: "a condition is --fail-on 'p99<50ms'",
    even: 'arrivals are evenly spaced unless --poisson',
  },
  create: newInvocation,
  checkOperand: checkUrlOperand,
  setOperands(invocation, operands) {
    setTarget(invocation, operands);
    if (invocation.abortOnFail && invocation.failOn.length === 0) {
      throw usageError('--abort-on-fail needs --fail-on: a condition to end the run by');
    }
    checkJunit(invocation, invocation.failOn);
  },
};
