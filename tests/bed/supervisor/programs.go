package supervisor

import (
	"fmt"
	"os"
	"os/signal"
	"sync"

	"golang.org/x/sys/unix"
)

// programs starts programs and buries every process that ends, also the orphans that fall to the first process of a
// process namespace. It alone waits for processes, or two would wait for the same one.
type programs struct {
	environment []string

	mutex   sync.Mutex
	running map[int]chan<- string
}

// program is a started program. ended yields once, how it ended: empty if well.
type program struct {
	process int
	ended   <-chan string
}

func newPrograms(environment []string) *programs {
	started := &programs{environment: environment, running: map[int]chan<- string{}}
	deaths := make(chan os.Signal, 1)
	signal.Notify(deaths, unix.SIGCHLD)
	go func() {
		for range deaths {
			started.bury()
		}
	}()
	return started
}

// start runs argv with its output appended to the file log.
func (started *programs) start(argv []string, log string) (program, error) {
	output, err := os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return program{}, err
	}
	defer output.Close()
	input, err := os.Open(os.DevNull)
	if err != nil {
		return program{}, err
	}
	defer input.Close()

	started.mutex.Lock() // until it is in the map: it may end at once
	defer started.mutex.Unlock()
	process, err := os.StartProcess(argv[0], argv, &os.ProcAttr{
		Env: started.environment, Files: []*os.File{input, output, output},
	})
	if err != nil {
		return program{}, err
	}
	id, ended := process.Pid, make(chan string, 1)
	started.running[id] = ended
	return program{id, ended}, process.Release() // which forgets the id
}

func (started *programs) bury() {
	started.mutex.Lock()
	defer started.mutex.Unlock()
	for {
		var status unix.WaitStatus
		process, err := unix.Wait4(-1, &status, unix.WNOHANG, nil)
		if err == unix.EINTR {
			continue
		}
		if err != nil || process <= 0 {
			return
		}
		if ended, ours := started.running[process]; ours {
			delete(started.running, process)
			ended <- describe(status)
		}
	}
}

func describe(status unix.WaitStatus) string {
	switch {
	case status.Signaled():
		return fmt.Sprintf("killed by %s", unix.SignalName(status.Signal()))
	case status.ExitStatus() != 0:
		return fmt.Sprintf("exit code %d", status.ExitStatus())
	}
	return ""
}
