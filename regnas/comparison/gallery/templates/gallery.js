"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const list = document.getElementById("flips");
  const shown = document.getElementById("shown");
  const end = document.getElementById("end");
  const filters = {
    label: document.getElementById("label"),
    answer: document.getElementById("answer"),
    suspects: document.getElementById("suspects"),
  };
  const BATCH = 60; // cards made at once: more than a large screen holds
  let matching = [];
  let made = 0;

  // Names come from files and data: they become text nodes and attributes, and never markup.
  function element(tag, className, text) {
    const made = document.createElement(tag);
    if (className) made.className = className;
    if (text !== undefined) made.textContent = text;
    return made;
  }

  // What is too long for its place is cut off there, and whole under the pointer.
  function titled(tag, text) {
    const made = element(tag, "", text);
    made.title = text;
    return made;
  }

  function card(flip) {
    const item = element("li", flip.suspect ? "suspect" : "");
    const picture = element("img");
    picture.alt = `Sample ${flip.id}, labeled ${data.classes[flip.label]}`;
    picture.src = flip.picture;
    const answers = element("dl");
    answers.append(element("dt", "", "label"), titled("dd", data.classes[flip.label]), element("dd", "sure"));
    flip.answers.forEach(([answer, confidence], index) => {
      const name = titled("dt", data.models[index]);
      const said = titled("dd", data.classes[answer]);
      const sure = element("dd", "sure", confidence === null ? "" : `${(100 * confidence).toFixed(0)} %`);
      if (answer !== flip.label) [said, sure].forEach((each) => each.classList.add("wrong"));
      answers.append(name, said, sure);
    });
    const id = titled("p", flip.id);
    id.className = "id";
    item.append(picture, answers);
    if (flip.suspect) item.append(element("p", "mark", "label suspect"));
    item.append(id);
    return item;
  }

  function more() {
    list.append(...matching.slice(made, made + BATCH).map(card));
    made = Math.min(made + BATCH, matching.length);
    end.hidden = made >= matching.length;
  }

  function options(select, everything, classes) {
    const counts = new Map();
    classes.forEach((index) => counts.set(index, (counts.get(index) || 0) + 1));
    const known = [...counts].sort(([a], [b]) => a - b);
    select.append(new Option(everything, ""));
    known.forEach(([index, count]) => select.append(new Option(`${data.classes[index]} (${count})`, index)));
  }

  function apply() {
    const { label, answer, suspects } = filters;
    matching = data.flips.filter(
      (flip) =>
        (label.value === "" || flip.label === Number(label.value)) &&
        (answer.value === "" || flip.answers[1][0] === Number(answer.value)) &&
        (suspects.value === "" || flip.suspect === (suspects.value === "only")),
    );
    made = 0;
    list.replaceChildren();
    shown.textContent = `${matching.length.toLocaleString("en")} of ${data.flips.length.toLocaleString("en")} shown`;
    more();
  }

  options(filters.label, "all classes", data.flips.map((flip) => flip.label));
  options(filters.answer, "all classes", data.flips.map((flip) => flip.answers[1][0]));
  Object.values(filters).forEach((select) => select.addEventListener("change", apply));
  document.getElementById("filters").hidden = false;
  new IntersectionObserver((entries) => entries.some((entry) => entry.isIntersecting) && more(), {
    rootMargin: "800px",
  }).observe(end);
  apply();
})();
