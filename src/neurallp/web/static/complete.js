// Completion of names: pages work without it. A list below an input offers what the server finds.
"use strict";

function complete(input) {
  const list = document.createElement("ul");
  list.className = "choices";
  list.id = input.id + "-choices";
  list.setAttribute("role", "listbox");
  list.setAttribute("aria-label", "Suggestions");
  list.hidden = true;
  input.after(list);
  input.setAttribute("role", "combobox");
  input.setAttribute("aria-autocomplete", "list");
  input.setAttribute("aria-expanded", "false");
  input.setAttribute("aria-controls", list.id);
  let chosen = -1, asked = 0, timer = 0;

  function hide() {
    list.hidden = true;
    chosen = -1;
    input.setAttribute("aria-expanded", "false");
    input.removeAttribute("aria-activedescendant");
  }

  function take(name) {
    input.value = name;
    hide();
    if (input.dataset.go) location.href = input.dataset.go + encodeURIComponent(name);
  }

  function mark(place) {
    const items = list.children;
    if (!items.length) return;
    if (chosen >= 0) items[chosen].setAttribute("aria-selected", "false");
    chosen = (place + items.length) % items.length;
    items[chosen].setAttribute("aria-selected", "true");
    items[chosen].scrollIntoView({ block: "nearest" });
    input.setAttribute("aria-activedescendant", items[chosen].id);
  }

  function show(names) {
    list.replaceChildren(...names.map((name, place) => {
      const item = document.createElement("li");
      item.id = list.id + "-" + place;
      item.setAttribute("role", "option");
      item.setAttribute("aria-selected", "false");
      item.textContent = name;
      item.addEventListener("mousedown", (event) => { event.preventDefault(); take(name); });
      return item;
    }));
    chosen = -1;
    list.hidden = !names.length;
    input.setAttribute("aria-expanded", String(!!names.length));
  }

  async function ask() {
    const text = input.value.trim(), number = ++asked;
    if (!text) return hide();
    const answer = await fetch("/find?format=json&limit=8&text=" + encodeURIComponent(text.slice(0, 100)));
    if (answer.ok && number === asked && document.activeElement === input) show((await answer.json()).entities.map((each) => each.name));
  }

  input.addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(ask, 120); });
  input.addEventListener("blur", hide);
  input.addEventListener("keydown", (event) => {
    if (list.hidden) return;
    if (event.key === "ArrowDown") mark(chosen + 1);
    else if (event.key === "ArrowUp") mark(chosen - 1);
    else if (event.key === "Escape") hide();
    else if (event.key === "Enter" && chosen >= 0) take(list.children[chosen].textContent);
    else return;
    event.preventDefault();
  });
  if (input.value !== input.defaultValue) ask();  // Typed while this script was on its way.
}

document.querySelectorAll("[data-complete]").forEach(complete);
