package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"

	"coxswain.dev/bed/fakenode"
	"coxswain.dev/bed/plan"
	"coxswain.dev/bed/state"
)

// runFakeKubelet is a component of a bed with fake nodes.
func runFakeKubelet(_ selection, arguments []string) error {
	record, err := ownRecord(plan.FakeKubeletCommand, arguments)
	if err != nil {
		return err
	}
	api, err := fakenode.NewAPI(plan.Server, record.Bed.Path("pki"), fakenode.Hands)
	if err != nil {
		return err
	}
	scheduler := fakenode.OfAll
	switch {
	case record.Bed.Mode == plan.Mixed:
		scheduler = fakenode.Named(plan.FakeScheduler)
	case record.Bed.Scheduler:
		scheduler = fakenode.Another
	}
	kubelet := fakenode.New(api, scheduler, record.Bed.Shape)
	listener, err := net.Listen("tcp", plan.FakeKubelet)
	if err != nil {
		return err
	}
	failed := make(chan error, 2)
	go func() { failed <- kubelet.Run(context.Background()) }()
	go func() { failed <- http.Serve(listener, kubelet.Control()) }()
	return errors.Join(errors.New("the fake kubelet has ended"), <-failed)
}

// ownRecord is the record of the bed that a component of our own was started in.
func ownRecord(command string, arguments []string) (state.Record, error) {
	log.SetFlags(log.Ldate | log.Ltime | log.Lmicroseconds)
	if len(arguments) != 1 {
		return state.Record{}, fmt.Errorf("%s is started by `bed up` alone", command)
	}
	record, found, err := state.ReadRecord(arguments[0])
	if err != nil || !found {
		return state.Record{}, fmt.Errorf("reading the bed in %s (found: %t): %w", arguments[0], found, err)
	}
	return record, nil
}
