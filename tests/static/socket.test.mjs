import assert from "node:assert/strict";
import { afterEach, beforeEach, mock, test } from "node:test";
import { SocketClient, backoff, parsePacket } from "../../static/js/lib/socket.js";

/** The other end of a WebSocket, as a test sees it. */
class Wire {
  static all = [];
  sent = [];
  closed = false;
  constructor(url) {
    this.url = url;
    Wire.all.push(this);
  }
  send(text) {
    this.sent.push(text);
  }
  close() {
    this.closed = true;
  }
  say(text) {
    this.onmessage({ data: text });
  }
  join() {
    this.say('0{"sid":"a","pingInterval":25000,"pingTimeout":20000}');
    this.say('40/viewer,{"sid":"b"}');
  }
}

let client;
beforeEach(() => {
  mock.timers.enable({ apis: ["setTimeout", "Date"] });
  Wire.all = [];
  client = new SocketClient({ url: "ws://box/socket.io/", namespace: "/viewer", WebSocketClass: Wire, random: () => 1 });
});
afterEach(() => {
  client.close();
  mock.timers.reset();
});

test("packets come apart: namespace, id, payload, or none of them", () => {
  assert.deepEqual(parsePacket('3/viewer,12[{"ok":true}]'), { type: "3", namespace: "/viewer", id: 12, payload: [{ ok: true }] });
  assert.deepEqual(parsePacket("1/viewer,"), { type: "1", namespace: "/viewer", id: null, payload: undefined });
  assert.deepEqual(parsePacket('2["a",1]'), { type: "2", namespace: "/", id: null, payload: ["a", 1] });
});

test("it joins the namespace after the transport has opened", () => {
  client.connect();
  assert.equal(Wire.all[0].url, "ws://box/socket.io/?EIO=4&transport=websocket");
  Wire.all[0].say('0{"sid":"a","pingInterval":25000,"pingTimeout":20000}');
  assert.deepEqual(Wire.all[0].sent, ["40/viewer,"]);
  assert.equal(client.link.state, "connecting");
  Wire.all[0].say('40/viewer,{"sid":"b"}');
  assert.equal(client.link.state, "live");
});

test("events reach their listeners until they are taken off", () => {
  const heard = [];
  client.connect();
  Wire.all[0].join();
  const off = client.on("run", (run) => heard.push(run.id));
  Wire.all[0].say('42/viewer,["run",{"id":"r1"}]');
  off();
  Wire.all[0].say('42/viewer,["run",{"id":"r2"}]');
  assert.deepEqual(heard, ["r1"]);
});

test("a call resolves with its own acknowledgement", async () => {
  client.connect();
  Wire.all[0].join();
  const [first, second] = [client.call("watch", { topic: "runs" }), client.call("watch", { topic: "run:1" })];
  assert.deepEqual(Wire.all[0].sent.slice(1), ['42/viewer,0["watch",{"topic":"runs"}]', '42/viewer,1["watch",{"topic":"run:1"}]']);
  Wire.all[0].say('43/viewer,1[{"ok":2}]');
  Wire.all[0].say('43/viewer,0[{"ok":1}]');
  assert.deepEqual(await Promise.all([first, second]), [{ ok: 1 }, { ok: 2 }]);
});

test("calls fail when there is no answer, no link, or the link breaks", async () => {
  await assert.rejects(client.call("watch", {}), /not connected/);
  client.connect();
  Wire.all[0].join();
  const unanswered = client.call("watch", {}, { timeoutMs: 1000 });
  mock.timers.tick(1000);
  await assert.rejects(unanswered, /no answer to watch/);
  const broken = client.call("watch", {});
  Wire.all[0].onclose();
  await assert.rejects(broken, /connection closed/);
});

test("pings are answered with their own payload", () => {
  client.connect();
  Wire.all[0].join();
  Wire.all[0].say("2");
  Wire.all[0].say("2probe");
  assert.deepEqual(Wire.all[0].sent.slice(1), ["3", "3probe"]);
});

test("a server that has gone silent is noticed and left", () => {
  client.connect();
  Wire.all[0].join();
  mock.timers.tick(44_999);
  assert.equal(client.link.state, "live");
  mock.timers.tick(1);
  assert.equal(client.link.state, "reconnecting");
  assert.equal(Wire.all[0].closed, true);
});

test("it reconnects with growing pauses and tells since when it is away", () => {
  client.connect();
  Wire.all[0].join();
  mock.timers.tick(1000);
  Wire.all[0].onclose();
  const { since } = client.link;
  mock.timers.tick(250);
  assert.equal(Wire.all.length, 2);
  Wire.all[1].onerror();
  mock.timers.tick(499);
  assert.equal(Wire.all.length, 2);
  mock.timers.tick(1);
  assert.equal(Wire.all.length, 3);
  assert.equal(client.link.since, since);
  Wire.all[2].join();
  assert.deepEqual([client.link.state, client.link.attempts], ["live", 0]);
});

test("pauses are jittered and bounded", () => {
  assert.equal(backoff(0, 0), 125);
  assert.equal(backoff(0, 1), 250);
  assert.equal(backoff(3, 1), 2000);
  assert.equal(backoff(500, 1), 8000);
});

test("a poke shortens the waiting, and does nothing otherwise", () => {
  client.connect();
  client.poke();
  assert.equal(Wire.all.length, 1);
  Wire.all[0].onclose();
  client.poke();
  assert.equal(Wire.all.length, 2);
});

test("news of a socket that was given up is ignored", () => {
  client.connect();
  Wire.all[0].onclose();
  mock.timers.tick(250);
  Wire.all[1].join();
  Wire.all[0].onclose();
  Wire.all[0].say('42/viewer,["run",{}]');
  assert.equal(client.link.state, "live");
});

test("being refused is a state of its own, tried again slowly", () => {
  client.connect();
  Wire.all[0].say('0{"sid":"a"}');
  Wire.all[0].say('44/viewer,{"message":"log in first"}');
  assert.deepEqual([client.link.state, client.link.reason], ["refused", "log in first"]);
  mock.timers.tick(8000);
  assert.equal(Wire.all.length, 2);
});

test("after close nothing reconnects", () => {
  client.connect();
  Wire.all[0].join();
  client.close();
  Wire.all[0].onclose();
  mock.timers.tick(60_000);
  assert.deepEqual([Wire.all.length, client.link.state], [1, "closed"]);
});
