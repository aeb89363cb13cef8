import type { OptionDefinition } from "./option.js"
import { networks } from "./values.js"

/** Options of webhooks. */
export const webhookOptions = {
  webhookAllowPrivate: {
    value: networks(),
    help: "The addresses that are not global, and their ranges in CIDR notation, to which webhooks may nevertheless be sent, separated by commas, such as 10.1.0.0/16,fd00::5. Whoever may create webhooks can make the service send requests there. Host names are looked up in DNS, and not in the hosts file of the system. Default: none.",
  },
} as const satisfies Record<string, OptionDefinition>
