// One thread of `run`: issues at a pace, whatever the generator answers.

import { createRequire } from 'node:module';
import { join } from 'node:path';
import { parentPort, workerData } from 'node:worker_threads';

import { append, BLOCK } from './stream.mjs';

const { folder, shared, issued, file, rate } = workerData;
const { IdGenerator, LeaseflakeError } = createRequire(join(folder, 'package.json'))('leaseflake');

/** How long one step of the pace is. */
const STEP_MS = 5;
/** Time that was slept through is made up for to this. */
const MADE_UP_MS = 100;
const LONGEST_RETRY_MS = 100;
/** Single calls before the next write. */
const SINGLES = 64;
const BATCH = 1000;

const pillow = new Int32Array(new SharedArrayBuffer(4));
const sleep = (ms) => Atomics.wait(pillow, 0, 0, ms);
const room = new BigInt64Array(BLOCK);
let credit = 0;
let looked = performance.now();
let turn = 0;
let ids;
let told = false;

/** How many IDs are due. */
function due() {
  if (rate === 0) return BLOCK;
  const now = performance.now();
  credit = Math.min(credit + (rate * (now - looked)) / 1000, Math.max((rate * MADE_UP_MS) / 1000, 1));
  looked = now;
  return Math.min(Math.floor(credit), BLOCK);
}

/** Single calls, a batch or a fill in turn; what was issued before an error is written all the same. */
function step() {
  const count = due();
  if (count === 0) return void sleep(STEP_MS);
  turn = (turn + 1) % 3;
  let made = 0;
  try {
    if (turn === 0) {
      for (; made < Math.min(count, SINGLES); made += 1) room[made] = ids.nextId();
    } else if (turn === 1) {
      const batch = ids.nextBatch(Math.min(count, BATCH));
      for (; made < batch.length; made += 1) room[made] = batch[made];
    } else {
      ids.fill(room.subarray(0, count));
      made = count;
    }
  } catch (error) {
    if (turn === 2) made = error.written ?? 0;
    throw error;
  } finally {
    append(file, room.subarray(0, made));
    credit -= made;
    Atomics.add(issued, 0, BigInt(made));
  }
}

/** `false` where it goes on no more. */
function goOn() {
  try {
    ids ??= IdGenerator.openSync();
    if (!told && Atomics.load(shared, 1) === 1) {
      told = true;
      ids.closeSync();
      Atomics.add(shared, 2, 1);
    }
    step();
    return true;
  } catch (error) {
    if (!(error instanceof LeaseflakeError)) throw error;
    Atomics.add(shared, 3 + error.errno, 1);
    if (!error.retryable) return false;
    sleep(Math.min(error.retryAfterMs, LONGEST_RETRY_MS));
    return true;
  }
}

parentPort.postMessage('started');
while (Atomics.load(shared, 0) === 0 && goOn());
// Whoever waits for all to have closed must not wait for one that ended by itself.
ids?.closeSync();
if (!told) Atomics.add(shared, 2, 1);
