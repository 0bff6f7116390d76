// require and import give the same package.

const assert = require('node:assert/strict');
const { cpSync, existsSync, mkdtempSync, readFileSync, rmSync } = require('node:fs');
const { tmpdir } = require('node:os');
const { join } = require('node:path');
const { test } = require('node:test');

const leaseflake = require('leaseflake');

test('require and import give the same classes, so that instanceof holds across both', async () => {
  const imported = await import('leaseflake');
  for (const name of ['IdGenerator', 'Layout', 'LeaseflakeError', 'decode']) {
    assert.equal(typeof leaseflake[name], 'function', name);
    assert.equal(imported[name], leaseflake[name], name);
  }
  assert.throws(() => imported.decode('0'), leaseflake.LeaseflakeError);
});

test('the packages carry their licences, and those of what is compiled into the binary', () => {
  const binary = `leaseflake-${process.platform}-${process.arch}-gnu`;
  for (const name of ['leaseflake', binary]) {
    for (const file of ['LICENSE-MIT', 'LICENSE-APACHE']) assert.ok(existsSync(join('node_modules', name, file)), `${name}/${file}`);
  }
  assert.match(readFileSync(join('node_modules', binary, 'THIRD-PARTY-LICENSES.txt'), 'utf8'), /tokio/);
});

test('the package works from CommonJS', async () => {
  const ids = leaseflake.IdGenerator.openSync({ store: 'memory:' });
  assert.ok(ids.nextId() > 0n);
  await ids.close();
});

test('its version can be asked, and nothing else inside be reached', () => {
  assert.match(require('leaseflake/package.json').version, /^[0-9]+\.[0-9]+\.[0-9]+/);
  assert.throws(() => require('leaseflake/dist/native.js'), { code: 'ERR_PACKAGE_PATH_NOT_EXPORTED' });
});

test('a panic is an error like any other, and the process goes on', async () => {
  const native = require(`leaseflake-${process.platform}-${process.arch}-gnu`);
  assert.throws(() => native.panic(), (error) => {
    assert.ok(error instanceof leaseflake.LeaseflakeError);
    assert.equal(error.code, 'ERR_LEASEFLAKE_INTERNAL');
    assert.match(error.message, /a test/);
    return true;
  });
  await assert.rejects(native.panicLater(), { code: 'ERR_LEASEFLAKE_INTERNAL', message: /a test of a promise/ });
  assert.throws(() => native.open(5), { code: 'ERR_LEASEFLAKE_INTERNAL' });
  assert.throws(() => native.openSync(), { code: 'ERR_LEASEFLAKE_INTERNAL' });
});

test('without the binary of the platform the error says what to do', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'leaseflake-node-'));
  t.after(() => rmSync(folder, { recursive: true }));
  cpSync(join(process.cwd(), 'node_modules/leaseflake'), join(folder, 'node_modules/leaseflake'), { recursive: true });
  assert.throws(
    () => require(join(folder, 'node_modules/leaseflake')),
    /no binary that fits .*leaseflake-linux-.* is not installed.*optional/s,
  );
});
