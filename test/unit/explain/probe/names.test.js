// Names that the probe makes of what an application or a client chooses.
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { test } from 'node:test';

const require = createRequire(import.meta.url);
const { Routes } = require('#internal/probe/inbound/routes.cjs');
const { maskProcessId } = require('#internal/probe/runtime/files-aside.cjs');

test('the id of the process in a path is masked, and no digits of another number', () => {
  const { pid } = process;
  assert.equal(maskProcessId(`/run/app-${pid}.lock`), '/run/app-{pid}.lock');
  assert.equal(maskProcessId(`/run/${pid}/${pid}`), '/run/{pid}/{pid}');
  for (const path of [`/run/1${pid}.lock`, `/run/${pid}0.lock`])
    assert.equal(maskProcessId(path), path);
});

test('methods that a client has invented are one', () => {
  const routes = new Routes();
  assert.equal(routes.find('GET', '/users/17?a=1').name, 'GET /users/:id');
  const [first, second] = ['X1', 'X2'].map((method) => routes.find(method, '/users'));
  assert.equal(first.name, 'OTHER /users');
  assert.equal(first, second);
});
