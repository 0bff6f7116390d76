// The Node.js package as a member of the fleet: see ../PROTOCOL.md.
//
//   node member.mjs FOLDER    the folder into which the package is installed

import { openSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';

import { append, BLOCK, numbers } from './stream.mjs';

const folder = resolve(process.argv[2]);
const { IdGenerator, LeaseflakeError } = createRequire(join(folder, 'package.json'))('leaseflake');
const { FLEET_OUT: prefix, FLEET_SECONDS: seconds } = process.env;
if (!prefix || !(Number(seconds) > 0)) throw new Error('FLEET_OUT and FLEET_SECONDS are to be set');
// Whatever hangs: the driver is gone, and nobody waits for a clean end.
setTimeout(() => process.reallyExit(3), Number(seconds) * 1000).unref();

/** An answer that is an error of the table's. */
class Refusal extends Error {}

const closed = () => new Refusal('30 CLOSED no generator is open; say `open` first');
const invalid = (what) => new Refusal(`1 INVALID_ARGUMENT ${what}`);

let ids;
let foreground;
let background;

function generator() {
  if (!ids) throw closed();
  return ids;
}

function stream(thread) {
  return openSync(`${prefix}.${thread}.ordered`, 'ax');
}

/** Notes what a command issued. */
class Issued {
  count = 0;

  add(made) {
    if (made.length === 0) return;
    foreground ??= stream(0);
    append(foreground, made);
    if (this.count === 0) this.first = made[0];
    this.last = made[made.length - 1];
    this.count += made.length;
  }

  toString() {
    return `${this.count} ${this.first ?? 0} ${this.last ?? 0}`;
  }
}

/** Calls so many times; what was issued before an error is written all the same. */
function issue(times, call) {
  const issued = new Issued();
  for (let time = 0; time < times; time += 1) issued.add(BigInt64Array.from(call()));
  return issued;
}

const commands = {
  async open() {
    ids ??= await IdGenerator.open();
  },
  issue: (count) => issue(count, () => [generator().nextId()], generator()),
  batch: (size, count) => issue(count, () => generator().nextBatch(size), generator()),
  fill(count) {
    if (count < 1 || count > BLOCK) throw invalid(`fill: ${count} is not 1..=${BLOCK}`);
    const room = new BigInt64Array(count);
    const issued = new Issued();
    try {
      generator().fill(room);
    } catch (error) {
      issued.add(room.subarray(0, error.written ?? 0));
      throw error;
    }
    issued.add(room);
    return issued;
  },
  async run(rate, threads) {
    generator();
    if (background) throw invalid('run: one in the life of a program');
    if (threads < 1 || threads > 64) throw invalid(`threads: ${threads} is not 1..=64`);
    background = new Background(rate, threads);
    await background.started;
  },
  stop: async () => (background ? background.stop() : 0),
  progress: () => background?.progress() ?? 'issued=0',
  status() {
    const { changes: _, ...fields } = generator().status();
    const snake = (name) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
    return Object.entries(fields)
      .map(([name, value]) => `${snake(name)}=${String(value ?? '').replace(/\s/g, '_')}`)
      .join(' ');
  },
  async close() {
    // Each thread has a handle of its own, and the last one ends the generator.
    await background?.close();
    await ids?.close();
    ids = undefined;
  },
};
const parameters = { open: 0, issue: 1, batch: 2, fill: 1, run: 2, stop: 0, progress: 0, status: 0, close: 0 };

/** The threads of `run`. */
class Background {
  // [0] stop, [1] close, [2] how many have closed, [3...] errors by number
  #shared = new Int32Array(new SharedArrayBuffer(4 * 128));
  #issued = new BigInt64Array(new SharedArrayBuffer(8));
  #ended;
  #threads;

  constructor(rate, threads) {
    this.#threads = threads;
    const workers = Array.from({ length: threads }, (_, thread) => {
      const data = { folder, shared: this.#shared, issued: this.#issued, file: stream(thread + 1), rate: Math.ceil(rate / threads) };
      return new Worker(fileURLToPath(new URL('./thread.mjs', import.meta.url)), { workerData: data });
    });
    this.started = Promise.all(workers.map((worker) => new Promise((resolve) => worker.once('message', resolve))));
    this.#ended = Promise.all(
      workers.map(
        (worker) =>
          new Promise((resolve) => {
            // A fault in a thread must not pass unseen.
            worker.once('error', (error) => {
              console.error(error);
              process.reallyExit(4);
            });
            worker.once('exit', resolve);
          }),
      ),
    );
  }

  async stop() {
    Atomics.store(this.#shared, 0, 1);
    await this.#ended;
    return this.#issued[0];
  }

  async close() {
    Atomics.store(this.#shared, 1, 1);
    while (Atomics.load(this.#shared, 2) < this.#threads) await new Promise((resolve) => setTimeout(resolve, 1));
  }

  progress() {
    const counts = [...this.#shared.entries()].filter(([number, count]) => number >= 3 && count > 0);
    return [`issued=${this.#issued[0]}`, ...counts.map(([number, count]) => `${names.get(number - 3)}=${count}`)].join(' ');
  }
}

/** The names of the table, by number. */
const names = new Map([
  [1, 'INVALID_ARGUMENT'],
  [10, 'STORE_UNAVAILABLE'],
  [11, 'STORE_REJECTED'],
  [12, 'LAYOUT_MISMATCH'],
  [13, 'NO_WORKER_ID'],
  [14, 'LEASE_SUSPENDED'],
  [15, 'LEASE_LOST'],
  [20, 'CLOCK_BACKWARDS'],
  [21, 'CLOCK_UNTRUSTED'],
  [22, 'TIMESTAMP_OUT_OF_RANGE'],
  [23, 'SEQUENCE_EXHAUSTED'],
  [30, 'CLOSED'],
  [99, 'INTERNAL'],
]);

function answer(line) {
  process.stdout.write(`${line}\n`);
}

async function perform(words) {
  const [name, ...rest] = words;
  const given = numbers(rest);
  if (!Object.hasOwn(parameters, name ?? '') || given?.length !== parameters[name]) {
    throw invalid(`${words.join(' ')} is no line of the fleet's protocol`);
  }
  return (await commands[name](...given)) ?? '';
}

answer('ready threads');
for await (const line of createInterface({ input: process.stdin })) {
  const words = line.split(/\s+/).filter(Boolean);
  if (words[0] === 'exit' && words.length === 1) {
    answer('ok');
    break;
  }
  try {
    answer(`ok ${await perform(words)}`.trimEnd());
  } catch (error) {
    const known = error instanceof LeaseflakeError;
    if (!known && !(error instanceof Refusal)) throw error;
    const text = known ? `${error.errno} ${names.get(error.errno)} ${error.message}` : error.message;
    answer(`error ${text.replace(/[\r\n]/g, ' ')}`);
  }
}
await commands.close();
process.exit(0);
