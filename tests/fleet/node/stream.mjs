// Streams of IDs, and what the two files of the member share.

import { writeSync } from 'node:fs';

/** The most IDs that are issued before they are written. */
export const BLOCK = 10_000;

/** Appends whole records: what a killed process had issued is in the file up to its last call. */
export function append(file, ids) {
  const bytes = new Uint8Array(ids.buffer, ids.byteOffset, ids.byteLength);
  for (let at = 0; at < bytes.length; ) at += writeSync(file, bytes, at);
}

/** Words as counts, or nothing where one is none. */
export function numbers(words) {
  return words.every((word) => /^[0-9]{1,15}$/.test(word)) ? words.map(Number) : undefined;
}
