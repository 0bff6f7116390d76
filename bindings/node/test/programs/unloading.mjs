// The package is loaded by one worker thread after the other, and never by the main thread: node unloading.mjs STORE
import { Worker } from 'node:worker_threads';

const options = { store: process.argv[2], heartbeatIntervalMs: 20, leaseTtlMs: 5000, safetyMarginMs: 1000 };
for (const how of ['closes', 'leaves', 'closes', 'leaves', 'leaves']) {
  const worker = new Worker(new URL('./worker.mjs', import.meta.url), { workerData: { how, count: 100, options } });
  const { made } = await new Promise((resolve, reject) => worker.once('message', resolve).once('error', reject));
  await new Promise((resolve) => worker.once('exit', resolve));
  console.log(made.length);
}
// A keeper whose code is gone would crash at its next heartbeat.
await new Promise((resolve) => setTimeout(resolve, 100));
