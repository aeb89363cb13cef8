import type { OptionDefinition } from "./option.js"
import { duration, integer } from "./values.js"

/** Options for deleting expired rows. */
export const cleanupOptions = {
  cleanupInterval: {
    value: duration("1s", "1d"),
    default: "5m",
    help: "The interval at which expired rows are deleted, in small batches and by one worker of one replica at a time. If that worker ends, another one takes over within three times the interval. 0: never; use authwire cleanup instead.",
    commands: ["serve"],
  },
  cleanupKeep: {
    value: duration("1s", "365d"),
    default: "7d",
    help: "How long sessions and verification tokens are kept after they have expired. As long as an expired token is kept, the application can tell the user who opens its link that it has expired.",
    commands: ["serve"],
  },
  eventsKeep: {
    value: duration("1m", "30d"),
    default: "24h",
    help: "How long the events that writes record for EventService.Watch are kept. A watcher that was disconnected can resume within this time. Must be the same on all replicas. 0: writes record no events, and there is nothing to watch.",
    commands: ["serve", "cleanup"],
  },
  olderThan: {
    variable: false,
    value: duration("1s", "3650d"),
    default: "7d",
    help: "How long ago sessions and verification tokens must have expired to be deleted.",
    commands: ["cleanup"],
  },
  batch: {
    variable: false,
    value: integer(1, 10_000),
    default: "200",
    help: "The maximum number of rows that one transaction deletes.",
    commands: ["cleanup"],
  },
} as const satisfies Record<string, OptionDefinition>
