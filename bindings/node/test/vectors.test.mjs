// The vectors that all languages share.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';

import { decode, IdGenerator, Layout, LeaseflakeError } from 'leaseflake';

import { registry, thrown } from './support.mjs';

const read = (name) => JSON.parse(readFileSync(join(process.env.VECTORS, name), 'utf8'));
const [ids, layouts, errors] = ['ids.json', 'layouts.json', 'errors.json'].map(read);
/** What a Date can hold. */
const LAST_DATE_MS = 8_640_000_000_000_000n;

test('every ID has the fields that it has in every language', () => {
  assert.ok(ids.valid.length > 50);
  for (const vector of ids.valid) {
    const layout = new Layout(vector.layout, BigInt(vector.epoch_ms));
    if (BigInt(vector.timestamp_ms) > LAST_DATE_MS) {
      assert.equal(thrown(() => layout.decode(vector.id)).code, 'ERR_LEASEFLAKE_TIMESTAMP_OUT_OF_RANGE');
      continue;
    }
    const fields = {
      timestampMs: Number(vector.timestamp_ms),
      datacenterId: vector.datacenter_id,
      workerId: vector.worker_id,
      sequence: vector.sequence,
    };
    const parts = layout.decode(BigInt(vector.id));
    assert.deepEqual(parts, { timestamp: new Date(fields.timestampMs), ...fields }, vector.why);
    if (vector.utc) assert.equal(parts.timestamp.toISOString(), vector.utc.replace(/^(\d{5,})/, '+0$1'));
    assert.deepEqual(layout.decode(vector.id), parts);
    assert.equal(layout.encode(parts), BigInt(vector.id));
    if (vector.layout === layouts.default.layout && vector.epoch_ms === layouts.default.epoch_ms) {
      assert.deepEqual(decode(vector.id), parts);
    }
  }
});

test('every layout has the limits that it has in every language', () => {
  for (const vector of layouts.valid) {
    const layout = new Layout(vector.layout, BigInt(vector.epoch_ms));
    assert.deepEqual(
      [layout.timestampBits, layout.datacenterBits, layout.workerBits, layout.sequenceBits],
      [vector.timestamp_bits, vector.datacenter_bits, vector.worker_bits, vector.sequence_bits],
    );
    assert.deepEqual(
      [layout.maxDatacenterId, layout.maxWorkerId, layout.maxSequence, layout.maxBatch, layout.idsPerSecond],
      [vector.max_datacenter_id, vector.max_worker_id, vector.max_sequence, vector.max_batch, vector.ids_per_second],
    );
    assert.equal(layout.epochMs, Number(vector.epoch_ms));
    assert.equal(String(layout), vector.layout);
  }
  const byDefault = new Layout();
  assert.equal(String(byDefault), layouts.default.layout);
  assert.equal(String(byDefault.epochMs), layouts.default.epoch_ms);
});

test('what is no ID, no layout and no field is refused as in every language', () => {
  const code = (call, why) => {
    const error = thrown(call);
    assert.ok(error instanceof LeaseflakeError, why);
    return error.errno;
  };
  for (const { why, text } of ids.text_failures) assert.equal(code(() => decode(text), why), 1, why);
  for (const { why, number } of ids.number_failures) assert.equal(code(() => decode(BigInt(number)), why), 1, why);
  for (const { why, text } of layouts.text_failures) assert.equal(code(() => new Layout(text), why), 1, why);
  for (const { why, widths } of layouts.width_failures) {
    assert.equal(code(() => new Layout(widths.join('-')), why), 1, why);
  }
  for (const { why, epoch_ms: epoch } of layouts.epoch_failures) {
    assert.equal(code(() => new Layout(undefined, BigInt(epoch)), why), 1, why);
  }
  for (const vector of ids.encode_failures) {
    const parts = {
      timestampMs: Number(vector.timestamp_ms),
      datacenterId: vector.datacenter_id,
      workerId: vector.worker_id,
      sequence: vector.sequence,
    };
    const layout = new Layout(vector.layout, BigInt(vector.epoch_ms));
    assert.equal(code(() => layout.encode(parts), vector.why), vector.code, vector.why);
  }
});

test('a number is refused where an ID belongs, with the reason', () => {
  for (const id of [1, 9007199254740993, NaN, -1]) {
    const error = thrown(() => decode(id));
    assert.ok(error instanceof TypeError);
    assert.match(error.message, /2\^53 - 1/);
  }
  for (const id of [undefined, null, {}, [1n], true, Symbol('id')]) assert.throws(() => decode(id), TypeError);
});

test('the error table is the one of every language', () => {
  const text = readFileSync(join(process.cwd(), 'node_modules/leaseflake/dist/errors.d.ts'), 'utf8');
  const type = /type LeaseflakeErrorCode = ([^;]*);/.exec(text)[1];
  const declared = [...type.matchAll(/'([A-Z_]+)'/g)].map((match) => match[1]);
  const table = errors.errors.filter((row) => row.code !== 0);
  assert.deepEqual(declared, table.map((row) => row.name));
});

test('an error that happens has the number and the advice of the table', async (t) => {
  const row = (name) => errors.errors.find((one) => one.name === name);
  const generator = await IdGenerator.open({ store: registry(t), layout: '52-5-5-1' });
  const seen = [thrown(() => generator.decode('0')), thrown(() => generator.nextBatch(3))];
  for (;;) {
    try {
      generator.tryNextId();
    } catch (error) {
      seen.push(error);
      break;
    }
  }
  await generator.close();
  seen.push(thrown(() => generator.nextId()));
  const names = seen.map((error) => error.code.replace('ERR_LEASEFLAKE_', ''));
  assert.deepEqual(names, ['INVALID_ARGUMENT', 'INVALID_ARGUMENT', 'SEQUENCE_EXHAUSTED', 'CLOSED']);
  for (const [place, error] of seen.entries()) {
    assert.ok(error instanceof LeaseflakeError && error instanceof Error);
    assert.equal(error.name, 'LeaseflakeError');
    assert.equal(error.errno, row(names[place]).code);
    assert.equal(error.retryable, row(names[place]).retryable);
    assert.equal('retryAfterMs' in error, error.retryable);
  }
});
