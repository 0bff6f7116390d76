// Which glibc a binary needs: the newest version of a symbol that it imports.

import { execFileSync } from 'node:child_process';

// Debian 12, Ubuntu 22.04, RHEL 9 and Amazon Linux 2023 have it (Node.js 20 itself needs 2.28). What a
// binary needs comes from the machine that builds it: one that is newer asks for more.
const NEWEST_ALLOWED = '2.34';

function order(a, b) {
  const [x, y] = [a, b].map((version) => version.split('.').map(Number));
  return x[0] - y[0] || x[1] - y[1];
}

/** The newest glibc version among the symbols that a binary imports. */
export function neededGlibc(binary) {
  const symbols = execFileSync('objdump', ['-T', binary], { encoding: 'utf8', maxBuffer: 1 << 28 });
  const versions = new Set([...symbols.matchAll(/\bGLIBC_(\d+\.\d+)/g)].map((match) => match[1]));
  return [...versions].sort(order).at(-1);
}

export function checkGlibc(binary) {
  const needed = neededGlibc(binary);
  if (needed === undefined) throw new Error(`${binary} imports nothing from glibc: is it the addon?`);
  if (order(needed, NEWEST_ALLOWED) > 0) {
    throw new Error(`${binary} needs glibc ${needed}; at most ${NEWEST_ALLOWED} is allowed. Build it on an older system`);
  }
  console.log(`needs glibc ${needed} or later`);
}
