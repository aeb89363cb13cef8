package deployment

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

// Engines lists the databases, in the order in which `make prove` checks them.
var Engines = []string{"sqlite", "mysql", "mariadb", "postgres", "group", "vitess"}

// Database is where the replicas store everything.
type Database struct {
	// Server is the database server, if this run has started it.
	Server *Process
	// Group is the replication group, or Vitess. Nil for a single server.
	Group *Group

	scheme, user string // mysql, and root@ or ""
	hosts        []string
	name         string
	drop         func() error // undoes what start has done to a server that others have started
}

var databaseURL = regexp.MustCompile(`^(\w+)://((?:[^/@]*@)?)([^/]*)/(.*)$`)

// Missing returns why this machine cannot run an engine; empty if it can.
func Missing(engine string, options Options) string {
	switch engine {
	case "sqlite":
		return ""
	case "group", "vitess":
		if options.DatabaseURL == "" || options.Command == "" {
			return "needs --database-url and --command"
		}
		return ""
	case "mysql":
		if findServer(engine) == "" && os.Getenv("AUTHWIRE_TEST_MYSQL_URL") == "" {
			return "no mysqld of MySQL on the path, and AUTHWIRE_TEST_MYSQL_URL is not set"
		}
		return ""
	case "mariadb", "postgres":
		if findServer(engine) == "" {
			return "its server is not installed"
		}
		return ""
	}
	return "is not one of " + strings.Join(Engines, ", ")
}

// startDatabase starts a server of an engine in a folder, or creates an empty database on one that is running.
func startDatabase(ctx context.Context, folder string, options Options) (*Database, error) {
	switch options.Engine {
	case "sqlite":
		return &Database{scheme: "sqlite", name: filepath.Join(folder, "authwire.db")}, nil
	case "group", "vitess":
		database, err := createOn(ctx, options.DatabaseURL)
		if err == nil {
			database.Group = &Group{command: options.Command, database: database}
		}
		return database, err
	case "mysql", "mariadb":
		if findServer(options.Engine) == "" {
			return createOn(ctx, os.Getenv("AUTHWIRE_TEST_MYSQL_URL"))
		}
		return startMySQL(ctx, options.Engine, folder)
	default:
		return startPostgres(ctx, folder)
	}
}

// createOn creates a database on a server, or on the primary of a group, that somebody else has started. It uses one that the URL names.
func createOn(ctx context.Context, url string) (*Database, error) {
	parts := databaseURL.FindStringSubmatch(url)
	if parts == nil || parts[1] != "mysql" {
		return nil, fmt.Errorf("no URL of MySQL servers: %q", url)
	}
	database := &Database{scheme: "mysql", user: parts[2], hosts: strings.Split(parts[3], ","), name: parts[4]}
	if database.name != "" {
		return database, nil
	}
	name := fmt.Sprintf("authwire_proofs_%08x", rand.Uint32())
	database.name = name
	err := database.onPrimary(ctx, "CREATE DATABASE "+name)
	database.drop = func() error { return database.onPrimary(context.Background(), "DROP DATABASE "+name) }
	return database, err
}

// onPrimary runs a statement on the first host that accepts it.
func (d *Database) onPrimary(ctx context.Context, statement string) (err error) {
	for _, host := range d.hosts {
		if err = d.run(ctx, host, "", statement); err == nil {
			return nil
		}
	}
	return err
}

// url returns the value of --database-url, with other addresses in place of the hosts.
func (d *Database) url(hosts []string) string {
	if d.scheme == "sqlite" {
		return "sqlite:" + d.name
	}
	return fmt.Sprintf("%s://%s%s/%s", d.scheme, d.user, strings.Join(hosts, ","), d.name)
}

func (d *Database) stop() error {
	if d.drop != nil {
		return d.drop()
	}
	if d.Server != nil {
		return d.Server.end(shutdown)
	}
	return nil
}

// findServer returns the path of an engine's server program, or "". Debian installs MariaDB's as mysqld too.
func findServer(engine string) string {
	if engine == "postgres" {
		folders, _ := filepath.Glob("/usr/lib/postgresql/*/bin/postgres")
		if len(folders) > 0 {
			return folders[len(folders)-1]
		}
	}
	path, err := exec.LookPath(map[string]string{"mysql": "mysqld", "mariadb": "mariadbd", "postgres": "postgres"}[engine])
	if err != nil {
		return ""
	}
	if engine == "mysql" {
		version, _ := exec.Command(path, "--version").Output()
		if strings.Contains(strings.ToLower(string(version)), "mariadb") {
			return ""
		}
	}
	return path
}

func freeAddress() (string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer listener.Close()
	return listener.Addr().String(), nil
}
