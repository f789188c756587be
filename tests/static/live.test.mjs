import assert from "node:assert/strict";
import { test } from "node:test";
import { Live } from "../../static/js/lib/live.js";
import { describeLink } from "../../static/js/lib/shell.js";

/** A socket that answers every call at once. */
function fakeSocket() {
  const said = [];
  let tell = () => {};
  const socket = {
    said,
    link: { state: "connecting" },
    onLink: (listener) => (tell = listener),
    on: () => () => {},
    call: async (event, { topic }) => {
      said.push(`${event} ${topic}`);
      return { ok: true, server_time: Date.now() / 1000 + 60 };
    },
    become(state) {
      socket.link = { state };
      tell(socket.link);
    },
  };
  return socket;
}

const settled = () => new Promise((resolve) => setImmediate(resolve));

test("topics are watched again after each connect, before their owners catch up", async () => {
  const socket = fakeSocket();
  const live = new Live(socket);
  live.watch("runs", () => socket.said.push("caught up"));
  assert.deepEqual(socket.said, []);
  socket.become("live");
  await settled();
  socket.become("reconnecting");
  socket.become("live");
  await settled();
  assert.deepEqual(socket.said, ["watch runs", "caught up", "watch runs", "caught up"]);
});

test("the last owner to leave ends the watching", async () => {
  const socket = fakeSocket();
  const live = new Live(socket);
  socket.become("live");
  const [one, other] = [live.watch("runs", () => {}), live.watch("runs", () => {})];
  await settled();
  one();
  assert.ok(!socket.said.includes("unwatch runs"));
  other();
  assert.ok(socket.said.includes("unwatch runs"));
});

test("ages follow the server's clock", async () => {
  const socket = fakeSocket();
  const live = new Live(socket);
  live.watch("runs", () => {});
  socket.become("live");
  await settled();
  assert.ok(Math.abs(live.now() - Date.now() / 1000 - 60) < 1);
});

test("a blink of the link is no news, five seconds are", () => {
  const link = { state: "reconnecting", since: 1_000_000, attempts: 1, reason: "" };
  assert.equal(describeLink(link, 0, 1_004_000).kind, "reconnecting");
  const away = describeLink(link, 0, 1_006_000);
  assert.equal(away.kind, "offline");
  assert.match(away.word, /^Offline since/);
  assert.equal(describeLink({ ...link, state: "live" }, 990_000, 1_000_000).detail, "heard 10 s ago");
  assert.equal(describeLink({ ...link, state: "refused" }, 0, 0).word, "Logged out");
});
