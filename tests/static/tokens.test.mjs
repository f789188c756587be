import assert from "node:assert/strict";
import test from "node:test";

import { doubt, told } from "../../static/js/pages/evolution/tokens.js";

test("the less a token was expected the higher its level", () => {
  assert.deepEqual([0.9, 0.3, 0.1, 0.01, 0.0001].map((probability) => doubt(Math.log(probability))), [0, 1, 2, 3, 4]);
  assert.equal(doubt(-Infinity), 4);
});

test("a token's probability is told in words, and one that is no number is not", () => {
  assert.equal(told(Math.log(0.5)), "probability 50.0 %, log-probability −0.693");
  assert.equal(told(null), "no probability");
});
