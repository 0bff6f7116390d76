// The Node.js package by itself and beside others: node bench.mjs FOLDER RESULT
//
// FOLDER has the packed package installed, of a release build; RESULT is the JSON to write. Ratios are of
// numbers measured in turn, round by round, so that what else the machine does touches both sides.

import { randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join, resolve } from 'node:path';

import { Snowflake as Sapphire } from '@sapphire/snowflake';
import nodejsSnowflake from 'nodejs-snowflake';
import * as snowflakifyModule from 'snowflakify';

const [folder, result] = process.argv.slice(2);
const require = createRequire(join(resolve(folder), 'package.json'));
const { IdGenerator } = require('leaseflake');
const native = require(`leaseflake-${process.platform}-${process.arch}-gnu`);
const Snowflakify = snowflakifyModule.Snowflakify ?? snowflakifyModule.default?.Snowflakify ?? snowflakifyModule.default;

const LIMIT = 4_096_000;
const rows = [];

function row(name, value, unit, budget, holds) {
  rows.push({ name, value, unit, ...(budget === undefined ? {} : { budget, holds }) });
  const shown = typeof value === 'number' ? value.toLocaleString('en', { maximumFractionDigits: 3 }) : value;
  const verdict = budget === undefined ? '' : `${holds ? 'holds' : 'MISSED'}: ${budget}`;
  console.log(`  ${name.padEnd(66)} ${shown.padStart(14)} ${unit.padEnd(8)} ${verdict}`.trimEnd());
}

/** Calls a second, over about a second. The clock is looked at every 4096 calls. */
function rate(call) {
  const began = process.hrtime.bigint();
  let calls = 0;
  let passed = 0n;
  while (passed < 1_000_000_000n) {
    for (let turn = 0; turn < 4096; turn += 1) call();
    calls += 4096;
    passed = process.hrtime.bigint() - began;
  }
  return (calls * 1e9) / Number(passed);
}

/** A loop of its own for a call, as a program has it: one that served several would know none of them. */
function loopOf(name, call) {
  const loop = new Function('call', 'calls', `/* ${name} */ for (let turn = 0; turn < calls; turn += 1) call();`);
  return (calls) => loop(call, calls);
}

/** Nanoseconds a call takes, over many. */
function cost(loop, calls = 10_000) {
  const began = process.hrtime.bigint();
  loop(calls);
  return Number(process.hrtime.bigint() - began) / calls;
}

const sorted = (numbers) => [...numbers].sort((a, b) => a - b);
const median = (numbers) => sorted(numbers)[numbers.length >> 1];

// 20 sequence bits: a thousand million a second, so that the limit is out of the way.
const wide = await IdGenerator.open({ store: 'memory:wide', layout: '41-1-1-20' });

console.log(`Node.js ${process.versions.node}, ${process.platform}-${process.arch}`);
console.log('one call, where the limit is out of the way: best of 300 short rounds in turn');
const calls = {
  nothing: () => native.nothing(),
  readClock: () => native.readClock(),
  nextId: () => wide.nextId(),
  nextString: () => wide.nextString(),
  randomUUID: () => randomUUID(),
};
const loops = Object.entries(calls).map(([name, call]) => [name, loopOf(name, call)]);
const costs = Object.fromEntries(loops.map(([name]) => [name, []]));
for (let round = 0; round < 300; round += 1) {
  for (const [name, loop] of loops) costs[name].push(cost(loop));
}
const least = (name) => Math.min(...costs[name]);
row('an empty call through the binding', least('nothing'), 'ns');
row('a call that reads the wall clock', least('readClock'), 'ns');
row('nextId()', least('nextId'), 'ns');
row('nextString()', least('nextString'), 'ns');
row('crypto.randomUUID()', least('randomUUID'), 'ns');
const ratio = least('nextId') / least('readClock');
row('nextId() / (empty call + reading the wall clock)', ratio, 'x', '<= 1.5 x', ratio <= 1.5);
row('... median of the rounds', median(costs.nextId.map((cost, round) => cost / costs.readClock[round])), 'x');


const ids = await IdGenerator.open({ store: 'memory:limit' });
console.log('one worker ID at its limit');
const windows = [];
const before = process.cpuUsage();
const beganAt = process.hrtime.bigint();
for (let round = 0; round < 5; round += 1) windows.push(rate(() => ids.nextId()));
const used = process.cpuUsage(before);
const share = ((used.user + used.system) * 1e3) / Number(process.hrtime.bigint() - beganAt);
const best = Math.max(...windows);
row('nextId() in a plain loop, best of five 1 s windows', best, '/s');
row('... of the limit of the layout', (100 * best) / LIMIT, '%', '>= 99.5 %', best >= 0.995 * LIMIT);
row('... worst of the five', (100 * Math.min(...windows)) / LIMIT, '%');
row('CPU burned at the limit, of one core', 100 * share, '%');

// With a second generator in use the engine no longer knows which function it calls.
const several = loopOf('several', calls.nextId);
const ofSeveral = Math.min(...Array.from({ length: 300 }, () => cost(several)));
row('nextId() of one of several generators of a thread', ofSeveral, 'ns');

console.log('many at once');
const million = new BigInt64Array(1_000_000);
const fill = loopOf('fill', () => wide.fill(million));
const batch = loopOf('batch', () => wide.nextBatch(1000));
const strings = loopOf('strings', () => wide.nextStrings(1000));
const fills = Array.from({ length: 20 }, () => 1e6 / (cost(fill, 1) / 1e9));
row('fill() of 1,000,000', Math.max(...fills), '/s', '>= 100 M/s', Math.max(...fills) >= 1e8);
row('nextBatch(1000)', Math.max(...Array.from({ length: 10 }, () => 1e9 / (cost(batch, 200) / 1000))), '/s');
row('nextStrings(1000)', Math.max(...Array.from({ length: 10 }, () => 1e9 / (cost(strings, 100) / 1000))), '/s');
const beganAsync = process.hrtime.bigint();
for (let turn = 0; turn < 100_000; turn += 1) await wide.nextIdAsync();
row('await nextIdAsync(), one after the other', 1e14 / Number(process.hrtime.bigint() - beganAsync), '/s');

console.log('beside others: one second at full speed, then a million IDs looked at');
const peers = {
  'leaseflake nextId()': () => ids.nextId(),
  'crypto.randomUUID() (122 random bits, no order)': () => randomUUID(),
};
const peer = new nodejsSnowflake.Snowflake({ custom_epoch: 1_767_225_600_000, instance_id: 1 });
peers['nodejs-snowflake getUniqueID()'] = () => peer.getUniqueID();
const sapphire = new Sapphire(1_767_225_600_000);
peers['@sapphire/snowflake generate()'] = () => sapphire.generate();
const snowflakify = new Snowflakify({ epoch: 1_767_225_600_000 });
peers['snowflakify nextId()'] = () => snowflakify.nextId();
for (const [name, call] of Object.entries(peers)) {
  const perSecond = Math.max(rate(call), rate(call));
  const made = new Array(1_000_000);
  for (let place = 0; place < made.length; place += 1) made[place] = call();
  const repeated = made.length - new Set(made).size;
  row(name, perSecond, '/s');
  row('  repeated among a million', repeated, 'IDs');
}

await Promise.all([ids.close(), wide.close()]);
writeFileSync(result, `${JSON.stringify({ node: process.versions.node, at: new Date().toISOString(), rows }, null, 2)}\n`);
