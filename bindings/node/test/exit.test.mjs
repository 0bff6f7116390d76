// How a process ends.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { IdGenerator } from 'leaseflake';

import { holdLock, registry, run, start, until } from './support.mjs';

/** The one worker ID of the registry is free: it was given back, for its lease is far from its end. */
async function isFree(store) {
  const ids = await IdGenerator.open({ store, layout: '51-0-0-12', acquireTimeoutMs: 15_000 });
  await ids.close();
}

/**
 * A normal exit tries for 300 ms to give the worker ID back, which a busy machine may need for itself: one of three
 * runs has to succeed in it. Whatever else fails, fails.
 */
async function givesBack(t, run) {
  for (let left = 2; ; left--) {
    const store = registry(t);
    await run(store);
    try {
      return await isFree(store);
    } catch (error) {
      if (left === 0) throw error;
    }
  }
}

for (const [how, code] of [
  ['by-itself', 0],
  ['listening', 0],
  ['process.exit', 0],
  ['while-closing', 0],
  ['process.exit-while-closing', 0],
  ['sigterm', 0],
  ['uncaught', 1],
]) {
  test(`a process that ends (${how}) gives its worker ID back, and nothing keeps it alive`, async (t) => {
    await givesBack(t, async (store) => {
      const ended = await run('exit.mjs', how, store);
      assert.deepEqual([ended.code, ended.signal], [code, null], ended.err);
      assert.match(ended.out, /^made [0-9]+\n$/);
    });
  });
}

test('a process may end while it opens', async (t) => {
  const ended = await run('exit.mjs', 'while-opening', registry(t));
  assert.deepEqual([ended.code, ended.signal, ended.err], [0, null, '']);
});

test('a registry that does not answer holds up no exit', async (t) => {
  const store = registry(t);
  const program = start('exit.mjs', 'on-word', store);
  await until('it has made an ID', () => program.lines().length === 1);
  const release = await holdLock(t, store);
  const began = Date.now();
  program.child.stdin.write('go\n');
  const ended = await program.ended;
  assert.deepEqual([ended.code, ended.signal], [0, null], ended.err);
  // It tries for 300 ms; its own limit for close is a minute.
  assert.ok(Date.now() - began < 30_000);
  await release();
});
