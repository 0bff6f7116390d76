/**
 * The errors: one class, with the code of the table that all languages share.
 *
 * @module
 */

import { native } from './native';

/** The codes, as `docs/errors.md` explains them. New ones may come in a minor version. */
export type LeaseflakeErrorCode =
  `ERR_LEASEFLAKE_${
    | 'INVALID_ARGUMENT'
    | 'STORE_UNAVAILABLE'
    | 'STORE_REJECTED'
    | 'LAYOUT_MISMATCH'
    | 'NO_WORKER_ID'
    | 'LEASE_SUSPENDED'
    | 'LEASE_LOST'
    | 'CLOCK_BACKWARDS'
    | 'CLOCK_UNTRUSTED'
    | 'TIMESTAMP_OUT_OF_RANGE'
    | 'SEQUENCE_EXHAUSTED'
    | 'CLOSED'
    | 'INTERNAL'}`;

/**
 * Every error of Leaseflake's but a `TypeError` for an argument of a wrong type.
 *
 * The message says what happened, to which worker ID or table, and what to do. It is for people:
 * match on `code` or `retryable`, never on the message.
 */
export class LeaseflakeError extends Error {
  /** What went wrong: `'ERR_LEASEFLAKE_LEASE_SUSPENDED'`. */
  readonly code: LeaseflakeErrorCode;
  /** The same as a number, the same in every language: 14. */
  readonly errno: number;
  /** Whether the same call may succeed later. It is always safe to try again. */
  readonly retryable: boolean;
  /** How long to wait before the next try, in milliseconds; only where a retry helps. */
  declare readonly retryAfterMs?: number;
  /** After a `fill` that failed: how many IDs at the beginning of the array are valid. */
  declare readonly written?: number;

  // Called by the addon.
  private constructor(
    name: string,
    errno: number,
    message: string,
    retryable: boolean,
    retryAfterMs?: number,
    written?: number,
  ) {
    super(message);
    this.code = `ERR_LEASEFLAKE_${name}` as LeaseflakeErrorCode;
    this.errno = errno;
    this.retryable = retryable;
    if (retryAfterMs !== undefined) this.retryAfterMs = retryAfterMs;
    if (written !== undefined) this.written = written;
  }
}

Object.defineProperty(LeaseflakeError.prototype, 'name', {
  value: 'LeaseflakeError',
  writable: true,
  configurable: true,
});

native.useErrorClass(LeaseflakeError);

/** An argument of a wrong type, as Node.js itself says it. */
export function wrongType(message: string): TypeError {
  return Object.assign(new TypeError(message), { code: 'ERR_INVALID_ARG_TYPE' });
}
