import type { Option } from "./option.js"
import { integer, rates } from "./values.js"

/** How large, how long and how many calls may be. */
export const limitOptions = {
  maxDeadlineMs: {
    flag: "max-deadline-ms",
    variable: "AUTHWIRE_MAX_DEADLINE_MS",
    value: integer(10, 3_600_000),
    default: "30000",
    help: "How long a call may take, in milliseconds, whatever its caller asks for.",
    commands: ["serve"],
  },
  maxMessageBytes: {
    flag: "max-message-bytes",
    variable: "AUTHWIRE_MAX_MESSAGE_BYTES",
    value: integer(1024, 1_073_741_824),
    default: "4194304",
    help: "The largest request, in bytes; a larger one is rejected with RESOURCE_EXHAUSTED.",
    commands: ["serve"],
  },
  maxActiveCalls: {
    flag: "max-active-calls",
    variable: "AUTHWIRE_MAX_ACTIVE_CALLS",
    value: integer(1, 1_000_000),
    default: "256",
    help: "Calls that each worker works on at the same time; an API key gets at most nine tenths of them. Others wait for a moment, key by key in turn, and are then rejected with RESOURCE_EXHAUSTED. Health and reflection do not count.",
    commands: ["serve"],
  },
  rateLimit: {
    flag: "rate-limit",
    variable: "AUTHWIRE_RATE_LIMIT",
    value: integer(0, 1_000_000_000),
    default: "20000",
    help: "Calls that an API key may make of a method in a second, in each worker of each replica; more are rejected with RESOURCE_EXHAUSTED. 0 limits none.",
    commands: ["serve"],
  },
  rateLimitOverrides: {
    flag: "rate-limit-overrides",
    variable: "AUTHWIRE_RATE_LIMIT_OVERRIDES",
    value: rates(),
    default: "VerificationTokenService.UseVerificationToken=200,UserService.GetUserByEmail=1000",
    help: "The same for single methods, in place of --rate-limit: SERVICE.METHOD=N, separated by commas. Those of the default are where somebody may guess: tokens, and who has an account. What is given here takes the place of the whole default.",
    commands: ["serve"],
  },
  tokenCacheSize: {
    flag: "token-cache-size",
    variable: "AUTHWIRE_TOKEN_CACHE_SIZE",
    value: integer(0, 1_000_000),
    default: "1000",
    help: "How many decrypted tokens each worker remembers, so that a token that is read again is not decrypted again. Together they take at most 4 KiB for each of this number; the least recently used go first. Secrets and expiry are checked at every use. 0: none.",
    commands: ["serve"],
  },
} as const satisfies Record<string, Option>
