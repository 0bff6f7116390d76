// Processes have worker IDs of their own.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { registry, run, startWith, until } from './support.mjs';

test('the processes of a cluster and children have each a worker ID of their own', async (t) => {
  const ended = await run('cluster.mjs', registry(t));
  assert.deepEqual([ended.code, ended.signal], [0, null], ended.err);
  const [said, codes] = ended.lines.map((line) => JSON.parse(line));
  assert.equal(new Set(said.map(({ workerId }) => workerId)).size, 6);
  assert.equal(new Set(said.flatMap(({ made }) => made)).size, 6000);
  assert.deepEqual(codes, [0, 0, 0, 0, 0]);
});

test('handles that nobody holds any more are closed, without a wait', async (t) => {
  const ended = await run('garbage.mjs', registry(t));
  assert.deepEqual([ended.code, ended.signal, ended.out], [0, null, 'free again\n'], ended.err);
});

test('the example answers with IDs until SIGTERM', async (t) => {
  const program = startWith({ LEASEFLAKE_STORE: registry(t), PORT: '0' }, '../example/server.js');
  await until('it listens', () => program.lines().length > 0);
  const url = program.lines()[0];
  const answers = [];
  for (let call = 0; call < 3; call += 1) answers.push(await (await fetch(url)).json());
  assert.ok(BigInt(answers[0].id) < BigInt(answers[1].id) && BigInt(answers[1].id) < BigInt(answers[2].id));
  assert.ok(Math.abs(new Date(answers[0].madeAt) - Date.now()) < 600_000);
  assert.equal((await fetch(new URL('/', url))).status, 404);
  program.child.kill('SIGTERM');
  const ended = await program.ended;
  assert.deepEqual([ended.code, ended.signal], [0, null], ended.err);
});
