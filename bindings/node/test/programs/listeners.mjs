// A listener that throws, before one that does not: node listeners.mjs STORE
import { IdGenerator } from 'leaseflake';

process.on('uncaughtException', (error) => console.log(`uncaught ${error.message}`));
const ids = await IdGenerator.open({ store: process.argv[2] });
ids.on('state', () => {
  throw new Error('on purpose');
});
// A listener does not keep the process alive, and this does until it has been told.
const awake = setTimeout(() => {}, 60_000);
ids.on('state', () => {
  console.log('told');
  clearTimeout(awake);
});
await ids.close();
