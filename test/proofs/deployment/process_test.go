package deployment

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

func shell(t *testing.T, script string, ready func(context.Context) error) *Process {
	process := &Process{name: "shell", command: []string{"sh", "-c", script}, log: filepath.Join(t.TempDir(), "log"), ready: ready}
	t.Cleanup(func() { _ = process.Kill() })
	return process
}

func always(context.Context) error { return nil }

// until waits for a condition.
func until(t *testing.T, condition func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !condition(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the condition was not met in time")
		}
	}
}

func TestKilledProcessIsNotReported(t *testing.T) {
	process := shell(t, "sleep 1000 & wait", always)
	for range 2 {
		if err := errors.Join(process.Start(t.Context()), process.Freeze(), process.Kill()); err != nil {
			t.Fatal(err)
		}
	}
	if exits := process.Exits(); len(exits) > 0 {
		t.Error(exits)
	}
}

func TestProcessThatEndsByItselfIsReported(t *testing.T) {
	process := shell(t, "echo it broke; read line < gate", always)
	process.folder = t.TempDir()
	gate := filepath.Join(process.folder, "gate")
	if err := syscall.Mkfifo(gate, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := process.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(gate, []byte("go on\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	until(t, func() bool { return len(process.Exits()) == 1 })
	if exit := process.Exits()[0]; !strings.Contains(exit, "it broke") {
		t.Error(exit)
	}
}

func TestProcessThatDoesNotStart(t *testing.T) {
	process := shell(t, "echo it broke; exit 1", func(context.Context) error { return errors.New("not yet") })
	if err := process.Start(t.Context()); err == nil || !strings.Contains(err.Error(), "it broke") {
		t.Error(err)
	}
}

func TestWallClock(t *testing.T) {
	folder := t.TempDir()
	replica := &Replica{clock: filepath.Join(folder, "clock")}
	preload, _ := filepath.Abs("wall-clock.js")
	script := `console.log("ready"); setInterval(() => {}, 1000)
		process.on("SIGUSR2", () => console.log("ahead", Math.round((Date.now() - performance.timeOrigin - performance.now()) / 60000) | 0))`
	logged := func(text string) bool {
		log, _ := os.ReadFile(replica.log)
		return strings.Contains(string(log), text)
	}
	replica.Process = &Process{name: "node", command: []string{"node", "--import", preload, "-e", script},
		env: []string{"AUTHWIRE_PROOFS_CLOCK=" + replica.clock}, log: filepath.Join(folder, "log"), ready: always}
	t.Cleanup(func() { _ = replica.Kill() })
	if err := errors.Join(os.WriteFile(replica.clock, []byte("0"), 0o600), replica.Start(t.Context())); err != nil {
		t.Fatal(err)
	}
	until(t, func() bool { return logged("ready") })
	for ahead, line := range map[time.Duration]string{15 * time.Minute: "ahead 15", -15 * time.Minute: "ahead -15", 0: "ahead 0"} {
		if err := replica.SetClock(ahead); err != nil {
			t.Fatal(err)
		}
		until(t, func() bool { return logged(line) })
	}
}
