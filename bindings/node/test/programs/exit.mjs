// Ends in one of several ways: node exit.mjs HOW STORE
import { IdGenerator } from 'leaseflake';

const [how, store] = process.argv.slice(2);
const options = { store, layout: '51-0-0-12', closeTimeoutMs: 60_000 };

if (how === 'while-opening') {
  void IdGenerator.open(options);
  process.exit(0);
}
const ids = await IdGenerator.open(options);
console.log(`made ${ids.nextId()}`);
switch (how) {
  case 'by-itself':
    break;
  case 'listening':
    ids.on('state', () => {});
    break;
  case 'process.exit':
    process.exit(0);
    break;
  case 'while-closing':
    void ids.close();
    break;
  case 'process.exit-while-closing':
    void ids.close();
    process.exit(0);
    break;
  case 'sigterm':
    process.once('SIGTERM', async () => {
      await ids.close();
      process.exit(0);
    });
    process.kill(process.pid, 'SIGTERM');
    setInterval(() => {}, 1000);
    break;
  case 'uncaught':
    setImmediate(() => {
      throw new Error('on purpose');
    });
    break;
  case 'on-word':
    process.stdin.once('data', () => process.exit(0));
    break;
  default:
    throw new Error(how);
}
