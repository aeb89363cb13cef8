import { Code, ConnectError } from "@connectrpc/connect"
import {
  type ChannelCredentials,
  type ChannelOptions,
  Client,
  connectivityState,
  Metadata,
  status,
} from "@grpc/grpc-js"
import { identity } from "./grpc-wire.js"

/** The pause between two checks, in milliseconds. */
const checkMs = 20_000
/** The time that the service has to answer a check, in milliseconds. */
export const answerMs = 5_000

const path = "/grpc.health.v1.Health/Check"
const noHeader = new Metadata()
const empty = Buffer.alloc(0)

export interface CheckOptions {
  /** Called once if a check was not answered in time. There are no further checks. */
  dead: () => void
  /** The pause between two checks, in milliseconds. Default: 20,000. */
  checkMs?: number | undefined
}

/**
 * A client of grpc-js that checks its established connection periodically, also between calls. Otherwise the first call
 * after a silently lost connection would wait until its deadline.
 *
 * A check is a call of the health service. Every answer will do, also an error of a proxy. It is not the keepalive PING of
 * grpc-js, which fails on a connection that has received a GOAWAY. grpc-js then drops the calls of this connection,
 * although the service would still answer them.
 */
export class CheckedClient extends Client {
  readonly #timer: NodeJS.Timeout
  readonly #dead: () => void
  #isChecking = false

  constructor(target: string, credentials: ChannelCredentials, settings: ChannelOptions, options: CheckOptions) {
    super(target, credentials, settings)
    this.#dead = options.dead
    this.#timer = setInterval(() => this.check(), options.checkMs ?? checkMs).unref()
  }

  /** Checks the connection now, if there is one. */
  check(): void {
    if (this.#isChecking || this.getChannel().getConnectivityState(false) !== connectivityState.READY) return
    this.#isChecking = true
    const deadline = Date.now() + answerMs
    this.makeUnaryRequest(path, identity, identity, empty, noHeader, { deadline }, (error) => {
      this.#isChecking = false
      if (error?.code !== status.DEADLINE_EXCEEDED) return
      clearInterval(this.#timer)
      this.#dead()
    })
  }

  /** Ends the checks too, so it must not be called before the last call has ended. */
  override close(): void {
    clearInterval(this.#timer)
    super.close()
  }
}

/** Creates the error of a call whose connection answers nothing. */
export function unanswered(): ConnectError {
  return new ConnectError("the service does not answer", Code.Unavailable)
}
