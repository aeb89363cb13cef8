import {
  ApiKeyService,
  AuditService,
  PrivateExtraService,
  SessionPolicyService,
  SignalService,
  TenantService,
  WebhookService,
} from "@authwire/proto/slim"
import { type Client, createClient, type Transport } from "@connectrpc/connect"

/** The typed clients of the services that the adapter does not need. Each method needs the scope that the schema names. */
export interface AdministrationClients {
  /** Who has called which method that writes. */
  audit: Client<typeof AuditService>
  /** The API keys of the tenant. */
  apiKeys: Client<typeof ApiKeyService>
  /** The tenants of the service. */
  tenants: Client<typeof TenantService>
  /** The lifetime and the number of the sessions of the tenant. */
  sessionPolicies: Client<typeof SessionPolicyService>
  /** The properties of users that no other method returns. */
  privateExtras: Client<typeof PrivateExtraService>
  /** What providers have stated, to be passed on. */
  signals: Client<typeof SignalService>
  /** The addresses that are told of the events of the tenant. */
  webhooks: Client<typeof WebhookService>
}

export function administrationOver(calls: Transport): AdministrationClients {
  return {
    audit: createClient(AuditService, calls),
    apiKeys: createClient(ApiKeyService, calls),
    tenants: createClient(TenantService, calls),
    sessionPolicies: createClient(SessionPolicyService, calls),
    privateExtras: createClient(PrivateExtraService, calls),
    signals: createClient(SignalService, calls),
    webhooks: createClient(WebhookService, calls),
  }
}
