"use strict";
const box = document.getElementById("search"), found = document.getElementById("found");
const rows = document.querySelectorAll("tr[data-words]");
const search = () => {
  const words = box.value.toLowerCase().split(/\s+/);
  let n = 0;
  for (const row of rows) {
    row.hidden = !words.every(w => row.dataset.words.toLowerCase().includes(w));
    n += row.hidden ? 0 : 1;
  }
  found.textContent = box.value ? `${n} of ${rows.length}` : "";
};
box.addEventListener("input", () => {
  history.replaceState(null, "", box.value ? "?q=" + encodeURIComponent(box.value) : location.pathname);
  search();
});
box.value = new URLSearchParams(location.search).get("q") || "";
box.closest("p").hidden = false;
search();
