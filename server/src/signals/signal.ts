import { Failure } from "../errors/failure.js"
import type { AccountPolicy } from "../provider-tokens/provider.js"

/** The kinds of tokens: of Back-Channel Logout, of RISC and CAEP, and of Apple. */
export type SignalForm = "logout" | "event" | "apple"

/** What a provider has stated in a verified token. */
export interface Signal {
  readonly form: SignalForm
  /** The id of the token, which the provider does not use again. */
  readonly tokenId: string
  /** What was stated, as ReceiveSignalResponse.signal has it. */
  readonly name: string
  /** The session at the provider, if the statement is about one. */
  readonly providerSessionId: string | undefined
  /** The account, if it is known. */
  readonly providerAccountId: string | undefined
  readonly effect: SignalEffect
  /** What is done if the account has ended. */
  readonly policy: AccountPolicy
}

/**
 * What a statement demands. `sessions`: the session ends, or without one all that began at the provider. `tokens`: the account's
 * tokens are dropped. `account`: the account has ended, and the policy of the provider decides.
 */
export type SignalEffect = "none" | "sessions" | "tokens" | "account"

/** Why a token is refused, as RFC 8935 names it in section 2.4. */
export type Refusal = "invalid_request" | "invalid_key" | "invalid_issuer" | "invalid_audience"

/** Creates the failure of a token. The text has nothing of the token. */
export function refused(failure: Refusal, message: string, cause?: unknown): Failure {
  return new Failure("SIGNAL_REFUSED", { message, metadata: { failure }, cause })
}
