/**
 * The floors of server/src, from the top: a folder imports from its own floor and those below. The lint rules in
 * .dependency-cruiser.js, and the picture in CONTRIBUTING.md, which scripts/pages.js draws, are made from this list.
 */
export const floors: readonly { about: string; folders: readonly string[] }[] = [
  { about: "what a person starts", folders: ["cli", "bootstrap"] },
  {
    about: "options, tools and what is observed",
    folders: ["config", "import", "doctor", "logging", "tracing", "metrics"],
  },
  { about: "how calls arrive", folders: ["transport", "pipeline"] },
  {
    about: "what each method does, one file for each service",
    folders: ["services", "gateway", "identity", "introspection"],
  },
  { about: "a call from its header to its answer", folders: ["rpc"] },
  {
    about: "one mechanism each",
    folders: [
      "auth",
      "session-cache",
      "provider-tokens",
      "signals",
      "webhooks",
      "events",
      "overload",
      "cleanup",
      "health",
    ],
  },
  { about: "the store's contract, and store/sql, which implements it", folders: ["store"] },
  { about: "the ground: errors, files, clocks, addresses", folders: ["errors", "util"] },
]
