package main

import (
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/status"
)

// reason says why a call failed, as a name of proto/authwire/v1/error_reason.proto without its prefix. Empty if it did
// not fail, or not by a decision of the service: then the status code says what is known.
func reason(err error) string {
	for _, detail := range status.Convert(err).Details() {
		if info, ok := detail.(*errdetails.ErrorInfo); ok && info.GetDomain() == "authwire" {
			return info.GetReason()
		}
	}
	return ""
}
