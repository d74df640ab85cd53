// How the search ranks pages: those for users first, then the reference, then what is about Flo itself.
const LATER = /^(api\/|errors|benchmarks|changelog|dependencies|sql-expressions|sql-support)/;
const LAST = /^(architecture|contributing|paper-map|deviations|laws|proofs|programs\/|source\/)/;

var Scorer = {
  score: ([page, , , , score]) => score * (LAST.test(page) ? 0.2 : LATER.test(page) ? 0.5 : 1),
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: {0: 15, 1: 5, 2: -5},
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
