import { existsSync } from "node:fs"

export const ignored = [
  "/node_modules/",
  "/dist/",
  // Needs a cluster, which no run starts by itself.
  ...(process.env.AUTHWIRE_TEST_CLUSTER_URL || process.env.AUTHWIRE_TEST_GALERA_URL ? [] : ["cluster\\.test\\.ts$"]),
  // Needs an earlier version, which only a history with one has (scripts/earlier).
  ...(existsSync(new URL("build/earlier/commit", import.meta.url)) ? [] : ["test/upgrade/upgrade\\.test\\.ts$"]),
]

/** @type {import("jest").Config} */
export default {
  roots: [
    "<rootDir>/token/src",
    "<rootDir>/server/src",
    "<rootDir>/client/src",
    "<rootDir>/examples/express/src",
    "<rootDir>/bench/load",
    "<rootDir>/bench/report",
    "<rootDir>/fuzz",
    "<rootDir>/test",
  ],
  testMatch: ["**/*.test.ts"],
  // Those that measure have a configuration of their own: jest.perf.config.js.
  testPathIgnorePatterns: [...ignored, "\\.perf\\.test\\.ts$"],
  modulePathIgnorePatterns: ["/dist/"],
  extensionsToTreatAsEsm: [".ts"],
  transform: {
    "\\.ts$": [
      "@swc/jest",
      { jsc: { parser: { syntax: "typescript" }, target: "es2024" }, module: { type: "es6" }, sourceMaps: "inline" },
    ],
  },
  // Sources import each other as ".js", as Node wants it after the build; under jest the ".ts" stands there.
  moduleNameMapper: { "^(\\.{1,2}/.*)\\.js$": "$1" },
  globalSetup: "<rootDir>/test/support/global-setup.js",
  globalTeardown: "<rootDir>/test/support/global-teardown.js",
  testSequencer: "<rootDir>/test/support/sequencer.js",
  maxWorkers: 2,
  // Only a guard against what hangs: machines that build four languages beside it are slow at times.
  testTimeout: 60_000,
}
