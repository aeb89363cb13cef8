// The attacking process of bench/attack.ts. It executes the commands of the parent.
//
//   startChild("attack-side.ts")

import { type Attacker, type AttackTarget, attacks } from "../attacks.ts"
import { answerParent } from "../child.ts"

export type AttackRequest =
  /** `attack` is an index into `attacks`. */
  { do: "begin"; attack: number; target: AttackTarget; connections: number } | { do: "stop" } | { do: "look" }

/** Sums over all connections. */
export interface AttackSight {
  begun: number
  left: number
}

let attackers: Attacker[] = []

answerParent((request: AttackRequest): AttackSight => {
  if (request.do === "begin") {
    const begin = attacks[request.attack]?.begin
    if (begin === undefined) throw new Error(`no attack ${request.attack}`)
    attackers = Array.from({ length: request.connections }, (_, index) => begin(request.target, index))
  }
  if (request.do === "stop") for (const attacker of attackers) attacker.stop()
  const sum = (of: (one: Attacker) => number) => attackers.reduce((all, one) => all + of(one), 0)
  return { begun: sum(({ begun }) => begun), left: sum(({ left }) => left) }
})
