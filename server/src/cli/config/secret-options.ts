import type { Option } from "./option.js"
import { applicationKey, encryptionKeys, staticKeys, text } from "./values.js"

/** Secrets and keys: of tokens, of what is stored, and of callers. */
export const secretOptions = {
  authSecret: {
    variable: "AUTH_SECRET",
    value: text(),
    help: "Encrypts and decrypts tokens: the AUTH_SECRET of the applications. With sessions in the database too, because the tokens of providers are encrypted with a key derived from it, unless there is AUTHWIRE_ENCRYPTION_KEYS. Required, with at least 32 bytes, unless --dev, which keeps a random one in .authwire/secret.",
    commands: ["serve", "rekey", "import", "export", "doctor"],
  },
  authSecret1: {
    variable: "AUTH_SECRET_1",
    value: text(),
    help: "A secret that is newer than AUTH_SECRET, to change it without signing anybody out: the newest encrypts, all decrypt.",
    commands: ["serve", "rekey", "import", "export", "doctor"],
  },
  authSecret2: {
    variable: "AUTH_SECRET_2",
    value: text(),
    help: "A newer one than AUTH_SECRET_1.",
    commands: ["serve", "rekey", "import", "export", "doctor"],
  },
  authSecret3: {
    variable: "AUTH_SECRET_3",
    value: text(),
    help: "A newer one than AUTH_SECRET_2.",
    commands: ["serve", "rekey", "import", "export", "doctor"],
  },
  encryptionKeys: {
    variable: "AUTHWIRE_ENCRYPTION_KEYS",
    value: encryptionKeys(),
    help: "Encrypts the tokens of providers in the database: keys of 32 bytes in Base64 or hexadecimal, separated by commas; the first encrypts, all decrypt. Default: derived from AUTH_SECRET and its like, the newest first.",
    commands: ["serve", "rekey", "import", "export", "doctor"],
  },
  tenantSecretsFile: {
    flag: "tenant-secrets-file",
    variable: "AUTHWIRE_TENANT_SECRETS_FILE",
    value: text("FILE"),
    help: 'Secrets of all tenants but the default one, which has AUTH_SECRET: JSON, {"acme": ["newest", "older"]}. Read again when it changes.',
    commands: ["serve"],
  },
  providersFile: {
    flag: "providers-file",
    variable: "AUTHWIRE_PROVIDERS_FILE",
    value: text("FILE"),
    help: 'The token endpoints at which AccountService.GetAccessToken refreshes the tokens of accounts, by tenant and provider: JSON, {"default": {"github": {"token_endpoint": "https://…", "client_id": "…", "client_secret_env": "GITHUB_SECRET"}}}. Read again when it changes. See provider-tokens.md.',
    commands: ["serve"],
  },
  apiKeys: {
    variable: "AUTHWIRE_API_KEYS",
    value: staticKeys(),
    help: "API keys beside those of the database, as a list in JSON; authwire keys create --offline prints an entry. They hold only hashes of secrets. Not AUTHWIRE_API_KEY, which is the key itself.",
    commands: ["serve"],
  },
  hasApplicationKey: {
    variable: "AUTHWIRE_API_KEY",
    value: applicationKey(),
    help: "Not for the service: the key of an application, which the application itself reads and gives to AuthwireAdapter. The service knows keys by AUTHWIRE_API_KEYS.",
    commands: ["serve"],
  },
  apiKeysFile: {
    flag: "api-keys-file",
    variable: "AUTHWIRE_API_KEYS_FILE",
    value: text("FILE"),
    help: "The same list in a file, which is read again when it changes.",
    commands: ["serve"],
  },
  serviceAuthUrl: {
    variable: "SERVICE_AUTH_URL",
    value: text(),
    help: "URL of the applications (else AUTH_URL): unless this is unset or starts with http://, GetToken looks for the cookie with the __Secure- prefix, and Introspect takes no cookie without a prefix.",
    commands: ["serve"],
  },
} as const satisfies Record<string, Option>
