import { randomUUID } from "node:crypto"
import type { Caller, Store } from "../store/store.js"
import type { Signal, SignalForm } from "./signal.js"
import type { SignalRequest, SignalVerifier } from "./verifier.js"

/** What a token has done. */
export interface Received {
  readonly name: string
  readonly form: SignalForm
  readonly userId?: string | undefined
  readonly revokedSessions: number
  /** Whether the token was received before. Then nothing was done now. */
  readonly isDuplicate: boolean
}

export interface SignalReceiver {
  /**
   * Verifies a token, and does what it demands in the transaction that records its id. Throws what `SignalVerifier.verify` throws,
   * and the errors of the store.
   */
  receive(caller: Caller, request: SignalRequest): Promise<Received>
}

type Effect = Pick<Received, "userId" | "revokedSessions">

const nothing: Effect = { revokedSessions: 0 }

export function signalReceiver(
  verifier: SignalVerifier,
  store: Pick<Store, "once" | "users" | "accounts" | "signals">,
): SignalReceiver {
  async function take(caller: Caller, provider: string, signal: Signal): Promise<Effect> {
    const { effect, providerSessionId, providerAccountId } = signal
    if (effect === "sessions" && providerSessionId !== undefined)
      return store.signals.endProviderSession(caller, { provider, providerSessionId })
    if (effect === "none" || providerAccountId === undefined) return nothing
    const key = { provider, providerAccountId }
    const policy = effect === "account" ? signal.policy : undefined
    if (policy === "unlink") {
      const unlinked = await store.accounts.unlink(caller, key, { revokeSessions: true })
      return unlinked === null ? nothing : withUser(unlinked.userId, unlinked.revokedSessions)
    }
    if (policy === "disable") {
      const user = await store.users.getByAccount(caller, key)
      const reason = `${provider}: ${signal.name}`
      const disabled = user && (await store.users.disable(caller, user.id, { reason }))
      return disabled === null ? nothing : withUser(disabled.id, disabled.revokedSessions)
    }
    const sessions = effect !== "tokens"
    const revoked = await store.signals.revokeAccount(caller, key, {
      sessions,
      tokens: effect === "sessions" ? "online" : "all",
    })
    return revoked ?? nothing
  }

  /** Ends the JWTs of the sessions that a signal has ended. */
  async function endTokens(caller: Caller, provider: string, signal: Signal, { userId }: Effect): Promise<void> {
    const { effect, providerSessionId } = signal
    if (effect === "sessions" && providerSessionId !== undefined)
      await store.signals.endTokens(caller, { provider, providerSessionId })
    else if (effect !== "tokens" && userId !== undefined) await store.signals.endTokens(caller, { provider, userId })
  }

  return {
    async receive(caller, sent) {
      const { provider } = sent
      const signal = await verifier.verify(caller.tenant, sent)
      const { name, form, tokenId } = signal
      // The answer of another call with this id has another receipt.
      const receipt = randomUUID()
      const request = { owner: `signals of ${provider}`, key: tokenId, digest: () => "" }
      const answer = await store.once(caller, request, async (transaction) => {
        const within = { ...caller, transaction }
        const effect = await take(within, provider, signal)
        await endTokens(within, provider, signal, effect)
        return Buffer.from(JSON.stringify({ receipt, ...effect }))
      })
      const kept = JSON.parse(Buffer.from(answer).toString()) as Effect & { receipt: string }
      const isDuplicate = kept.receipt !== receipt
      return { name, form, ...(isDuplicate ? nothing : kept), isDuplicate }
    },
  }
}

function withUser(userId: string, revokedSessions = 0): Effect {
  return { userId, revokedSessions }
}
