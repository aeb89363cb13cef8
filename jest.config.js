export const ignored = [
  "/node_modules/",
  "/dist/",
  // Needs a cluster, which no run starts itself.
  ...(process.env.AUTHWIRE_TEST_CLUSTER_URL || process.env.AUTHWIRE_TEST_GALERA_URL
    ? []
    : ["cluster(/contract\\.long)?\\.test\\.ts$"]),
]

/** @type {import("jest").Config} */
export default {
  roots: [
    "<rootDir>/token/src",
    "<rootDir>/server/src",
    "<rootDir>/client/src",
    "<rootDir>/console/src",
    "<rootDir>/examples/express/src",
    "<rootDir>/bench/load",
    "<rootDir>/bench/report",
    "<rootDir>/fuzz",
    "<rootDir>/test",
  ],
  testMatch: ["**/*.test.ts"],
  // Long tests and tests that measure have configurations of their own: jest.long.config.js and jest.perf.config.js.
  testPathIgnorePatterns: [...ignored, "\\.(long|perf)\\.test\\.ts$"],
  modulePathIgnorePatterns: ["/dist/"],
  extensionsToTreatAsEsm: [".ts"],
  transform: {
    "\\.ts$": [
      "@swc/jest",
      { jsc: { parser: { syntax: "typescript" }, target: "es2024" }, module: { type: "es6" }, sourceMaps: "inline" },
    ],
  },
  // Sources import each other as ".js", the name after the build, as Node requires. Jest loads the ".ts" files.
  moduleNameMapper: { "^(\\.{1,2}/.*)\\.js$": "$1" },
  globalSetup: "<rootDir>/test/support/global-setup.js",
  globalTeardown: "<rootDir>/test/support/global-teardown.js",
  testSequencer: "<rootDir>/test/support/longest-first.js",
  // One more than the processors of the machines that the tests usually run on, because a test often waits.
  maxWorkers: 3,
  // Enough for two tests that wait on each of the three servers.
  maxConcurrency: 6,
  // Only ends tests that hang. It is long because a machine that builds four languages at the same time may be slow.
  testTimeout: 60_000,
}
