import type { SignalService } from "@authwire/proto"
import type { Implementation } from "../rpc/call.js"
import type { SignalReceiver } from "../signals/receiver.js"

/** Creates the service that takes the signals of providers. */
export function signalService({ receive }: SignalReceiver): Implementation<typeof SignalService> {
  return {
    async receiveSignal(request, caller, call) {
      const { name, userId, revokedSessions, isDuplicate } = await receive(caller, request)
      call.hasWritten = !isDuplicate
      return { signal: name, userId, revokedSessions: BigInt(revokedSessions), duplicate: isDuplicate }
    },
  }
}
