package deployment

import (
	"context"
	"database/sql"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"syscall"

	"github.com/go-sql-driver/mysql"
)

// shutdown ends a server at once and in order: PostgreSQL removes its shared memory.
const shutdown = syscall.SIGQUIT

// nobody runs PostgreSQL if the tests run as root, because it refuses to.
const nobody = 65534

func startMySQL(ctx context.Context, engine, folder string) (*Database, error) {
	account, err := user.Current()
	if err != nil {
		return nil, err
	}
	data := filepath.Join(folder, "data")
	program := findServer(engine)
	create := []string{program, "--no-defaults", "--datadir=" + data, "--initialize-insecure", "--user=" + account.Username}
	if engine == "mariadb" {
		create = []string{"mariadb-install-db", "--no-defaults", "--datadir=" + data, "--skip-test-db",
			"--auth-root-authentication-method=normal", "--user=" + account.Username}
	}
	if output, err := exec.CommandContext(ctx, create[0], create[1:]...).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("no data folder for %s: %w\n%s", engine, err, output)
	}
	address, err := freeAddress()
	if err != nil {
		return nil, err
	}
	_, port, _ := net.SplitHostPort(address)
	database := &Database{scheme: "mysql", user: "root@", hosts: []string{address}, name: "authwire"}
	command := []string{program, "--no-defaults", "--user=" + account.Username, "--datadir=" + data, "--port=" + port,
		"--bind-address=127.0.0.1", "--socket=" + filepath.Join(folder, "sock"), "--pid-file=" + filepath.Join(folder, "pid"),
		"--skip-log-bin", "--max-connections=400", "--innodb-buffer-pool-size=64M",
		// Data survives a killed process, but not a crash of the machine. Saves disk writes.
		"--innodb-flush-log-at-trx-commit=2"}
	if engine == "mysql" {
		command = append(command, "--mysqlx=OFF", "--secure-file-priv=")
	}
	database.Server = &Process{name: engine, command: command, log: filepath.Join(folder, "log"),
		ready: func(ctx context.Context) error { return database.run(ctx, address, "", "DO 0") }}
	if err := database.Server.Start(ctx); err != nil {
		return nil, err
	}
	return database, database.run(ctx, address, "", "CREATE DATABASE authwire")
}

func startPostgres(ctx context.Context, folder string) (*Database, error) {
	program := findServer("postgres")
	beside := func(name string) string { return filepath.Join(filepath.Dir(program), name) }
	data := filepath.Join(folder, "data")
	var owner *syscall.Credential
	if os.Getuid() == 0 {
		owner = &syscall.Credential{Uid: nobody, Gid: nobody}
		if err := os.Chown(folder, nobody, nobody); err != nil {
			return nil, err
		}
	}
	create := exec.CommandContext(ctx, beside("initdb"), "-D", data, "-U", "postgres", "--encoding=UTF8",
		"--locale=C.UTF-8", "--auth=trust", "--no-sync")
	create.Dir, create.SysProcAttr = folder, &syscall.SysProcAttr{Credential: owner}
	if output, err := create.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("no data folder for postgres: %w\n%s", err, output)
	}
	address, err := freeAddress()
	if err != nil {
		return nil, err
	}
	_, port, _ := net.SplitHostPort(address)
	server := &Process{name: "postgres", folder: folder, user: owner, log: filepath.Join(folder, "log"),
		command: []string{program, "-D", data, "-p", port, "-c", "listen_addresses=127.0.0.1",
			"-c", "unix_socket_directories=" + folder, "-c", "max_connections=400",
			// As above. The shared memory of a killed server is then in its folder.
			"-c", "fsync=off", "-c", "dynamic_shared_memory_type=mmap"},
		ready: func(ctx context.Context) error {
			return exec.CommandContext(ctx, beside("pg_isready"), "-h", "127.0.0.1", "-p", port, "-U", "postgres", "-q").Run()
		}}
	database := &Database{scheme: "postgres", user: "postgres@", hosts: []string{address}, name: "postgres", Server: server}
	return database, server.Start(ctx)
}

// run runs a statement on one host of MySQL, and scans its only row into the given places, if there are any.
func (d *Database) run(ctx context.Context, host, name, statement string, into ...any) error {
	config, err := mysql.ParseDSN(fmt.Sprintf("%stcp(%s)/%s", d.user, host, name))
	if err != nil {
		return err
	}
	config.Logger = &mysql.NopLogger{}
	connector, err := mysql.NewConnector(config)
	if err != nil {
		return err
	}
	pool := sql.OpenDB(connector)
	defer pool.Close()
	if len(into) > 0 {
		return pool.QueryRowContext(ctx, statement).Scan(into...)
	}
	_, err = pool.ExecContext(ctx, statement)
	return err
}
