import { afterAll, beforeAll, describe, expect, test } from "@jest/globals"
import { hasSuite, printed, runSuite, subjects, writeDescriptors } from "./suite.ts"

const minute = 60_000
const reports: string[] = []

const withSuite = hasSuite ? describe : describe.skip
withSuite("the conformance suite of Connect", () => {
  beforeAll(writeDescriptors, minute)
  afterAll(() => console.info(reports.join("")))

  test.each(subjects)(
    "$name has only the failures of its list, and each of them",
    async (subject) => {
      const report = await runSuite(subject)
      reports.push(printed(subject, report))
      expect(report.unexplained).toEqual([])
      expect([report.exitCode, report.output]).toEqual([0, expect.stringContaining(" passed, 0 failed")])
      const passed = [...report.counts.values()].reduce((sum, count) => sum + count.passed, 0)
      expect(report.output).toContain(`\n${passed} passed, 0 failed`)
    },
    5 * minute,
  )
})
