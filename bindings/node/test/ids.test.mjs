// Making IDs.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { IdGenerator, LeaseflakeError } from 'leaseflake';

import { increases, registry, thrown } from './support.mjs';

async function open(test, options = {}) {
  let ids;
  // Before the registry's folder goes, for what is done first is done first.
  test.after(() => ids?.close());
  ids = await IdGenerator.open({ store: registry(test), ...options });
  return ids;
}

test('every way of making an ID continues where the others stopped', async (t) => {
  const ids = await open(t);
  const made = [ids.nextId(), ids.tryNextId(), await ids.nextIdAsync(), BigInt(ids.nextString())];
  made.push(...ids.nextBatch(1000), ...ids.nextStrings(3).map(BigInt));
  made.push(...ids.fill(new BigInt64Array(5000)), ...ids.fill(new BigUint64Array(2)));
  for (const id of ids) {
    made.push(id);
    if (made.length > 7000) break;
  }
  assert.ok(made.every((id) => typeof id === 'bigint' && id > 0n && id < 2n ** 63n));
  assert.ok(increases(made));
});

test('a loop at full speed repeats nothing and is never refused', async (t) => {
  const ids = await open(t);
  const made = new BigInt64Array(300_000);
  for (let place = 0; place < made.length; place += 1) made[place] = ids.nextId();
  assert.ok(increases(made));
  const { sequence: first } = ids.decode(made[0]);
  assert.ok(first >= 0);
});

test('a batch is of one millisecond, and all or nothing', async (t) => {
  const ids = await open(t);
  for (let round = 0; round < 50; round += 1) {
    const batch = ids.nextBatch(1000);
    assert.equal(batch.length, 1000);
    assert.equal(new Set(batch.map((id) => ids.decode(id).timestampMs)).size, 1);
    assert.equal(batch[999] - batch[0], 999n);
  }
  for (const count of [0, -1, 1001, 1.5, NaN, Infinity, 2 ** 53]) {
    const error = thrown(() => ids.nextBatch(count));
    assert.equal(error.code, 'ERR_LEASEFLAKE_INVALID_ARGUMENT', String(count));
    assert.match(error.message, /1\.\.=1000/);
    assert.throws(() => ids.nextStrings(count), LeaseflakeError);
  }
  assert.throws(() => ids.nextBatch('3'), TypeError);
  assert.throws(() => ids.nextBatch(3n), TypeError);
});

test('strings are the decimal digits of IDs, and go through JSON unharmed', async (t) => {
  const ids = await open(t);
  const [before, text, after] = [ids.nextId(), ids.nextString(), ids.nextId()];
  assert.match(text, /^[1-9][0-9]{0,18}$/);
  assert.ok(before < BigInt(text) && BigInt(text) < after);
  assert.deepEqual(JSON.parse(JSON.stringify({ text, many: ids.nextStrings(2) })).text, text);
});

test('fill takes views, shared and empty arrays, and nothing else', async (t) => {
  const ids = await open(t);
  const whole = new BigInt64Array(10);
  assert.equal(ids.fill(whole.subarray(3, 6)).length, 3);
  assert.deepEqual([...whole].map((id) => id > 0n), [0, 0, 0, 1, 1, 1, 0, 0, 0, 0].map(Boolean));
  const shared = new BigUint64Array(new SharedArrayBuffer(80), 8, 9);
  assert.equal(ids.fill(shared), shared);
  assert.ok(increases([...shared]) && shared[0] > whole[5]);
  assert.equal(ids.fill(new BigInt64Array(0)).length, 0);
  for (const wrong of [undefined, null, 5, [], [0n], {}, new Float64Array(3), new ArrayBuffer(8), new DataView(new ArrayBuffer(8))]) {
    assert.throws(() => ids.fill(wrong), TypeError);
  }
});

test('a call that would have to wait says so instead, where it may not wait', async (t) => {
  // Two IDs a millisecond: the third has to wait.
  const ids = await open(t, { layout: '52-5-5-1' });
  let refused;
  for (let call = 0; call < 1000 && !refused; call += 1) {
    try {
      ids.tryNextId();
    } catch (error) {
      refused = error;
    }
  }
  assert.equal(refused.code, 'ERR_LEASEFLAKE_SEQUENCE_EXHAUSTED');
  assert.equal(refused.retryable, true);
  assert.equal(refused.retryAfterMs, 1);
});

test('asynchronous IDs wait without blocking the event loop', async (t) => {
  const ids = await open(t, { layout: '52-5-5-1', maxWaitMs: 1000 });
  let turns = 0;
  let running = true;
  const turn = () => {
    turns += 1;
    if (running) setImmediate(turn);
  };
  setImmediate(turn);
  const made = await Promise.all(Array.from({ length: 200 }, () => ids.nextIdAsync()));
  running = false;
  assert.ok(increases(made));
  assert.equal(ids.status().waits, 0, 'no call blocked');
  assert.ok(turns > 10, `${turns} turns of the event loop in a hundred milliseconds`);
});

test('a process has one worker ID for a registry, however often it opens', async (t) => {
  const store = registry(t);
  const handles = await Promise.all(Array.from({ length: 20 }, () => IdGenerator.open({ store })));
  assert.equal(new Set(handles.map((ids) => ids.status().workerId)).size, 1);
  await handles[0].close();
  assert.equal(handles[0].closed, true);
  assert.equal(handles[1].closed, false);
  assert.throws(() => handles[0].nextId(), { code: 'ERR_LEASEFLAKE_CLOSED' });
  assert.ok(handles[1].nextId() > 0n);
  await Promise.all(handles.map((ids) => ids.close()));
  const other = IdGenerator.openSync({ store, slot: 1 });
  other.closeSync();
  other.closeSync();
  await other.close();
});

test('after close every call says CLOSED, and close may be called again', async (t) => {
  const ids = await open(t);
  const closing = ids.close();
  assert.equal(ids.close(), closing);
  await closing;
  for (const call of [
    () => ids.nextId(),
    () => ids.tryNextId(),
    () => ids.nextString(),
    () => ids.nextBatch(1),
    () => ids.nextStrings(1),
    () => ids.fill(new BigInt64Array(1)),
    () => ids[Symbol.iterator]().next(),
  ]) {
    assert.equal(thrown(call).code, 'ERR_LEASEFLAKE_CLOSED', String(call));
  }
  await assert.rejects(ids.nextIdAsync(), { code: 'ERR_LEASEFLAKE_CLOSED' });
  assert.equal(ids.status().state, 'closed');
  assert.ok(ids.decode('4194304').timestamp instanceof Date);
});

test('dispose closes', async (t) => {
  const store = registry(t);
  const one = await IdGenerator.open({ store });
  await one[Symbol.asyncDispose]();
  assert.equal(one.closed, true);
  const two = IdGenerator.openSync({ store });
  two[Symbol.dispose]();
  assert.equal(two.closed, true);
});

test('a method taken off its object fails as JavaScript methods do, and harms nothing', async (t) => {
  const ids = await open(t);
  const { nextId } = ids;
  assert.throws(() => nextId(), TypeError);
  assert.throws(() => nextId.call({}), TypeError);
  assert.throws(() => new IdGenerator(), /IdGenerator\.open/);
  assert.throws(() => new IdGenerator({}), /IdGenerator\.open/);
  assert.ok(ids.nextId() > 0n);
});
