"use strict";
const box = document.getElementById("search"), rows = document.querySelectorAll("tbody tr");
box.parentElement.hidden = false;
box.addEventListener("input", () => {
  const words = box.value.toLowerCase().split(/\s+/);
  for (const row of rows) row.hidden = !words.every(w => row.textContent.toLowerCase().includes(w));
});