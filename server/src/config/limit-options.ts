import type { OptionDefinition } from "./option.js"
import { integer, rates } from "./values.js"

/** Limits of the size, the duration and the number of calls. */
export const limitOptions = {
  maxDeadlineMs: {
    value: integer(10, 3_600_000),
    default: "30000",
    help: "The longest time that a unary call may take, in milliseconds, whatever deadline its caller sets.",
    commands: ["serve"],
  },
  maxMessageBytes: {
    value: integer(1024, 1_073_741_824),
    default: "4194304",
    help: "The largest request, in bytes; a larger one is rejected with RESOURCE_EXHAUSTED.",
    commands: ["serve"],
  },
  maxActiveCalls: {
    value: integer(1, 1_000_000),
    default: "256",
    help: "The maximum number of calls that each worker processes at the same time; an API key gets at most nine tenths of them. Further calls wait for up to half a second, and the API keys take turns; then the calls are rejected with RESOURCE_EXHAUSTED. Health and reflection do not count.",
    commands: ["serve"],
  },
  rateLimit: {
    value: integer(0, 1_000_000_000),
    default: "20000",
    help: "Calls per second that an API key may make of one method, in each worker of each replica; further calls are rejected with RESOURCE_EXHAUSTED. 0: no limit.",
    commands: ["serve"],
  },
  rateLimitOverrides: {
    value: rates(),
    default: "VerificationTokenService.UseVerificationToken=200,UserService.GetUserByEmail=1000",
    help: "Rate limits of single methods, which replace --rate-limit: SERVICE.METHOD=N, separated by commas. The default limits the methods that allow guessing: of tokens, and of who has an account. A given value replaces the whole default.",
    commands: ["serve"],
  },
  tokenCacheSize: {
    value: integer(0, 1_000_000),
    default: "1000",
    help: "The number of decrypted tokens that each worker caches, so that a token that is read again is not decrypted again. The cache takes at most 4 KiB times this number; the least recently used tokens are evicted first. Secrets and expiry are checked at every use. 0: no cache.",
    commands: ["serve"],
  },
} as const satisfies Record<string, OptionDefinition>
