// A worker thread that issues: workerData is { store, how, count }.
import { parentPort, workerData } from 'node:worker_threads';

import { IdGenerator } from 'leaseflake';

const { how, count, options } = workerData;
if (how === 'opens') {
  parentPort.postMessage('opens');
  await IdGenerator.open(options);
  throw new Error('there was no worker ID to be had');
}
const ids = await IdGenerator.open(options);
if (how === 'for-ever') {
  ids.on('state', () => {});
  parentPort.postMessage('issues');
  for (;;) ids.nextId();
}
const made = new BigInt64Array(count);
for (let place = 0; place < count; place += 1) made[place] = ids.nextId();
const { workerId, leasesAcquired } = ids.status();
parentPort.postMessage({ made, workerId, leasesAcquired });
if (how === 'closes') await ids.close();
