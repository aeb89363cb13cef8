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
	endpoints := flag.String("endpoints", "127.0.0.1:50051", "gRPC `ADDRESSES` of the replicas, separated by commas; the API key is in AUTHWIRE_API_KEY")
	seconds := flag.Int("seconds", 60, "how long calls are made, at most")
	histories := flag.Int("histories", 0, "how many histories are made, at most; 0: as many as the time allows")
	clients := flag.Int("clients", 12, "the number of concurrent callers, a multiple of four")
	seed := flag.Int64("seed", time.Now().UnixNano()%1_000_000, "decides what the callers do")
	folder := flag.String("folder", "build", "gets a page for each violation")
	withFaults := flag.Bool("planted", false, "make histories with planted faults instead, which must be rejected")
	flag.Parse()

	fmt.Println("seed", *seed)
	calls, cancel := context.WithTimeout(ctx, time.Duration(*seconds)*time.Second)
	defer cancel()
	options := workload.Options{
		Endpoints: strings.Split(*endpoints, ","),
		Key:       os.Getenv("AUTHWIRE_API_KEY"),
		Clients:   *clients,
		Seed:      *seed,
		Name:      "p" + strconv.FormatInt(time.Now().UnixNano(), 36),
		Histories: *histories,
	}
	if *withFaults {
		return runPlanted(calls, options, os.Stdout)
	}
	tally := &workload.Tally{Folder: *folder}
	err := workload.Run(calls, options, tally)
	tally.Print(os.Stdout)
	total := tally.Total()
	return total.Failed() || total.Falsified == 0, err
}
