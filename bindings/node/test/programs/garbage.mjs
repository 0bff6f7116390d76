// Handles that are dropped without being closed: node garbage.mjs STORE
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

import { IdGenerator } from 'leaseflake';

setFlagsFromString('--expose-gc');
const gc = runInNewContext('gc');
const options = { store: process.argv[2], layout: '51-0-0-12', closeTimeoutMs: 60_000 };

(() => {
  for (let handle = 0; handle < 100; handle += 1) IdGenerator.openSync(options).nextId();
})();
// The one worker ID is free once all of them are gone.
for (let slot = 1; ; slot += 1) {
  gc();
  await new Promise((resolve) => setImmediate(resolve));
  try {
    const ids = await IdGenerator.open({ ...options, slot: slot % 1000, acquireTimeoutMs: 100 });
    ids.nextId();
    break;
  } catch (error) {
    if (!error.retryable) throw error;
  }
}
console.log('free again');
