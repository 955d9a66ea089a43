package box

import (
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"coxswain.dev/bed/state"
)

// End kills the first process and returns when it has ended, and with it every process of the bed. It is no error if
// it has ended before.
func End(first state.Process, patience time.Duration) error {
	descriptor, err := unix.PidfdOpen(first.ID, 0)
	if errors.Is(err, unix.ESRCH) || errors.Is(err, unix.EINVAL) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("opening the bed's first process: %w", err)
	}
	defer unix.Close(descriptor)
	// Now the id cannot be given to another process; was it, before?
	if now, err := state.FindProcess(first.ID); err != nil || now != first {
		return nil
	}
	if err := unix.PidfdSendSignal(descriptor, unix.SIGKILL, nil, 0); err != nil && !errors.Is(err, unix.ESRCH) {
		return fmt.Errorf("ending the bed's first process: %w", err)
	}
	// Its last thread ends the others of the process namespace before it ends itself. The first thread is a zombie
	// earlier than that, so /proc would say too much.
	poll := []unix.PollFd{{Fd: int32(descriptor), Events: unix.POLLIN}}
	for deadline := time.Now().Add(patience); ; {
		left := time.Until(deadline)
		if left <= 0 {
			return fmt.Errorf("process %d does not end", first.ID)
		}
		ready, err := unix.Poll(poll, int(left.Milliseconds())+1)
		if ready == 1 {
			return nil
		}
		if err != nil && !errors.Is(err, unix.EINTR) {
			return fmt.Errorf("waiting for the bed's first process: %w", err)
		}
	}
}
