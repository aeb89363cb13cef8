import { execFile } from "node:child_process"
import { promisify } from "node:util"
import { Health, HealthCheckResponse_ServingStatus as Status } from "@authwire/proto/health"
import { ServerReflection } from "@authwire/proto/reflection/v1"
import { ServerReflection as ServerReflectionV1Alpha } from "@authwire/proto/reflection/v1alpha"
import { http1Options } from "@authwire/test-support/connections/http1.js"
import { hasTool } from "@authwire/test-support/machine/tools.js"
import { useAuthwire } from "@authwire/test-support/processes/authwire.js"
import { startServer } from "@authwire/test-support/processes/server.js"
import { schema } from "@authwire/test-support/schema/every-method.js"
import { fromBinary } from "@bufbuild/protobuf"
import { FileDescriptorProtoSchema } from "@bufbuild/protobuf/wkt"
import { Code, createClient } from "@connectrpc/connect"
import { createConnectTransport, createGrpcTransport, createGrpcWebTransport } from "@connectrpc/connect-node"
import { describe, expect, test } from "@jest/globals"

describe("health and reflection", () => {
  const authwire = useAuthwire("sqlite")
  const transports = () => [
    createGrpcTransport({ baseUrl: authwire.server.grpcUrl }),
    createGrpcTransport({ baseUrl: authwire.server.httpUrl }),
    createGrpcWebTransport({ ...http1Options, baseUrl: authwire.server.httpUrl }),
    createConnectTransport({ ...http1Options, baseUrl: authwire.server.httpUrl }),
  ]
  // Reflection is a bidirectional stream, which HTTP/1.1 cannot carry.
  const twoWay = () => transports().slice(0, 2)

  test("health serves the server and each service, over every protocol, and no other name", async () => {
    for (const transport of transports()) {
      const health = createClient(Health, transport)
      for (const service of ["", "authwire.v1.UserService", "authwire.v1.SessionService"]) {
        expect((await health.check({ service })).status).toBe(Status.SERVING)
      }
      await expect(health.check({ service: "no.such.Service" })).rejects.toMatchObject({ code: Code.NotFound })
      const watch = new AbortController()
      const answers = health.watch({ service: "no.such.Service" }, { signal: watch.signal })[Symbol.asyncIterator]()
      expect((await answers.next()).value).toMatchObject({ status: Status.SERVICE_UNKNOWN })
      watch.abort()
    }
  })

  test("a watched health reports the shutdown, and does not delay it", async () => {
    const server = await startServer({ databaseUrl: authwire.database.url })
    const seen: Status[] = []
    let stopping: Promise<number | null> | undefined
    const watching = (async () => {
      const health = createClient(Health, createGrpcTransport({ baseUrl: server.grpcUrl }))
      for await (const { status } of health.watch({})) {
        seen.push(status)
        if (seen.length === 1) stopping = server.stop()
      }
    })()
    await expect(watching).rejects.toMatchObject({ code: Code.Unavailable })
    expect(seen).toEqual([Status.SERVING, Status.NOT_SERVING])
    expect(await stopping).toBe(0)
  })

  test("reflection lists the services and gives files with comments and options, v1 and v1alpha", async () => {
    for (const transport of twoWay()) {
      for (const reflection of [
        createClient(ServerReflection, transport),
        createClient(ServerReflectionV1Alpha, transport),
      ]) {
        async function* requests() {
          yield { messageRequest: { case: "listServices" as const, value: "" } }
          yield { messageRequest: { case: "fileContainingSymbol" as const, value: "authwire.v1.UserService.GetUser" } }
          yield { messageRequest: { case: "fileByFilename" as const, value: "authwire/v1/session.proto" } }
          yield {
            messageRequest: { case: "allExtensionNumbersOfType" as const, value: "google.protobuf.FieldOptions" },
          }
          yield {
            messageRequest: {
              case: "fileContainingExtension" as const,
              value: { containingType: "google.protobuf.FieldOptions", extensionNumber: 1159 },
            },
          }
          yield { messageRequest: { case: "fileContainingSymbol" as const, value: "no.such.Symbol" } }
        }
        const answers = []
        for await (const { messageResponse } of reflection.serverReflectionInfo(requests()))
          answers.push(messageResponse)
        const [services, bySymbol, byName, numbers, byExtension, missing] = answers
        if (services?.case !== "listServicesResponse") throw new Error("no list")
        expect(services.value.service.map(({ name }) => name)).toEqual([
          "authwire.v1.UserService",
          "authwire.v1.PrivateExtraService",
          "authwire.v1.AccountService",
          "authwire.v1.SessionService",
          "authwire.v1.SessionPolicyService",
          "authwire.v1.SessionCacheService",
          "authwire.v1.SignalService",
          "authwire.v1.VerificationTokenService",
          "authwire.v1.AuthenticatorService",
          "authwire.v1.TokenService",
          "authwire.v1.IntrospectionService",
          "envoy.service.auth.v3.Authorization",
          "authwire.v1.EventService",
          "authwire.v1.ApiKeyService",
          "authwire.v1.TenantService",
          "authwire.v1.AuditService",
          "authwire.v1.WebhookService",
          "authwire.v1.PipelineService",
          "grpc.health.v1.Health",
          "grpc.reflection.v1.ServerReflection",
          "grpc.reflection.v1alpha.ServerReflection",
        ])
        if (bySymbol?.case !== "fileDescriptorResponse") throw new Error("no file")
        const files = bySymbol.value.fileDescriptorProto.map((bytes) => fromBinary(FileDescriptorProtoSchema, bytes))
        // The file itself comes first, followed by all its imports.
        expect(files[0]?.name).toBe("authwire/v1/user_service.proto")
        expect(files.map(({ name }) => name)).toEqual(
          expect.arrayContaining(files.flatMap(({ dependency }) => dependency)),
        )
        const comments = files[0]?.sourceCodeInfo?.location.map(({ leadingComments }) => leadingComments).join()
        expect(comments).toContain("Creates a user and returns it. Atomic.")
        expect(byName?.case).toBe("fileDescriptorResponse")
        expect(numbers).toMatchObject({ value: { extensionNumber: expect.arrayContaining([1159]) } })
        expect(byExtension?.case).toBe("fileDescriptorResponse")
        expect(missing).toMatchObject({ case: "errorResponse", value: { errorCode: Code.NotFound } })
      }
    }
  })

  test("reflection serves each file of the compiled schema, together with its imports", async () => {
    const reflection = createClient(ServerReflection, createGrpcTransport({ baseUrl: authwire.server.grpcUrl }))
    const served = new Set<string>()
    // A file comes after its imports, so the last ones bring most of the others: requests without a key are limited.
    for (const { name } of schema.file.toReversed()) {
      if (served.has(name)) continue
      async function* requests() {
        yield { messageRequest: { case: "fileByFilename" as const, value: name } }
      }
      for await (const { messageResponse } of reflection.serverReflectionInfo(requests())) {
        if (messageResponse.case !== "fileDescriptorResponse") throw new Error(`${name} is not served`)
        const files = messageResponse.value.fileDescriptorProto.map((one) => fromBinary(FileDescriptorProtoSchema, one))
        expect(files[0]?.name).toBe(name)
        expect(files.map(({ name }) => name)).toEqual(
          expect.arrayContaining(files.flatMap(({ dependency }) => dependency)),
        )
        for (const file of files) served.add(file.name)
      }
    }
    expect([...served].sort()).toEqual(schema.file.map(({ name }) => name).sort())
  })

  const withGrpcurl = hasTool("grpcurl") ? test : test.skip
  withGrpcurl(
    "grpcurl describes every method with its comment, and a request with its rules, at both transports",
    async () => {
      for (const url of [authwire.server.grpcUrl, authwire.server.httpUrl]) {
        const describe = async (symbol: string) =>
          (await promisify(execFile)("grpcurl", ["-plaintext", new URL(url).host, "describe", symbol])).stdout
        const service = await describe("authwire.v1.SessionService")
        expect(service.match(/^ {2}rpc /gm)).toHaveLength(13)
        expect(service).toContain("// Returns a session and its user, read together in one statement.")
        expect(service).toContain("SESSION_NOT_FOUND (NOT_FOUND)")
        expect(service).toContain("option idempotency_level = IDEMPOTENT;")
        const authorization = await describe("envoy.service.auth.v3.Authorization")
        expect(authorization).toContain("// Finds the session of a request, as IntrospectionService does")
        const request = await describe("authwire.v1.CreateUserRequest")
        expect(request).toContain("// Identifier to keep. Absent: the service makes a UUID.")
        expect(request).toMatch(/buf\.validate\.field[\s\S]*max_bytes: 255/)
      }
    },
  )
})
