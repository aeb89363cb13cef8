package deployment

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// startTimeout limits how long a process may take until it is ready, also on a machine that is under load.
const startTimeout = 90 * time.Second

// Process is a program that can be killed, frozen and started again with the same arguments.
type Process struct {
	name    string
	command []string
	env     []string // in addition to the environment of this process
	folder  string   // the working folder; empty: that of this process
	user    *syscall.Credential
	log     string // the file of its output
	// ready returns nil once the process does its work. It is called again until then.
	ready func(context.Context) error
	// mayExit says that the program exits when its database is not available, and is then started again, as an
	// orchestrator does.
	mayExit bool

	mu      sync.Mutex
	running *exec.Cmd
	ended   chan struct{}
	ending  bool
	exits   []string
}

// Start starts the process and waits until it is ready.
func (p *Process) Start(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	ended, err := p.spawn()
	for err == nil {
		if err = p.ready(ctx); err == nil {
			p.setReady()
			return nil
		}
		select {
		case <-ctx.Done():
			err = fmt.Errorf("%s is not ready after %v: %w\n%s", p.name, startTimeout, err, p.logEnd())
		case <-ended:
			if !p.mayExit {
				return fmt.Errorf("%s ended while it started:\n%s", p.name, p.logEnd())
			}
			time.Sleep(100 * time.Millisecond)
			ended, err = p.spawn()
		case <-time.After(50 * time.Millisecond):
			err = nil
		}
	}
	return errors.Join(err, p.Kill())
}

func (p *Process) spawn() (<-chan struct{}, error) {
	log, err := os.OpenFile(p.log, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	command := exec.Command(p.command[0], p.command[1:]...)
	command.Env = append(os.Environ(), p.env...)
	command.Dir = p.folder
	command.Stdout, command.Stderr = log, log
	// In a group of its own: an interrupt of this process is not one of the program.
	command.SysProcAttr = &syscall.SysProcAttr{Credential: p.user, Setpgid: true}
	if err := command.Start(); err != nil {
		return nil, fmt.Errorf("%s: %w", p.name, err)
	}
	ended := make(chan struct{})
	p.mu.Lock()
	p.running, p.ended, p.ending = command, ended, true
	p.mu.Unlock()
	go func() {
		state := command.Wait()
		p.mu.Lock()
		defer p.mu.Unlock()
		if !p.ending {
			p.exits = append(p.exits, fmt.Sprintf("%s ended by itself: %v\n%s", p.name, state, p.logEnd()))
		}
		close(ended)
	}()
	return ended, nil
}

// setReady says that from now on an exit that nobody asked for is one to report.
func (p *Process) setReady() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ending = false
}

// Exits returns the exits of the process, once it was ready, that nobody asked for.
func (p *Process) Exits() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.exits
}

// Kill ends the process like a power failure (SIGKILL), and waits until it has ended.
func (p *Process) Kill() error { return p.end(syscall.SIGKILL) }

// Freeze stops the process and its children (SIGSTOP) until Thaw.
func (p *Process) Freeze() error { return p.signal(syscall.SIGSTOP) }

// Thaw lets the process and its children continue.
func (p *Process) Thaw() error { return p.signal(syscall.SIGCONT) }

// end sends a signal and waits until the process and its children have ended.
func (p *Process) end(signal syscall.Signal) error {
	p.mu.Lock()
	p.ending = true
	running, ended := p.running, p.ended
	p.mu.Unlock()
	if running == nil {
		return nil
	}
	// Stopped, it cannot start another child meanwhile.
	_ = running.Process.Signal(syscall.SIGSTOP)
	children := childrenOf(running.Process.Pid)
	_ = running.Process.Signal(signal)
	for _, child := range children {
		_ = syscall.Kill(child, signal)
		_ = syscall.Kill(child, syscall.SIGCONT)
	}
	_ = running.Process.Signal(syscall.SIGCONT)
	deadline := time.After(20 * time.Second)
	select {
	case <-ended:
	case <-deadline:
		return fmt.Errorf("%s does not end", p.name)
	}
	for _, child := range children {
		for isAlive(child) {
			select {
			case <-deadline:
				return fmt.Errorf("a child of %s does not end", p.name)
			case <-time.After(5 * time.Millisecond):
			}
		}
	}
	return nil
}

func (p *Process) signal(signal syscall.Signal) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	err := p.running.Process.Signal(signal)
	for _, child := range childrenOf(p.running.Process.Pid) {
		_ = syscall.Kill(child, signal)
	}
	return err
}

func (p *Process) logEnd() string {
	text, _ := os.ReadFile(p.log)
	return string(text[max(0, len(text)-2000):])
}

// childrenOf returns the children of a process: PostgreSQL has one for each connection.
func childrenOf(pid int) []int {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	var children []int
	for field := range strings.FieldsSeq(string(text)) {
		if child, err := strconv.Atoi(field); err == nil {
			children = append(children, child)
		}
	}
	return children
}

// isAlive reports whether a process is running. A zombie has ended.
func isAlive(pid int) bool {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	_, state, _ := strings.Cut(string(text), ") ")
	return !strings.HasPrefix(state, "Z") && !strings.HasPrefix(state, "X")
}
