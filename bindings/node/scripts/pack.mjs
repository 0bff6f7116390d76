// Packs the two tarballs that users install: the package, and the one with this platform's binary.
//
//   node scripts/pack.mjs BINARY FOLDER
//
// The binary is the addon that cargo built; the tarballs go into the folder. The layout is that of
// napi's own tool: npm/PLATFORM holds the package of one platform, and the main package has it as
// an optional dependency of exactly its own version.

import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

import { checkGlibc } from './glibc.mjs';

const here = join(dirname(fileURLToPath(import.meta.url)), '..');
const root = join(here, '../..');
const [binary, folder] = process.argv.slice(2).map((path) => resolve(path));
if (!binary || !folder) fail('usage: node scripts/pack.mjs BINARY FOLDER');

function fail(why) {
  console.error(`pack: ${why}`);
  process.exit(1);
}

const platform = `${process.platform}-${process.arch}-gnu`;
if (!readdirSync(join(here, 'npm')).includes(platform)) fail(`there is no package for ${platform} (npm/${platform})`);

const version = /^\[workspace\.package\][^[]*?^version = "(.*?)"/ms.exec(readFileSync(join(root, 'Cargo.toml'), 'utf8'))[1];

function read(path) {
  const manifest = JSON.parse(readFileSync(path, 'utf8'));
  if (manifest.version !== version) fail(`${path} is of version ${manifest.version}, and Cargo.toml of ${version}`);
  return manifest;
}

function pack(manifest, files) {
  const staging = mkdtempSync(join(folder, 'pack-'));
  try {
    for (const [from, to] of files) cpSync(from, join(staging, to), { recursive: true });
    for (const name of ['LICENSE-MIT', 'LICENSE-APACHE']) cpSync(join(root, name), join(staging, name));
    writeFileSync(join(staging, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`);
    execFileSync('npm', ['pack', '--silent', '--pack-destination', folder], { cwd: staging, stdio: ['ignore', 'ignore', 'inherit'] });
  } finally {
    rmSync(staging, { recursive: true });
  }
  console.log(join(folder, `${manifest.name}-${version}.tgz`));
}

checkGlibc(binary);
mkdirSync(folder, { recursive: true });

const thirdParty = join(folder, 'THIRD-PARTY-LICENSES.txt');
const licenses = [join(root, 'scripts/third-party-licenses'), 'leaseflake-node'];
writeFileSync(thirdParty, execFileSync('python3', licenses, { cwd: root, maxBuffer: 64 << 20 }));
const forPlatform = read(join(here, 'npm', platform, 'package.json'));
pack(forPlatform, [
  [binary, forPlatform.main],
  [join(here, 'npm', platform, 'README.md'), 'README.md'],
  [thirdParty, 'THIRD-PARTY-LICENSES.txt'],
]);
rmSync(thirdParty);

const { scripts: _scripts, devDependencies: _devDependencies, ...main } = read(join(here, 'package.json'));
// Of all platforms, whichever this one is: npm installs the one that fits.
const platforms = readdirSync(join(here, 'npm')).map((name) => read(join(here, 'npm', name, 'package.json')).name);
pack({ ...main, optionalDependencies: Object.fromEntries(platforms.map((name) => [name, version])) }, [
  [join(here, 'dist'), 'dist'],
  [join(here, 'README.md'), 'README.md'],
]);
