/**
 * What a generator is opened with.
 *
 * @module
 */

import { wrongType } from './errors';
import { native } from './native';

/**
 * An option that is left out comes from the environment (`LEASEFLAKE_STORE`,
 * `LEASEFLAKE_LEASE_TTL_MS`, ...), else from its default; only `store` has none. `undefined` leaves it out.
 */
export interface Options {
  /**
   * The registry: `dynamodb://TABLE-or-ARN?region=..&endpoint=..`, `sqlite:PATH`, `sqlite:` (a file
   * in the user's state directory) or `memory:` (tests). IDs are unique among all who use the same
   * registry.
   */
  store?: string | undefined;
  /** `'auto'`, a number, a list or a range (`'0,2,5-7'`, `[0, 2]`) searched in turn. Default `'auto'`. */
  datacenterId?: string | number | readonly number[] | undefined;
  /** Which of several worker IDs of this process, from 0. Default 0. */
  slot?: number | string | undefined;
  /** Who we are in the registry. Default: discovered. */
  instanceId?: string | undefined;
  /** Where we are, shown in the registry. Default: discovered. */
  ipAddress?: string | undefined;
  /** How long a new holder's lease lasts. Default 30000. */
  leaseTtlMs?: number | string | undefined;
  /** How long a lease may grow, up to 24 h. Default: as `leaseTtlMs`. */
  leaseTtlMaxMs?: number | string | undefined;
  /** Between heartbeats. Default 10000. */
  heartbeatIntervalMs?: number | string | undefined;
  /** Between the last ID and the end of the lease. Default 5000. */
  safetyMarginMs?: number | string | undefined;
  /** How long `open` may try. Default 10000. */
  acquireTimeoutMs?: number | string | undefined;
  /** How long `close` tries to release before it lets the lease expire. Default 2000. */
  closeTimeoutMs?: number | string | undefined;
  /** How far ahead of the clock a call may reserve, and so wait. Default 10. */
  maxWaitMs?: number | string | undefined;
  /** The epoch, in milliseconds since the Unix epoch. Pinned in the registry. Default 1767225600000. */
  epochMs?: number | bigint | string | undefined;
  /** The widths, such as `'41-5-5-12'`. Pinned in the registry. */
  layout?: string | undefined;
  /** The first sequence number of a fresh millisecond is drawn from 0..=jitter. Default 0. */
  sequenceJitter?: number | string | undefined;
}

function textOf(name: string, value: unknown): string {
  switch (typeof value) {
    case 'string':
    case 'number':
    case 'bigint':
      return String(value);
    default:
      if (name === 'datacenterId' && Array.isArray(value)) {
        return value.map((part: unknown) => textOf('datacenterId', part)).join(',') || native.refuse(name, '[]', 'at least one');
      }
      return native.refuse(name, typeof value, 'a string or a number');
  }
}

/** The options as names and texts in turn, for the addon. */
export function pairs(options: Options): string[] {
  if (typeof options !== 'object' || options === null) {
    throw wrongType(`options are an object, not ${options === null ? 'null' : typeof options}`);
  }
  const texts: string[] = [];
  for (const [name, value] of Object.entries(options) as [string, unknown][]) {
    if (!native.optionNames.includes(name)) native.refuse('option name', name, native.optionNames.join(', '));
    if (value !== undefined && value !== null) texts.push(name, textOf(name, value));
  }
  return texts;
}
