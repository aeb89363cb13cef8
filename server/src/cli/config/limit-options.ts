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
  maxCallsUnderWay: {
    flag: "max-calls-under-way",
    variable: "AUTHWIRE_MAX_CALLS_UNDER_WAY",
    value: integer(1, 1_000_000),
    default: "2000",
    help: "Calls that may be active in each worker at the same time; one more is rejected with RESOURCE_EXHAUSTED. Health and reflection do not count.",
    commands: ["serve"],
  },
  overloadDelayMs: {
    flag: "overload-delay-ms",
    variable: "AUTHWIRE_OVERLOAD_DELAY_MS",
    value: integer(0, 60_000),
    default: "500",
    help: "How long calls may take on average, in milliseconds. When they take longer for as long, or calls are rejected for --max-calls-under-way, more are rejected with RESOURCE_EXHAUSTED, until those that are let in take less than a tenth of it. 0: only --max-calls-under-way counts.",
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
} as const satisfies Record<string, Option>
