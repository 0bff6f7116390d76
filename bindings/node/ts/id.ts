/**
 * An ID as an argument.
 *
 * @module
 */

import { wrongType } from './errors';

/** The digits of an ID. */
export function digitsOf(id: bigint | string): string {
  switch (typeof id) {
    case 'bigint':
      return id.toString();
    case 'string':
      return id;
    case 'number':
      throw wrongType(
        `an ID is a bigint or a string of digits, not a number (${id as number}): a number is exact only up to 2^53 - 1 ` +
          '(9007199254740991), so a 63-bit ID has lost its last digits in it. Keep IDs as bigint, and as strings in JSON',
      );
    default:
      throw wrongType(`an ID is a bigint or a string of digits, not ${id === null ? 'null' : typeof id}`);
  }
}
