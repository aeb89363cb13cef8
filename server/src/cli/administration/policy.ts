import { SessionLimitAction, type SessionPolicy, SessionPolicySchema } from "@authwire/proto"
import { durationFromMs, durationMs } from "@bufbuild/protobuf/wkt"
import { ConfigurationError } from "../../errors/configuration-error.js"
import { durationText } from "../../util/duration-text.js"
import { type CommandOutput, table, type Work } from "../commands/output.js"
import { jsonOf } from "./listing.js"
import { withService } from "./service.js"

const actions = { "end-oldest": SessionLimitAction.END_OLDEST, "reject-new": SessionLimitAction.REJECT_NEW }

/** `authwire policy show`. Throws StartError. */
export const showPolicy: Work<"policy show"> = async (configuration, output) => {
  const { policy } = await withService(configuration, ({ policies }) => policies.getSessionPolicy({}))
  await printPolicy(configuration, output, policy)
}

/** `authwire policy set`. Waits for the session caches. Throws ConfigurationError and StartError. */
export const setPolicy: Work<"policy set"> = async (configuration, output) => {
  const { maxAge, idleTimeout, maxSessions, atLimit } = configuration
  const given = { max_age: maxAge, idle_timeout: idleTimeout, max_sessions: maxSessions, at_limit: atLimit }
  const paths = Object.entries(given).flatMap(([path, value]) => (value === undefined ? [] : [path]))
  if (paths.length === 0)
    throw new ConfigurationError(
      "policy set: give at least one of --max-age, --idle-timeout, --max-sessions, --at-limit",
    )
  const { policy } = await withService(configuration, ({ policies }) =>
    policies.updateSessionPolicy({
      ...(maxAge && { maxAge: durationFromMs(maxAge) }),
      ...(idleTimeout && { idleTimeout: durationFromMs(idleTimeout) }),
      ...(maxSessions && { maxSessions }),
      ...(atLimit && { atLimit: actions[atLimit] }),
      updateMask: { paths },
      awaitCaches: true,
    }),
  )
  await printPolicy(configuration, output, policy)
}

async function printPolicy(
  { json }: { json: boolean },
  { print }: CommandOutput,
  policy: SessionPolicy | undefined,
): Promise<void> {
  if (policy === undefined) return
  if (json) return print(`${jsonOf(SessionPolicySchema, policy)}\n`)
  const { maxAge, idleTimeout, maxSessions, atLimit } = policy
  const shown = (duration: typeof maxAge) => (duration === undefined ? "none" : durationText(durationMs(duration)))
  const action = Object.entries(actions).find(([, one]) => one === atLimit)?.[0] ?? ""
  const row = [shown(maxAge), shown(idleTimeout), String(maxSessions ?? "none"), action]
  await print(table(["max age", "idle timeout", "max sessions", "at limit"], [row]))
}
