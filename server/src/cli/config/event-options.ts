import type { Option } from "./option.js"
import { boolean, duration, eventKindList, integer } from "./values.js"

/** The options of `authwire events tail`. */
export const eventOptions = {
  since: {
    flag: "since",
    value: duration("1s", "30d"),
    default: "0",
    help: "Begin with what was written so long ago, as far as it is kept. 0: with what is written from now on.",
    commands: ["events tail"],
  },
  after: {
    flag: "after",
    value: integer(0, Number.MAX_SAFE_INTEGER),
    help: "Begin after the event with this sequence, which stands in each line. Wins over --since.",
    commands: ["events tail"],
  },
  kinds: {
    flag: "kinds",
    value: eventKindList(),
    help: "Print only events of these kinds, separated by commas.",
    commands: ["events tail"],
  },
  json: {
    flag: "json",
    value: boolean(),
    default: "false",
    help: "Print each event as a line of JSON.",
    commands: ["events tail"],
  },
} as const satisfies Record<string, Option>
