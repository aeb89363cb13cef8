import base, { ignored } from "./jest.config.js"

/**
 * Tests that measure how long something takes (`make test-perf`). They need a machine that does nothing else, so they run
 * one after the other, and not with the rest.
 *
 * @type {import("jest").Config}
 */
export default { ...base, testMatch: ["**/*.perf.test.ts"], testPathIgnorePatterns: ignored, maxWorkers: 1 }
