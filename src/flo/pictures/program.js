"use strict";
const verbs = [...document.querySelectorAll("[data-verb]")];

function panelOf(verb) {
  return document.getElementById(`operators${verb.dataset.verb}`);
}

function show(verb, open) {
  panelOf(verb).hidden = !open;
  verb.setAttribute("aria-expanded", String(open));
}

function toggle(verb) {
  const panel = panelOf(verb), open = panel.hidden, place = panel.parentElement;
  verbs.forEach((each) => show(each, false));
  show(verb, open);
  place.style.minHeight = open ? `${panel.offsetTop + panel.offsetHeight}px` : "";
  if (open) panel.scrollIntoView({ block: "nearest", inline: "nearest" });
}

for (const verb of verbs) {
  verb.setAttribute("tabindex", "0");
  verb.setAttribute("role", "button");
  show(verb, false);
  verb.addEventListener("click", (event) => {
    event.stopPropagation();
    toggle(verb);
  });
  verb.addEventListener("keydown", (event) => {
    if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      event.stopPropagation();
      toggle(verb);
    }
  });
}
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") verbs.forEach((each) => show(each, false));
});
