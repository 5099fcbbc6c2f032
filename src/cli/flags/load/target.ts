import { existsSync } from 'node:fs';
import { usageError } from '../../../errors/millrace-error.js';
import { MODULE_FILE } from '../../../load/flows/load-module.js';
import {
  refuseBareCommand,
  refuseBody,
  refuseJsonFile,
  refuseLateScenario,
} from '../../bare-command.js';
import { noteUndecoded } from '../../undecoded.js';
import type { Operands } from '../parse.js';
import type { Invocation } from './invocation.js';

/** Adds a URL to the targets. */
export function addUrl({ options }: Invocation, url: string): void {
  options.url = [...[options.url ?? []].flat(), url];
}

/** Refuses an operand that is not a URL: a command without `--` before it, or a body. */
export function checkUrlOperand(operand: string, rest: string[], isFirst: boolean): void {
  if (isFirst && isScenarioFile(operand)) return;
  if (isFirst) refuseBareCommand(operand, rest);
  else if (isScenarioFile(operand)) refuseLateScenario(operand);
  refuseBody(operand);
  refuseJsonFile(operand);
}

/** Reports whether an operand is a file that may have scenarios. */
function isScenarioFile(operand: string): boolean {
  return MODULE_FILE.test(operand) && existsSync(operand);
}

/** Stores URLs and the command as the target, and the arguments as they were typed. */
export function setTarget(invocation: Invocation, operands: Operands): void {
  const { positional, command, flags, args } = operands;
  invocation.args = args;
  invocation.typed = flags;
  const [first = '', ...others] = positional;
  const isFile = invocation.options.scenario === undefined && isScenarioFile(first);
  if (isFile) invocation.options.scenario = first;
  for (const url of isFile ? others : positional) addUrl(invocation, url);
  applyTlsMode(invocation);
  invocation.notes.push(...noteUndecoded(args));
  if (command?.length === 0) throw usageError('-- given without a command after it');
  if (command) invocation.options.command = command;
}

/** Turns `--tls` into the options that it stands for. */
function applyTlsMode({ options, tls }: Invocation): void {
  if (tls === undefined) return;
  const connection = tls === 'keep-alive' ? 'keep-alive' : 'close';
  if (options.connection !== undefined && options.connection !== connection) {
    throw usageError(`--tls ${tls} cannot be combined with --connection ${options.connection}`);
  }
  Object.assign(options, { connection, handshake: tls === 'keep-alive' ? 'full' : tls });
}
