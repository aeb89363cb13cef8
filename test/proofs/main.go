// Command proofs checks with porcupine that the answers of a running Authwire are linearizable. See README.md.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/authwire/authwire/test/proofs/deployment"
	"github.com/authwire/authwire/test/proofs/workload"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	failed, err := run(ctx)
	if err != nil {
		fmt.Fprintln(os.Stderr, "proofs:", err)
	}
	if failed || err != nil {
		os.Exit(1)
	}
}

// run returns whether something that was promised does not hold.
func run(ctx context.Context) (bool, error) {
	var at deployment.Options
	engines := flag.String("engine", "", "the `DATABASES` to run on, of "+strings.Join(deployment.Engines, ", ")+", separated by commas; default: all that this machine can run")
	minutes := flag.Float64("minutes", 3, "how long calls are made on each engine, at most")
	flag.StringVar(&at.Root, "root", "../..", "the `FOLDER` of the repository, in which Authwire is built")
	flag.IntVar(&at.Replicas, "replicas", 2, "the number of replicas; SQLite has one")
	flag.StringVar(&at.DatabaseURL, "database-url", "", "the members of a replication group: mysql://root@h1:3306,h2:3306,h3:3306/; or a vtgate, perhaps with a sharded keyspace")
	flag.StringVar(&at.Command, "command", "", "kills and starts a member: \"cluster {action} {n}\", with kill or rejoin, and the number of the host in the URL; of Vitess, kill or restart")
	endpoints := flag.String("endpoints", "", "makes only calls, to a service that is running: gRPC `ADDRESSES` of its replicas, separated by commas; the API key is in AUTHWIRE_API_KEY")
	histories := flag.Int("histories", 0, "how many histories are made, at most; 0: as many as the time allows")
	clients := flag.Int("clients", 12, "the number of concurrent callers, a multiple of four")
	seed := flag.Int64("seed", time.Now().UnixNano()%1_000_000, "decides what the callers do")
	folder := flag.String("folder", "build", "gets a page for each violation")
	flag.Parse()

	fmt.Println("seed", *seed)
	duration := time.Duration(*minutes * float64(time.Minute))
	options := workload.Options{
		Endpoints: strings.Split(*endpoints, ","),
		Keys:      []string{os.Getenv("AUTHWIRE_API_KEY")},
		Clients:   *clients,
		Seed:      *seed,
		Name:      "p" + strconv.FormatInt(time.Now().UnixNano(), 36),
		Histories: *histories,
	}
	if *endpoints == "" {
		return proveEngines(ctx, *engines, duration, at, options, func() *workload.Tally { return &workload.Tally{Folder: *folder} }, os.Stdout)
	}
	calls, cancel := context.WithTimeout(ctx, duration)
	defer cancel()
	tally := &workload.Tally{Folder: *folder}
	err := workload.Run(calls, options, tally)
	tally.Print(os.Stdout)
	total := tally.Total()
	return total.Failed() || total.Falsified == 0, err
}
