// @ts-check
/**
 * Notifications of this browser: off until somebody switches them on, and then on every page, in
 * the background too.  Of several tabs one speaks: the one that holds a lock of the browser.
 */
import { get, query } from "./api.js";
import { News, isFirst } from "./news.js";

const SWITCH = "signalbox.notify";
const TOLD = "signalbox.told";
const LOCK = "signalbox-notifier";

/** @returns {"on" | "off" | "denied" | "unsupported"} */
export function notifierState() {
  if (!("Notification" in window)) return "unsupported";
  if (Notification.permission === "denied") return "denied";
  return Notification.permission === "granted" && kept() ? "on" : "off";
}

/** Switch on; asks the browser's permission, so call it from a click. */
export async function switchOn() {
  if (!("Notification" in window)) return notifierState();
  const permission = await Notification.requestPermission();
  if (permission === "granted") localStorage.setItem(SWITCH, "on");
  dispatchEvent(new Event(SWITCH));
  return notifierState();
}

export function switchOff() {
  localStorage.removeItem(SWITCH);
  dispatchEvent(new Event(SWITCH));
  return notifierState();
}

/** Show one notification; clicking it opens `url`. @param {import("./news.js").Notice} notice */
export function show({ title, body, tag, url }) {
  try {
    const shown = new Notification(title, { body, tag, icon: "/static/logo.svg" });
    shown.onclick = () => {
      window.focus();
      if (location.pathname !== url) window.open(url, "_blank");
      shown.close();
    };
  } catch {
    // some phones show notifications of installed apps only
  }
}

/** Watch all runs for as long as notifications are on. @param {import("./live.js").Live} live */
export function startNotifier(live) {
  const news = new News();
  let speaks = false;
  /** @type {(() => void) | null} */
  let stop = null;

  /** @param {import("./news.js").Notice | null} notice */
  const tell = (notice) => {
    if (notice && speaks && notifierState() === "on" && isFirst(localStorage, TOLD, notice.key)) show(notice);
  };
  const catchUp = async () => {
    try {
      const { runs } = await get(`/api/runs${query({ limit: 200 })}`);
      for (const run of runs) tell(news.takeRun(run, live.now()));
    } catch {
      // the link is down; the next connect catches up
    }
  };
  live.on("run", (run) => stop && tell(news.takeRun(run, live.now())));
  live.on("event", (event) => stop && event.type === "alert" && tell(news.takeAlert(event, live.now())));

  const follow = () => {
    const on = notifierState() === "on";
    if (on && !stop) stop = live.watch("runs", () => void catchUp());
    if (!on && stop) {
      stop();
      stop = null;
    }
  };
  holdLock(() => (speaks = true));
  addEventListener(SWITCH, follow);
  addEventListener("storage", (event) => event.key === SWITCH && follow());
  follow();
}

/** Call `granted` once this tab is the one that speaks; it stays so until it is closed. @param {() => void} granted */
function holdLock(granted) {
  if (!navigator.locks) {
    granted(); // what was told is remembered for all tabs, so this costs at most a race
    return;
  }
  navigator.locks
    .request(LOCK, () => {
      granted();
      return new Promise(() => {});
    })
    .catch(() => {}); // the page is going away
}

function kept() {
  try {
    return localStorage.getItem(SWITCH) === "on";
  } catch {
    return false;
  }
}
