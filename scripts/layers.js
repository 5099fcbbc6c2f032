// Refuses imports in `src` against the layers below, of types as well as of code, and circles.
//
//   node scripts/layers.js
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { API } from 'typescript/unstable/sync';
import { report, root } from './step.js';

/** The folders and files of `src`, from the ground up, each with those above it in this list that it may import. */
const LAYERS = Object.entries({
  masking: [],
  errors: ['masking'],
  native: ['errors'],
  environment: ['errors'],
  // Pure: no input or output, no clock.
  validation: ['errors'],
  statistics: [],
  format: ['statistics'],
  files: ['errors', 'validation'],
  // What runs in production imports nothing of the load tester.
  http: ['errors', 'native', 'environment', 'validation'],
  outbound: ['errors', 'environment', 'validation', 'statistics'],
  deadlines: ['errors', 'environment', 'validation', 'statistics', 'outbound'],
  client: ['errors', 'environment', 'validation', 'statistics', 'outbound'],
  // Runs inside the measured server: nothing of the tool.
  probe: ['format', 'statistics'],
  process: ['masking', 'errors', 'validation', 'statistics', 'format'],
  testserver: ['errors', 'native', 'validation'],
  // The public module of scenarios: only data.
  scenario: ['errors', 'validation'],
  load: [
    ...['masking', 'errors', 'native', 'environment', 'files'],
    ...['validation', 'statistics', 'format', 'process', 'scenario'],
  ],
  kubernetes: ['masking', 'errors', 'validation', 'files', 'load'],
  explain: [
    ...['errors', 'native', 'environment', 'validation', 'statistics', 'format'],
    ...['probe', 'process', 'load'],
  ],
  capacity: [
    ...['errors', 'environment', 'validation', 'statistics', 'format'],
    ...['process', 'load', 'explain'],
  ],
  compare: [
    ...['masking', 'errors', 'environment', 'validation', 'statistics', 'format'],
    ...['files', 'process', 'load'],
  ],
  merge: [
    ...['errors', 'native', 'environment', 'validation', 'statistics', 'format'],
    ...['files', 'load'],
  ],
  hosts: [
    ...['errors', 'native', 'environment', 'validation', 'format', 'files'],
    ...['process', 'load', 'merge'],
  ],
  history: ['errors', 'environment', 'statistics', 'files', 'load', 'compare'],
  lab: [
    ...['errors', 'environment', 'validation', 'statistics', 'format'],
    ...['process', 'testserver', 'load', 'explain'],
  ],
  report: [
    ...['errors', 'environment', 'validation', 'statistics', 'format', 'files'],
    ...['load', 'explain', 'capacity', 'compare', 'history', 'lab'],
  ],
  // The public API.
  index: [
    ...['errors', 'validation', 'statistics', 'testserver'],
    ...['load', 'explain', 'capacity', 'compare', 'merge', 'hosts', 'history', 'lab'],
  ],
  // Built on the public API, and on OF_CLI.
  cli: ['index'],
});

/** The entries of the package that the command line is built on, besides `index`. */
const ENTRIES_OF_CLI = ['report/index'];

/** What the command line imports besides the public API, file by file, with the reason. */
const OF_CLI = {
  // A flag is checked before anything runs, and its message names the flag, not the option.
  'environment/user-module': 'whether a module of the user keeps the process',
  'validation/units': 'numbers, rates and durations of flags',
  'validation/shape': 'messages about a flag in the words of those about an option',
  'validation/nearest': 'the flag or command that was meant',
  'load/plan/condition': '--fail-on',
  'compare/ratio-condition': '--fail-on of compare',
  'load/requests/expect': '--expect',
  'load/flows/load-module': 'whether an operand is a file of scenarios',
  'load/requests/header': '-H',
  'load/plan/start-at': '--start-at',
  'load/input/certificates': 'whether --key needs a passphrase from the terminal',
  'compare/stored/stored': 'the files of a pattern, which an output must not overwrite',
  'files/standard-input': 'standard input that two flags would read',
  'files/result-file': 'logs that merge reads',
  'files/logged-results': '--log-result, and logs that merge reads',
  'load/plan/segments/read-segment': '--segment, and {segment} in names of files',
  'kubernetes/load-files': 'kubernetes',
  'kubernetes/manifest': 'kubernetes',
  'kubernetes/pod-files': 'kubernetes',
  // The help has the defaults and ranges.
  'load/defaults': 'of load',
  'compare/defaults': 'of compare',
  'explain/defaults': 'of explain',
  'explain/watch/until': '--until',
  'capacity/defaults': 'of capacity',
  'hosts/defaults': 'of --hosts',
  'hosts/host': '--hosts',
  // What is printed, beside reports.
  'errors/millrace-error':
    'throws usage errors of its own; the class is public, the function that makes them is not',
  'errors/file-errors': 'an output that cannot be written',
  'errors/listen-errors': 'a port of --prometheus that is taken',
  'environment/optional-package': 'the exporter of --otlp',
  'load/answered': 'the exit code of a run without a success',
  'masking/text': 'secrets in notes and in commands that are printed',
  'report/encoding': 'every line, so that no text controls the terminal',
  'format/units': 'the line of progress',
  'environment/version': '--version, and who sends the metrics of --otlp',
  'process/command/shell-quote': 'commands to copy',
  'report/explain/catalogue': 'explain --list',
  'report/lab/list': 'lab --list',
  'report/profiles/files': 'explain --profile, which alone needs pprof-format',
  // Commands that are not about results.
  'hosts/agent/agent': 'agent: talks to the machine that began a run',
  'hosts/json-lines': 'agent: its messages',
  'process/listening/free-port': 'the demo: a server of its own',
  'http/cache/server-cache': 'cache: talks to a running server',
  'http/cache/control-protocol': 'cache: talks to a running server',
  'report/load/text': 'a part of the reports, see src/cli/import-report.ts',
  'report/load/html': 'a part of the reports',
  'report/explain/html': 'a part of the reports',
  'report/json': 'results of --json and -o without the reports, and counters of cache --json',
};

/** The rooms of `src/http`, from the ground up: each may import those before it. */
const HTTP_ROOMS = [
  ...['node', 'state', 'reactor', 'sending', 'cache', 'connection', 'request', 'response'],
  ...[
    'sharing',
    'fallback',
    'server',
    'tls',
    'http2',
    'install',
    'augment',
    'stack',
    'index',
    'https',
    'register',
  ],
];

/** Throws an Error with a line for each import that is not allowed. */
export function checkLayers() {
  const found = findProblems(readImports());
  if (found.length > 0) throw new Error(found.join('\n'));
}

/** Reads the imports between the files of `src`, and out of it, as pairs of paths without extensions: [importer, imported]. */
export function readImports() {
  const api = new API({ cwd: root });
  try {
    const snapshot = api.updateSnapshot({ openProject: join(root, 'tsconfig.json') });
    const { program } = snapshot.getProjects()[0];
    const files = program.getSourceFileNames().filter((name) => !toName(name).startsWith('..'));
    return files.flatMap((file) =>
      program
        .getSourceFile(file)
        .imports.filter(({ text }) => text.startsWith('.'))
        .map(({ text }) => [toName(file), toName(resolve(dirname(file), text))]),
    );
  } finally {
    api.close();
  }
}

/** A file by its path within `src`, without the extension `.ts`. */
function toName(path) {
  const name = relative(join(root, 'src'), path).replaceAll('\\', '/');
  return name.replace(/\.(c?)js$/, '.$1ts').replace(/\.ts$/, '');
}

/** Lines about what is not allowed. */
export function findProblems(imports) {
  return [
    ...checkTable(),
    ...imports.filter(([from, to]) => !mayImport(from, to)).map(toLine),
    ...listUnused(imports),
    ...[toRooms(imports), imports].map(findCircle).filter(Boolean),
  ];
}

function toLine([from, to]) {
  return `src/${from} must not import src/${to}: see the order in scripts/layers.js`;
}

/** Lines about rows of the table that name what does not stand above them. */
function checkTable() {
  return LAYERS.flatMap(([name, allowed], index) => {
    const above = LAYERS.slice(0, index).map(([one]) => one);
    const wrong = allowed.filter((one) => !above.includes(one));
    return wrong.map((one) => `scripts/layers.js: ${one} does not stand above ${name}`);
  });
}

/** Lines about files in OF_CLI that the command line does not import. */
function listUnused(imports) {
  const ofCli = new Set(imports.filter(([from]) => isOfCli(from)).map(([, to]) => to));
  if (ofCli.size === 0) return [];
  return Object.keys(OF_CLI)
    .filter((file) => !ofCli.has(file))
    .map((file) => `scripts/layers.js: src/cli does not import ${file}: remove it`);
}

const isOfCli = (file) => toPlace(file)[0] === 'cli';

function mayImport(from, to) {
  // The addon's own module.
  if (to.startsWith('..')) return from === 'native/addon';
  const [layer, room] = toPlace(from);
  const [otherLayer, otherRoom] = toPlace(to);
  if (layer !== otherLayer) {
    if (isOfCli(from) && (ENTRIES_OF_CLI.includes(to) || Object.hasOwn(OF_CLI, to))) return true;
    return LAYERS.some(([name, allowed]) => name === layer && allowed.includes(otherLayer));
  }
  if (layer !== 'http') return true;
  const [place, otherPlace] = [HTTP_ROOMS.indexOf(room), HTTP_ROOMS.indexOf(otherRoom)];
  return otherPlace >= 0 && otherPlace <= place;
}

/** The layer and the room of a file. */
function toPlace(file) {
  return file.replace(/\.cts$/, '').split('/');
}

/** The imports between rooms: folders or files directly within a layer. */
function toRooms(imports) {
  const roomOf = (file) => toPlace(file).slice(0, 2).join('/');
  return imports
    .map(([from, to]) => [roomOf(from), roomOf(to)])
    .filter(([from, to]) => from !== to);
}

/** Counts the circles of files and those of rooms: groups in which each imports each other one, by way of others or not. */
export function countCircles(imports) {
  return [imports, toRooms(imports)].map((pairs) => {
    const graph = toGraph(pairs);
    const names = [...graph.keys()];
    const reached = new Map(names.map((name) => [name, findReached(graph, name)]));
    const groups = names
      .filter((name) => reached.get(name).has(name))
      .map((name) => names.filter((other) => meets(name, other) && meets(other, name)));
    return new Set(groups.map(String)).size;

    function meets(from, to) {
      return reached.get(from).has(to);
    }
  });
}

/** Finds all that `start` imports, by way of others or not. */
function findReached(graph, start) {
  const reached = new Set(graph.get(start));
  for (const name of reached) for (const next of graph.get(name) ?? []) reached.add(next);
  return reached;
}

/** A line about the first circle. */
function findCircle(imports) {
  const graph = toGraph(imports);
  for (const [from, to] of imports) {
    const way = findWay(graph, to, from);
    if (way !== null) return `circle of imports: ${[from, ...way].join(' -> ')}`;
  }
  return null;
}

/** What each file, or room, imports. */
function toGraph(imports) {
  const graph = new Map();
  for (const [from, to] of imports) {
    if (!graph.has(from)) graph.set(from, new Set());
    graph.get(from).add(to);
  }
  return graph;
}

/** Returns the shortest way along imports, or `null`. */
function findWay(graph, start, end) {
  const ways = [[start]];
  const seen = new Set([start]);
  for (const way of ways) {
    if (way.at(-1) === end) return way;
    for (const next of graph.get(way.at(-1)) ?? []) {
      if (!seen.has(next)) ways.push([...way, next]);
      seen.add(next);
    }
  }
  return null;
}

if (import.meta.main ?? process.argv[1] === fileURLToPath(import.meta.url)) {
  process.exitCode = (await report('layers', checkLayers)) ? 0 : 1;
}
