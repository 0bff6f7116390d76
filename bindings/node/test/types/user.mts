// What a user writes, and what must not compile. Neither Node.js's types nor the newest library are there.
import { decode, IdGenerator, Layout, LeaseflakeError } from 'leaseflake';
import type { IdParts, LeaseflakeErrorCode, LeaseState, Options, StateChange, Status } from 'leaseflake';

declare const variable: string | undefined;
const options: Options = { store: variable ?? 'memory:', instanceId: variable, datacenterId: [0, 1], leaseTtlMs: 30_000, epochMs: 1_767_225_600_000n };
const ids: IdGenerator = await IdGenerator.open(options);
const id: bigint = ids.nextId();
const tried: bigint = ids.tryNextId();
const later: bigint = await ids.nextIdAsync();
const text: string = ids.nextString();
const batch: bigint[] = ids.nextBatch(3);
const texts: string[] = ids.nextStrings(3);
const filled: BigInt64Array = ids.fill(new BigInt64Array(3));
const filledToo: BigUint64Array = ids.fill(new BigUint64Array(3));
const parts: IdParts = ids.decode(id);
const day: Date = parts.timestamp;
const again: bigint = new Layout('41-5-5-12').encode(parts);
const status: Status = ids.status();
const state: LeaseState = status.state;
ids.on('state', (change: StateChange) => change.to).once('state', ({ reason }) => reason);
for (const one of ids) {
  const another: bigint = one;
  decode(another);
  break;
}
try {
  ids.nextId();
} catch (error) {
  if (error instanceof LeaseflakeError) {
    const code: LeaseflakeErrorCode = error.code;
    const wait: number | undefined = error.retryable ? error.retryAfterMs : undefined;
    if (error.code === 'ERR_LEASEFLAKE_LEASE_SUSPENDED') [code, wait, error.written, error.message];
    // @ts-expect-error: there is no such code
    if (error.code === 'ERR_LEASEFLAKE_SUSPENDED') [];
  }
}
await ids.close();

// @ts-expect-error: an ID is no number
ids.decode(5);
// @ts-expect-error: nor is it made of one
const number: number = ids.nextId();
// @ts-expect-error: numbers of 32 bits hold no ID
ids.fill(new Int32Array(3));
// @ts-expect-error: an option that does not exist
await IdGenerator.open({ lease_ttl_ms: 5 });
// @ts-expect-error: opened, never made
new IdGenerator();
// @ts-expect-error: the only event is 'state'
ids.on('close', () => {});
// @ts-expect-error: a handle is open or closed by itself
ids.closed = true;

export { again, batch, day, filled, filledToo, later, number, state, text, texts, tried };
