import type { OptionDefinition } from "./option.js"
import { duration, integer, rates } from "./values.js"

/** Limits of calls, the deletion of expired rows, and the end of the service. */
export const serviceOptions = {
  maxDeadlineMs: {
    value: integer(10, 3_600_000),
    default: "30000",
    help: "The longest time that a unary call may take, in milliseconds, whatever deadline its caller sets.",
  },
  maxMessageBytes: {
    value: integer(1024, 1_073_741_824),
    default: "4194304",
    help: "The largest request, in bytes; a larger one is rejected with RESOURCE_EXHAUSTED.",
  },
  maxActiveCalls: {
    value: integer(1, 1_000_000),
    default: "256",
    help: "The maximum number of reads that each process serves at the same time, of writes, and of calls of TokenService; see limits.md. Further calls wait for up to half a second, and are then rejected with RESOURCE_EXHAUSTED. Health and reflection do not count.",
  },
  rateLimit: {
    value: integer(0, 1_000_000_000),
    default: "20000",
    help: "Calls per second that an API key may make of one method, in each process; further calls are rejected with RESOURCE_EXHAUSTED. 0: no limit.",
  },
  rateLimitOverrides: {
    value: rates(),
    default: "VerificationTokenService.UseVerificationToken=200,UserService.GetUserByEmail=1000",
    help: "Rate limits of single methods, which replace --rate-limit: SERVICE.METHOD=N, separated by commas. The default limits the methods that allow guessing: of tokens, and of who has an account. ListUsers and CountUsers share that of GetUserByEmail. A given value replaces the whole default.",
  },
  tokenCacheSize: {
    value: integer(0, 1_000_000),
    default: "1000",
    help: "The number of decrypted tokens that each process caches, in at most 4 KiB times this number. Secrets and expiry are checked at every use. 0: no cache.",
  },
  provisionalSignUp: {
    value: duration("1s", "1d"),
    default: "0",
    help: "How long after its creation a user of the adapter is replaced by the next sign-up with the same address, if it has nothing else: no account, session, passkey, verified address or later change. See operating.md. With it, applications must create their own users with the typed client, and not with the adapter. Must be the same on all replicas. 0: no user is replaced.",
  },
  cleanupInterval: {
    value: duration("1s", "1d"),
    default: "5m",
    help: "The interval at which expired rows are deleted, by one process at a time. If it ends, another one takes over within three times the interval. 0: never; use authwire cleanup instead.",
  },
  cleanupKeep: {
    value: duration("1s", "365d"),
    default: "7d",
    help: "How long sessions and verification tokens are kept after they have expired. Until then the application can say that a link has expired.",
  },
  eventsKeep: {
    value: duration("1m", "30d"),
    default: "24h",
    help: "How long the events of writes are kept, so that a watcher can resume. Must be the same on all replicas. 0: writes record no events.",
    commands: ["serve", "cleanup"],
  },
  olderThan: {
    value: duration("1s", "3650d"),
    default: "7d",
    help: "How long ago sessions and verification tokens must have expired to be deleted.",
    commands: ["cleanup"],
  },
  batch: {
    value: integer(1, 10_000),
    default: "200",
    help: "The maximum number of rows that one transaction deletes.",
    commands: ["cleanup", "tenants delete"],
  },
  drainDelayMs: {
    value: integer(0, 3_600_000),
    default: "0",
    help: "How long the service continues to serve after SIGTERM, in milliseconds, while it reports that it is not ready. Then --shutdown-grace-ms begins.",
  },
  shutdownGraceMs: {
    value: integer(0, 3_600_000),
    default: "10000",
    help: "How long active calls may take to finish after SIGTERM and --drain-delay-ms, in milliseconds.",
  },
} as const satisfies Record<string, OptionDefinition>
