import { expect, test } from "@jest/globals"
import { problemsOf } from "../../scripts/promises.ts"

const pageOf = (...items: string[]) =>
  `# Page\n\n*We promise:*\n\n${items.join("\n")}\n\n*The operator's job:* all.\n- rest`
const testsOf = (...ids: string[]) => new Map(ids.map((id) => [`${id}.test.ts`, `test("${id}: it holds", () => {})`]))
const [one, two] = ["- One\n  promise. [S-1]", "- Another. [S-2]"]

test.each<[string, string, Map<string, string>, string[]]>([
  ["all is well", pageOf(one, two), testsOf("S-1", "S-2"), []],
  ["one test shows two promises", pageOf(one, two), testsOf("S-1, S-2"), []],
  ["a promise has no test", pageOf(one, two), testsOf("S-1"), ["SECURITY.md: no title of a test names S-2"]],
  ["a test names no promise", pageOf(one), testsOf("S-1", "S-2"), ["S-2.test.ts: SECURITY.md has no promise S-2"]],
  ["a promise has no id", pageOf(one, "- More."), testsOf("S-1"), ["SECURITY.md: a promise without an id: - More."]],
  ["an id is used twice", pageOf(one, one), testsOf("S-1"), ["SECURITY.md: S-1 stands for two promises"]],
  ["promises are no list", "*We promise:* all.", testsOf(), ["SECURITY.md: no list follows: *We promise:* all."]],
])("%s", (_, page, tests, problems) => {
  expect(problemsOf(page, tests)).toEqual(problems)
})
