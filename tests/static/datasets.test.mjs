import assert from "node:assert/strict";
import { test } from "node:test";
import { mappingOf, neededRoles } from "../../static/js/pages/datasets/mapping.js";
import { remarks } from "../../static/js/pages/datasets/report_view.js";
import { nameFrom } from "../../static/js/pages/datasets/upload.js";

const role = (name) => ({ name, help: "", is_label: false });
const pairs = { name: "pairs", title: "", help: "", endings: [], needs: [["query", "document"]], roles: ["query", "document", "id"].map(role) };
const chats = { ...pairs, name: "conversations", needs: [["messages"], ["prompt", "completion"]], roles: ["messages", "prompt", "completion", "input"].map(role) };

test("a file's name becomes a name that the shelf takes", () => {
  assert.equal(nameFrom("My Odd (Pairs).v2.CSV"), "my-odd-pairs-.v2");
  assert.equal(nameFrom("__x.csv"), "x");
  assert.equal(nameFrom("§§.csv"), "dataset");
  assert.match(nameFrom(`${"a".repeat(99)}.csv`), /^a{64}$/);
});

test("roles are needed as far as the way that was begun needs them", () => {
  assert.deepEqual([...neededRoles(pairs, {})], ["query", "document"]);
  assert.deepEqual([...neededRoles(chats, {})], []);
  assert.deepEqual([...neededRoles(chats, { prompt: "p" })], ["prompt", "completion"]);
});

test("optional roles without a column are told so, needed ones are left out", () => {
  assert.deepEqual(mappingOf(pairs, { query: "Q" }), { query: "Q", id: "" });
});

test("what stands out is said in words, repeats that are whole rows once", () => {
  const repeats = (count) => ({ count, compared: 9, lines: [[2, 4], [3, 5]].slice(0, count) });
  const statistics = {
    empty: { query: { count: 1, lines: [7] }, document: { count: 0, lines: [] } },
    duplicates: { query: repeats(2), document: repeats(1), row: repeats(1) },
    labels: { contradictions: { count: 3, lines: [[1, 2], [1, 3], [1, 4]] } },
  };
  assert.deepEqual(remarks(statistics), [
    "1 row has no query (line 7).",
    "2 rows repeat an earlier query (lines 2 and 4, 3 and 5).",
    "1 row repeats an earlier row (lines 2 and 4).",
    "3 rows have the text of an earlier row and another label (lines 1 and 2, 1 and 3, …).",
  ]);
  assert.deepEqual(remarks(null), []);
});
