/**
 * How the 63 bits of an ID are divided.
 *
 * @module
 */

import { wrongType } from './errors';
import { digitsOf } from './id';
import { Made, native, type NativeLayout } from './native';

/** The fields of an ID. */
export interface IdParts {
  /** When the ID was made. */
  timestamp: Date;
  /** The same, in milliseconds since the Unix epoch. */
  timestampMs: number;
  /** The datacenter of the worker ID. */
  datacenterId: number;
  /** The worker within the datacenter. */
  workerId: number;
  /** The place among the IDs of one millisecond. */
  sequence: number;
}

/**
 * The widths (timestamp, datacenter, worker, sequence: 63 bits together) and the epoch.
 *
 * The default is `41-5-5-12` from 2026-01-01T00:00:00Z, good until 2095-09-07.
 */
export class Layout {
  readonly #native: NativeLayout;

  /**
   * @param widths such as `'41-5-5-12'`; left out: the default ones
   * @param epochMs what timestamps count from, in milliseconds since the Unix epoch
   * @throws LeaseflakeError `INVALID_ARGUMENT`
   */
  constructor(widths?: string, epochMs?: number | bigint);
  constructor(widths?: string | Made<NativeLayout>, epochMs?: number | bigint) {
    if (widths instanceof Made) {
      this.#native = widths.native;
      return;
    }
    if (widths !== undefined && typeof widths !== 'string') {
      throw wrongType(`widths are a string such as '41-5-5-12', not ${typeof widths}`);
    }
    this.#native = native.layout(widths, epochMs === undefined ? undefined : String(epochMs));
  }

  /** Bits of the timestamp. */
  get timestampBits(): number {
    return this.#native.timestampBits;
  }

  /** Bits of the datacenter ID. */
  get datacenterBits(): number {
    return this.#native.datacenterBits;
  }

  /** Bits of the worker ID. */
  get workerBits(): number {
    return this.#native.workerBits;
  }

  /** Bits of the sequence number. */
  get sequenceBits(): number {
    return this.#native.sequenceBits;
  }

  /** The epoch, in milliseconds since the Unix epoch. */
  get epochMs(): number {
    return this.#native.epochMs;
  }

  /** The largest datacenter ID. */
  get maxDatacenterId(): number {
    return this.#native.maxDatacenterId;
  }

  /** The largest worker ID. */
  get maxWorkerId(): number {
    return this.#native.maxWorkerId;
  }

  /** The largest sequence number: one less than the IDs of a millisecond. */
  get maxSequence(): number {
    return this.#native.maxSequence;
  }

  /** The largest batch: 1000, or all of a millisecond where that is less. */
  get maxBatch(): number {
    return this.#native.maxBatch;
  }

  /** How many IDs one worker ID can issue in a second. */
  get idsPerSecond(): number {
    return this.#native.idsPerSecond;
  }

  /**
   * The fields of an ID.
   *
   * @throws LeaseflakeError `INVALID_ARGUMENT` for what is not 1 to 9223372036854775807;
   *   `TIMESTAMP_OUT_OF_RANGE` for a timestamp that no `Date` can hold (the year 275760), which
   *   only layouts of more than 52 timestamp bits have
   * @throws TypeError for a number: it is exact only up to 2^53 - 1
   */
  decode(id: bigint | string): IdParts {
    const [timestampMs, datacenterId, workerId, sequence] = this.#native.decode(digitsOf(id));
    return { timestamp: new Date(timestampMs), timestampMs, datacenterId, workerId, sequence };
  }

  /**
   * The ID with these fields.
   *
   * @throws LeaseflakeError `TIMESTAMP_OUT_OF_RANGE`, or `INVALID_ARGUMENT` for another field that
   *   does not fit, or for all fields zero
   */
  encode(parts: Omit<IdParts, 'timestamp'>): bigint {
    for (const field of ['timestampMs', 'datacenterId', 'workerId', 'sequence'] as const) {
      if (typeof parts[field] !== 'number') throw wrongType(`${field} is a number, not ${typeof parts[field]}`);
    }
    return this.#native.encode(parts.timestampMs, parts.datacenterId, parts.workerId, parts.sequence);
  }

  /** The widths: `41-5-5-12`. */
  toString(): string {
    return this.#native.text;
  }
}

/** The layout of a generator. */
export function layoutOf(made: NativeLayout): Layout {
  const Of = Layout as unknown as new (made: Made<NativeLayout>) => Layout;
  return new Of(new Made(made));
}

const byDefault = new Layout();

/**
 * The fields of an ID by the *default* layout (`41-5-5-12` from 2026-01-01). For another one use
 * `generator.decode(id)` or `new Layout(...).decode(id)`.
 *
 * @throws LeaseflakeError, TypeError as {@link Layout.decode}
 */
export function decode(id: bigint | string): IdParts {
  return byDefault.decode(id);
}
