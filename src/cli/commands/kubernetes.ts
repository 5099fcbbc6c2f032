import { resolve } from 'node:path';
import { usageError } from '../../errors/millrace-error.js';
import { collectLoad } from '../../kubernetes/load-files.js';
import { formatManifest } from '../../kubernetes/manifest.js';
import { placeFiles } from '../../kubernetes/pod-files.js';
import { shellQuote } from '../../process/command/shell-quote.js';
import { DOCUMENTS } from '../documents.js';
import { EXIT } from '../exit.js';
import { ownFlags } from '../flags/command-flags.js';
import type { KubernetesInvocation } from '../flags/kubernetes/kubernetes-flags.js';
import { KUBERNETES } from '../flags/kubernetes/kubernetes-flags.js';
import type { TypedFlag } from '../flags/parse.js';
import { writeDocument } from '../output.js';
import { requireTarget } from '../target.js';
import { askPassphrase } from '../terminal/passphrase.js';
import { printMessage, printNote } from '../terminal/print.js';

/** Writes the manifest of a Job to stdout, and to stderr how it is run. */
export async function kubernetesCommand(invocation: KubernetesInvocation): Promise<number> {
  const { options, pods, image, filesInImage, include, startInMs } = invocation;
  requireTarget(invocation, 'kubernetes needs the URL of a server, or --targets or --scenario');
  if (pods === undefined) throw usageError('kubernetes needs --pods N: how many share the load');
  if (image === undefined) {
    throw usageError(
      'kubernetes needs --image NAME, an image with millrace: docker build -t NAME . in a folder with its Dockerfile',
    );
  }
  if (/\.ya?ml$/.test(invocation.output ?? '')) {
    throw usageError(
      `-o ${invocation.output} is the file of the merged result, which is JSON: the manifest is on standard output (> ${invocation.output})`,
    );
  }
  await askPassphrase(options);
  const seed = options.seed ?? Math.floor(Math.random() * 2 ** 32);
  const load = await collectLoad({ ...options, seed, segment: `1/${pods}` }, [
    ...listHeaderFiles(invocation),
    ...include,
  ]);
  const startAt = formatInstant(Date.now() + startInMs);
  const args = [...listPodArguments(invocation, seed, startAt), ...invocation.positional];
  const files =
    load.files.length === 0 || filesInImage
      ? null
      : placeFiles(load.files, args, { cwd: process.cwd(), secrets: listTlsFiles(options) });
  const name = invocation.jobName ?? `millrace-${startAt.toLowerCase().replace(/[-:z]/g, '')}`;
  const manifest = formatManifest({
    ...{ name, count: pods, image, args: files?.args ?? args, files },
    ...{ cpu: invocation.cpu ?? String(options.threads ?? 1), memory: invocation.memory },
  });
  await writeDocument('-', manifest);
  for (const one of load.packages) printMessage(`the image must have the package ${one}`);
  printCommands(invocation, { name, startAt, lastsMs: load.lastsMs });
  return EXIT.ok;
}

/** Names of flags about the merged result: they are arguments of `millrace merge`. */
const OF_MERGE = new Set([
  ...['json', 'output', 'fail-on', 'strict'],
  ...DOCUMENTS.map(({ flag }) => flag.slice(2)),
]);

/** Lists the flags of a pod: those of the command line that are neither about the Job nor about the merged result, and its share. */
function listPodArguments(invocation: KubernetesInvocation, seed: number, startAt: string) {
  const own = new Set(ownFlags(KUBERNETES).map(({ name }) => name));
  const flags = invocation.typed.filter(
    // -n without a number asks for no progress.
    ({ name, value }) =>
      !own.has(name) && !OF_MERGE.has(name) && !(name === 'requests' && value === undefined),
  );
  const isTyped = (name: string) => flags.some((flag) => flag.name === name);
  const { passphrase } = invocation.options;
  return [
    ...listWords(flags),
    ...(isTyped('seed') ? [] : ['--seed', String(seed)]),
    // It was asked for at the terminal.
    ...(passphrase === undefined || isTyped('passphrase') ? [] : ['--passphrase', passphrase]),
    ...['--segment', 'auto', '--start-at', startAt, '--no-progress', '--log-result'],
  ];
}

function listWords(flags: readonly TypedFlag[]): string[] {
  return flags.flatMap(({ flag, value }) => (value === undefined ? [flag] : [flag, value]));
}

function listTlsFiles({ caFile, certFile, keyFile }: KubernetesInvocation['options']): string[] {
  return [caFile, certFile, keyFile]
    .filter((file) => file !== undefined)
    .map((file) => resolve(file));
}

/** Files of headers, which the flags have read already. */
function listHeaderFiles({ typed }: KubernetesInvocation): string[] {
  const values = typed.filter(({ name }) => name === 'header').map(({ value = '' }) => value);
  return values.filter((value) => value.startsWith('@')).map((value) => value.slice(1));
}

/** Formats an instant in whole seconds, the next ones. */
function formatInstant(ms: number): string {
  return new Date(Math.ceil(ms / 1000) * 1000).toISOString().replace('.000Z', 'Z');
}

/** How long a Job may take beside its load: pods begin, print and end. */
const GRACE_MS = 60_000;

function printCommands(
  { startInMs, typed }: KubernetesInvocation,
  { name, startAt, lastsMs }: { name: string; startAt: string; lastsMs: number | null },
): void {
  const limit = lastsMs === null ? '24h' : `${Math.ceil((startInMs + lastsMs + GRACE_MS) / 1000)}s`;
  const outputs = listWords(typed.filter((flag) => OF_MERGE.has(flag.name)));
  const merge = ['millrace', 'merge', '-', ...outputs].map(shellQuote).join(' ');
  printNote(
    [
      `All pods begin at ${startAt}. With the manifest in job.yaml:`,
      `  kubectl apply --server-side -f job.yaml && kubectl wait --for=condition=complete --timeout=${limit} job/${name}`,
      `  kubectl logs -l job-name=${name} --prefix --tail=-1 | ${merge}`,
    ].join('\n'),
  );
}
