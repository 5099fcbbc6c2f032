import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  formatMeasuredLine,
  parseSections,
  replaceSection,
} from '../../../bench/documents/sections.js';

const machine = {
  cpu: 'AMD EPYC',
  cores: 2,
  kernel: 'Linux 6.18',
  node: 'v20.20.2',
  commit: 'abc',
};
const run = { date: '2026-11-21', machine, runs: '3 rounds', command: 'npm run bench -- load' };
const measured = formatMeasuredLine(run);
const section = (name, ...lines) => [`## ${name}`, '', ...lines, '', measured].join('\n');
const file = (...sections) =>
  `${['# Results: load\n\nHow to read it.', ...sections].join('\n\n')}\n`;
const cases = ['one', 'two', 'three'];
const replaced = (text, name, ...lines) =>
  replaceSection(text, { name, lines: [...lines, '', measured] }, cases);

test('the last line of a section names everything that the figures depend on', () => {
  assert.equal(
    measured,
    'Measured 2026-11-21 on AMD EPYC, 2 cores, Linux 6.18, Node v20.20.2, commit abc, by `npm run bench -- load` (3 rounds).',
  );
});

test('a section replaces the one of its name, and all others stay unchanged', () => {
  const before = file(section('one', '| a  |'), section('two', 'old'), section('three', 'x'));
  const { text, dropped } = replaced(before, 'two', 'new');
  assert.equal(text, file(section('one', '| a  |'), section('two', 'new'), section('three', 'x')));
  assert.deepEqual(dropped, []);
});

test('a new section is inserted in the order of the list, a variant after its case', () => {
  const { text } = replaced(file(section('three'), section('one')), 'two, Node 24');
  const both = replaced(text, 'two, Node 20').text;
  const names = [...parseSections(both).sections.keys()];
  assert.deepEqual(names, ['one', 'two, Node 20', 'two, Node 24', 'three']);
  assert.equal(both, replaced(both, 'two, Node 20').text);
});

test('the section of a case replaces its variants, which are in it now', () => {
  const before = file(section('one'), section('two, Node 20'), section('two, Node 24'));
  const { text, dropped } = replaced(before, 'two', '### Node 24');
  assert.deepEqual([...parseSections(text).sections.keys()], ['one', 'two']);
  assert.deepEqual(dropped, []);
});

test('sections of removed cases are dropped and named', () => {
  const { text, dropped } = replaced(file(section('zero'), section('one')), 'two', 'new');
  assert.equal(text, file(section('one'), section('two', 'new')));
  assert.deepEqual(dropped, ['zero']);
});

test('text before and within sections is kept', () => {
  const edited = file(section('one', 'A note.', '### More'), `${section('three')}\n\nAnother.`);
  const { text } = replaced(edited.replace('How', 'Mind the heat. How'), 'two', 'new');
  assert.match(text, /^# Results: load\n\nMind the heat\. How to read it\.\n\n## one\n\nA note\./);
  assert.match(text, /### More\n\nMeasured/);
  assert.match(text, /Another\.\n$/);
});

test('a file that is cut off within a section is not changed', () => {
  const whole = file(section('one', 'a'), section('two', 'b'));
  const begin = whole.indexOf('## two');
  for (let end = begin + '## '.length; end < whole.trimEnd().length; end++) {
    assert.throws(() => replaced(whole.slice(0, end), 'one', 'new'), /is it cut off\?/, `${end}`);
  }
  assert.throws(() => replaced('', 'one'), /^Error: does not begin with a title$/);
});

test('an unknown heading and a duplicate case are named', () => {
  const foreign = file(section('one'), '## Notes\n\nMine.');
  assert.throws(() => replaced(foreign, 'one'), /the section "Notes" does not say how/);
  const twice = file(section('one', 'a'), section('one', 'b'));
  assert.throws(() => replaced(twice, 'two'), /^Error: has two sections "one"$/);
});
