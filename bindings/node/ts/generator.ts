/// <reference lib="esnext.disposable" preserve="true" />
/**
 * The generator.
 *
 * @module
 */

import { types } from 'node:util';

import { LeaseflakeError, wrongType } from './errors';
import { layoutOf, type IdParts, type Layout } from './layout';
import { Listeners, type StateListener } from './listeners';
import { Made, native, type NativeGenerator } from './native';
import { pairs, type Options } from './options';
import type { Status } from './status';

const { place } = native;

/**
 * Makes 64-bit, time-sorted IDs that never repeat among all who use the same registry.
 *
 * A handle on the one generator that this process has for a registry, datacenter, layout and slot:
 * opening it again, also in a worker thread, is cheap and takes no second worker ID. An open
 * generator does not keep the process alive.
 *
 * ```js
 * const ids = await IdGenerator.open({ store: 'sqlite:./leaseflake.db' });
 * const id = ids.nextId(); // a bigint
 * await ids.close();
 * ```
 */
export class IdGenerator {
  readonly #native: NativeGenerator;
  // Fields of their own: one look-up less on the hot path.
  readonly #nextId: () => void;
  readonly #tryNextId: () => void;
  readonly #nextString: () => string;
  readonly #layout: Layout;
  readonly #listeners: Listeners;
  #closing: Promise<void> | undefined;

  private constructor(made: Made<NativeGenerator>) {
    if (!(made instanceof Made)) {
      throw new TypeError('an IdGenerator is opened with await IdGenerator.open(options) or IdGenerator.openSync(options)');
    }
    this.#native = made.native;
    this.#nextId = made.native.nextId;
    this.#tryNextId = made.native.tryNextId;
    this.#nextString = made.native.nextString;
    this.#layout = layoutOf(made.native.layout);
    this.#listeners = new Listeners(made.native);
  }

  /**
   * Opens a generator: waits until it has a worker ID, for at most `acquireTimeoutMs`, without
   * blocking the event loop.
   *
   * @throws LeaseflakeError `INVALID_ARGUMENT` for options; `NO_WORKER_ID`, `STORE_UNAVAILABLE`,
   *   `CLOCK_UNTRUSTED` after the timeout; `STORE_REJECTED`, `LAYOUT_MISMATCH`,
   *   `TIMESTAMP_OUT_OF_RANGE` at once
   */
  static async open(options: Options = {}): Promise<IdGenerator> {
    return new IdGenerator(new Made(await native.open(pairs(options))));
  }

  /** As {@link IdGenerator.open}, blocking the thread while it waits. */
  static openSync(options: Options = {}): IdGenerator {
    return new IdGenerator(new Made(native.openSync(pairs(options))));
  }

  /**
   * The next ID: greater than all that this generator has given before.
   *
   * Where the IDs of the millisecond are used up (4,096 of them by default) it blocks for the rest
   * of it.
   *
   * @throws LeaseflakeError `LEASE_SUSPENDED`, `LEASE_LOST`, `CLOCK_BACKWARDS`, `CLOCK_UNTRUSTED`,
   *   `SEQUENCE_EXHAUSTED`: try again; `TIMESTAMP_OUT_OF_RANGE`, `CLOSED`: final
   */
  nextId(): bigint {
    this.#nextId();
    return place[0]!;
  }

  /**
   * The next ID if there is one without waiting.
   *
   * @throws LeaseflakeError `SEQUENCE_EXHAUSTED` where `nextId` would have blocked, else as it
   */
  tryNextId(): bigint {
    this.#tryNextId();
    return place[0]!;
  }

  /** As {@link IdGenerator.nextId}, and never blocks the event loop. */
  nextIdAsync(): Promise<bigint> {
    return this.#native.nextIdAsync();
  }

  /** The next ID as decimal digits, for JSON: numbers lose digits above 2^53, and `JSON.stringify` refuses a bigint. */
  nextString(): string {
    return this.#nextString();
  }

  /**
   * `count` IDs of one millisecond, one after the other: all or nothing.
   *
   * @param count 1 to 1000 (or all IDs of a millisecond, where the layout has fewer)
   * @throws LeaseflakeError `INVALID_ARGUMENT` for another count, else as {@link IdGenerator.nextId}
   */
  nextBatch(count: number): bigint[] {
    const room = this.#batch(count);
    const ids = new Array<bigint>(count);
    for (let place = 0; place < count; place += 1) ids[place] = room[place]!;
    return ids;
  }

  /** A batch as {@link IdGenerator.nextBatch} gives it, as decimal digits. */
  nextStrings(count: number): string[] {
    return Array.from(this.#batch(count), String);
  }

  #batch(count: number): BigInt64Array {
    if (typeof count !== 'number') throw wrongType(`a batch size is a number, not ${typeof count}`);
    const { maxBatch } = this.#native.layout;
    if (!Number.isInteger(count) || count < 1 || count > maxBatch) {
      native.refuse('batch size', String(count), `1..=${maxBatch}`);
    }
    const room = new BigInt64Array(count);
    this.#native.batch(room);
    return room;
  }

  /**
   * Fills an array of any length, over as many milliseconds as it takes, and returns it. Blocks:
   * a million IDs take a quarter of a second by default.
   *
   * Not atomic: on an error the first `error.written` IDs are valid.
   *
   * @throws LeaseflakeError as {@link IdGenerator.nextId}
   */
  fill<T extends BigInt64Array | BigUint64Array>(array: T): T {
    if (!types.isBigInt64Array(array) && !types.isBigUint64Array(array)) {
      throw wrongType('fill needs a BigInt64Array or a BigUint64Array');
    }
    if (!types.isSharedArrayBuffer(array.buffer)) {
      this.#native.fill(array);
      return array;
    }
    // Other threads see this memory: the IDs are made elsewhere and come over as JavaScript writes.
    const own = new BigInt64Array(array.length);
    try {
      this.#native.fill(own);
    } catch (error) {
      if (error instanceof LeaseflakeError) array.set(own.subarray(0, error.written ?? 0));
      throw error;
    }
    array.set(own);
    return array;
  }

  /** IDs without end, as {@link IdGenerator.nextId} gives them. */
  *[Symbol.iterator](): Generator<bigint, never, void> {
    for (;;) yield this.nextId();
  }

  /**
   * The fields of an ID, by the layout of this generator.
   *
   * @throws LeaseflakeError, TypeError as {@link Layout.decode}
   */
  decode(id: bigint | string): IdParts {
    return this.#layout.decode(id);
  }

  /** The layout of this generator. */
  get layout(): Layout {
    return this.#layout;
  }

  /** What state the generator is in, whose worker ID, until when, and its counters. */
  status(): Status {
    return this.#native.status();
  }

  /** Calls the listener for every change of state from here on. Does not keep the process alive. */
  on(event: 'state', listener: StateListener): this {
    this.#listeners.add(checked(event, listener), false);
    return this;
  }

  /** As {@link IdGenerator.on}, for one change. */
  once(event: 'state', listener: StateListener): this {
    this.#listeners.add(checked(event, listener), true);
    return this;
  }

  /** Removes a listener. */
  off(event: 'state', listener: StateListener): this {
    this.#listeners.remove(checked(event, listener));
    return this;
  }

  /**
   * Closes this handle; with the last one, ends issuing at once and releases the lease, for at most
   * `closeTimeoutMs` (after that the lease expires by itself). As often as you like; calls from here
   * on throw `CLOSED`.
   */
  close(): Promise<void> {
    this.#closing ??= this.#native.close();
    return this.#closing;
  }

  /** As {@link IdGenerator.close}, blocking the thread. */
  closeSync(): void {
    this.#native.closeSync();
  }

  /** Whether this handle is closed. */
  get closed(): boolean {
    return this.#native.isClosed();
  }

  /** `await using ids = await IdGenerator.open()` closes it at the end of the block. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** `using ids = IdGenerator.openSync()` closes it at the end of the block. */
  [Symbol.dispose](): void {
    this.closeSync();
  }

  /** What `console.log` shows. */
  [Symbol.for('nodejs.util.inspect.custom')](): string {
    const { store, state, datacenterId, workerId } = this.status();
    const worker = workerId === null ? '' : `, worker ID ${datacenterId}/${workerId}`;
    return `IdGenerator { ${store}: ${state}${worker} }`;
  }
}

function checked(event: string, listener: StateListener): StateListener {
  if (event !== 'state') native.refuse('event', String(event), "'state'");
  if (typeof listener !== 'function') throw wrongType(`a listener is a function, not ${typeof listener}`);
  return listener;
}
