// Drives the page of `skein map` in a real Chromium, step by step: reads one step on each line of its input, as JSON, and answers with a line.
// Owns: what a person would do in the page, and what other pages try. Must not: judge; tests/tests/map.rs does, by the wire.
import { createServer, request as ask } from "node:http";
import { createInterface } from "node:readline";
import puppeteer from "puppeteer-core";

const { ADDRESS, CHROMIUM, PICTURES } = process.env;
const address = new URL(ADDRESS);
const PATIENCE = 60_000;
const browser = await puppeteer.launch({
  executablePath: CHROMIUM,
  // A test may run as root; a machine without a GPU draws with the processor. The name leads here as that of an attacker would.
  args: ["--no-sandbox", "--enable-unsafe-swiftshader", "--use-angle=swiftshader", `--host-resolver-rules=MAP evil.example 127.0.0.1`, "--force-color-profile=srgb"],
  defaultViewport: { width: 1280, height: 800 },
  timeout: PATIENCE,
});
const page = await browser.newPage();
page.setDefaultTimeout(PATIENCE);
const complaints = [];
let session;
let bytes = 0;
page.on("pageerror", (error) => complaints.push(String(error)));
page.on("console", (message) => { if (message.type() === "error") complaints.push(message.text()); });
page.on("request", (request) => { if (!/^(http:\/\/127\.0\.0\.1:|blob:|data:)/.test(request.url())) complaints.push(`asked ${request.url()}`); });

/** What the lists say: the vehicles by id, and the Missions. */
const lists = () => page.evaluate(() => ({
  vehicles: Object.fromEntries([...document.querySelectorAll("[data-vehicle]")].map((row) => [row.dataset.vehicle, {
    latitude: Number(row.dataset.latitude), longitude: Number(row.dataset.longitude), heading: row.dataset.heading && Number(row.dataset.heading), flying: row.dataset.flying,
    airspace: window.skeinOverlay.tracks.get(row.dataset.vehicle)?.vehicle.airspace, text: row.textContent }])),
  missions: Object.fromEntries([...document.querySelectorAll("[data-mission]")].map((row) => [row.dataset.mission, { state: row.dataset.state, done: row.dataset.done }])),
}));
const picture = (name) => PICTURES ? page.screenshot({ path: `${PICTURES}/${name}.png` }) : undefined;
const confirm = async (name) => {
  await page.waitForSelector("#confirm[open]");
  const whom = await page.$$eval("#confirm-whom li", (items) => items.map((item) => item.textContent));
  const words = await page.$eval("#confirm", (dialog) => dialog.textContent);
  await picture(name);
  await page.click("#confirm-yes");
  await page.waitForFunction(() => document.querySelector("#outcome").textContent !== "");
  return { whom, words, outcome: await page.$eval("#outcome", (line) => line.textContent) };
};

/** The statuses of all that a page there tries with the session of this browser. */
async function attack(from) {
  const other = await browser.newPage();
  const session = await other.createCDPSession();
  const requests = new Map();
  const answers = [];
  await session.send("Network.enable");
  session.on("Network.requestWillBeSent", ({ requestId, request }) => { if (request.url.includes(`:${address.port}/`)) requests.set(requestId, request.url); });
  // Also those that the browser keeps from the page.
  session.on("Network.responseReceivedExtraInfo", ({ requestId, statusCode }) => answers.push([requestId, statusCode]));
  await other.goto(from);
  const read = await other.evaluate(async (origin) => {
    const tried = [];
    const attempt = async (url, options) => {
      try {
        const answer = await fetch(url, { credentials: "include", ...options });
        tried.push(answer.type === "opaque" ? "opaque" : `${answer.status} ${(await answer.text()).slice(0, 20)}`);
      } catch { tried.push("refused"); }
    };
    const order = JSON.stringify({ verb: "ground", whom: [{ all: true }] });
    await attempt(`${origin}/api/feed`);
    await attempt(`${origin}/api/feed`, { mode: "no-cors" });
    await attempt(`${origin}/api/orders/preview`, { method: "POST", body: order, headers: { "Content-Type": "application/json" } });
    await attempt(`${origin}/api/orders/preview`, { method: "POST", body: order, mode: "no-cors" });
    return tried;
  }, address.origin);
  await other.close();
  return { read, statuses: answers.filter(([id]) => requests.has(id)).map(([, status]) => status) };
}

const steps = {
  async wrong() {
    const statuses = [];
    for (const url of [`${address.origin}/api/feed`, `http://evil.example:${address.port}/${address.hash}`]) {
      const other = await browser.newPage();
      const answer = await other.goto(url);
      statuses.push([answer.status(), (await browser.cookies()).length, (await answer.text()).includes("<")]);
      await other.close();
    }
    // The page without a session: it shows nothing of the fleet.
    const other = await browser.newPage();
    const exchanged = other.waitForResponse((answer) => answer.url() === `${address.origin}/api/session`);
    await other.goto(`${address.origin}/#token=${"0".repeat(64)}`);
    const status = (await exchanged).status();
    await other.waitForFunction(() => !document.querySelector("#cut-off").hidden);
    statuses.push([status, (await browser.cookies()).length, (await other.$$("[data-vehicle]")).length > 0]);
    await other.close();
    return statuses;
  },
  async open() {
    await page.goto(ADDRESS);
    await page.waitForFunction(() => window.skeinMap && document.querySelector("[data-vehicle]"));
    complaints.splice(0, complaints.length, ...complaints.filter((text) => !text.includes("favicon")));
    return { url: page.url(), cookies: await browser.cookies(), ...(await lists()) };
  },
  lists,
  async picture({ name, selected }) {
    if (selected) await page.click(`[data-vehicle="${selected}"]`);
    // Where this coordinator keeps its files is of no interest to others.
    await page.$eval("#about", (about) => { about.style.visibility = "hidden"; });
    await page.click("#fit");
    await new Promise((done) => setTimeout(done, 1500));
    await picture(name);
    return true;
  },
  async order({ verb, swarm }) {
    await page.click(`[data-swarm="${swarm}"]`);
    await page.click(`#order-${verb}`);
    return confirm("map-confirm");
  },
  async draw({ what, fields, corners }) {
    const middle = [0, 1].map((axis) => corners.reduce((sum, corner) => sum + corner[axis], 0) / corners.length);
    await page.evaluate((center) => window.skeinMap.jumpTo({ center, zoom: 18 }), middle);
    await page.click(`#draw-${what}`);
    const frame = await page.$eval("#map", (map) => { const { x, y } = map.getBoundingClientRect(); return [x, y]; });
    for (const corner of corners) {
      const [x, y] = await page.evaluate((at) => { const { x, y } = window.skeinMap.project(at); return [x, y]; }, corner);
      await page.mouse.move(frame[0] + x, frame[1] + y);
      // A second click in the time of a double click would be one.
      await page.mouse.click(frame[0] + x, frame[1] + y);
      await new Promise((done) => setTimeout(done, 400));
    }
    await page.keyboard.press("Enter");
    await page.waitForFunction((count) => document.querySelector("#form-corners").value.trim().split("\n").length === count, {}, corners.length);
    for (const [field, value] of Object.entries(fields)) {
      await page.click(`#form-${field}`, { count: 3 });
      await page.type(`#form-${field}`, String(value));
    }
    await page.click("#form-preview");
    return confirm(`map-${what}`);
  },
  /** Drops a file on the map, and says what its areas are; what the page says of it, what it offers, and what is drawn. */
  async drop({ name, content, areas }) {
    await page.evaluate((name, content) => {
      const transfer = new DataTransfer();
      transfer.items.add(new File([content], name));
      for (const type of ["dragover", "drop"]) document.querySelector("#map-area").dispatchEvent(new DragEvent(type, { dataTransfer: transfer, bubbles: true, cancelable: true }));
    }, name, content);
    await page.waitForFunction(() => !document.querySelector("#file").hidden || document.querySelector("#outcome").textContent !== "");
    if (areas) {
      await page.select("#file-areas", areas);
      await page.click("#file-read");
      await page.waitForSelector("[data-made]");
    }
    await picture(`map-file-${areas ?? "dropped"}`);
    // The browser complains of an answer that refuses the file.
    complaints.splice(0, complaints.length, ...complaints.filter((text) => !text.includes("status of 422")));
    return page.evaluate(async () => {
      const texts = (selector) => [...document.querySelectorAll(selector)].map((each) => each.textContent);
      const hidden = document.querySelector("#file").hidden;
      return {
        title: hidden ? "" : document.querySelector("#file-title").textContent, outcome: document.querySelector("#outcome").textContent,
        said: texts("#file-said li"), objects: [...document.querySelectorAll("[data-made]")].map((button) => [button.dataset.made, button.disabled]), texts: texts("#file-objects pre"),
        drawn: (await window.skeinMap.getSource("preview").getData()).features, zoom: window.skeinMap.getZoom(), center: window.skeinMap.getCenter().toArray(),
      };
    });
  },
  /** Makes what a file can become. */
  async make({ made }) {
    await page.click(`[data-made="${made}"]`);
    const confirmed = await confirm("map-file-confirm");
    await page.click("#file-close");
    return confirmed;
  },
  /** By the keyboard alone: a row, and then the box, which takes the mouse. What is said to be selected after each. */
  async select({ vehicle }) {
    const said = () => page.$eval("#selected", (line) => line.textContent);
    const pressed = async (selector, key) => { await page.focus(selector); await page.keyboard.press(key); };
    await pressed("#select-none", "Enter");
    await pressed(`[data-vehicle="${vehicle}"]`, "Enter");
    const one = await said();
    await pressed("#box", "Space");
    await page.click("#fit");
    const { x, y, width, height } = await page.$eval("#overlay", (overlay) => overlay.getBoundingClientRect().toJSON());
    await page.mouse.move(x + 2, y + height - 2);
    await page.mouse.down();
    await page.mouse.move(x + width / 2, y + height / 2);
    await page.mouse.move(x + width - 2, y + 2);
    await page.mouse.up();
    return { one, all: await said() };
  },
  async anchor({ swarm, place }) {
    await page.waitForSelector(`[data-key="${swarm}"] .anchor`);
    await page.evaluate((center) => window.skeinMap.jumpTo({ center, zoom: 18 }), place);
    await page.click(`[data-key="${swarm}"] .anchor`);
    const { x, y } = await page.$eval("#map", (map) => map.getBoundingClientRect().toJSON());
    const at = await page.evaluate((place) => { const { x, y } = window.skeinMap.project(place); return { x, y }; }, place);
    await page.mouse.click(x + at.x, y + at.y);
    await page.click("#form-preview");
    return confirm("map-anchor");
  },
  /** How many areas of the base map are drawn. */
  async basemap() {
    await page.waitForFunction(() => window.skeinMap.getLayer("base-water") && window.skeinMap.areTilesLoaded());
    return page.evaluate(() => window.skeinMap.queryRenderedFeatures({ layers: ["base-water"] }).length);
  },
  async attacks() {
    const sent = [];
    const server = createServer((asked, response) => {
      sent.push(asked.headers);
      response.setHeader("Content-Type", "text/html").end("<!doctype html><title>elsewhere</title>");
    });
    await new Promise((listening) => server.listen(0, "127.0.0.1", listening));
    const { port } = server.address();
    // Another site; the same site at another port, to which a browser would send cookies; a name that leads to the server itself.
    const found = [await attack(`http://evil.example:${port}/`), await attack(`http://127.0.0.1:${port}/`)];
    const other = await browser.newPage();
    const rebound = await other.goto(`http://evil.example:${address.port}/api/feed`);
    // The other program is opened, reloads itself, and tries what it was sent: it may write any Host and Origin.
    await other.goto(`http://127.0.0.1:${port}/`);
    await other.reload();
    const secrets = [...sent.flatMap(({ cookie, authorization }) => [cookie, authorization]), ...await other.evaluate(() => [document.cookie, ...Object.values(sessionStorage), ...Object.values(localStorage)])].filter(Boolean);
    const headers = { origin: address.origin, ...(secrets.length > 0 && { cookie: secrets.join("; "), authorization: secrets[0] }) };
    const replayed = await new Promise((done, failed) => {
      ask(`${address.origin}/api/feed`, { headers }, (answer) => { done(answer.statusCode); answer.destroy(); }).on("error", failed).end();
    });
    await other.close();
    server.close();
    return { found, rebound: rebound.status(), other: { requests: sent.length, secrets, replayed } };
  },
  /** The colors of the canvas at places: red, green, blue, alpha. */
  async overlay({ places }) {
    return page.evaluate((places) => {
      const canvas = document.querySelector("#overlay");
      const ratio = canvas.width / canvas.clientWidth;
      return places.map((place) => { const { x, y } = window.skeinMap.project(place); return [...canvas.getContext("2d").getImageData(x * ratio, y * ratio, 1, 1).data]; });
    }, places);
  },
  /** Waits until so many vehicles are on the map, all of them in the picture. */
  async settle({ vehicles }) {
    session = await page.createCDPSession();
    session.on("Network.dataReceived", ({ dataLength }) => { bytes += dataLength; });
    await session.send("Network.enable");
    // CPU time of the thread: others may keep the processor.
    await session.send("Performance.enable", { timeDomain: "threadTicks" });
    // The feed begins again, so that its bytes are counted.
    await page.reload();
    await page.waitForFunction((vehicles) => window.skeinOverlay?.tracks.size === vehicles, {}, vehicles);
    await page.click("#fit");
    await new Promise((done) => setTimeout(done, 5000));
    return true;
  },
  /** For so many seconds: frames, CPU time of the page's own thread, milliseconds, bytes of the feed, and who moved. */
  async measure({ seconds }) {
    const look = async () => {
      const { metrics } = await session.send("Performance.getMetrics");
      const { TaskDuration, ScriptDuration } = Object.fromEntries(metrics.map(({ name, value }) => [name, 1000 * value]));
      const { frames, places, at } = await page.evaluate(() => ({ frames: window.skeinOverlay.frames, at: performance.now(),
        places: [...window.skeinOverlay.tracks].map(([id, track]) => [id, ...track.to].join()) }));
      return { TaskDuration, ScriptDuration, frames, places: new Set(places), bytes, at };
    };
    const from = await look();
    await new Promise((done) => setTimeout(done, 1000 * seconds));
    const to = await look();
    // Each begins with an empty canvas, so that only the last is painted: what is left is what the page's thread does for one.
    const FRAMES = 50;
    await page.evaluate((frames) => { for (let frame = 0; frame < frames; frame += 1) window.skeinOverlay.draw(performance.now()); }, FRAMES);
    const drawn = await look();
    return {
      seconds: (to.at - from.at) / 1000, frames: to.frames - from.frames, drawing: (drawn.TaskDuration - to.TaskDuration) / FRAMES,
      busy: to.TaskDuration - from.TaskDuration, script: to.ScriptDuration - from.ScriptDuration, bytes: to.bytes - from.bytes,
      moved: [...to.places].filter((place) => !from.places.has(place)).length,
    };
  },
  async complaints() { return complaints; },
};

console.log("ready");
for await (const line of createInterface({ input: process.stdin })) {
  const { step, ...args } = JSON.parse(line);
  try {
    console.log(JSON.stringify({ ok: await steps[step](args) }));
  } catch (error) {
    await picture("map-failure");
    const said = await page.$eval("#outcome", (line) => line.textContent).catch(() => "");
    console.log(JSON.stringify({ error: `${error.stack}\nthe page says: ${said}; complaints: ${complaints.join("; ")}` }));
  }
}
await browser.close();
