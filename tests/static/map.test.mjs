import assert from "node:assert/strict";
import { test } from "node:test";
import { readMapAddress, writeMapAddress } from "../../static/js/lib/map_address.js";
import { MOST_CLASSES, classesOf, colouringsOf, foundPoint } from "../../static/js/lib/map_classes.js";
import { between, eased, fitView, keptSigns, mirrored, nearestPoint, pinched, placesOf, pointSize, toScreen, zoomedAt } from "../../static/js/lib/map_geometry.js";

const view = fitView([[-1, 1], [-2, 2]], 400, 300, 10);

test("everything is in view, in the middle, and not stretched", () => {
  assert.deepEqual(toScreen(view, 0, 0), [200, 150]);
  assert.deepEqual(toScreen(view, 0, 2), [200, 10]);
  assert.deepEqual(toScreen(view, 0, -2), [200, 290]);
  const [left] = toScreen(view, -1, 0);
  assert.equal(200 - left, 70); // the same scale both ways
});

test("points that lie in one place are in view too", () => {
  const [x, y] = toScreen(fitView([[3, 3], [4, 4]], 100, 100, 10), 3, 4);
  assert.ok(Math.abs(x - 50) < 1 && Math.abs(y - 50) < 1);
});

test("what is under the pointer stays there while one looks closer", () => {
  const closer = zoomedAt(view, 3, 120, 80);
  const place = [(120 - view.x) / view.scale, (view.y - 80) / view.scale];
  const [x, y] = toScreen(closer, place[0], place[1]);
  assert.ok(Math.abs(x - 120) < 1e-9 && Math.abs(y - 80) < 1e-9);
  assert.equal(closer.scale, 3 * view.scale);
});

test("two fingers move the map with their middle and enlarge it as far as they part", () => {
  assert.deepEqual(pinched([[0, 0], [100, 0]], [[-50, 10], [150, 10]]), { dx: 0, dy: 10, factor: 2, middle: [50, 10] });
  const still = pinched([[30, 40], [30, 40]], [[30, 40], [30, 40]]); // both in one place
  assert.deepEqual([still.factor, still.dx, still.dy], [1, 0, 0]);
});

test("the nearest point within reach is found, and none beyond", () => {
  const places = new Float32Array([0, 0, 0.5, 0.5, -1, 2]);
  assert.equal(nearestPoint(places, view, ...toScreen(view, 0.45, 0.5), 14), 1);
  assert.equal(nearestPoint(places, view, 200, 150, 14), 0);
  assert.equal(nearestPoint(places, view, 5, 290, 14), -1);
});

test("points on their way are where they began, halfway, and where they go", () => {
  const [from, to] = [new Float32Array([0, 0]), new Float32Array([2, -4])];
  assert.deepEqual([...between(from, to, 0)], [0, 0]);
  assert.deepEqual([...between(from, to, 0.5)], [1, -2]);
  assert.equal(between(from, to, 1), to);
  assert.deepEqual([eased(0), eased(0.5), eased(1)], [0, 0.5, 1]);
});

test("a map that was calculated anew is mirrored back", () => {
  const before = placesOf({ x: [1, 2, -3], y: [1, -1, 2] }, [1, 1]);
  const after = placesOf({ x: [-1.1, -2, 3], y: [1, -0.9, 2] }, [1, 1]);
  assert.deepEqual(keptSigns(before, after), [-1, 1]);
  assert.deepEqual(mirrored([[-3, 2], [-1, 2]], [-1, 1]), [[-2, 3], [-1, 2]]);
});

test("few points are large, many are small, and a closer look enlarges them up to an end", () => {
  assert.ok(pointSize(100, 1) > pointSize(10_000, 1));
  assert.ok(pointSize(10_000, 1) > pointSize(50_000, 1));
  assert.ok(pointSize(50_000, 20) > pointSize(50_000, 1));
  assert.ok(pointSize(50_000, 1e9) <= 14);
});

const points = Array.from({ length: 100 }, (_, index) => ({ group: `g${Math.min(index % 30, 20)}`, label: null }));
const correct = points.map((_, index) => (index < 40 ? 1 : 0));

test("only colourings that tell points apart are offered", () => {
  assert.deepEqual(colouringsOf(points), ["group", "correct", "none"]);
  assert.deepEqual(colouringsOf([{ group: "a", label: "x" }, { group: "a", label: "y" }]), ["label", "correct", "none"]);
  assert.deepEqual(colouringsOf([{ group: "x", label: "x" }, { group: "y", label: "y" }]), ["label", "correct", "none"]);
  assert.deepEqual(colouringsOf([{ group: null, label: null }]), ["correct", "none"]);
});

test("the largest groups have colours of their own, the others share one", () => {
  const { classOf, classes } = classesOf(points, correct, "group");
  assert.equal(classes.length, MOST_CLASSES);
  assert.equal(classes[0].name, "g20");
  assert.match(classes.at(-1)?.name ?? "", /^10 others$/);
  assert.equal(classes.reduce((sum, one) => sum + one.count, 0), 100);
  classes.forEach(({ count }, index) => assert.equal(classOf.filter((one) => one === index).length, count));
});

test("twelve groups need no others", () => {
  const twelve = Array.from({ length: 24 }, (_, index) => ({ group: `g${index % 12}`, label: null }));
  const { classes } = classesOf(twelve, [], "group");
  assert.equal(classes.length, 12);
  assert.ok(classes.every(({ name }) => !name.includes("others")));
});

test("right and wrong have a class each, whoever is missing", () => {
  const { classOf, classes } = classesOf(points, correct, "correct");
  assert.deepEqual(classes.map(({ name, count }) => [name, count]), [["right", 40], ["wrong", 60]]);
  assert.deepEqual([classOf[0], classOf[99]], [0, 1]);
  assert.deepEqual(classesOf(points, correct, "none").classes.map(({ count }) => count), [100]);
});

test("an example is found by its id before its text", () => {
  const known = [{ example_id: "a1", text: "about B2" }, { example_id: "B2", text: "x" }];
  assert.equal(foundPoint(known, "b2"), 1);
  assert.equal(foundPoint(known, "ABOUT"), 0);
  assert.equal(foundPoint(known, "nothing"), -1);
  assert.equal(foundPoint(known, "  "), -1);
});

test("what is looked at is in the address, and an odd address is put right", () => {
  const whole = { run: "r", step: "50", colour: /** @type {const} */ ("correct"), example: "<b>&x" };
  assert.deepEqual(readMapAddress(writeMapAddress(whole)), whole);
  assert.equal(writeMapAddress({ run: null, step: "latest", colour: null, example: null }), "");
  assert.deepEqual(readMapAddress("?step=1e9&colour=red"), { run: null, step: "latest", colour: null, example: null });
});
