/**
 * Who listens to changes of state.
 *
 * @module
 */

import type { NativeGenerator } from './native';
import type { StateChange } from './status';

export type StateListener = (change: StateChange) => void;

/** Tells listeners of the changes from their first day on. Keeps no process alive. */
export class Listeners {
  readonly #native: NativeGenerator;
  #entries: { listener: StateListener; once: boolean }[] = [];
  #follows = false;

  constructor(native: NativeGenerator) {
    this.#native = native;
  }

  add(listener: StateListener, once: boolean): void {
    this.#entries.push({ listener, once });
    if (!this.#follows) void this.#follow();
  }

  /** Removes the listener that was added last, as Node.js does. */
  remove(listener: StateListener): void {
    const at = this.#entries.map((entry) => entry.listener).lastIndexOf(listener);
    if (at >= 0) this.#entries.splice(at, 1);
  }

  async #follow(): Promise<void> {
    this.#follows = true;
    try {
      let seen = this.#native.status().changes.at(-1)?.number ?? 0;
      while (this.#entries.length > 0) {
        const changes = await this.#native.changes(seen);
        if (changes.length === 0) return;
        for (const change of changes) {
          seen = change.number;
          this.#tell(change);
        }
      }
    } finally {
      this.#follows = false;
    }
  }

  #tell(change: StateChange): void {
    for (const entry of [...this.#entries]) {
      if (entry.once) this.remove(entry.listener);
      // On its own: what one listener throws is an uncaught exception, and the others are told.
      process.nextTick(entry.listener, change);
    }
  }
}
