// The files of explain --profile: what other tools read from them.
import { deepEqual, equal } from 'node:assert/strict';
import { test } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { Profile } from 'pprof-format';
import { listProfileFiles } from '#internal/report/profiles/files.js';
import { encodePprof } from '#internal/report/profiles/pprof.js';
import { withGraphs } from '../../fixtures/explain/flame-graphs.js';

const cpuProfile = { nodes: [], samples: [], timeDeltas: [] };
const files = new Map(
  listProfileFiles(withGraphs(), cpuProfile).map(({ name, content }) => [name, content]),
);

/**
 * The samples of a pprof file: `[frames from the innermost, value]`, and the type of the values.
 *
 * @returns {{ types: string[], samples: [string[], number][], durationNanos: number }}
 */
function decode(name) {
  const profile = Profile.decode(gunzipSync(files.get(name)));
  const text = (index) => profile.stringTable.strings[Number(index)];
  const functions = new Map(profile.function.map((one) => [Number(one.id), one]));
  const locations = new Map(profile.location.map((one) => [Number(one.id), one]));
  const toFrame = (id) => {
    const [{ functionId, line }] = locations.get(Number(id)).line;
    const { name: called, filename } = functions.get(Number(functionId));
    return `${text(called)} ${text(filename)}:${line}`;
  };
  return {
    types: profile.sampleType.map(({ type, unit }) => `${text(type)} ${text(unit)}`),
    samples: profile.sample.map(({ locationId, value }) => [
      locationId.map(toFrame),
      Number(value[0]),
    ]),
    durationNanos: Number(profile.durationNanos),
  };
}

test('each graph has its files, and only what was measured', () => {
  deepEqual(
    [...files.keys()],
    ['cpu.cpuprofile', 'cpu.pb.gz', 'waits.pb.gz', 'heap.heapprofile', 'heap.pb.gz'],
  );
  const { cpu: _, allocations: _none, ...others } = withGraphs();
  deepEqual(
    listProfileFiles(others, null).map(({ name }) => name),
    ['waits.pb.gz'],
  );
  deepEqual(JSON.parse(files.get('cpu.cpuprofile')), cpuProfile);
});

test('pprof gets no characters that control a terminal', () => {
  const frame = { name: 'a\u001b[2Jb\r\nc', place: '/srv/\u202ex.js:3', origin: 'application' };
  /** @type {any} */
  const graph = { unit: 'ms', frames: [frame], parents: [-1], frameOf: [0], self: [1] };
  const { stringTable } = Profile.decode(gunzipSync(encodePprof(graph, new Date(0).toISOString())));
  deepEqual(
    stringTable.strings.filter((text) => /[\p{Cc}\u202e]/u.test(text)),
    [],
  );
});

test('pprof reads the CPU time in nanoseconds, by functions of the sources', () => {
  const { types, samples } = decode('cpu.pb.gz');
  deepEqual(types, ['cpu nanoseconds']);
  deepEqual(
    samples.find(([frames]) => frames[0].startsWith('digest')),
    [
      [
        'digest node:internal/crypto/hash:140',
        'hashPassword src/auth.ts:12',
        'handleOrder src/server.ts:30',
        'emit node:events:508',
      ],
      750e6,
    ],
  );
  equal(
    samples.reduce((sum, [, value]) => sum + value, 0),
    2000e6,
  );
});

test('pprof reads waits as time of one second, and allocations as bytes', () => {
  const waits = decode('waits.pb.gz');
  deepEqual([waits.types, waits.durationNanos], [['wait nanoseconds'], 1e9]);
  equal(
    waits.samples.reduce((sum, [, value]) => sum + value, 0),
    20e9,
  );
  const heap = decode('heap.pb.gz');
  deepEqual(heap.types, ['alloc_space bytes']);
  equal(
    heap.samples.reduce((sum, [, value]) => sum + value, 0),
    1324,
  );
});

test('a heap profile is a tree as of V8, whose samples name its nodes', () => {
  const { head, samples } = JSON.parse(files.get('heap.heapprofile'));
  const [emit] = head.children;
  const [handler] = emit.children;
  const [render] = handler.children;
  deepEqual(
    [emit, handler, render].map(({ callFrame, selfSize }) => [callFrame.functionName, selfSize]),
    [
      ['emit', 0],
      ['handleOrder', 300],
      ['renderPage', 1024],
    ],
  );
  const { url, lineNumber } = render.callFrame;
  deepEqual([url, lineNumber], ['src/page.ts', 43]);
  deepEqual(
    samples.map(({ nodeId, size }) => [nodeId, size]),
    [
      [handler.id, 300],
      [render.id, 1024],
    ],
  );
});
