import { setImmediate } from "node:timers/promises"
import { UserService } from "@authwire/proto"
import { StatusSchema } from "@authwire/proto/rpc/status"
import { toBinary } from "@bufbuild/protobuf"
import { Code } from "@connectrpc/connect"
import { expect, test } from "@jest/globals"
import { pino } from "pino"
import { toFailure } from "../../errors/failure.js"
import { statusOf } from "../../errors/status.js"
import type { Call } from "../call.js"
import { rejections } from "../rejection.js"
import { logging } from "./logging.js"

test("S-37: an unexpected error is in the log line of its call, and the caller gets nothing of it", async () => {
  const lines: Record<string, unknown>[] = []
  const log = pino({ base: null }, { write: (line: string) => lines.push(JSON.parse(line)) })
  const { recorderOf } = logging(log, () => 0, rejections(log), [])
  const identity = { keyId: "the key", tenant: "default", hasScope: () => true }
  const call = { identity, transport: "grpc", requestId: "the request" } as unknown as Call
  const failure = toFailure(new Error("hunter2"))
  recorderOf(UserService.method.getUser)(call, failure, 0, 1)
  await setImmediate()
  const method = "authwire.v1.UserService/GetUser"
  const line = { method, code: "INTERNAL", key: "the key", request_id: "the request", err: { message: "hunter2" } }
  expect(lines).toMatchObject([line])
  const status = statusOf(failure, "the request")
  expect(status).toMatchObject({ code: Code.Internal, message: "internal error" })
  expect(Buffer.from(toBinary(StatusSchema, status)).toString("latin1")).not.toContain("hunter2")
})
