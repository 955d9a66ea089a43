package state

import (
	"os"
	"os/exec"
	"testing"
	"time"
)

func TestProgramNamesCannotConfuseTheReaderOfStat(t *testing.T) {
	condition, birth, err := parseStat("12 (a) S 1 (b)) Z 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 4711 20 21")
	if err != nil || condition != "Z" || birth != "4711" {
		t.Errorf("read %q, %q, %v", condition, birth, err)
	}
	for _, stat := range []string{"", "12 a S", "12 (a) S 1 2"} {
		if _, _, err := parseStat(stat); err == nil {
			t.Errorf("%q is read", stat)
		}
	}
}

func TestProcessIsAliveUntilItEndsEvenUnburied(t *testing.T) {
	command := exec.Command("sleep", "60")
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	process, err := FindProcess(command.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	if !process.Alive() {
		t.Error("it is not alive")
	}
	if err := command.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(5 * time.Second); process.Alive(); {
		if time.Now().After(deadline) {
			t.Fatal("it stays alive") // nobody has waited for it yet
		}
	}
	_ = command.Wait()
	if process.Alive() {
		t.Error("it is alive again")
	}
}

func TestAnotherProcessWithTheSameIDIsNotTheOneThatWas(t *testing.T) {
	process, err := FindProcess(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	earlier, elsewhere := process, process
	earlier.Birth += "0"
	elsewhere.Boot = "another"
	if !process.Alive() || earlier.Alive() || elsewhere.Alive() {
		t.Error("identity is more than the id")
	}
}

func TestProcessIsFoundByAllOfItsArguments(t *testing.T) {
	command := exec.Command("sleep", "59.25")
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = command.Process.Kill()
		_ = command.Wait()
	}()
	// It is a copy of this process until it has become sleep.
	deadline := time.Now().Add(5 * time.Second)
	process, found, err := FindByArguments("59.25")
	for !found && err == nil && time.Now().Before(deadline) {
		process, found, err = FindByArguments("59.25")
	}
	if err != nil || process.ID != command.Process.Pid {
		t.Errorf("found %v (%v) instead of %d", process, err, command.Process.Pid)
	}
	if process, found, _ := FindByArguments("59.25", "more"); found {
		t.Errorf("found %v", process)
	}
}
