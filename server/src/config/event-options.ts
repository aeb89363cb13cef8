import type { OptionDefinition } from "./option.js"
import { boolean, duration, eventKindList, integer } from "./values.js"

/** The options of `authwire events tail`. */
export const eventOptions = {
  since: {
    variable: false,
    value: duration("1s", "30d"),
    default: "0",
    help: "Begin with the events of this past period, as far as they are still kept. 0: only events from now on.",
    commands: ["events tail"],
  },
  after: {
    variable: false,
    value: integer(0, Number.MAX_SAFE_INTEGER),
    help: "Begin after the event with this sequence number, which each line shows. Overrides --since.",
    commands: ["events tail"],
  },
  kinds: {
    variable: false,
    value: eventKindList(),
    help: "Print only events of these kinds, separated by commas.",
    commands: ["events tail"],
  },
  json: {
    variable: false,
    value: boolean(),
    default: "false",
    help: "Print each event as a line of JSON.",
    commands: ["events tail"],
  },
} as const satisfies Record<string, OptionDefinition>
