// Worker threads share the process's one worker ID, and end in any order.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Worker } from 'node:worker_threads';

import { IdGenerator } from 'leaseflake';

import { increases, registry, run } from './support.mjs';

function worker(workerData) {
  const thread = new Worker(new URL('./programs/worker.mjs', import.meta.url), { workerData });
  const said = new Promise((resolve, reject) => thread.once('message', resolve).once('error', reject));
  const ended = new Promise((resolve) => thread.once('exit', resolve));
  return { thread, said, ended };
}

test('worker threads make IDs under one worker ID without repeating any', async (t) => {
  let ids;
  t.after(() => ids?.close());
  const options = { store: registry(t) };
  ids = await IdGenerator.open(options);
  const workers = ['closes', 'leaves', 'closes', 'leaves'].map((how) => worker({ how, count: 30_000, options }));
  const own = Array.from({ length: 1000 }, () => ids.nextId());
  const said = await Promise.all(workers.map(({ said }) => said));
  const all = [...own, ...said.flatMap(({ made }) => [...made])];
  assert.equal(new Set(all).size, 121_000);
  assert.ok(said.every(({ made }) => increases([...made])));
  assert.deepEqual(new Set(said.map(({ workerId }) => workerId)), new Set([ids.status().workerId]));
  assert.ok(said.every(({ leasesAcquired }) => leasesAcquired === 1));
  assert.deepEqual(await Promise.all(workers.map(({ ended }) => ended)), [0, 0, 0, 0]);
  assert.ok(ids.nextId() > all.reduce((a, b) => (a > b ? a : b)), 'goes on after all workers have ended');
});

test('a worker thread may be terminated while it issues, or while it opens', async (t) => {
  let ids;
  t.after(() => ids?.close());
  const options = { store: registry(t), layout: '51-0-0-12' };
  ids = await IdGenerator.open(options);
  for (let round = 0; round < 3; round += 1) {
    const issuing = worker({ how: 'for-ever', options });
    const opening = worker({ how: 'opens', options: { ...options, slot: 1, acquireTimeoutMs: 60_000 } });
    await Promise.all([issuing.said, opening.said]);
    const before = ids.nextId();
    await Promise.all([issuing.thread.terminate(), opening.thread.terminate()]);
    assert.ok(ids.nextId() > before);
  }
  assert.equal(ids.status().state, 'active');
});

test('the main thread may end first', async (t) => {
  const ended = await run('workers.mjs', registry(t));
  assert.deepEqual([ended.code, ended.signal, ended.out], [0, null, 'they issue\n'], ended.err);
});

test('the package may be loaded by worker threads alone, one after the other', async (t) => {
  const ended = await run('unloading.mjs', registry(t));
  assert.deepEqual([ended.code, ended.signal, ended.lines], [0, null, Array(5).fill('100')], ended.err);
});
