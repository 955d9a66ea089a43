package box

import (
	"errors"
	"fmt"
	"os"
	"os/exec"

	"golang.org/x/sys/unix"

	"coxswain.dev/bed/state"
)

// GateDescriptor is the file from which the first process reads the word to begin.
const GateDescriptor = 3

const goAhead = 'g'

// Spawn starts argv as the first process of new namespaces, with its output appended to the file log. It does nothing
// until Gate lets it: record is called before, with its identity, and if it fails, or this process is killed meanwhile,
// the first process ends without having done anything. So there is no moment at which a bed runs that nobody can find.
func Spawn(argv []string, log string, record func(state.Process) error) error {
	output, err := os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer output.Close()
	gate, opener, err := os.Pipe()
	if err != nil {
		return err
	}
	defer opener.Close()

	command := exec.Command(argv[0], argv[1:]...)
	command.Stdout, command.Stderr = output, output
	command.ExtraFiles = []*os.File{gate}
	command.SysProcAttr = &unix.SysProcAttr{
		Cloneflags: unix.CLONE_NEWNS | unix.CLONE_NEWNET | unix.CLONE_NEWPID,
		Setsid:     true,
	}
	err = command.Start()
	gate.Close()
	if errors.Is(err, unix.EPERM) {
		return fmt.Errorf("making namespaces: %w: the bed needs root with CAP_SYS_ADMIN (in a container: a privileged one)", err)
	}
	if err != nil {
		return fmt.Errorf("making namespaces: %w", err)
	}
	go func() { _ = command.Wait() }() // or it stays a zombie while we follow the start
	first, err := state.FindProcess(command.Process.Pid)
	if err == nil {
		err = record(first)
	}
	if err != nil {
		return fmt.Errorf("recording the first process: %w", err)
	}
	_, err = opener.Write([]byte{goAhead})
	return err
}

// Gate waits for the word to begin, in the first process.
func Gate() error {
	gate := os.NewFile(GateDescriptor, "gate")
	defer gate.Close()
	word := make([]byte, 1)
	if count, err := gate.Read(word); count != 1 || word[0] != goAhead {
		return fmt.Errorf("whoever started this process has ended (%w)", err)
	}
	return nil
}
