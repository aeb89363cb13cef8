import type { Option } from "./option.js"

/** How large, how long and how many calls may be. */
export const limitOptions = [
  {
    flag: "max-deadline-ms",
    variable: "AUTHWIRE_MAX_DEADLINE_MS",
    type: "integer",
    min: 10,
    max: 3_600_000,
    default: "30000",
    help: "How long a call may take, in milliseconds, whatever its caller asks for.",
    commands: ["serve"],
  },
  {
    flag: "max-message-bytes",
    variable: "AUTHWIRE_MAX_MESSAGE_BYTES",
    type: "integer",
    min: 1024,
    max: 1_073_741_824,
    default: "4194304",
    help: "The largest request, in bytes; a larger one is refused with RESOURCE_EXHAUSTED.",
    commands: ["serve"],
  },
  {
    flag: "max-active-calls",
    variable: "AUTHWIRE_MAX_ACTIVE_CALLS",
    type: "integer",
    min: 1,
    max: 1_000_000,
    default: "256",
    help: "Calls that each worker works on at the same time; an API key gets at most nine tenths of them. Others wait for a moment, key by key in turn, and are then rejected with RESOURCE_EXHAUSTED. Health and reflection do not count.",
    commands: ["serve"],
  },
  {
    flag: "rate-limit",
    variable: "AUTHWIRE_RATE_LIMIT",
    type: "integer",
    min: 0,
    max: 1_000_000_000,
    default: "20000",
    help: "Calls that an API key may make of a method in a second, in each worker of each replica; more are refused with RESOURCE_EXHAUSTED. 0 limits none.",
    commands: ["serve"],
  },
  {
    flag: "rate-limit-overrides",
    variable: "AUTHWIRE_RATE_LIMIT_OVERRIDES",
    type: "rates",
    placeholder: "SERVICE.METHOD=N,…",
    default: "VerificationTokenService.UseVerificationToken=200,UserService.GetUserByEmail=1000",
    help: "The same for single methods, in place of --rate-limit. Those of the default are where somebody may guess: tokens, and who has an account. What is given here takes the place of the whole default.",
    commands: ["serve"],
  },
] as const satisfies readonly Option[]
