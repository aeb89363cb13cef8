// Package dial opens connections to replicas.
package dial

import (
	"context"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials/insecure"
)

// Replica returns a connection to a gRPC address, HOST:PORT. The API key may be empty, for a service with --dev.
func Replica(endpoint, key string, more ...grpc.DialOption) (*grpc.ClientConn, error) {
	return grpc.NewClient("passthrough:///"+endpoint, append(more,
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithPerRPCCredentials(apiKey(key)),
		// What is repeated, the callers repeat.
		grpc.WithDisableRetry(),
		grpc.WithIdleTimeout(0),
		// A replica that was started again is used at once.
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff:           backoff.Config{BaseDelay: 50 * time.Millisecond, Multiplier: 1.5, MaxDelay: 300 * time.Millisecond},
			MinConnectTimeout: time.Second,
		}))...)
}

// apiKey is sent with every call.
type apiKey string

func (key apiKey) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	if key == "" {
		return nil, nil
	}
	return map[string]string{"authorization": "Bearer " + string(key)}, nil
}

func (apiKey) RequireTransportSecurity() bool { return false }
