package main

import (
	"fmt"
	"log"

	"coxswain.dev/bed/box"
	"coxswain.dev/bed/state"
	"coxswain.dev/bed/supervisor"
)

// firstCommand is what the first process inside is called with, and its state folder. Nobody else uses it.
const firstCommand = "first-process"

func runFirst(_ selection, arguments []string) error {
	log.SetFlags(log.Ldate | log.Ltime | log.Lmicroseconds)
	if len(arguments) != 1 {
		return fmt.Errorf("%s is started by `bed up` alone", firstCommand)
	}
	if err := box.Gate(); err != nil {
		return err
	}
	record, found, err := state.ReadRecord(arguments[0])
	if err != nil || !found {
		return fmt.Errorf("reading what to start in %s (found: %t): %w", arguments[0], found, err)
	}
	return supervisor.Run(record.Bed, environment(record.Bed))
}
