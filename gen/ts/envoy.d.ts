export * from "./src/envoy/config/core/v3/base_pb.js"
export * from "./src/envoy/service/auth/v3/attribute_context_pb.js"
export * from "./src/envoy/service/auth/v3/external_auth_pb.js"
export * from "./src/envoy/type/v3/http_status_pb.js"
