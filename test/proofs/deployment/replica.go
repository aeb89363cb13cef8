package deployment

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health/grpc_health_v1"
)

// Replica is a process of `authwire serve`. Its address does not change when it is killed and started again.
type Replica struct {
	*Process
	// Clients forwards the connections of clients to the replica.
	Clients *Proxy
	// Database has a proxy for each host of the database, which only this replica uses. None with SQLite.
	Database []*Proxy

	clock string // the file with the offset of its wall clock
}

func newReplica(number int, folder string, options Options, database *Database) (*Replica, error) {
	replica := &Replica{clock: filepath.Join(folder, fmt.Sprintf("clock-%d", number))}
	var hosts []string
	for _, host := range database.hosts {
		proxy, err := newProxy(host)
		if err != nil {
			return nil, err
		}
		replica.Database = append(replica.Database, proxy)
		hosts = append(hosts, proxy.Address())
	}
	address, err := freeAddress()
	if err != nil {
		return nil, err
	}
	if replica.Clients, err = newProxy(address); err != nil {
		return nil, err
	}
	preload := filepath.Join(options.Root, "test/proofs/deployment/wall-clock.js")
	replica.Process = &Process{
		name:    fmt.Sprintf("replica %d", number),
		command: []string{"node", "--import", preload, command(options.Root), "serve", "--grpc-addr=" + address, "--http-addr=off", "--log-level=warn"},
		env:     append(environment(database.url(hosts)), append(options.Environment, "AUTHWIRE_PROOFS_CLOCK="+replica.clock)...),
		folder:  folder,
		log:     filepath.Join(folder, fmt.Sprintf("replica-%d.log", number)),
		ready:   func(ctx context.Context) error { return serving(ctx, address) },
		mayExit: true,
	}
	return replica, os.WriteFile(replica.clock, []byte("0"), 0o600)
}

// Endpoint returns HOST:PORT at which clients reach the replica.
func (r *Replica) Endpoint() string { return r.Clients.Address() }

// Serving returns nil if the replica answers clients that it is SERVING.
func (r *Replica) Serving(ctx context.Context) error { return serving(ctx, r.Endpoint()) }

// SetClock sets how far the replica's wall clock is ahead of the machine's.
func (r *Replica) SetClock(ahead time.Duration) error {
	if err := os.WriteFile(r.clock, []byte(strconv.FormatInt(ahead.Milliseconds(), 10)), 0o600); err != nil {
		return err
	}
	return r.signal(syscall.SIGUSR2)
}

func (r *Replica) stop() error {
	r.Clients.close()
	for _, proxy := range r.Database {
		proxy.close()
	}
	if r.Process == nil {
		return nil
	}
	return r.Kill()
}

// command returns the file of the command `authwire`.
func command(root string) string { return filepath.Join(root, "server/bin/authwire.js") }

func environment(databaseURL string) []string {
	return []string{"AUTHWIRE_DATABASE_URL=" + databaseURL, "AUTH_SECRET=a-secret-of-the-proofs-and-of-nobody-else",
		"AUTHWIRE_RATE_LIMIT=0", "AUTHWIRE_API_KEYS=", "NODE_OPTIONS="}
}

func serving(ctx context.Context, address string) error {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	connection, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	defer connection.Close()
	answer, err := grpc_health_v1.NewHealthClient(connection).Check(ctx, &grpc_health_v1.HealthCheckRequest{})
	if err == nil && answer.Status != grpc_health_v1.HealthCheckResponse_SERVING {
		err = errors.New(answer.Status.String())
	}
	return err
}
