// What the tests share.

import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const here = dirname(fileURLToPath(import.meta.url));

/** A generous deadline: whatever takes longer hangs. */
export const DEADLINE_MS = 120_000;

/** A registry in a new folder, which goes with the test. */
export function registry(test) {
  const folder = mkdtempSync(join(tmpdir(), 'leaseflake-node-'));
  test.after(() => rmSync(folder, { recursive: true, force: true }));
  return `sqlite:${join(folder, 'ids.db')}`;
}

/** Waits until a condition holds. */
export async function until(what, holds) {
  const deadline = Date.now() + DEADLINE_MS;
  for (;;) {
    const value = await holds();
    if (value) return value;
    if (Date.now() > deadline) throw new Error(`waited in vain until ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

/** Runs a program of `programs/` to its end: its code, signal and output. */
export async function run(program, ...parameters) {
  const child = start(program, ...parameters);
  return child.ended;
}

/** Starts a program of `programs/`; `lines` are those it has printed, `ended` gives the rest. */
export function start(program, ...parameters) {
  return startWith({}, program, ...parameters);
}

/** The same with more in its environment. */
export function startWith(environment, program, ...parameters) {
  const child = spawn(process.execPath, [join(here, 'programs', program), ...parameters], {
    stdio: ['pipe', 'pipe', 'pipe'],
    env: { ...process.env, ...environment },
  });
  let [out, err] = ['', ''];
  child.stdout.setEncoding('utf8').on('data', (data) => (out += data));
  child.stderr.setEncoding('utf8').on('data', (data) => (err += data));
  const watchdog = setTimeout(() => child.kill('SIGKILL'), DEADLINE_MS);
  const ended = new Promise((resolve) =>
    child.on('close', (code, signal) => {
      clearTimeout(watchdog);
      resolve({ code, signal, out, err, lines: lines(out) });
    }),
  );
  return { child, ended, lines: () => lines(out) };
}

function lines(text) {
  return text.split('\n').slice(0, -1);
}

/** Asserts nothing: the error that a call throws. */
export function thrown(call) {
  try {
    call();
  } catch (error) {
    return error;
  }
  throw new Error('it was expected to throw');
}

/** Whether each is greater than the one before. */
export function increases(ids) {
  return ids.every((id, place) => place === 0 || ids[place - 1] < id);
}

/** Holds the lock that all writes to a registry need, as a registry that does not answer. */
export async function holdLock(test, store) {
  const file = `${store.slice('sqlite:'.length)}.lock`;
  const child = spawn('flock', ['--exclusive', file, 'sh', '-c', 'echo held; exec cat'], { stdio: ['pipe', 'pipe', 'inherit'] });
  test.after(() => child.kill('SIGKILL'));
  await new Promise((resolve, reject) => {
    child.once('error', reject);
    child.stdout.once('data', resolve);
  });
  return () =>
    new Promise((resolve) => {
      child.once('close', resolve);
      child.stdin.end();
    });
}
