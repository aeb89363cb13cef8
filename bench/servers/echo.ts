// A floor: gRPC alone. Answers every message with the bytes of one GetSessionAndUserResponse.

import { type handleBidiStreamingCall, type handleUnaryCall, Server, ServerCredentials } from "@grpc/grpc-js"
import { answerBytes, echoMethods } from "../contenders/echo.ts"

const answer = answerBytes()
const unary: handleUnaryCall<Buffer, Buffer> = (_call, callback) => callback(null, answer)
const stream: handleBidiStreamingCall<Buffer, Buffer> = (call) => {
  call.on("data", () => call.write(answer))
  call.on("end", () => call.end())
  call.on("error", () => {})
}

const server = new Server({ "grpc.enable_channelz": 0 })
server.addService(echoMethods, { unary, stream })
server.bindAsync("127.0.0.1:0", ServerCredentials.createInsecure(), (error, port) => {
  if (error) throw error
  process.send?.(port)
})
process.on("disconnect", () => process.exit())
