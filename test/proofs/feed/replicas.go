package feed

import (
	"context"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials/insecure"
)

// replicas are connections to all replicas, with one API key.
type replicas struct{ connections []*grpc.ClientConn }

func connect(endpoints []string, key string) (*replicas, error) {
	r := &replicas{}
	for _, endpoint := range endpoints {
		connection, err := grpc.NewClient("passthrough:///"+endpoint,
			grpc.WithTransportCredentials(insecure.NewCredentials()),
			grpc.WithPerRPCCredentials(apiKey(key)),
			grpc.WithDisableRetry(),
			grpc.WithConnectParams(grpc.ConnectParams{
				Backoff:           backoff.Config{BaseDelay: 50 * time.Millisecond, Multiplier: 1.5, MaxDelay: 300 * time.Millisecond},
				MinConnectTimeout: time.Second,
			}))
		if err != nil {
			r.close()
			return nil, err
		}
		r.connections = append(r.connections, connection)
	}
	return r, nil
}

// at returns the connection to a replica. The numbers start again after the last one.
func (r *replicas) at(number int) *grpc.ClientConn { return r.connections[number%len(r.connections)] }

func (r *replicas) close() {
	for _, connection := range r.connections {
		_ = connection.Close()
	}
}

type apiKey string

func (key apiKey) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	return map[string]string{"authorization": "Bearer " + string(key)}, nil
}

func (apiKey) RequireTransportSecurity() bool { return false }
