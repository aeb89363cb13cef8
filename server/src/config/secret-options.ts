import type { OptionDefinition } from "./option.js"
import { applicationKey, duration, encryptionKeys, issuer, staticKeys, text } from "./values.js"

const authSecret =
  "Encrypts and decrypts tokens: the AUTH_SECRET of the applications, at least 32 bytes. Also needed with sessions in the database, because the tokens of providers and private properties are encrypted with a key derived from it, unless AUTHWIRE_ENCRYPTION_KEYS is set"

/** Secrets and keys: for tokens, for stored data, and API keys of callers. */
export const secretOptions = {
  authSecret: {
    isCommon: true,
    flag: false,
    variable: "AUTH_SECRET",
    orFile: true,
    value: text(),
    help: `${authSecret}.`,
    helpOf: { serve: `${authSecret}. Required, except with --dev, which keeps a random one in .authwire/secret.` },
    commands: ["serve", "rekey", "import", "export", "doctor", "keys rotate-signing"],
  },
  authSecret1: {
    flag: false,
    variable: "AUTH_SECRET_1",
    orFile: true,
    value: text(),
    help: "A newer secret than AUTH_SECRET: the newest encrypts, all decrypt.",
    commands: ["serve", "rekey", "import", "export", "doctor", "keys rotate-signing"],
  },
  authSecret2: {
    flag: false,
    variable: "AUTH_SECRET_2",
    orFile: true,
    value: text(),
    help: "A newer secret than AUTH_SECRET_1.",
    commands: ["serve", "rekey", "import", "export", "doctor", "keys rotate-signing"],
  },
  authSecret3: {
    flag: false,
    variable: "AUTH_SECRET_3",
    orFile: true,
    value: text(),
    help: "A newer secret than AUTH_SECRET_2.",
    commands: ["serve", "rekey", "import", "export", "doctor", "keys rotate-signing"],
  },
  encryptionKeys: {
    flag: false,
    orFile: true,
    value: encryptionKeys(),
    help: "Encrypts the tokens of providers and the private properties of users in the database: keys of 32 bytes in Base64 or hexadecimal, separated by commas; the first encrypts, all decrypt. Default: derived from AUTH_SECRET, AUTH_SECRET_1 and so on.",
    commands: ["serve", "rekey", "import", "export", "doctor", "keys rotate-signing"],
  },
  tenantSecretsFile: {
    value: text("FILE"),
    help: 'The secrets of all tenants except the default one, which uses AUTH_SECRET: a JSON file, {"acme": ["newest", "older"]}. Read again when it changes.',
  },
  providersFile: {
    value: text("FILE"),
    help: 'The token endpoints at which AccountService.GetAccessToken refreshes the tokens of accounts, by tenant and provider: a JSON file, {"default": {"github": {"token_endpoint": "https://…", "client_id": "…", "client_secret_env": "GITHUB_SECRET"}}}. Read again when it changes. See provider-tokens.md.',
  },
  identityIssuer: {
    value: issuer(),
    help: "The URL of this service in the signed assertions that gateways add with the setting identity=jwt; see gateways.md. GET /.well-known/jwks.json then serves the public keys. Default: none, and no keys are made.",
  },
  signingKeyAge: {
    value: duration("1h", "3650d"),
    default: "90d",
    help: "How long a key signs assertions before the next one does. 0: until authwire keys rotate-signing.",
  },
  apiKeys: {
    flag: false,
    value: staticKeys(),
    help: "API keys in addition to those of the database, as a JSON list; authwire keys create --offline prints an entry. Entries hold only hashes of secrets.",
  },
  hasApplicationKey: {
    flag: false,
    variable: "AUTHWIRE_API_KEY",
    value: applicationKey(),
    help: "Not for the service, which reads its keys from AUTHWIRE_API_KEYS: the key that an application gives to AuthwireAdapter.",
  },
  apiKeysFile: {
    value: text("FILE"),
    help: "A file with the list of AUTHWIRE_API_KEYS. It is read again when it changes.",
  },
  serviceAuthUrl: {
    flag: false,
    variable: "SERVICE_AUTH_URL",
    value: text(),
    help: "The URL of the applications. Default: AUTH_URL. Unless the URL is missing or starts with http://, GetToken looks for the cookie with the __Secure- prefix, and Introspect accepts no cookie without a prefix.",
  },
} as const satisfies Record<string, OptionDefinition>
