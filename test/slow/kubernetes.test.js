// The manifest of `millrace kubernetes` against Kubernetes' own schema, in which no other field is allowed.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { parseManifest } from '../fixtures/kubernetes/pods.js';
import { findSchemas, readSchemas } from '../fixtures/kubernetes/schema.js';
import { millrace } from '../fixtures/truth/cli.js';

const { folder: schemas, reason } = await findSchemas();
const folder = mkdtempSync(join(tmpdir(), 'millrace-manifest-'));
after(() => rmSync(folder, { recursive: true }));

describe('the manifest', { skip: reason ?? false, timeout: 120_000 }, () => {
  const validate = schemas ? readSchemas(schemas) : null;

  test('has a Job, a ConfigMap and a Secret as the schema has them', async () => {
    writeFileSync(join(folder, 'users.csv'), 'name,password\nann,1\n');
    writeFileSync(join(folder, 'body.bin'), Buffer.from([255, 0, 1]));
    writeFileSync(join(folder, 'note.txt'), 'text\n');
    const args = [
      ...['kubernetes', '--pods', '3', '--image', 'load:1', '--cpu', '500m', '--memory', '1Gi'],
      ...['http://web/{{csv:users.csv:name}}', '-b', '@body.bin', '--include', 'note.txt'],
      ...['-H', 'Authorization: Bearer abc', '-R', '100', '-d', '5s'],
    ];
    const run = await millrace(args, { cwd: folder });
    assert.equal(run.code, 0, run.stderr);
    const { documents } = parseManifest(run.stdout);
    assert.deepEqual(
      documents.map(({ kind }) => kind),
      ['ConfigMap', 'Secret', 'Job'],
    );
    for (const document of documents) assert.deepEqual(validate(document), [], document.kind);
  });

  test('of another form would be found', async () => {
    const args = ['kubernetes', '--pods', '2', '--image', 'load:1', 'http://web/'];
    const { job } = parseManifest((await millrace(args)).stdout);
    job.spec.completions = '2';
    job.spec.template.spec.restart = 'Never';
    assert.deepEqual(validate(job), [
      '/spec/completions must be integer',
      '/spec/template/spec must NOT have additional properties restart',
    ]);
  });
});
