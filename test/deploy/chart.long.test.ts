import { check, hasDeployTools, root } from "@authwire/test-support/machine/deploy.js"
import { describe, expect, test } from "@jest/globals"

const chart = `${root}/deploy/helm/authwire`
const least = ["--set", "existingSecret=authwire"]
const everything = [
  ...least,
  ...["--set", "tls.existingSecret=authwire-tls", "--set", "metrics.serviceMonitor.enabled=true"],
  ...["--set", "metrics.prometheusRule.enabled=true", "--set", "metrics.prometheusRule.labels.release=prometheus"],
  ...["--set", "metrics.serviceMonitor.labels.release=prometheus", "--set-string", "config.AUTHWIRE_RATE_LIMIT=100"],
  ...["--set-json", 'imagePullSecrets=[{"name":"registry"}]', "--set-json", 'podAnnotations={"a/b":"c"}'],
  ...["--set-json", 'tolerations=[{"key":"k","operator":"Exists"}]', "--set-json", 'nodeSelector={"a":"b"}'],
  ...["--set-string", "config.OTEL_TRACES_EXPORTER=otlp"],
  ...["--set-json", 'networkPolicy.collector.to=[{"namespaceSelector":{}}]'],
  ...["--set-json", 'networkPolicy.database.to=[{"ipBlock":{"cidr":"10.0.0.0/8"}}]'],
]

const withTools = hasDeployTools() ? describe : describe.skip
withTools("deploy/helm/authwire", () => {
  const template = (values: readonly string[]) => check("helm", ["template", "shop", chart, ...values])
  const conform = (manifests: string) => {
    const schemas = `${root}/build/deploy/schemas/{{.ResourceKind}}{{.KindSuffix}}.json`
    return check("kubeconform", ["-strict", "-summary", "-schema-location", schemas, "-"], { input: manifests })
  }

  test.each([
    ["the least", least, 6],
    ["everything", everything, 8],
  ])("with %s, lint reports nothing and Kubernetes accepts all resources", async (_name, values, resources) => {
    expect(await check("helm", ["lint", "--strict", chart, ...values])).toMatchObject({ code: 0 })
    const { code, output } = await template(values)
    expect({ code, output: code === 0 ? "" : output }).toEqual({ code: 0, output: "" })
    expect(await conform(output)).toEqual({
      code: 0,
      output: expect.stringContaining(`Summary: ${resources} resources found parsing stdin - Valid: ${resources}, `),
    })
  })

  test("a field name that Kubernetes would ignore is reported", async () => {
    const { output } = await template(everything)
    expect(await conform(output.replace("readOnlyRootFilesystem", "readOnlyRootFileSystem"))).toMatchObject({ code: 1 })
    expect(await conform(output.replace("path: /metrics", "paths: /metrics"))).toMatchObject({ code: 1 })
  })

  test("migrations run in a job before an installation and an upgrade", async () => {
    const { output } = await template(least)
    expect(output).toContain("helm.sh/hook: pre-install,pre-upgrade")
    expect(output).toContain("args: [migrate, up]")
    expect((await template([...least, "--set", "migration.enabled=false"])).output).not.toContain("kind: Job")
  })

  test("migrations have the same configuration as the service, such as the options of Node for TLS to the database", async () => {
    const { output } = await template([...least, "--set-string", "config.NODE_OPTIONS=--use-system-ca"])
    expect(output.match(/name: NODE_OPTIONS\n\s+value: "--use-system-ca"\n/g)).toHaveLength(2)
    expect(await conform(output)).toMatchObject({ code: 0 })
  })

  test("it serves over IPv4 and IPv6, whichever the cluster has", async () => {
    const { output } = await template(least)
    expect(output.match(/value: "\[::\]:(50051|8080|9464)"/g)).toHaveLength(3)
    expect(output.match(/ipFamilyPolicy: PreferDualStack/g)).toHaveLength(2)
  })

  test("it is probed by gRPC, or with TLS, which gRPC probes do not support, by HTTPS", async () => {
    expect((await template(least)).output.match(/grpc:\n\s+port: 50051/g)).toHaveLength(2)
    const { output } = await template(everything)
    expect(output).not.toMatch(/grpc:\n/)
    expect(output.match(/scheme: HTTPS/g)).toHaveLength(3)
    expect(output).not.toContain("AUTHWIRE_INSECURE_BEHIND_PROXY")
  })

  test("without the gRPC health service it is probed by HTTP", async () => {
    const { output } = await template([...least, "--set-string", "config.AUTHWIRE_HEALTH=off"])
    expect(output).not.toMatch(/grpc:\n/)
    expect(output.match(/path: \/readyz\n\s+port: http\n\s+scheme: HTTP\n/g)).toHaveLength(2)
    expect(await conform(output)).toMatchObject({ code: 0 })
  })

  test.each([
    ["by default", [], "5000", 30],
    [
      "where the configuration says more",
      ["--set-string", "config.AUTHWIRE_DRAIN_DELAY_MS=20000,config.AUTHWIRE_SHUTDOWN_GRACE_MS=60500"],
      "20000",
      96,
    ],
  ])(
    "a pod continues to serve while balancers remove it, and has enough time to stop, %s",
    async (_, values, ms, seconds) => {
      const { output } = await template([...least, "--set", "migration.enabled=false", ...values])
      expect(output.match(/name: AUTHWIRE_DRAIN_DELAY_MS\n\s+value: "(\d+)"/g)).toEqual([
        expect.stringContaining(`value: "${ms}"`),
      ])
      expect(output).toContain(`terminationGracePeriodSeconds: ${seconds}\n`)
      expect(output).not.toContain("preStop")
    },
  )

  test.each<readonly [string, readonly string[], string]>([
    ["no secret", [], "existingSecret"],
    ["an unknown value", [...least, "--set", "replicas=3"], "replicas"],
    ...["AUTHWIRE_DATABASE_URL", "AUTHWIRE_DATABASE_READ_URL", "AUTHWIRE_SOURCE_URL", "AUTHWIRE_ENCRYPTION_KEYS"].map(
      (name) =>
        [
          `${name}, which is a secret, among the configuration`,
          [...least, "--set-string", `config.${name}=x`],
          name,
        ] as const,
    ),
    ["what is no option", [...least, "--set-string", "config.RATE_LIMIT=1"], "RATE_LIMIT"],
  ])("%s is an error that names the value", async (_name, values, named) => {
    const { code, output } = await template(values)
    expect(code).toBe(1)
    expect(output).toContain(named)
  })
})
