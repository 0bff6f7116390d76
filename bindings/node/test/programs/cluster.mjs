// Four processes of a cluster, and one child: each says its worker ID. node cluster.mjs STORE
import { fork } from 'node:child_process';
import cluster from 'node:cluster';
import { fileURLToPath } from 'node:url';

import { IdGenerator } from 'leaseflake';

const store = process.argv[2];
if (cluster.isPrimary && process.send === undefined) {
  const ids = await IdGenerator.open({ store });
  const children = Array.from({ length: 4 }, () => cluster.fork().process);
  children.push(fork(fileURLToPath(import.meta.url), [store]));
  const said = await Promise.all(children.map((child) => new Promise((resolve) => child.once('message', resolve))));
  const { workerId } = ids.status();
  console.log(JSON.stringify([{ workerId, made: Array.from({ length: 1000 }, () => ids.nextString()) }, ...said]));
  const ended = children.map((child) => new Promise((resolve) => child.once('exit', resolve)));
  for (const child of children) child.send('end');
  console.log(JSON.stringify(await Promise.all(ended)));
} else {
  const ids = await IdGenerator.open({ store });
  process.send({ workerId: ids.status().workerId, made: Array.from({ length: 1000 }, () => ids.nextString()) });
  process.once('message', async () => {
    await ids.close();
    process.exit(0);
  });
}
