// Writes IDs to a file, one a line: node demo.mjs COUNT FILE
import { closeSync, openSync, writeSync } from 'node:fs';

import { IdGenerator } from 'leaseflake';

const [count, file] = [Number(process.argv[2]), openSync(process.argv[3], 'w')];
const ids = await IdGenerator.open();
for (let made = 0; made < count; ) {
  const lines = [];
  for (; made < count && lines.length < 10_000; made += 1) lines.push(ids.nextString());
  writeSync(file, `${lines.join('\n')}\n`);
}
closeSync(file);
await ids.close();
