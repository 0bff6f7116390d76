/**
 * What a generator tells about itself.
 *
 * @module
 */

/**
 * - `acquiring`: no worker ID yet
 * - `active`: IDs are issued
 * - `suspended`: the window is used up and no heartbeat got through; IDs are refused until one does
 * - `lost`: somebody else owns the worker ID now; another one is being acquired
 * - `closed`
 */
export type LeaseState = 'acquiring' | 'active' | 'suspended' | 'lost' | 'closed';

/** One change of state. */
export interface StateChange {
  /** Counts the changes of this generator, from 1. */
  number: number;
  /** When, in milliseconds since the Unix epoch. */
  atMs: number;
  /** The state before. */
  from: LeaseState;
  /** The state after. */
  to: LeaseState;
  /** The worker ID concerned. */
  datacenterId: number | null;
  workerId: number | null;
  /** `fencing_epoch` of the lease concerned; 0 without one. */
  fencingEpoch: number;
  /** Why, for people. */
  reason: string;
}

/** A snapshot: it may be old by the time it is read. Times are milliseconds since the Unix epoch. */
export interface Status {
  /** The state of the lease; `closed` on a closed handle. */
  state: LeaseState;
  /** Since when. */
  sinceMs: number;
  datacenterId: number | null;
  workerId: number | null;
  /** Which owner of the worker ID we are; 0 without one. */
  fencingEpoch: number;
  /** When the lease ends; 0 without one. */
  leaseExpiryTs: number;
  /** How long a renewal makes the lease. */
  leaseLengthMs: number;
  /** The first timestamp that is refused just now. */
  ceilingMs: number;
  /** Who we are in the registry. */
  instanceId: string;
  /** The registry. */
  store: string;
  /** Whether the lease is kept by this process. */
  ownsKeeper: boolean;
  /** Why the clock is not trusted, where it is not. */
  clockSuspect: string | null;
  /** The last error of the keeper, and when. */
  lastError: string | null;
  lastErrorMs: number | null;
  /** IDs issued by the whole process. */
  issued: number;
  /** Calls that had to wait for the clock. */
  waits: number;
  clockSteps: number;
  heartbeatsSent: number;
  heartbeatsFailed: number;
  leasesAcquired: number;
  leasesLost: number;
  claimsLost: number;
  requests: number;
  /** The last 64 state changes, oldest first. */
  changes: StateChange[];
}
