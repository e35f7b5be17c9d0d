// SPDX-License-Identifier: Apache-2.0

// Processes that outlive the command that started them. A process is known by
// its id and its start time, so that a number used again later is never
// killed; a zombie (a container's init may not reap) counts as gone.
package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

type process struct {
	pid   int
	start string // field 22 of /proc/PID/stat, in clock ticks since boot
}

func processOf(pid int) (process, error) {
	start, err := startTime(pid)
	return process{pid, start}, err
}

func startTime(pid int) (string, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return "", fmt.Errorf("no process %d", pid)
	}
	text := string(stat)
	// The command name stands in parentheses and may hold anything.
	fields := strings.Fields(text[strings.LastIndexByte(text, ')')+1:])
	if len(fields) < 20 || (isEnded(fields[0]) && !hasThreads(pid)) {
		return "", fmt.Errorf("process %d has ended", pid)
	}
	return fields[19], nil
}

func isEnded(state string) bool { return state == "Z" || state == "X" }

// hasThreads: after SIGKILL the first thread may be a zombie while others are
// still ending, and until they have, the process holds its ports.
func hasThreads(pid int) bool {
	threads, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	return err == nil && len(threads) > 1
}

func (p process) isAlive() bool {
	start, err := startTime(p.pid)
	return err == nil && start == p.start
}

func (p process) String() string { return fmt.Sprintf("%d %s", p.pid, p.start) }

func parseProcess(text string) (process, error) {
	fields := strings.Fields(text)
	if len(fields) != 2 {
		return process{}, fmt.Errorf("malformed process record %q", text)
	}
	pid, err := strconv.Atoi(fields[0])
	return process{pid, fields[1]}, err
}

// readProcess is the process noted in a pid file, if it is alive.
func readProcess(pidFile string) (process, bool) {
	text, err := os.ReadFile(pidFile)
	if err != nil {
		return process{}, false
	}
	p, err := parseProcess(string(text))
	return p, err == nil && p.isAlive()
}

// spawn starts a program in a session of its own, without a terminal, output
// appended to logFile, and notes it in pidFile.
func spawn(program string, args []string, logFile, pidFile string) (process, error) {
	log, err := os.OpenFile(logFile, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return process{}, err
	}
	defer log.Close()

	cmd := exec.Command(program, args...)
	cmd.Dir = filepath.Dir(logFile)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.Env = append(os.Environ(), "KUBECONFIG=")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return process{}, err
	}
	go cmd.Wait() // reaps it if it ends while we are still here
	p, err := processOf(cmd.Process.Pid)
	if err != nil {
		return process{}, fmt.Errorf("%s ended at once", filepath.Base(program))
	}
	return p, os.WriteFile(pidFile, []byte(p.String()), 0o600)
}

// killedDeadline is how long a killed process may take to be gone: a big one
// on a busy machine has much to give back.
const killedDeadline = time.Minute

// terminate asks with SIGTERM, insists with SIGKILL after the deadline, and
// returns once the process is gone.
func (p process) terminate(deadline time.Duration) error {
	if deadline > 0 {
		if err := p.signal(syscall.SIGTERM); err != nil {
			return err
		}
		if p.waitGone(deadline) {
			return nil
		}
	}
	if err := p.signal(syscall.SIGKILL); err != nil {
		return err
	}
	if !p.waitGone(killedDeadline) {
		return fmt.Errorf("process %d survives SIGKILL", p.pid)
	}
	return nil
}

func (p process) signal(sig syscall.Signal) error {
	if !p.isAlive() {
		return nil
	}
	if err := syscall.Kill(p.pid, sig); err != nil && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("signal %v to process %d: %w", sig, p.pid, err)
	}
	return nil
}

func (p process) waitGone(timeout time.Duration) bool {
	for end := time.Now().Add(timeout); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if !p.isAlive() {
			return true
		}
	}
	return !p.isAlive()
}
