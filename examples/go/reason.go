package main

import (
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/status"
)

// reason returns why a call failed, as a name of proto/authwire/v1/error_reason.proto without its prefix. It is empty
// if the call succeeded, or if the service did not give a reason. In that case use the status code.
func reason(err error) string {
	for _, detail := range status.Convert(err).Details() {
		if info, ok := detail.(*errdetails.ErrorInfo); ok && info.GetDomain() == "authwire" {
			return info.GetReason()
		}
	}
	return ""
}
