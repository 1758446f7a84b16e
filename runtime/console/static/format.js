// How numbers and times are written.

export const number = n => n.toLocaleString("en");

// short writes a large number with three digits.
export function short(n) {
  for (const [unit, size] of [["T", 1e12], ["G", 1e9], ["M", 1e6], ["k", 1e4]]) {
    const by = unit === "k" ? 1e3 : size;
    if (n >= size) return (n / by).toPrecision(3).replace(/\.0+$/, "") + " " + unit;
  }
  return number(n);
}

// duration writes nanoseconds.
export function duration(ns) {
  for (const [unit, size] of [["s", 1e9], ["ms", 1e6], ["µs", 1e3]]) {
    if (ns >= size) return (ns >= 100 * size ? Math.round(ns / size) : (ns / size).toPrecision(3)) + " " + unit;
  }
  return ns + " ns";
}

// age writes how long ago a time was, as kubectl does.
export function age(from, now) {
  const s = Math.max(0, Math.round((new Date(now) - new Date(from)) / 1000));
  if (s < 120) return s + "s";
  if (s < 600) return Math.floor(s / 60) + "m" + (s % 60 ? s % 60 + "s" : "");
  if (s < 3 * 3600) return Math.floor(s / 60) + "m";
  if (s < 48 * 3600) return Math.floor(s / 3600) + "h";
  return Math.floor(s / 86400) + "d";
}

export const clock = at => new Date(at).toISOString().slice(11, 19);

// amount writes an amount of a resource.
export function amount(name, n) {
  if (name === "cpu") return +(n / 1000).toPrecision(3) + "";
  if (name === "memory" || name.includes("storage")) {
    for (const [unit, size] of [["Ti", 2 ** 40], ["Gi", 2 ** 30], ["Mi", 2 ** 20]]) if (n >= size) return +(n / size).toPrecision(3) + " " + unit;
    return number(n);
  }
  return number(n);
}

export const percent = share => Math.round(100 * (share || 0)) + " %";

export const plural = (n, noun) => number(n) + " " + noun + (n === 1 ? "" : "s");

// camel lets a browser break a CamelCase name.
export const camel = name => name.replace(/([a-z])([A-Z])/g, "$1\u200b$2");
