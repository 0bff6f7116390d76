// Ends a process while its worker threads issue, and only they have loaded the package: node workers.mjs STORE
import { Worker } from 'node:worker_threads';

const options = { store: process.argv[2] };
const workers = Array.from(
  { length: 3 },
  () => new Worker(new URL('./worker.mjs', import.meta.url), { workerData: { how: 'for-ever', options } }),
);
await Promise.all(workers.map((worker) => new Promise((resolve) => worker.once('message', resolve))));
console.log('they issue');
process.exit(0);
