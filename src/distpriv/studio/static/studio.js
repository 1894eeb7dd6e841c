// The page: every change is asked at once, what is certified follows, and only the newest question counts.

import * as form from "./form.js";

const $ = (id) => document.getElementById(id);
const start = JSON.parse(document.body.dataset.start);
const now = { number: 0, first: true, numbers: null, written: null, asked: null };
let waiting = 0;

function shown(value, digits = 3) {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  if (value !== 0 && (Math.abs(value) < 1e-4 || Math.abs(value) >= 1e7)) return value.toExponential(digits - 1);
  const text = Number(value.toPrecision(digits));
  return Math.abs(text) >= 1000 ? Math.round(value).toLocaleString("en-US") : String(text);
}

// Put a text into an element; lines may end after an underscore, and not inside of a word.
function put(element, text) {
  element.replaceChildren(...text.split(/(?<=_)/).flatMap((part, k) => (k ? [document.createElement("wbr"), part] : [part])));
  return element;
}

function cell(tag, text) {
  const element = document.createElement(tag);
  if (tag === "th") element.scope = "row"; else element.className = "r";
  return put(element, text);
}

// One row for each statistic: what the public mean misses, and what the estimate does.
function fillErrors(numbers) {
  const rows = Object.keys(numbers.errors).map((name) => {
    const before = numbers.public_errors[name], after = numbers.errors[name];
    const row = document.createElement("tr"), share = before > 0 ? Math.min(1, after / before) : 1;
    const texts = [shown(numbers.public_means[name]), `± ${shown(before)}`, `± ${shown(after)}`, `${Math.round(100 * share)} %`];
    row.append(cell("th", name), ...texts.map((text) => cell("td", text)));
    return row;
  });
  $("errors").tBodies[0].replaceChildren(...rows);
}

// A figure was drawn where its numbers were computed.
function draw(id, { svg, alt }) {
  $(id).src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`;
  $(id).alt = alt;
}

async function post(name, body, signal) {
  let response;
  try {
    response = await fetch(name, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ view: start.view, ...body }),
      signal,
    });
  } catch (failure) {
    if (failure.name === "AbortError") throw failure;
    throw new Error("the studio does not answer: see the terminal that it was started in.");
  }
  const text = await response.text();
  if (!response.ok) throw new Error(text);
  const found = JSON.parse(text);
  if (found.refusal) throw new Error(found.refusal);
  return found;
}

function refuse(sentence) {
  $("refused").hidden = !sentence;
  $("refusal").textContent = sentence ?? "";
  if (sentence) {
    $("standing").hidden = true;
    $("bar").textContent = "This does not work yet: see above.";
  }
}

function say(sentence, bad = false) {
  $("said").textContent = sentence;
  $("said").classList.toggle("bad", bad);
}

function changed(after = 40) {
  form.label();
  now.number += 1;
  now.written = null;
  $("release").disabled = true;
  clearTimeout(waiting);
  waiting = setTimeout(ask, after);
}

async function ask() {
  const number = now.number, draft = form.draft();
  now.asked?.abort();
  now.asked = new AbortController();
  try {
    const found = await post("answer", { number, draft }, now.asked.signal);
    if (found.stale || number !== now.number) return;
    refuse(null);
    show(found);
    $("policy").textContent = found.policy;
    $("commands").textContent = found.commands.join("\n");
    post("certify", { number, draft }).catch((failure) => number === now.number && uncertified(failure.message));
    await askCurve(number, draft);
  } catch (failure) {
    if (failure.name !== "AbortError" && number === now.number) refuse(failure.message);
  }
}

async function askCurve(number, draft) {
  const found = await post("curve", { number, draft });
  if (found.stale || number !== now.number) return;
  const along = $("along"), source = form.mode() === "epsilon" ? $("epsilon") : $("accuracy");
  along.min = source.min; along.max = source.max; along.step = source.step; along.value = source.value;
  along.setAttribute("aria-valuetext", source.getAttribute("aria-valuetext"));
  const what = form.mode() === "epsilon" ? `ε = ${form.epsilon()}` : `${form.percent(Number($("accuracy").value) / 100)} right`;
  const text = `At ${what} all estimates together remove about ${Math.round(100 * now.numbers.information)} % of the public uncertainty. The curve is provisional.`;
  $("trade-caption").textContent = text;
  draw("trade", { svg: found.svg, alt: `Error against privacy. ${text}` });
}

const upward = (share) => `${Math.min(1000, Math.ceil(1000 * share - 1e-6)) / 10}\u00a0%`;

function show(numbers) {
  now.numbers = numbers;
  document.body.classList.toggle("provisional", numbers.provisional);
  $("undefended").textContent = upward(numbers.undefended);
  $("attacker").textContent = numbers.provisional ? form.percent(numbers.attacker) : upward(numbers.attacker);
  $("attacker-note").textContent = numbers.provisional ? "" : "at most";
  $("information").textContent = form.percent(numbers.information);
  put($("mechanism"), numbers.mechanism);
  $("mechanism-note").textContent = numbers.provisional ? "by the first step of its search" : `certified at assurance ${numbers.assurance}`;
  fillErrors(numbers);
  showCurves(numbers.curves);
  $("bar").textContent = `${numbers.provisional ? "≈" : "✓"} attacker ${upward(numbers.undefended)} → ${$("attacker").textContent} · ${form.percent(numbers.information, 0)} known`;
  if (numbers.provisional) standing("", "≈", "Provisional", "Computed at once, and close to what will be certified. Planning for real …");
  else certified(numbers);
}

function standing(kind, sign, title, text) {
  $("standing").hidden = false;
  $("standing").className = `notice ${kind}`;
  $("standing-sign").textContent = sign;
  if ($("standing-title").textContent !== title) $("standing-title").textContent = title;
  $("standing-text").textContent = text;
}

function certified(numbers) {
  let text = `${numbers.mechanism} holds at assurance ${numbers.assurance}: ε = ${shown(numbers.epsilon)}, δ = ${shown(numbers.delta)}.`;
  if (numbers.others) text += ` Noise is as wide as it takes together with ${numbers.others} other question${numbers.others === 1 ? "" : "s"} of this dataset.`;
  if (numbers.answered) text += ` This was answered in release ${numbers.answered}, and the same answer would be shown again.`;
  standing("good", "✓", "Certified", text);
}

function uncertified(sentence) {
  standing("bad", "✗", "Not certified", sentence);
  $("bar").textContent = "✗ not certified";
}

function showCurves(curves) {
  $("given-away").hidden = curves.length > 0;
  ["before", "after"].forEach((id, k) => {
    $(id).parentElement.hidden = !curves.length;
    if (!curves.length) return;
    draw(id, curves[k]);
    $(`${id}-caption`).textContent = curves[k].caption;
  });
}

function listen() {
  const events = new EventSource(`events?view=${encodeURIComponent(start.view)}`);
  events.onmessage = ({ data }) => {
    const event = JSON.parse(data);
    if (event.kind === "releasing") say(`${event.task}: ${event.done} of ${event.total} …`);
    if (event.number !== now.number) return;
    if (event.kind === "certified") show({ ...event });
    if (event.kind === "refused") uncertified(event.refusal);
    if (event.kind === "tried") $("standing-text").textContent = `Planning for real: ${event.mechanism}, ${event.said} …`;
  };
}

async function offer() {
  try {
    const found = await post("offer", { table: $("table").value });
    form.offerTable(found, now.first);
    now.first = false;
    changed(0);
  } catch (failure) {
    refuse(failure.message);
  }
}

async function save() {
  try {
    const found = await post("save", { draft: form.draft() });
    now.written = found;
    $("commands").textContent = found.commands.join("\n");
    $("release").disabled = false;
    say(`Wrote ${found.file}. Run ${found.commands[0]} and the commands below the policy, or release it here.`);
  } catch (failure) {
    say(failure.message, true);
  }
}

async function example() {
  try {
    const found = await post("example", { draft: form.draft() });
    $("private").value = found.private;
    say(`Wrote ${found.private}: ${$("records").value} rows of Adult, to try it all with.`);
  } catch (failure) {
    say(failure.message, true);
  }
}

function confirmRelease() {
  $("spends").replaceChildren(...now.written.spends.map((text) => Object.assign(document.createElement("li"), { textContent: text })));
  $("confirm").showModal();
  $("never").focus();
}

async function release() {
  const { file, digest } = now.written;
  $("confirm").close();
  $("release").disabled = $("save").disabled = true;
  say("Releasing …");
  try {
    showReleased(await post("release", { file, digest }));
  } catch (failure) {
    say(failure.message, true);
  } finally {
    $("save").disabled = false;
  }
}

function showReleased(found) {
  $("released").hidden = false;
  $("verified").className = `notice ${found.verified ? "good" : "bad"}`;
  $("verified-title").textContent = found.verified ? `Release ${found.position}, verified: bundle in ${found.bundle}` : `Release ${found.position}: the bundle does not verify`;
  $("verified-text").textContent = (found.repeated ? "This was asked before, and the same answer is shown again. " : "") + found.verdict;
  $("report").href = `bundle/${encodeURIComponent(found.bundle)}/report.html`;
  say(`Released, and the bundle in ${found.bundle} is ${found.verified ? "verified" : "not verified"}.`, !found.verified);
  $("released").scrollIntoView({ block: "nearest" });
}

function follow(source, value) {
  source.value = value;
  delete source.dataset.exact;
  changed();
}

$("table").addEventListener("change", offer);
$("secret").addEventListener("change", () => { form.stretchSliders(form.suggestedShares()); form.withoutTelling(); changed(); });
$("records").addEventListener("change", () => { form.stretchSliders([$("low").value / $("low").max, $("high").value / $("high").max]); changed(); });
for (const id of ["low", "high"]) $(id).addEventListener("input", () => { form.keepApart($(id)); changed(); });
for (const id of ["accuracy", "epsilon"]) $(id).addEventListener("input", () => { delete $(id).dataset.exact; changed(); });
for (const id of ["means", "counts", "delta", "by-accuracy", "by-epsilon"]) $(id).addEventListener("change", () => changed());
$("own").addEventListener("input", () => changed(500));
for (const id of ["dataset", "file", "private"]) $(id).addEventListener("input", () => changed(500));
$("along").addEventListener("input", () => follow(form.mode() === "epsilon" ? $("epsilon") : $("accuracy"), $("along").value));
$("add-table").addEventListener("click", () => { form.addTable(); changed(); });
$("tables").addEventListener("click", ({ target }) => { if (target.dataset.table) { form.removeTable(target.dataset.table); changed(); } });
$("save").addEventListener("click", save);
$("example").addEventListener("click", example);
$("release").addEventListener("click", confirmRelease);
$("never").addEventListener("click", () => $("confirm").close());
$("really").addEventListener("click", release);
$("choices").addEventListener("submit", (event) => event.preventDefault());
$("another").addEventListener("click", async () => {
  try {
    $("link").textContent = (await post("link", {})).link;
  } catch (failure) {
    $("link").textContent = failure.message;
  }
});

form.begin(start);
form.label();
listen();
offer();
