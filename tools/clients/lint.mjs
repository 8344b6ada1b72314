// Lints web/openapi.yaml by the recommended rules of Redocly, and fails for errors and warnings: make clients-check.

import { createConfig, formatProblems, getTotals, lint } from '@redocly/openapi-core';

// Named in descriptions, which are no references: what event streams send, and the answer to a method that a path does not have.
const named = new Set(['#/components/schemas/Bye', '#/components/schemas/Away', '#/components/schemas/SaleFigures', '#/components/examples/METHOD']);

const config = await createConfig({
  extends: ['recommended'],
  rules: { 'no-ambiguous-paths': 'off' }, // ids are numbers: /voucher/list/7 is no /voucher/{id}/…
});
const all = await lint({ ref: process.argv[2], config });
const unused = (problem) => problem.ruleId === 'no-unused-components' && named.delete(problem.location[0].pointer);
const problems = all.filter((problem) => !unused(problem));
for (const pointer of named) console.error(`${pointer} is used: it needs no exception in lint.mjs`);
if (problems.length > 0) formatProblems(problems, { format: 'codeframe', totals: getTotals(problems), version: '', maxProblems: 100 });
process.exit(problems.length > 0 || named.size > 0 ? 1 : 0);
