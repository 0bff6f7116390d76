// A small service: GET /id answers with a new ID, until SIGTERM.
import { createServer } from 'node:http';

import { IdGenerator, LeaseflakeError } from 'leaseflake';

const ids = await IdGenerator.open({ store: process.env.LEASEFLAKE_STORE ?? 'sqlite:./ids.db' });
ids.on('state', ({ from, to, reason }) => console.error(`lease: ${from} -> ${to}: ${reason}`));

const server = createServer((request, response) => {
  const answer = (status, body, headers = {}) => {
    response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(`${JSON.stringify(body)}\n`);
  };
  if (request.method !== 'GET' || request.url !== '/id') return answer(404, { error: 'GET /id' });
  try {
    const id = ids.nextString(); // a string: JSON has no bigint
    answer(200, { id, madeAt: ids.decode(id).timestamp });
  } catch (error) {
    if (!(error instanceof LeaseflakeError)) throw error;
    const retry = error.retryable ? { 'retry-after': String(Math.ceil(error.retryAfterMs / 1000)) } : {};
    answer(503, { error: error.code }, retry);
  }
});
server.listen(process.env.PORT ?? 8080, '127.0.0.1', () => {
  console.log(`http://127.0.0.1:${server.address().port}/id`);
});

for (const signal of ['SIGTERM', 'SIGINT']) {
  process.once(signal, () => {
    server.close(async () => {
      await ids.close(); // gives the worker ID back at once
      process.exit(0);
    });
    server.closeIdleConnections();
  });
}
