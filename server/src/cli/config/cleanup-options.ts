import type { Option } from "./option.js"
import { duration, integer } from "./values.js"

/** How what has expired is deleted. */
export const cleanupOptions = {
  cleanupInterval: {
    flag: "cleanup-interval",
    variable: "AUTHWIRE_CLEANUP_INTERVAL",
    value: duration("1s", "1d"),
    default: "5m",
    help: "How often what has expired is deleted, in small batches and by one worker of one replica at a time; if that one ends, another follows within three times as long. 0: never, where authwire cleanup does it.",
    commands: ["serve"],
  },
  cleanupKeep: {
    flag: "cleanup-keep",
    variable: "AUTHWIRE_CLEANUP_KEEP",
    value: duration("1s", "365d"),
    default: "7d",
    help: "How long sessions and verification tokens are kept after they have expired. As long as a token is there, the application can tell whoever opens its link that it has expired.",
    commands: ["serve"],
  },
  eventsKeep: {
    flag: "events-keep",
    variable: "AUTHWIRE_EVENTS_KEEP",
    value: duration("1m", "30d"),
    default: "24h",
    help: "How long the events are kept that writes add for EventService.Watch: for so long a watcher that was away can go on where it was. The same on all replicas. 0: writes add none, and there is nothing to watch.",
    commands: ["serve", "cleanup"],
  },
  olderThan: {
    flag: "older-than",
    value: duration("1s", "3650d"),
    default: "7d",
    help: "How long ago sessions and verification tokens must have expired to be deleted.",
    commands: ["cleanup"],
  },
  batch: {
    flag: "batch",
    value: integer(1, 10_000),
    default: "200",
    help: "How many rows one transaction deletes at the most.",
    commands: ["cleanup"],
  },
} as const satisfies Record<string, Option>
