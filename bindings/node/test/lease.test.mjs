// What happens to a lease is seen as errors, status and events.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { IdGenerator, LeaseflakeError } from 'leaseflake';

import { DEADLINE_MS, holdLock, registry, run, thrown, until } from './support.mjs';

test('while the registry does not answer a lease is suspended, and goes on afterwards', { timeout: 2 * DEADLINE_MS }, async (t) => {
  let ids;
  t.after(() => ids?.close());
  const store = registry(t);
  ids = await IdGenerator.open({ store, leaseTtlMs: 3000, heartbeatIntervalMs: 500, safetyMarginMs: 200 });
  const states = [];
  ids.on('state', (change) => states.push(change.to));
  const before = ids.nextId();

  const release = await holdLock(t, store);
  const error = await until('IDs are refused', () => {
    try {
      ids.nextId();
      return undefined;
    } catch (refused) {
      return refused;
    }
  });
  assert.ok(error instanceof LeaseflakeError);
  assert.equal(error.code, 'ERR_LEASEFLAKE_LEASE_SUSPENDED');
  assert.equal(error.retryable, true);
  assert.ok(error.retryAfterMs > 0);
  assert.match(error.stack, /lease\.test\.mjs/);
  await assert.rejects(ids.nextIdAsync(), { code: 'ERR_LEASEFLAKE_LEASE_SUSPENDED' });
  const room = new BigInt64Array(5);
  assert.equal(thrown(() => ids.fill(room)).written, 0);
  assert.deepEqual([...room], [0n, 0n, 0n, 0n, 0n]);
  await until('the status says so', () => ids.status().state === 'suspended');
  await until('the listener has heard', () => states.includes('suspended'));
  assert.match(ids.status().lastError, /STORE_UNAVAILABLE/);

  await release();
  const after = await until('IDs are made again', () => {
    try {
      return ids.nextId();
    } catch (refused) {
      assert.equal(refused.retryable, true);
      return undefined;
    }
  });
  assert.ok(after > before);
  await until('the listener has heard', () => states.at(-1) === 'active');
});

test('listeners hear what happens after they came and before they left', async (t) => {
  const ids = await IdGenerator.open({ store: registry(t) });
  const heard = [];
  const gone = () => heard.push('gone');
  ids.on('state', gone).off('state', gone);
  ids.on('state', (change) => heard.push(['on', change]));
  ids.once('state', (change) => heard.push(['once', change]));
  await ids.close();
  await until('both have heard', () => heard.length === 2);
  const [[, change]] = heard;
  assert.deepEqual([change.from, change.to, change.workerId], ['active', 'closed', ids.status().changes.at(-1).workerId]);
  assert.ok(Math.abs(change.atMs - Date.now()) < DEADLINE_MS);
  assert.equal(ids.status().changes.at(-1).number, change.number);
  assert.throws(() => ids.on('close', () => {}), { code: 'ERR_LEASEFLAKE_INVALID_ARGUMENT' });
  assert.throws(() => ids.on('state', 5), TypeError);
});

test('what a listener throws is an uncaught exception, and the other listeners are told', async (t) => {
  const ended = await run('listeners.mjs', registry(t));
  assert.deepEqual([ended.code, ended.lines], [0, ['uncaught on purpose', 'told']], ended.err);
});

test('opening without a free worker ID says so after its time, and blocks nothing meanwhile', async (t) => {
  const one = { store: registry(t), layout: '51-0-0-12', closeTimeoutMs: 20_000 };
  const holder = await IdGenerator.open(one);
  let turns = 0;
  const timer = setInterval(() => (turns += 1), 1);
  const failed = await IdGenerator.open({ ...one, slot: 1, acquireTimeoutMs: 2000 }).then(() => undefined, (error) => error);
  clearInterval(timer);
  assert.equal(failed.code, 'ERR_LEASEFLAKE_NO_WORKER_ID');
  assert.ok(failed.retryable && failed.retryAfterMs > 0);
  assert.ok(turns > 3, `${turns} turns`);
  await holder.close();
  await (await IdGenerator.open({ ...one, slot: 2 })).close();
});

test('options that cannot be right are refused by name, with what is allowed', async (t) => {
  const store = registry(t);
  for (const [options, what] of [
    [{ store: 'nonsense' }, /store/],
    [{ store, leaseTtlMs: 'soon' }, /lease_ttl_ms.*soon/],
    [{ store, leaseTtlMs: 1.5 }, /lease_ttl_ms.*1\.5/],
    [{ store, slot: -1 }, /slot.*-1/],
    [{ store, layout: '1-2-3' }, /layout/],
    [{ store, datacenterId: [] }, /datacenterId/],
    [{ store, datacenterId: [40] }, /40/],
    [{ store, slot: {} }, /slot/],
    [{ store, lease_ttl_ms: 5 }, /lease_ttl_ms.*leaseTtlMs/],
    [{ store, colour: 'red' }, /colour/],
  ]) {
    const refused = { code: 'ERR_LEASEFLAKE_INVALID_ARGUMENT', message: what };
    await assert.rejects(IdGenerator.open(options), refused);
    assert.throws(() => IdGenerator.openSync(options), refused);
  }
  await assert.rejects(IdGenerator.open(null), TypeError);
  await assert.rejects(IdGenerator.open('memory:'), TypeError);
});

test('an option that is left out, undefined or null comes from the environment', async (t) => {
  const store = registry(t);
  process.env.LEASEFLAKE_STORE = store;
  t.after(() => delete process.env.LEASEFLAKE_STORE);
  for (const options of [undefined, {}, { store: undefined }, { store: null }]) {
    const ids = await IdGenerator.open(options);
    assert.equal(ids.status().store, store);
    await ids.close();
  }
});
