"use strict";
const root = document.documentElement, table = document.querySelector("table"), body = table.tBodies[0];
const heads = [...table.tHead.rows[0].cells], buttons = heads.map(head => head.querySelector("button"));
const said = document.getElementById("said"), tip = document.getElementById("tip");

// sorting: a click, or Enter and Space as on any button; arrows go from heading to heading
function sortBy(place) {
  const head = heads[place], text = head.classList.contains("text");
  const before = head.getAttribute("aria-sort");
  const up = before ? before === "descending" : text; // numbers start with the largest, names with A
  heads.forEach(other => other.removeAttribute("aria-sort"));
  head.setAttribute("aria-sort", up ? "ascending" : "descending");
  const key = row => row.cells[place].dataset.value;
  const rows = [...body.rows].sort((a, b) => {
    const x = key(a), y = key(b);
    if (x === "" || y === "") return (x === "") - (y === "");
    const order = text ? x.localeCompare(y) : Number(x) - Number(y);
    return up ? order : -order;
  });
  body.append(...rows);
  said.textContent = `sorted by ${buttons[place].textContent}, ${up ? "ascending" : "descending"}`;
}
buttons.forEach((button, place) => {
  button.addEventListener("click", () => sortBy(place));
  button.addEventListener("keydown", event => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    const shown = buttons.filter(other => other.offsetParent);
    shown[(shown.indexOf(button) + step + shown.length) % shown.length].focus();
    event.preventDefault();
  });
});

// what a column or a mark means, beside it: under a pointer and for who comes by keyboard
for (const part of document.querySelectorAll("[data-tip]")) {
  const show = () => {
    const box = part.getBoundingClientRect();
    tip.textContent = part.dataset.tip;
    tip.style.display = "block";
    tip.style.left = `${Math.max(4, Math.min(box.left, innerWidth - tip.offsetWidth - 8))}px`;
    const above = box.top - tip.offsetHeight - 6;
    tip.style.top = `${above > 4 ? above : box.bottom + 6}px`;
  };
  const hide = () => { tip.style.display = "none"; };
  for (const name of ["mouseenter", "focus"]) part.addEventListener(name, show);
  for (const name of ["mouseleave", "blur"]) part.addEventListener(name, hide);
}
addEventListener("keydown", event => { if (event.key === "Escape") tip.style.display = "none"; });

// rows by a part of their name, and the less important columns
const find = document.getElementById("find"), every = document.getElementById("every");
const filter = () => {
  const part = find.value.trim().toLowerCase();
  for (const row of body.rows) row.hidden = !row.cells[0].dataset.value.toLowerCase().includes(part);
};
for (const name of ["input", "change"]) find.addEventListener(name, filter);
every.addEventListener("change", () => table.classList.toggle("some", !every.checked));
table.classList.add("some");
document.querySelector(".tools").hidden = false;

// light or dark: the system's choice until the reader makes one; a page inside another may not remember it
const theme = document.getElementById("theme"), dark = matchMedia("(prefers-color-scheme: dark)");
const store = { get: () => { try { return localStorage.getItem("theme"); } catch { return null; } },
                set: value => { try { localStorage.setItem("theme", value); } catch { /* forgotten */ } } };
const now = () => root.dataset.theme || (dark.matches ? "dark" : "light");
const name = () => { theme.textContent = now() === "dark" ? "Light" : "Dark"; };
if (store.get()) root.dataset.theme = store.get();
theme.addEventListener("click", () => {
  root.dataset.theme = now() === "dark" ? "light" : "dark";
  store.set(root.dataset.theme);
  name();
});
dark.addEventListener("change", name);
theme.hidden = false;
name();

// MLflow shows the page in a frame that may open nothing: there links would be dead
if (location.protocol === "blob:" || location.protocol === "about:") {
  for (const link of document.querySelectorAll("a[href^=http], a[href$='.html']")) link.replaceWith(...link.childNodes);
}
