// The fields of a server's form. The page checks what it can; the server of this page checks again. A
// pattern is for the server of this page alone: here it might never end.

import { el, fresh } from "./tree.js";

// formFields makes the controls. check shows what is wrong and focuses the first such field, show
// does so with what the server says, by names of fields.
export function formFields(fields) {
  const controls = fields.map(control);
  const show = (wrong) => {
    let first;
    for (const c of controls) {
      const text = wrong(c);
      c.wrong(text);
      if (text && !first) first = c;
    }
    first?.focus();
    return !first;
  };
  return {
    node: el("div", { class: "fields" }, ...controls.map((c) => c.node)),
    check: () => show((c) => c.check()),
    show: (byName) => { show((c) => (Object.hasOwn(byName, c.field.name) ? byName[c.field.name] : "")); },
    values() {
      // without a prototype: a field may be named __proto__
      const values = Object.create(null);
      for (const c of controls) {
        const value = c.value();
        if (value !== undefined) values[c.field.name] = value;
      }
      return values;
    },
  };
}

function control(field) {
  const make = { boolean: truth, choice, choices }[field.kind] ?? (field.format === "date" || field.format === "date-time" ? dated : text);
  const ids = { input: fresh("field"), help: fresh("help"), wrong: fresh("wrong") };
  const c = make(field, ids);
  const message = el("p", { class: "wrong", id: ids.wrong, hidden: true });
  const help = [field.description, bounds(field)].filter(Boolean).join(" · ");
  const described = [help ? ids.help : "", ids.wrong].filter(Boolean).join(" ");
  const label = [field.title || field.name, field.required ? el("span", { class: "required" }, " (required)") : ""];
  const shown = c.node ?? c.input;
  const node = c.group
    ? el("fieldset", { class: "field" }, el("legend", {}, ...label), help ? el("p", { class: "help", id: ids.help }, help) : null, shown, message)
    : el("div", { class: "field" }, el("label", { for: ids.input }, ...label), help ? el("p", { class: "help", id: ids.help }, help) : null, shown, message);
  (c.group ? node : c.input).setAttribute("aria-describedby", described);
  return {
    field, node,
    value: c.value,
    focus: () => (c.group ? c.input.querySelector("input") : c.input)?.focus(),
    wrong(textOfIt) {
      message.textContent = textOfIt;
      message.hidden = !textOfIt;
      if (!c.group) c.input.setAttribute("aria-invalid", textOfIt ? "true" : "false");
      node.classList.toggle("invalid", Boolean(textOfIt));
    },
    check() {
      const value = c.value();
      if (value === "" && field.required) return "This is required.";
      if (value === undefined) return field.required && field.default === undefined ? "This is required." : "";
      return objection(field, value);
    },
  };
}

const suchAs = { date: "such as 2026-12-24", "date-time": "such as 2026-12-24 19:30" };

// bounds says in words what a field takes. A pattern is for people who know such expressions, so the
// description of the server stands in for it.
function bounds(f) {
  const range = (low, high, unit) => {
    if (low === undefined && high === undefined) return "";
    if (low === high) return `${low}${unit}`;
    if (low === undefined) return `at most ${high}${unit}`;
    return high === undefined ? `at least ${low}${unit}` : `${low} to ${high}${unit}`;
  };
  switch (f.kind) {
    case "string": return [suchAs[f.format], range(f.min, f.max, " characters"), f.pattern && !f.description ? `as ${f.pattern}` : ""].filter(Boolean).join(" · ");
    case "choices": return range(f.min, f.max, " of these");
    case "integer": case "number": return range(f.min, f.max, "");
  }
  return "";
}

// objection says why a value does not fit, "" if it does as far as the page can tell.
function objection(f, value) {
  if (f.kind === "choices") {
    if (f.min > value.length) return `Choose at least ${f.min}.`;
    if (f.max < value.length) return `Choose at most ${f.max}.`;
    return "";
  }
  if (f.kind === "integer" || f.kind === "number") return numberObjection(f, value);
  if (f.kind !== "string") return "";
  const length = [...value].length;
  if (f.min > length) return `Write at least ${f.min} characters.`;
  if (f.max < length) return `Write at most ${f.max} characters.`;
  if (f.format === "email" && !/^[^\s@]+@[^\s@]+$/.test(value)) return "This is not an e-mail address.";
  if (f.format === "date" && !isDay(value)) return "This is not a date such as 2026-12-24: year, month, day.";
  if (f.format === "date-time" && Number.isNaN(Date.parse(value))) return "This is not a date and time such as 2026-12-24 19:30.";
  if (f.format === "uri" && !URL.canParse(value)) return "This is not an address such as https://example.com.";
  return "";
}

function numberObjection(f, value) {
  const n = Number(value);
  if (value.trim() === "" || !Number.isFinite(n)) return "This is not a number.";
  if (f.kind === "integer" && !/^[+-]?\d+$/.test(value.trim())) return "This is not a whole number.";
  if (n < f.min) return `This has to be at least ${f.min}.`;
  if (n > f.max) return `This has to be at most ${f.max}.`;
  return "";
}

const inputTypes = { email: "email", uri: "url" };

function text(field, ids) {
  const numeric = field.kind === "integer" || field.kind === "number";
  const long = field.kind === "string" && !field.format && field.max > 200;
  const input = long
    ? el("textarea", { id: ids.input, rows: 3 })
    : el("input", {
      id: ids.input, type: numeric ? "text" : inputTypes[field.format] ?? "text", autocomplete: "off",
      inputmode: numeric ? (field.kind === "integer" ? "numeric" : "decimal") : undefined,
    });
  input.value = startOf(field);
  const filled = field.default !== undefined && field.default !== null;
  if (filled && input.value === "") { // the control cannot show it
    input.type = "text";
    input.value = String(field.default);
  }
  const start = input.value;
  return {
    input,
    value() {
      if (filled && input.value === start) return String(field.default);
      if (input.value === "") return filled ? "" : undefined; // what is left out has the server's value
      return input.value;
    },
  };
}

const isDay = (value) => /^\d{4}-\d{2}-\d{2}$/.test(value) && !Number.isNaN(Date.parse(value)) && new Date(value).toISOString().startsWith(value);
const isTime = (value) => /^\d{4}-\d{2}-\d{2}[T ]([01]\d|2[0-3]):[0-5]\d(:[0-5]\d)?$/.test(value) && isDay(value.slice(0, 10));

// dated is a date, or a date and a time here, as servers write and describe it. A browser's own field has the order of its language,
// so it is there to choose from alone.
function dated(field, ids) {
  const timed = field.format === "date-time";
  const c = text(field, ids);
  if (timed && isTime(c.input.value)) c.input.value = c.input.value.replace("T", " ");
  const start = c.input.value;
  const calendar = el("input", { type: timed ? "datetime-local" : "date", class: "calendar", tabindex: -1, "aria-hidden": "true", change: () => {
    if (calendar.value) c.input.value = calendar.value.replace("T", " ");
    c.input.focus();
  } });
  const choose = el("button", { type: "button", class: "quiet", "aria-label": `Choose: ${field.title || field.name}`, click: () => {
    calendar.value = (timed ? isTime : isDay)(c.input.value) ? c.input.value : "";
    calendar.showPicker();
  } }, "Choose");
  const value = () => {
    if (start && c.input.value === start) return String(field.default); // with the seconds and the zone that are not shown
    return timed && isTime(c.input.value) ? new Date(c.input.value.replace(" ", "T")).toISOString() : c.value();
  };
  return { ...c, value, node: el("div", { class: "day" }, c.input, choose, calendar) };
}

function startOf(field) {
  if (field.default === undefined || field.default === null) return "";
  if (field.format !== "date-time") return String(field.default);
  const time = new Date(field.default);
  return Number.isNaN(time.getTime()) ? "" : new Date(time - time.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}

function truth(field, ids) {
  const input = el("select", { id: ids.input },
    field.default === undefined ? el("option", { value: "" }, "—") : null,
    el("option", { value: "yes", selected: field.default === true }, "Yes"), el("option", { value: "no", selected: field.default === false }, "No"));
  return { input, value: () => ({ yes: true, no: false })[input.value] };
}

function choice(field, ids) {
  const input = el("select", { id: ids.input },
    field.default === undefined ? el("option", { value: "" }, "—") : null,
    ...field.options.map((o, i) => el("option", { value: String(i), selected: o.value === field.default }, o.title || o.value)));
  return { input, value: () => (input.value === "" ? undefined : field.options[Number(input.value)].value) };
}

function choices(field) {
  const boxes = field.options.map((o) => {
    const id = fresh("box");
    const box = el("input", { type: "checkbox", id, checked: field.default?.includes(o.value) });
    return { value: o.value, box, node: el("div", { class: "check" }, box, el("label", { for: id }, o.title || o.value)) };
  });
  const input = el("div", {}, ...boxes.map((b) => b.node));
  return {
    input, group: true,
    value() {
      const chosen = boxes.filter((b) => b.box.checked).map((b) => b.value);
      return chosen.length || field.required || field.default !== undefined ? chosen : undefined;
    },
  };
}
