// Package box makes, enters and ends the namespaces that a bed lives in.
//
// A bed has mount, network and process namespaces of its own. Its first process is `bed` itself; when it ends,
// the kernel ends every process of the process namespace, and with them go mounts, links and packet filter rules.
package box

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"

	"coxswain.dev/bed/state"
)

// Enter moves the calling goroutine into the namespaces of the process first, in the same folder. It keeps its thread
// until it ends: no other goroutine is inside. Only children of this one are in the process namespace too.
func Enter(first state.Process) error {
	folder, err := os.Getwd()
	if err != nil {
		return err
	}
	runtime.LockOSThread()
	if err := enter(first); err != nil {
		return fmt.Errorf("entering the bed: %w", err)
	}
	if err := os.Chdir(folder); err != nil {
		return fmt.Errorf("entering the bed: %w", err)
	}
	return nil
}

// Run runs argv after Enter and returns its exit code; a command that was killed by a signal gives 128 and the
// signal's number, as in shells. The command ends when this process does, for which it is started through Tie:
// tie is this program and the arguments that make it call Tie with the rest.
func Run(tie, argv, environment []string, input io.Reader, output io.Writer) (code int, err error) {
	command := exec.Command(tie[0], append(tie[1:len(tie):len(tie)], argv...)...)
	command.Env = environment
	command.Stdin, command.Stdout, command.Stderr = input, output, os.Stderr
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, unix.SIGHUP, unix.SIGINT, unix.SIGQUIT, unix.SIGTERM, unix.SIGUSR1, unix.SIGUSR2)
	if err := command.Start(); err != nil {
		return 0, err
	}
	go forward(signals, command.Process)
	err = command.Wait()
	var failure *exec.ExitError
	if !errors.As(err, &failure) {
		return 0, err
	}
	if status, ok := failure.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int(status.Signal()), nil
	}
	return failure.ExitCode(), nil
}

// Tie makes this process end when the one that started it does, and becomes argv. Go's own parent death signal does not
// work across process namespaces: it takes a parent outside for one that has died.
func Tie(argv, environment []string) error {
	runtime.LockOSThread()
	if err := unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL), 0, 0, 0); err != nil {
		return fmt.Errorf("tying the command to its starter: %w", err)
	}
	if os.Getppid() != 0 { // a parent outside has no number here; an orphan's parent is the first process
		return errors.New("whoever started this process has ended")
	}
	return &os.PathError{Op: "running", Path: argv[0], Err: unix.Exec(argv[0], argv, environment)}
}

// forward hands signals on, but not those that a terminal has already sent to the command too.
func forward(signals <-chan os.Signal, process *os.Process) {
	_, err := unix.IoctlGetTermios(int(os.Stdin.Fd()), unix.TCGETS)
	terminal := err == nil
	for received := range signals {
		if terminal && (received == unix.SIGINT || received == unix.SIGQUIT) {
			continue
		}
		_ = process.Signal(received) // it may have ended
	}
}

func enter(first state.Process) error {
	descriptor, err := unix.PidfdOpen(first.ID, 0)
	if err != nil {
		return fmt.Errorf("opening the bed's first process: %w", err)
	}
	defer unix.Close(descriptor)
	// Now the id cannot be given to another process; was it, before?
	if !first.Alive() {
		return errors.New("the bed's first process has ended")
	}
	// Mount namespaces refuse a thread that shares its current folder with others.
	if err := unix.Unshare(unix.CLONE_FS); err != nil {
		return err
	}
	return unix.Setns(descriptor, unix.CLONE_NEWNS|unix.CLONE_NEWNET|unix.CLONE_NEWPID)
}
