/**
 * 64-bit, time-sorted, globally unique IDs made in your own process.
 *
 * @module
 */

export { LeaseflakeError, type LeaseflakeErrorCode } from './errors';
export { IdGenerator } from './generator';
export { decode, Layout, type IdParts } from './layout';
export type { StateListener } from './listeners';
export type { Options } from './options';
export type { LeaseState, StateChange, Status } from './status';
