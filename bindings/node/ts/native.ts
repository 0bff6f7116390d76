/**
 * The native half, found in the package of this platform.
 *
 * @module
 */

import type { StateChange, Status } from './status';

/** What the addon knows of a layout. */
export interface NativeLayout {
  readonly text: string;
  readonly timestampBits: number;
  readonly datacenterBits: number;
  readonly workerBits: number;
  readonly sequenceBits: number;
  readonly epochMs: number;
  readonly maxDatacenterId: number;
  readonly maxWorkerId: number;
  readonly maxSequence: number;
  readonly maxBatch: number;
  readonly idsPerSecond: number;
  readonly decode: (id: string) => [timestampMs: number, datacenterId: number, workerId: number, sequence: number];
  readonly encode: (timestampMs: number, datacenterId: number, workerId: number, sequence: number) => bigint;
}

/** A handle: plain functions, for a call of one costs a fraction of a native class's method. */
export interface NativeGenerator {
  /** Leaves an ID in {@link Native.place}. */
  readonly nextId: () => void;
  /** The same. */
  readonly tryNextId: () => void;
  readonly nextString: () => string;
  readonly nextIdAsync: () => Promise<bigint>;
  readonly batch: (room: BigInt64Array) => void;
  readonly fill: (room: BigInt64Array | BigUint64Array) => void;
  readonly status: () => Status;
  readonly changes: (seen: number) => Promise<StateChange[]>;
  readonly close: () => Promise<void>;
  readonly closeSync: () => void;
  readonly isClosed: () => boolean;
  readonly layout: NativeLayout;
}

/** What the addon exports. */
export interface Native {
  readonly version: string;
  readonly optionNames: readonly string[];
  /** Where calls leave their ID, to be read at once: optimised code makes a bigint of it faster than Node-API. */
  readonly place: BigInt64Array;
  readonly useErrorClass: (errorClass: unknown) => void;
  readonly open: (options: string[]) => Promise<NativeGenerator>;
  readonly openSync: (options: string[]) => NativeGenerator;
  readonly layout: (widths: string | undefined, epochMs: string | undefined) => NativeLayout;
  /** Throws an INVALID_ARGUMENT that names the argument, the value given and what is allowed. */
  readonly refuse: (what: string, value: string, allowed: string) => never;
}

/** What only the package itself can make of a native object. */
export class Made<T> {
  constructor(readonly native: T) {}
}

function platforms(): string[] {
  const { platform, arch } = process;
  switch (platform) {
    case 'linux':
      // npm installs the one that fits; where both are there, the other one does not load.
      return [`linux-${arch}-gnu`, `linux-${arch}-musl`];
    case 'win32':
      return [`win32-${arch}-msvc`];
    default:
      return [`${platform}-${arch}`];
  }
}

function load(): Native {
  const { version } = require('../package.json') as { version: string };
  const tried: string[] = [];
  for (const platform of platforms()) {
    const name = `leaseflake-${platform}`;
    try {
      const native = require(name) as Native;
      if (native.version === version) return native;
      tried.push(`${name} is of version ${native.version}, and leaseflake of version ${version}`);
    } catch (error) {
      const missing = (error as NodeJS.ErrnoException).code === 'MODULE_NOT_FOUND';
      tried.push(missing ? `${name} is not installed` : `${name} does not load: ${(error as Error).message}`);
    }
  }
  throw new Error(
    `leaseflake has no binary that fits (${process.platform}, ${process.arch}, Node.js ${process.versions.node}): ` +
      `${tried.join('; ')}. Install it on the platform that it runs on, without --omit=optional or --no-optional, ` +
      'and list the platforms of the lock file where several share one',
  );
}

export const native: Native = load();
