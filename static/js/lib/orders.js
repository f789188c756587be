// @ts-check
/** What a person asked for by clicking: done one after the other, none lost because another is under way. */
import { toastError } from "./shell.js";

export class Orders {
  #last = Promise.resolve();
  #numWaiting = 0;
  #reload;

  /** @param {() => Promise<void>} reload shows anew what there is; called after every order, whether it worked or not */
  constructor(reload) {
    this.#reload = reload;
  }

  /** Whether something asked for is not done yet, so that what the server says now will not last. */
  get areWaiting() {
    return this.#numWaiting > 0;
  }

  /** @param {() => Promise<any>} work */
  add(work) {
    this.#numWaiting += 1;
    this.#last = this.#last.then(async () => {
      try {
        await work();
      } catch (error) {
        toastError(error);
      }
      this.#numWaiting -= 1;
      await this.#reload();
    });
  }
}
