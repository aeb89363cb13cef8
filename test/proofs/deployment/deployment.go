// Package deployment starts a database and replicas of `authwire serve`, which faults can kill, freeze and cut off.
package deployment

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Options of Start.
type Options struct {
	// Engine is one of Engines.
	Engine string
	// Root is the folder of the repository, in which Authwire is built. The path must have `node`.
	Root string
	// Replicas is the number of replicas. SQLite has one.
	Replicas int
	// Environment has further variables of the replicas, each NAME=VALUE.
	Environment []string
	// DatabaseURL names the members of a running group, for the engine `group`: mysql://root@h1:3306,h2:3306,h3:3306/, or a vtgate that
	// creates keyspaces, for `vitess`, or an empty keyspace there.
	DatabaseURL string
	// Command kills and starts a member of the group. {action} is kill or rejoin, {n} the number of the host in the URL. Of Vitess it kills
	// or restarts the server.
	Command string
}

// Deployment is a database with replicas of the service.
type Deployment struct {
	Engine   string
	Replicas []*Replica
	Database *Database

	options Options
	folder  string
}

// Start starts a deployment on an empty database, and waits until all replicas are serving. The caller must stop it.
func Start(ctx context.Context, options Options) (*Deployment, error) {
	if why := Missing(options.Engine, options); why != "" {
		return nil, fmt.Errorf("%s: %s", options.Engine, why)
	}
	root, err := filepath.Abs(options.Root)
	if err != nil {
		return nil, err
	}
	options.Root = root
	folder, err := os.MkdirTemp(memory(), "authwire-proofs-")
	if err != nil {
		return nil, err
	}
	d := &Deployment{Engine: options.Engine, options: options, folder: folder}
	if err := d.start(ctx); err != nil {
		return nil, errors.Join(err, d.Stop())
	}
	return d, nil
}

func (d *Deployment) start(ctx context.Context) (err error) {
	// PostgreSQL may run as another user, in a subfolder, which must be reachable.
	if err := os.Chmod(d.folder, 0o711); err != nil {
		return err
	}
	home, err := os.MkdirTemp(d.folder, d.Engine+"-")
	if err != nil {
		return err
	}
	if d.Database, err = startDatabase(ctx, home, d.options); err != nil {
		return err
	}
	if _, err := d.authwire(ctx, "migrate", "up"); err != nil {
		return err
	}
	count := d.options.Replicas
	if d.Engine == "sqlite" {
		count = 1
	}
	for number := range count {
		replica, err := newReplica(number+1, d.folder, d.options, d.Database)
		if err != nil {
			return err
		}
		d.Replicas = append(d.Replicas, replica)
		if err := replica.Start(ctx); err != nil {
			return err
		}
	}
	return nil
}

// Stop ends everything that Start has started, and removes its files.
func (d *Deployment) Stop() error {
	var all error
	for _, replica := range d.Replicas {
		all = errors.Join(all, replica.stop())
	}
	if d.Database != nil {
		all = errors.Join(all, d.Database.stop())
	}
	return errors.Join(all, os.RemoveAll(d.folder))
}

// Endpoints returns HOST:PORT of each replica's gRPC listener, behind the proxies that cut and hold connections.
func (d *Deployment) Endpoints() []string {
	var endpoints []string
	for _, replica := range d.Replicas {
		endpoints = append(endpoints, replica.Endpoint())
	}
	return endpoints
}

// CreateTenant creates a tenant with an API key with all ordinary scopes, which it returns.
func (d *Deployment) CreateTenant(ctx context.Context, tenant string) (string, error) {
	if _, err := d.authwire(ctx, "tenants", "create", tenant); err != nil {
		return "", err
	}
	output, err := d.authwire(ctx, "keys", "create", "--name=proofs", "--scopes=all", "--tenant="+tenant)
	for word := range strings.FieldsSeq(output) {
		if strings.HasPrefix(word, "awk_") {
			return word, nil
		}
	}
	return "", errors.Join(fmt.Errorf("no key: %s", output), err)
}

// Exits returns what has ended although no fault has ended it.
func (d *Deployment) Exits() (exits []string) {
	for _, replica := range d.Replicas {
		exits = append(exits, replica.Exits()...)
	}
	if d.Database.Server != nil {
		exits = append(exits, d.Database.Server.Exits()...)
	}
	return exits
}

// authwire runs a command of Authwire until it ends.
func (d *Deployment) authwire(ctx context.Context, args ...string) (string, error) {
	run := exec.CommandContext(ctx, "node", append([]string{command(d.options.Root)}, args...)...)
	run.Dir = d.folder
	run.Env = append(os.Environ(), environment(d.Database.url(d.Database.hosts))...)
	output, err := run.CombinedOutput()
	if err != nil {
		err = fmt.Errorf("authwire %s: %w\n%s", strings.Join(args, " "), err, output)
	}
	return string(output), err
}

// memory returns a folder in memory if there is one: the databases need not survive, and a disk takes long.
func memory() string {
	if info, err := os.Stat("/dev/shm"); err == nil && info.IsDir() {
		return "/dev/shm"
	}
	return ""
}
