// The graph of CPU time: from a profile of V8 to frames with names, places and origins.
import { deepEqual, equal } from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { Session } from 'node:inspector/promises';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { buildSync } from 'esbuild';
import { findHeaviestPaths } from '#internal/explain/flame-graph/paths.js';
import { findPackage, isApplication } from '#internal/explain/profile/code-origin.js';
import { buildCpuGraph } from '#internal/explain/profile/cpu-graph.js';

const folder = mkdtempSync(join(tmpdir(), 'millrace-cpu-graph-'));
after(() => rmSync(folder, { recursive: true, force: true }));

const STACK = 'file:///app/node_modules/millrace/dist/http/response.js';

/** A profile of nested calls, outermost first, each with its time in ms. */
function profile(...stacks) {
  const nodes = [{ id: 1, callFrame: at('(root)'), children: [] }];
  const samples = [];
  const timeDeltas = [0];
  for (const [ms, ...frames] of stacks) {
    let parent = nodes[0];
    for (const callFrame of frames) {
      const node = { id: nodes.length + 1, callFrame, children: [] };
      parent.children.push(node.id);
      nodes.push(node);
      parent = node;
    }
    samples.push(parent.id);
    timeDeltas.push(ms * 1000);
  }
  return { nodes, samples: [...samples, 1], timeDeltas };
}

function at(functionName, url = '', lineNumber = 0, columnNumber = 0) {
  return { functionName, url, lineNumber, columnNumber };
}

const handler = at('handler', 'file:///app/server.js', 9);

test('the time of the profiler itself is no part, and a name of any length is shortened', () => {
  const long = at('n'.repeat(3000), 'file:///app/server.js', 9);
  const recorded = profile([500, at('dispatch')], [10, long], [5, at('dispatch', '/app/bus.js')]);
  const { graph, busy } = buildCpuGraph(/** @type {any} */ (recorded));
  deepEqual(
    graph.frames.map(({ name }) => name.length),
    [120, 8],
  );
  deepEqual([graph.self, busy], [[10, 5], 1]);
});

test('the line at which most of the time of a path passes is found', () => {
  const recorded = profile([30, handler], [10, handler, at('stringify')]);
  const node = recorded.nodes.find(({ callFrame }) => callFrame === handler);
  const find = (...positionTicks) => {
    Object.assign(node, { positionTicks });
    const { graph, hotLines } = buildCpuGraph(/** @type {any} */ (recorded));
    return hotLines.find([graph.frames.find(({ name }) => name === 'handler')]);
  };
  equal(find({ line: 12, ticks: 9 }, { line: 14, ticks: 1 }), '/app/server.js:12');
  // 30 of 40 ms are in the function itself.
  equal(find({ line: 12, ticks: 6 }, { line: 14, ticks: 4 }), null);
  equal(find({ line: 12, ticks: 3 }, { line: 14, ticks: 4 }, { line: 12, ticks: 3 }), null);
  equal(find({ line: 3, ticks: 9 }), null, 'before the function');
  equal(find(), null);
});

test('each frame has the origin of its code, and idle time is not part of the graph', () => {
  const parse = at('parse', 'file:///app/node_modules/@scope/parser/index.js', 4);
  const { graph, busy } = buildCpuGraph(
    profile(
      [20, at('emit', 'node:events', 1), handler, parse, at('stringify')],
      [10, at('emit', 'node:events', 1), handler],
      [5, at('(garbage collector)')],
      [4, at('(program)')],
      [1, at('write', STACK)],
      [40, at('(idle)')],
      // The debugger's own part of each printed line.
      [20, handler, at('consoleCall')],
    ),
  );
  equal(busy, 0.5);
  deepEqual(graph.unit, 'ms');
  equal(
    graph.self.reduce((sum, ms) => sum + ms),
    40,
  );
  deepEqual(
    graph.frames.map(({ name, place, origin }) => [origin, name, place]),
    [
      ['node', 'emit', 'node:events:2'],
      ['application', 'handler', '/app/server.js:10'],
      ['dependency', 'parse', '/app/node_modules/@scope/parser/index.js:5'],
      ['native', 'stringify', ''],
      ['garbage-collection', '(garbage collector)', ''],
      ['native', '(program)', ''],
      ['millrace', 'write', `${STACK.replace('file://', '')}:1`],
    ],
  );
  const [heaviest] = findHeaviestPaths(graph);
  deepEqual([heaviest.frames.map(({ name }) => name), heaviest.share], [['handler'], 0.75]);
});

test('equal stacks of several samples are one path, and sums of fractions stay short', () => {
  const { graph } = buildCpuGraph(profile([0.1, handler], [0.2, handler], [0.3, handler]));
  deepEqual([graph.parents, graph.self], [[-1], [0.6]]);
});

const SERVER = `import { render } from 'templates';
const greeting: string = 'hello';

function answerRequest(name: string): string {
  return render(greeting + name);
}
const logLater = async (text: string) => console.log(text, 'later');
class Store { static readAll(key: string) { return key + 'stored'; } }
globalThis.served = [answerRequest, logLater, Store.readAll];
`;
const TEMPLATES = `export function render(text) {
  if (text.length > 9) return render(text.slice(1));
  return '<p>' + text;
}`;

/** Bundles a server and a package. Returns a function that finds a frame as V8 reports it: where the parameters begin. */
function bundle(options) {
  const outfile = join(folder, 'dist', 'server.js');
  const files = { 'src/server.ts': SERVER, 'node_modules/templates/index.js': TEMPLATES };
  for (const [name, code] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), code);
  }
  const entryPoints = [join(folder, 'src', 'server.ts')];
  buildSync({ entryPoints, bundle: true, platform: 'node', sourcemap: true, outfile, ...options });
  const lines = readFileSync(outfile, 'utf8').split('\n');
  return (pattern) => {
    const line = lines.findIndex((text) => pattern.test(text));
    const { 0: text, 1: name, index } = pattern.exec(lines[line]);
    return at(name, pathToFileURL(outfile).href, line, index + text.length);
  };
}

test('frames of a minified bundle have the names and places of their sources, and packages are told apart', () => {
  const find = bundle({ minify: true });
  const answer = find(/function (\w+)(?=\(\w+\)\{return \w+\(\w+\+)/);
  const render = find(/function (\w+)(?=\(\w+\)\{return \w+\.length)/);
  const later = find(/(\w+)=async (?=\w+=>console)/);
  const read = find(/static (readAll)(?=\()/);
  equal(answer.functionName.length, 1);
  const { graph } = buildCpuGraph(profile([4, answer, render], [3, later], [2, read]));
  const server = join(folder, 'src', 'server.ts');
  deepEqual(
    graph.frames.map(({ name, place, origin }) => [name, place, origin]),
    [
      ['answerRequest', `${server}:4`, 'application'],
      ['render', `${join(folder, 'node_modules/templates/index.js')}:1`, 'dependency'],
      ['logLater', `${server}:7`, 'application'],
      ['readAll', `${server}:8`, 'application'],
    ],
  );
});

test('a name is that of the file where the map has none, or is of another place', () => {
  const find = bundle({ minify: false });
  const answer = find(/function (answerRequest)(?=\()/);
  const anonymous = { ...answer, functionName: '' };
  const other = { ...answer, functionName: 'elsewhere' };
  const { graph } = buildCpuGraph(profile([3, answer], [2, anonymous], [1, other]));
  deepEqual(
    graph.frames.map(({ name }) => name),
    ['answerRequest', '(anonymous)', 'elsewhere'],
  );
});

test('a source that a bundler names by its own URL is a path of the project', () => {
  const file = join(folder, 'packed.js');
  const map = {
    version: 3,
    sources: ['webpack://shop/./src/cart.ts'],
    names: [],
    mappings: 'AAWA',
  };
  const inline = Buffer.from(JSON.stringify(map)).toString('base64');
  writeFileSync(file, `x\n//# sourceMappingURL=data:application/json;base64,${inline}\n`);
  const { graph } = buildCpuGraph(profile([1, at('total', pathToFileURL(file).href)]));
  deepEqual(graph.frames, [{ name: 'total', place: 'src/cart.ts:12', origin: 'application' }]);
});

test('a recorded function of this process is found where it is written', async () => {
  const session = new Session();
  session.connect();
  await session.post('Profiler.enable');
  await session.post('Profiler.start');
  const endMs = performance.now() + 60;
  const spinHere = () => {
    while (performance.now() < endMs);
  };
  spinHere();
  const { profile: recorded } = await session.post('Profiler.stop');
  session.disconnect();
  const { graph } = buildCpuGraph(/** @type {any} */ (recorded));
  const frame = graph.frames.find(({ name }) => name === 'spinHere');
  equal(frame.origin, 'application');
  equal(frame.place.split(':')[0], relative(process.cwd(), fileURLToPath(import.meta.url)));
});

test('a package in a bundle is no code of the service, also where its path begins with it', () => {
  const of = (url) => ({ functionName: 'f', url, lineNumber: 0, columnNumber: 0 });
  for (const folder of ['', 'app/', '/srv/app/']) {
    const router = of(`${folder}node_modules/express/lib/router.js`);
    equal(findPackage(router), 'express');
    equal(isApplication(router), false);
  }
  equal(findPackage(of('node_modules/@scope/part/index.js')), '@scope/part');
  equal(findPackage(of('/srv/my_node_modules/a.js')), null);
});
