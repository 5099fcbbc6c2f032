import { usageError } from '../../errors/millrace-error.js';
import { type WatchOptions, type WatchReport, watch } from '../../index.js';
import { encodeJson } from '../../report/json.js';
import { EXIT } from '../exit.js';
import type { ExplainInvocation } from '../flags/explain-flags.js';
import { importReport } from '../import-report.js';
import { textOptions } from '../output.js';
import { onInterrupt } from '../terminal/interrupt.js';
import { printNote, printText } from '../terminal/print.js';

/** Watches the service that the command line names until it ends, or until what is waited for. */
export async function watchCommand(invocation: ExplainInvocation): Promise<number> {
  const abort = new AbortController();
  const removeListeners = onInterrupt(() => abort.abort());
  // Who reads no more has no use for a watch, of which a process has one.
  process.stdout.once('error', () => abort.abort());
  const { until } = invocation.watching;
  let last: WatchReport | null = null;
  try {
    for await (const report of watch({ ...readOptions(invocation), signal: abort.signal })) {
      last = report;
      await print(report, invocation.json);
    }
  } finally {
    removeListeners();
  }
  if (last?.reason === 'ended') printNote(`process ${last.pid} has ended; the watch ends with it`);
  if (until !== undefined && last?.reason !== 'condition') {
    return abort.signal.aborted ? EXIT.interrupted : EXIT.unreachable;
  }
  return EXIT.ok;
}

function readOptions({ own, options, watching }: ExplainInvocation): WatchOptions {
  const { pid, attach } = own;
  if (options.command !== undefined) {
    throw usageError('--watch needs a running service: give --pid N in place of the command');
  }
  if (pid === undefined) {
    throw usageError('--watch needs the process: millrace explain --watch --pid N');
  }
  const [url] = [options.url ?? []].flat();
  const { interval, until } = watching;
  return {
    pid,
    ...(attach !== undefined && { attach }),
    ...(interval !== undefined && { interval }),
    ...(until !== undefined && { until }),
    ...(url !== undefined && { port: readPort(url) }),
  };
}

/** Reads the port to which a URL leads: only requests to it count. */
function readPort(target: string | URL): number {
  const url = String(target);
  try {
    const { port, protocol } = new URL(/^\w+:\/\//.test(url) ? url : `http://${url}`);
    return Number(port) || (protocol === 'https:' ? 443 : 80);
  } catch {
    throw usageError(
      `--watch uses only the port of its URL, such as http://localhost:3000 (got '${url}')`,
    );
  }
}

/** Prints a report: a line of JSON, or text with an empty line below it. */
async function print(report: WatchReport, json: boolean): Promise<void> {
  if (json) {
    process.stdout.write(`${encodeJson(JSON.stringify(report))}\n`);
    return;
  }
  const { formatWatchReport } = await importReport();
  printText(`${formatWatchReport(report, textOptions())}\n`);
}
