import assert from "node:assert/strict";
import { test } from "node:test";
import {
  formatAge, formatBytes, formatClock, formatCount, formatDuration, formatExit, formatNumber, formatPercent, formatShown,
} from "../../static/js/lib/format.js";

test("numbers keep four digits and say what is not finite", () => {
  assert.equal(formatNumber(0.123456), "0.1235");
  assert.equal(formatNumber(1234567), "1,234,567");
  assert.equal(formatNumber(1234.5), "1,235");
  assert.equal(formatNumber(0.00001234), "1.23e−5");
  assert.equal(formatNumber(-2.5), "−2.5");
  assert.equal(formatNumber(null), "–");
  assert.equal(formatNumber("NaN"), "NaN");
  assert.equal(formatNumber("-Infinity"), "−∞");
});

test("durations change their unit where a person would", () => {
  assert.equal(formatDuration(0.0402), "40 ms");
  assert.equal(formatDuration(4.21), "4.2 s");
  assert.equal(formatDuration(59.4), "59 s");
  assert.equal(formatDuration(59.6), "1 m 00 s");
  assert.equal(formatDuration(192), "3 m 12 s");
  assert.equal(formatDuration(7500), "2 h 05 m");
  assert.equal(formatDuration(3 * 86400 + 4 * 3600), "3 d 4 h");
  assert.equal(formatDuration(null), "–");
});

test("ages are never negative, however the clocks differ", () => {
  assert.equal(formatAge(-30), "now");
  assert.equal(formatAge(12.9), "12 s ago");
  assert.equal(formatAge(3599), "59 min ago");
});

test("sizes are binary and percents have one decimal", () => {
  assert.equal(formatBytes(512), "512 B");
  assert.equal(formatBytes(1536), "1.50 KiB");
  assert.equal(formatBytes(103_900_000), "99.1 MiB");
  assert.equal(formatPercent(0.3604), "36.0 %");
  assert.equal(formatCount(3372), "3,372");
});

test("a list says how many of all examples it shows", () => {
  assert.equal(formatShown(600, 600), "600 examples");
  assert.equal(formatShown(12, 1600), "12 of 1,600 examples");
  assert.equal(formatShown(1, 1), "1 example");
});

test("an end is told in words, whichever way the signal is written", () => {
  assert.equal(formatExit(0, null), "exit code 0");
  assert.equal(formatExit(null, 9), "killed by SIGKILL (9)");
  assert.equal(formatExit(-11, null), "killed by SIGSEGV (11)");
  assert.equal(formatExit(null, null), "");
});

test("the date is left out today", () => {
  const noon = new Date(2026, 4, 1, 12, 0, 0).getTime() / 1000;
  assert.equal(formatClock(noon, noon + 60), "12:00:00");
  assert.equal(formatClock(noon, noon + 3 * 86400), "1 May 2026 12:00:00");
});
