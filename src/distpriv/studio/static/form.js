// The form: what a table offers is put into it, and a draft is read from it.

const $ = (id) => document.getElementById(id);
const LOWEST = 0.05, HIGHEST = 8;

const state = { offer: null, tables: {}, base: {}, keepsSecret: false };

export const epsilonOf = (step) => Number((LOWEST * (HIGHEST / LOWEST) ** (step / 100)).toPrecision(2));
export const stepOf = (epsilon) => Math.round((100 * Math.log(epsilon / LOWEST)) / Math.log(HIGHEST / LOWEST));
export const mode = () => document.querySelector("input[name=mode]:checked").value;
export const percent = (share, digits = 1) => `${Number((100 * share).toFixed(digits))}\u00a0%`;

function option(value, text) {
  const element = document.createElement("option");
  element.value = value;
  element.textContent = text;
  return element;
}

function chip(item, checked) {
  const label = document.createElement("label"), box = document.createElement("input"), note = document.createElement("small");
  box.type = "checkbox";
  box.checked = checked;
  box.dataset.name = item.name;
  box.dataset.text = item.text;
  box.dataset.column = item.column;
  note.textContent = item.note;
  label.append(box, ` ${item.label} `, note);
  return label;
}

// Fill in what does not depend on a table.
export function begin(start) {
  state.base = start.form;
  $("table").replaceChildren(...start.tables.map(({ name, label }) => option(name, label)));
  if (start.form.table) $("table").value = start.form.table;
  $("file").value = start.form.file;
  $("dataset").value = start.form.dataset ?? "my-dataset";
  $("private").value = start.form.private ?? "";
  if (start.form.private === null) {
    $("private").placeholder = "as the policy says";
    $("private-hint").textContent = "Left empty, it stays as the policy says, and is not shown here. A release looks at it once.";
  }
  const deltas = new Set([0.01, 0.001, 0.0001, 0.00001, start.form.privacy?.delta].filter((delta) => delta > 0));
  $("delta").replaceChildren(...[...deltas].sort((a, b) => b - a).map((delta) => option(delta, String(delta))));
  $("delta").value = "0.001";
  const privacy = start.form.privacy;
  if (privacy?.max_attack_accuracy) $("accuracy").value = 100 * privacy.max_attack_accuracy;
  if (privacy?.epsilon !== undefined) {
    $("by-epsilon").checked = true;
    $("epsilon").value = stepOf(Math.max(LOWEST, privacy.epsilon));
    $("epsilon").dataset.exact = privacy.epsilon;
    if (privacy.delta) $("delta").value = String(privacy.delta);
  }
}

// Put what a table offers into the form; the choices of an opened policy are taken over the first time.
export function offerTable(offer, first) {
  state.offer = offer;
  const given = first ? state.base.statistics ?? null : null, rest = { ...(given ?? {}) };
  const taken = (item) => {
    const name = Object.keys(rest).find((key) => rest[key] === item.text);
    if (name === undefined) return item;
    delete rest[name];
    return { ...item, name, checked: true };
  };
  const means = offer.means.map(taken);
  const byDefault = (k) => given === null && (k === 0 || k === offer.means.length - 1);
  $("means").replaceChildren(...means.map((item, k) => chip(item, item.checked || byDefault(k))));
  const telling = offer.secrets[0]?.telling ?? [], other = offer.counts.find((group) => !telling.includes(group.column));
  $("counts").replaceChildren(...offer.counts.map((group) => {
    const box = document.createElement("div"), title = document.createElement("span"), chips = document.createElement("div");
    box.className = "column";
    box.setAttribute("role", "group");
    box.setAttribute("aria-label", group.column);
    title.textContent = group.column;
    chips.className = "chips";
    chips.append(...group.values.map(taken).map((item, k) => chip(item, item.checked || (given === null && group === other && k === 0))));
    box.append(title, chips);
    return box;
  }));
  $("own").value = Object.entries(rest).map(([name, text]) => `${name} = ${text}`).join("\n");
  if ($("own").value) $("written").open = true;
  $("by-first").replaceChildren(...offer.by.map(({ name, kinds }) => option(name, `${name} (${kinds})`)));
  $("by-second").replaceChildren(option("", "nothing else"), ...offer.by.map(({ name, kinds }) => option(name, `${name} (${kinds})`)));
  $("add-table").disabled = offer.by.length === 0;
  state.tables = first ? { ...(state.base.tables ?? {}) } : {};
  showTables();
  $("records").value = (first && state.base.records) || offer.records;
  $("rows").textContent = `${offer.rows.toLocaleString("en-US")} rows.`;
  offerSecrets(offer, first);
}

function offerSecrets(offer, first) {
  const given = first ? state.base.secret : undefined;
  state.keepsSecret = first && given === null;
  $("as-written").hidden = !state.keepsSecret;
  $("share").hidden = $("share-hint").hidden = state.keepsSecret;
  const shares = offer.secrets.map(({ share }) => share);
  if (given && !shares.includes(given.share)) shares.unshift(given.share);
  $("secret").replaceChildren(...shares.map((share) => option(share, share)));
  if (given) $("secret").value = given.share;
  stretchSliders(given?.values ?? offer.secrets[0]?.values ?? [0.45, 0.55]);
  withoutTelling();
}

// Take away the statistics of columns that determine the protected share; nobody can be offered those.
export function withoutTelling() {
  const telling = state.offer.secrets.find(({ share }) => share === $("secret").value)?.telling ?? [];
  for (const box of document.querySelectorAll("#means input, #counts input")) {
    const tells = !state.keepsSecret && telling.includes(box.dataset.column);
    box.closest("label").hidden = tells;
    if (tells) box.checked = false;
  }
  for (const group of document.querySelectorAll("#counts .column")) group.hidden = !group.querySelector("label:not([hidden])");
}

// Give the sliders a step of one record, and put them where two shares are.
export function stretchSliders(values) {
  const records = Math.max(1, Number($("records").value) || 1);
  for (const [id, value] of [["low", values[0]], ["high", values[1]]]) {
    $(id).min = 0;
    $(id).max = records;
    $(id).step = 1;
    $(id).value = Math.round(value * records);
  }
}

export function suggestedShares() {
  return state.offer.secrets.find(({ share }) => share === $("secret").value)?.values ?? [0.45, 0.55];
}

export function shares() {
  const records = Math.max(1, Number($("records").value) || 1);
  return [Number($("low").value) / records, Number($("high").value) / records];
}

// Keep the two sliders at least a record apart, by moving the one that is not held.
export function keepApart(held) {
  const low = $("low"), high = $("high");
  if (Number(low.value) < Number(high.value)) return;
  if (held === low) {
    high.value = Math.min(Number(high.max), Number(low.value) + 1);
    if (Number(low.value) >= Number(high.value)) low.value = Number(high.value) - 1;
  } else {
    low.value = Math.max(0, Number(high.value) - 1);
    if (Number(low.value) >= Number(high.value)) high.value = Number(low.value) + 1;
  }
}

export function addTable() {
  const by = [$("by-first").value, $("by-second").value].filter((name, k, all) => name && all.indexOf(name) === k);
  if (!by.length) return;
  const plain = by.join("_by_").toLowerCase().replace(/[^\p{L}\p{N}]+/gu, "_").replace(/^_+|_+$/g, "") || "table";
  let name = plain;
  for (let k = 2; name in state.tables; k += 1) name = `${plain}_${k}`;
  state.tables[name] = { count: true, by };
  showTables();
}

function showTables() {
  $("tables").replaceChildren(...Object.entries(state.tables).map(([name, table]) => {
    const item = document.createElement("li"), remove = document.createElement("button");
    remove.type = "button";
    remove.className = "quiet";
    remove.textContent = "Remove";
    remove.setAttribute("aria-label", `Remove the table ${name}`);
    remove.dataset.table = name;
    item.append(`${name}: by ${[].concat(table.by).join(" and ")}`, remove);
    return item;
  }));
}

export function removeTable(name) {
  delete state.tables[name];
  showTables();
}

function statistics() {
  const found = {};
  for (const box of document.querySelectorAll("#means input:checked, #counts input:checked")) found[box.dataset.name] = box.dataset.text;
  for (const line of $("own").value.split("\n")) {
    const at = line.indexOf("=");
    if (at > 0) found[line.slice(0, at).trim()] = line.slice(at + 1).trim().replace(/^"(.*)"$/, "$1");
    else if (line.trim()) found[line.trim()] = "";
  }
  return found;
}

export function epsilon() {
  const exact = Number($("epsilon").dataset.exact);
  return exact > 0 && stepOf(exact) === Number($("epsilon").value) ? exact : epsilonOf(Number($("epsilon").value));
}

// The choices as they are now.
export function draft() {
  const byAccuracy = mode() === "accuracy", own = $("private").value.trim();
  return {
    table: $("table").value,
    records: Number($("records").value),
    statistics: statistics(),
    tables: state.tables,
    secret: state.keepsSecret ? null : { share: $("secret").value, values: shares() },
    privacy: byAccuracy ? { max_attack_accuracy: Number($("accuracy").value) / 100 } : { epsilon: epsilon(), delta: Number($("delta").value) },
    total: state.base.total ?? null,
    dataset: $("dataset").value,
    private: own || (state.base.private === null ? null : ""),
    file: $("file").value,
  };
}

// Say beside every slider what it stands for.
export function label() {
  const records = Number($("records").value), byAccuracy = mode() === "accuracy";
  for (const [id, value] of [["low", shares()[0]], ["high", shares()[1]]]) {
    const note = document.createElement("small");
    note.textContent = `${Math.round(value * records)} of ${records}`;
    $(`${id}-shown`).replaceChildren(percent(value), note);
    $(id).setAttribute("aria-valuetext", `${percent(value)}, ${note.textContent}`);
  }
  const accuracy = Number($("accuracy").value) / 100;
  $("accuracy-shown").textContent = percent(accuracy);
  $("accuracy").setAttribute("aria-valuetext", percent(accuracy));
  $("epsilon-shown").textContent = String(epsilon());
  $("epsilon").setAttribute("aria-valuetext", `ε = ${epsilon()}`);
  $("accuracy-row").hidden = !byAccuracy;
  $("epsilon-row").hidden = $("delta-row").hidden = byAccuracy;
  const e = Math.exp(epsilon()), ceiling = (e + Number($("delta").value)) / (1 + e);
  const most = byAccuracy ? accuracy : Math.min(1, Math.ceil(1000 * ceiling - 1e-6) / 1000);
  $("promise").textContent = `Nobody who wonders which of the two is true is right more than ${Number((100 * most).toFixed(1))} times in 100; a blind guess is right 50 times.`;
  const counted = document.querySelectorAll("#counts input:checked").length;
  $("counted-number").textContent = counted ? `(${counted})` : "";
  $("example").hidden = !$("table").value.startsWith("embedded:");
}
