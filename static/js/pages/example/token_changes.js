// @ts-check
/** How the tokens of a reference gained and lost probability between two snapshots.  Pure. */

/** @typedef {import("./reading.js").Token} Token */
/** @typedef {{place: number, piece: string, before: number, now: number, change: number}} Change log-probabilities in nats */

const FLOOR = -10; // in nats: from one in a million to one in a hundred thousand nobody sees a difference
const LEVELS = [0.1, 0.7, 2];

/** The change of every token, null where one of the two is not known; none at all if the texts were cut differently. @param {Token[]} now @param {Token[] | null} before @returns {(Change | null)[] | null} */
export function tokenChanges(now, before) {
  if (!before || before.length !== now.length || now.some((token, place) => token.piece !== before[place].piece)) return null;
  return now.map(({ piece, value }, place) => {
    const old = before[place].value;
    if (value === null || old === null) return null;
    return { place, piece, before: old, now: value, change: Math.max(FLOOR, value) - Math.max(FLOOR, old) };
  });
}

/** -3 (lost very much) to 3 (gained very much); a factor of 1.1, 2 and 7 in probability. @param {number} change in nats */
export function changeLevel(change) {
  const level = LEVELS.filter((least) => Math.abs(change) >= least).length;
  return change < 0 ? -level || 0 : level;
}

/** The tokens that gained and lost most. @param {(Change | null)[]} changes @param {number} most */
export function mostChanged(changes, most) {
  const known = changes.filter((change) => change !== null && changeLevel(change.change) !== 0);
  const sorted = /** @type {Change[]} */ (known).sort((one, other) => other.change - one.change);
  return {
    gained: sorted.filter(({ change }) => change > 0).slice(0, most),
    lost: sorted.filter(({ change }) => change < 0).reverse().slice(0, most),
  };
}
