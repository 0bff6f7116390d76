// The same from CommonJS, in both spellings.
import leaseflake = require('leaseflake');
import { IdGenerator } from 'leaseflake';

const ids: leaseflake.IdGenerator = IdGenerator.openSync({ store: 'memory:' });
const id: bigint = ids.nextId();
const parts: leaseflake.IdParts = leaseflake.decode(id.toString());
ids.closeSync();

// @ts-expect-error: an ID is no number
leaseflake.decode(7);

export = parts;
