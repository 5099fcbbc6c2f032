// Buckets, routes and profiles: what is computed from the data of a probe.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { analyzeProfile } from '#internal/explain/profile/analyze.js';
import { SourceMaps } from '#internal/explain/profile/source-maps.js';
import { toRouteName } from '#internal/format/route-name.cjs';
import {
  computeBucketMiddle,
  computeQuantile,
  findBucket,
  Histogram,
} from '#internal/statistics/histogram.cjs';

const folder = mkdtempSync(join(tmpdir(), 'millrace-arithmetic-'));
after(() => rmSync(folder, { recursive: true, force: true }));

/** A frame of a profile. */
function frame(functionName, url = '') {
  return { functionName, url, lineNumber: 0, columnNumber: 0 };
}

describe('the analysis of the data of a probe', () => {
  test('finds buckets and quantiles that are accurate to 5 %', () => {
    let seed = 7;
    const random = () => {
      seed = (seed * 48_271) % 2_147_483_647;
      return seed / 2_147_483_647;
    };
    for (let round = 0; round < 20; round++) {
      const histogram = new Histogram();
      const times = Array.from({ length: 500 }, () => 10 ** (random() * 7 - 2.9));
      for (const ms of times) {
        assert.ok(Math.abs(computeBucketMiddle(findBucket(ms)) / ms - 1) < 0.05, `${ms}`);
        histogram.add(ms);
      }
      times.sort((a, b) => a - b);
      for (const quantile of [0.01, 0.5, 0.99, 1]) {
        const exact = times[Math.ceil(quantile * times.length) - 1];
        const found = computeQuantile(histogram.read(), quantile);
        assert.ok(Math.abs(found / exact - 1) < 0.05, `${found}`);
      }
    }
    assert.equal(computeQuantile({}, 0.5), null);
  });

  test('replaces ids in routes', () => {
    const routes = {
      '/': '/',
      '/users/12/posts/007': '/users/:id/posts/:id',
      '/x/8f14e45fceea167a': '/x/:id',
      '/x/3f2504e0-4f89-11d3-9a0c-0305e82c3301/y': '/x/:id/y',
      '/facade/decade': '/facade/decade',
      '/v2/items': '/v2/items',
    };
    for (const [path, route] of Object.entries(routes)) assert.equal(toRouteName(path), route);
  });

  const FASTIFY = 'file:///app/node_modules/fastify/lib/handleRequest.js';
  const PROBE_FILE = 'dist/probe/runtime/synchronous-writes.cjs';
  const PROBE = `file:///m/node_modules/millrace/${PROBE_FILE}`;

  test('a source map has no source for code that a bundler added', () => {
    const file = join(folder, 'added.js');
    const map = { version: 3, sources: ['src/handler.ts'], names: [], mappings: 'AAWA,E,CAAA' };
    const inline = Buffer.from(JSON.stringify(map)).toString('base64');
    writeFileSync(file, `x\n//# sourceMappingURL=data:application/json;base64,${inline}\n`);
    const maps = new SourceMaps();
    assert.equal(maps.findOriginal({ file, line: 0, column: 0 }).line, 11);
    const added = { file, line: 0, column: 2 };
    assert.deepEqual(maps.findOriginal(added), added);
  });

  test('a source map that is a pipe, to which nobody writes, is none', {
    skip: process.platform === 'win32',
  }, () => {
    const file = join(folder, 'piped.js');
    writeFileSync(file, 'x\n//# sourceMappingURL=piped.map\n');
    execFileSync('mkfifo', [join(folder, 'piped.map')]);
    const code = `import { SourceMaps } from '#internal/explain/profile/source-maps.js';
      console.log(new SourceMaps().findOriginal({ file: ${JSON.stringify(file)}, line: 0, column: 0 }).line);`;
    const found = execFileSync(process.execPath, ['--input-type=module', '-e', code], {
      ...{ encoding: 'utf8', timeout: 10_000 },
    });
    assert.equal(found, '0\n');
  });

  test('a profile yields shares, callers and places by source map', () => {
    const file = join(folder, 'bundle.js');
    // One mapping: line 1, column 0 of the bundle is line 12, column 0 of handler.ts ('AAWA': 0, 0, +11, 0).
    const map = { version: 3, sources: ['src/handler.ts'], names: [], mappings: 'AAWA' };
    const inline = Buffer.from(JSON.stringify(map)).toString('base64');
    writeFileSync(file, `x\n//# sourceMappingURL=data:application/json;base64,${inline}\n`);
    const nodes = [
      { id: 1, callFrame: frame('(root)'), children: [2, 3, 5] },
      { id: 2, callFrame: frame('(idle)') },
      { id: 3, callFrame: frame('handler', pathToFileURL(file).href), children: [4, 6] },
      { id: 4, callFrame: frame('stringify') },
      { id: 5, callFrame: frame('(garbage collector)') },
      { id: 6, callFrame: frame('handler', pathToFileURL(file).href) },
    ];
    const samples = [2, 3, 4, 4, 6, 2, 5, 2];
    const timeDeltas = samples.map(() => 1000);
    const view = analyzeProfile({ nodes, samples, timeDeltas });
    const place = `${join(folder, 'src', 'handler.ts')}:12`;
    assert.equal(view.busyMs, 5);
    assert.equal(view.idleMs, 2);
    assert.deepEqual(view.self, [
      { name: 'handler', place, share: 0.4 },
      { name: 'stringify called from handler', place, share: 0.4 },
      { name: '(garbage collector)', place: '', share: 0.2 },
    ]);
    assert.deepEqual(view.inclusive, [{ name: 'handler', place, share: 0.8 }]);
    assert.deepEqual(view.longTasks, [
      { ms: 4, mainFunction: { name: 'handler', place, share: 1 } },
      { ms: 1, mainFunction: null },
    ]);
  });

  test('a function of Node.js is named after its caller outside the probe', () => {
    const wrapper = 'file:///m/node_modules/millrace/dist/probe/outbound/tcp-exchanges.cjs';
    const nodes = [
      { id: 1, callFrame: frame('(root)'), children: [2, 3] },
      { id: 2, callFrame: frame('(idle)') },
      { id: 3, callFrame: frame('sendQuery', 'file:///app/query.js'), children: [4] },
      {
        id: 4,
        callFrame: frame('Writable.write', 'node:internal/streams/writable'),
        children: [5],
      },
      { id: 5, callFrame: frame('observedWrite', wrapper), children: [6] },
      { id: 6, callFrame: frame('Socket._writeGeneric', 'node:net') },
    ];
    const { self } = analyzeProfile({ nodes, samples: [6, 6, 2], timeDeltas: [0, 1000, 1000] });
    assert.deepEqual(
      self.map(({ name }) => name),
      ['Writable.write called from sendQuery'],
    );
  });

  describe('the call that takes most of the time', () => {
    const APP = 'file:///app/routes.js';
    const LIBRARY = 'file:///app/node_modules/templates/index.js';
    const at = (line, name, url) => ({ ...frame(name, url), lineNumber: line });
    const page = at(10, 'page', APP);
    const compile = at(20, 'compile', LIBRARY);

    /** Profiles nested calls, outermost first, each with its time in ms; returns the dominant call. */
    const find = (...stacks) => {
      const nodes = [{ id: 1, callFrame: frame('(root)'), children: [] }];
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
      const { dominantCall } = analyzeProfile({ nodes, samples: [...samples, 1], timeDeltas });
      return dominantCall && [dominantCall.name, Math.round(dominantCall.share * 100)];
    };

    test('is the call of a package, where the time is that of its functions', () => {
      const within = ['parse', 'walk', 'add'].map((name, line) => at(line, name, LIBRARY));
      const stacks = within.map((one) => [30, frame('emit', 'node:events'), page, compile, one]);
      assert.deepEqual(find(...stacks, [10, page]), ['compile of templates called from page', 90]);
    });

    test('is the most expensive function below a handler that calls several', () => {
      const [render, load] = [at(30, 'render', APP), at(40, 'load', APP)];
      const called = find([60, page, render], [40, page, load]);
      assert.deepEqual(called, ['render', 60]);
    });

    test('is found below middleware of a framework, and once for a recursive function', () => {
      const next = at(5, 'next', 'file:///app/node_modules/express/router.js');
      const log = at(1, 'log', APP);
      const walk = at(50, 'walk', APP);
      const called = find([90, log, next, page, walk, walk, walk], [10, log, next, page]);
      assert.deepEqual(called, ['walk', 90]);
    });

    test('is below the functions through which all requests pass', () => {
      const [outer, order] = [at(60, 'onRequest', APP), at(70, 'handleOrder', APP)];
      const parts = [30, 30, 40].map((ms, line) => [
        ms,
        outer,
        order,
        at(80 + line, `part${line}`, APP),
      ]);
      assert.deepEqual(find(...parts), ['part2', 40]);
      const next = at(5, 'next', 'file:///app/node_modules/express/router.js');
      assert.equal(find([95, outer, next, page], [5, outer]), null);
    });

    test('is none without a function of the application, or without its calls', () => {
      assert.equal(find([50, compile], [50, frame('(garbage collector)')]), null);
      assert.equal(find([50, page]), null);
    });
  });

  test('a profile counts time in calls of node:fs, whoever makes them', () => {
    const nodes = [
      { id: 1, callFrame: frame('(root)'), children: [2, 3] },
      { id: 2, callFrame: frame('(idle)') },
      { id: 3, callFrame: frame('handler', 'file:///app.js'), children: [4, 6] },
      { id: 4, callFrame: frame('writeSync', 'node:fs'), children: [5] },
      { id: 5, callFrame: frame('writeBuffer') },
      { id: 6, callFrame: frame('execSync', 'node:child_process') },
    ];
    const samples = [3, 4, 5, 5, 6, 2, 2];
    const view = analyzeProfile({ nodes, samples, timeDeltas: samples.map(() => 1000) });
    assert.equal(view.files, 0.6);
  });

  test("a profile counts logging and writing without the debugger's part", () => {
    const nodes = [
      { id: 1, callFrame: frame('(root)'), children: [2] },
      { id: 2, callFrame: frame('handler', 'file:///app.js'), children: [3, 7, 9] },
      { id: 3, callFrame: frame('consoleCall'), children: [4] },
      { id: 4, callFrame: frame('log', 'node:internal/console/constructor'), children: [5, 6] },
      { id: 5, callFrame: frame('formatRaw', 'node:internal/util/inspect') },
      { id: 6, callFrame: frame('write', 'node:internal/streams/writable') },
      { id: 7, callFrame: frame('write_', 'node:_http_outgoing'), children: [8] },
      { id: 8, callFrame: frame('writev') },
      { id: 9, callFrame: frame('setHeader', 'node:_http_outgoing') },
    ];
    const samples = [2, 3, 3, 5, 6, 7, 8, 8, 9, 2, 2];
    const view = analyzeProfile({ nodes, samples, timeDeltas: samples.map(() => 1000) });
    assert.equal(view.busyMs, 8);
    assert.equal(view.printing, 2 / 8);
    assert.equal(view.writing, 3 / 8);
    assert.ok(view.self.every(({ name }) => !name.startsWith('consoleCall')));
    // What Node does to write a response is no function's of the service.
    const written = view.self.find(({ name }) => name === '(writing responses)');
    assert.deepEqual(written, { name: '(writing responses)', place: '', share: 3 / 8 });
  });

  test('a profile separates responses from other writes and from Millrace', () => {
    const nodes = [
      { id: 1, callFrame: frame('(root)'), children: [2, 9] },
      { id: 2, callFrame: frame('handler', 'file:///app.js'), children: [3, 5, 7, 8] },
      { id: 3, callFrame: frame('writeOrBuffer', 'node:internal/streams/writable'), children: [4] },
      { id: 4, callFrame: frame('update') },
      { id: 5, callFrame: frame('writeGeneric', 'node:net'), children: [6] },
      { id: 6, callFrame: frame('writev') },
      { id: 7, callFrame: frame('#tick', PROBE) },
      { id: 8, callFrame: frame('stringify') },
      { id: 9, callFrame: frame('connectionCorkNT', 'node:_http_outgoing'), children: [10, 11] },
      { id: 10, callFrame: frame('writev') },
      // Of middleware that is called by who answers.
      { id: 11, callFrame: frame('check', FASTIFY), children: [12] },
      { id: 12, callFrame: frame('verify') },
    ];
    const samples = [4, 4, 6, 6, 7, 8, 10, 10, 12, 2];
    const { self } = analyzeProfile({ nodes, samples, timeDeltas: samples.map(() => 1000) });
    const names = self.flatMap(({ name, share }) => (share > 0 ? name : [])).sort();
    assert.deepEqual(names, [
      '(millrace)',
      '(writing responses)',
      'stringify called from handler',
      'verify called from check',
      'writeGeneric called from handler',
      'writeOrBuffer called from handler',
    ]);
  });

  const PINO = 'file:///app/node_modules/pino/lib/tools.js';
  const BOOM = 'file:///app/node_modules/sonic-boom/index.js';

  /** Profiles nested calls with a sample in each but the root; returns the share of logging, certain and at most. */
  function printing(...stacks) {
    const root = { id: 0, callFrame: frame('(root)'), children: [] };
    const nodes = [root];
    for (const stack of stacks) {
      let parent = root;
      for (const [functionName, url] of stack) {
        const node = { id: nodes.length, callFrame: frame(functionName, url), children: [] };
        node.callFrame.lineNumber = functionName.length;
        parent.children.push(node.id);
        nodes.push(node);
        parent = node;
      }
    }
    const samples = [...nodes.slice(1).map(({ id }) => id), 0];
    const view = analyzeProfile({ nodes, samples, timeDeltas: samples.map(() => 1000) });
    return [view.printing, view.printingAtMost];
  }

  const handler = ['handler', 'file:///app/app.js'];
  const log = ['log', 'file:///app/app.js'];
  const serve = ['serve', 'file:///app/app.js'];
  const answer = ['end', 'node:_http_outgoing'];
  const output = [
    ['replaced', PROBE],
    ['write', 'node:internal/streams/writable'],
  ];

  test('a profile: the file by whose name the probe is recognized exists', () => {
    assert.ok(existsSync(new URL(`../../../${PROBE_FILE}`, import.meta.url)));
  });

  test('a profile counts a function that writes output for another as possible logging, with its formatting', () => {
    assert.deepEqual(printing([handler, log, ...output], [handler, log, ['stringify']]), [
      0,
      5 / 7,
    ]);
    const header = ['getHeader', 'node:_http_outgoing'];
    assert.deepEqual(printing([handler, log, ...output], [handler, log, header]), [0, 5 / 7]);
  });

  test('a profile does not count a handler that writes output, or also responds, as logging', () => {
    assert.deepEqual(printing([handler, ...output], [handler, ['stringify']]), [0, 0]);
    for (const url of [
      'node:_http_outgoing',
      'node:internal/http2/core',
      'file:///app/node_modules/millrace/dist/http/response.js',
    ]) {
      const calls = [
        [handler, serve, ...output],
        [handler, serve, ['end', url]],
      ];
      assert.deepEqual(printing(...calls), [0, 0], url);
    }
    assert.deepEqual(printing([handler, answer]), [0, 0]);
  });

  test('a profile counts only the console of a function that uses it as logging', () => {
    const console = ['log', 'node:internal/console/constructor'];
    const calls = [
      [handler, serve, console, ...output],
      [handler, serve, ['stringify']],
    ];
    assert.deepEqual(printing(...calls), [3 / 8, 3 / 8]);
  });

  test('a profile counts a logger and the packages that it writes with as logging, but no framework', () => {
    const pino = [
      ['LOG', PINO],
      ['write', BOOM],
      ['writeSync', PROBE],
    ];
    const route = ['route', FASTIFY];
    assert.deepEqual(printing([handler, ...pino]), [3 / 4, 3 / 4]);
    assert.deepEqual(printing([route, handler], [route, ...pino]), [3 / 6, 3 / 6]);
    assert.deepEqual(printing([route, handler], [route, ['writeSync', PROBE]]), [0, 0]);
    // What a logger asks the service for a message is no request.
    const mixin = ['mixin', 'file:///app/app.js'];
    assert.deepEqual(printing([handler, ...pino], [handler, pino[0], mixin]), [5 / 7, 5 / 7]);
  });

  test('a profile counts a well-known logger that writes later as logging, but not middleware', () => {
    const winston = ['log', 'file:///app/node_modules/winston/lib/winston/logger.js'];
    assert.deepEqual(printing([handler, winston, ['stringify']]), [2 / 3, 2 / 3]);
    // It has been given the rest of the request.
    const rest = [handler, winston, serve, ['end', 'node:_http_outgoing']];
    assert.deepEqual(printing(rest), [0, 0]);
  });

  test('a profile counts the work of Node.js to connect as connecting, not the callbacks after it', () => {
    const nodes = [
      { id: 1, callFrame: frame('(root)'), children: [2, 5, 7] },
      { id: 2, callFrame: frame('handler', 'file:///app.js'), children: [3] },
      { id: 3, callFrame: frame('connect', 'node:_tls_wrap'), children: [4] },
      { id: 4, callFrame: frame('start') },
      { id: 5, callFrame: frame('afterConnect', 'node:net'), children: [6] },
      { id: 6, callFrame: frame('onopen', 'file:///app.js') },
      { id: 7, callFrame: frame('onServerSocketSecure', 'node:_tls_wrap') },
    ];
    const samples = [2, 3, 4, 5, 6, 7, 2];
    const view = analyzeProfile({ nodes, samples, timeDeltas: samples.map(() => 1000) });
    assert.equal(view.connecting, 3 / 6);
  });
});
