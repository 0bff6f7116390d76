// The Node.js package by itself and beside others: node bench.mjs FOLDER RESULT
//
// FOLDER has the packed package installed, of a release build; RESULT is the JSON to write. Ratios are of
// numbers measured in turn, round by round, so that what else the machine does touches both sides.

import { randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { availableParallelism } from 'node:os';
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

/** Shows a row, as the core's benchmark does: noise only ever makes a round worse, so the best is held against the budget. */
function row(what, unit, rounds, { atLeast, atMost } = {}) {
  const ordered = sorted(rounds);
  if (atLeast !== undefined || unit.endsWith('/s')) ordered.reverse();
  const [best, middle, worst] = [ordered[0], median(ordered), ordered.at(-1)];
  const met = atLeast !== undefined ? best >= atLeast : atMost === undefined || best <= atMost;
  const budget = atLeast !== undefined ? { at_least: atLeast } : atMost !== undefined ? { at_most: atMost } : 'shown';
  rows.push({ what, unit, budget, rounds, best, median: middle, worst, met });
  const wanted = atLeast !== undefined ? `>= ${atLeast} ` : atMost !== undefined ? `<= ${atMost} ` : '';
  const verdict = wanted && `${wanted}${met ? 'met' : 'MISSED'} `;
  const numbers = [best, middle, worst].map((number) => number.toFixed(3).padStart(10)).join(' ');
  console.log(`${what.padEnd(66)} ${numbers}  ${verdict}(${unit})`);
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

console.log(`${'node'.padEnd(66)} ${'best'.padStart(10)} ${'median'.padStart(10)} ${'worst'.padStart(10)}  budget`);

// One call, where the limit is out of the way: 300 short rounds in turn.
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
row('nextId() / (an empty call + reading the wall clock)', 'ratio', [least('nextId') / least('readClock')], { atMost: 1.5 });
row('... round by round', 'ratio', costs.nextId.map((cost, round) => cost / costs.readClock[round]));
row('an empty call through the binding', 'ns', costs.nothing);
row('a call that reads the wall clock', 'ns', costs.readClock);
row('nextId()', 'ns', costs.nextId);
row('nextString()', 'ns', costs.nextString);
row('crypto.randomUUID()', 'ns', costs.randomUUID);

// One worker ID at its limit.
const ids = await IdGenerator.open({ store: 'memory:limit' });
const windows = [];
const before = process.cpuUsage();
const beganAt = process.hrtime.bigint();
for (let round = 0; round < 5; round += 1) windows.push(rate(() => ids.nextId()) / LIMIT);
const used = process.cpuUsage(before);
const share = ((used.user + used.system) * 1e3) / Number(process.hrtime.bigint() - beganAt);
row("rate of nextId() in a plain loop, of the layout's limit", 'ratio', windows, { atLeast: 0.995 });
row("CPU in that loop, JavaScript's own included", 'cores', [share]);

// With a second generator in use the engine no longer knows which function it calls.
const several = loopOf('several', calls.nextId);
row('nextId() of one of several generators of a thread', 'ns', Array.from({ length: 300 }, () => cost(several)));

// Many at once.
const million = new BigInt64Array(1_000_000);
const fill = loopOf('fill', () => wide.fill(million));
const batch = loopOf('batch', () => wide.nextBatch(1000));
const strings = loopOf('strings', () => wide.nextStrings(1000));
/** Million IDs a second. */
const rates = (loop, ids, calls, rounds) => Array.from({ length: rounds }, () => (ids * 1e3) / cost(loop, calls));
row('fill() of 1,000,000', 'million IDs/s', rates(fill, 1_000_000, 1, 20), { atLeast: 100 });
row('nextBatch(1000)', 'million IDs/s', rates(batch, 1000, 200, 10));
row('nextStrings(1000)', 'million IDs/s', rates(strings, 1000, 100, 10));
const beganAsync = process.hrtime.bigint();
for (let turn = 0; turn < 100_000; turn += 1) await wide.nextIdAsync();
row('await nextIdAsync(), one after the other', 'million calls/s', [1e8 / Number(process.hrtime.bigint() - beganAsync)]);

// Beside others: a second at full speed, three times, then a million IDs looked at.
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
  row(name, 'million calls/s', [rate(call), rate(call), rate(call)].map((calls) => calls / 1e6));
  const made = new Array(1_000_000);
  for (let place = 0; place < made.length; place += 1) made[place] = call();
  row('  repeated among a million', 'IDs', [made.length - new Set(made).size]);
}

await Promise.all([ids.close(), wide.close()]);
const report = { name: 'node', cores: availableParallelism(), node: process.versions.node, rows };
writeFileSync(result, `${JSON.stringify(report, null, 2)}\n`);
const missed = rows.filter(({ met }) => !met).length;
console.log(`${rows.length} rows, ${missed} budgets missed`);
process.exitCode = missed === 0 ? 0 : 1;
