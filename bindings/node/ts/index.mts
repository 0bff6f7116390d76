/**
 * For `import`: the very classes that `require` gives, so that `instanceof` holds across both.
 *
 * @module
 */

export { decode, IdGenerator, Layout, LeaseflakeError } from './index.js';
export type { IdParts, LeaseflakeErrorCode, LeaseState, Options, StateChange, StateListener, Status } from './index.js';
