package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/url"
	"os"

	"coxswain.dev/bed/fakenode"
	"coxswain.dev/bed/plan"
	"coxswain.dev/bed/state"
)

// orderCommand gives the fake kubelet an order, from inside. `kubelet` alone runs it.
const orderCommand = "order"

// runKubelet talks with the fake kubelet of a bed that has one.
func runKubelet(which selection, arguments []string) error {
	if _, _, err := order(arguments); err != nil {
		return err
	}
	record, err := which.running()
	if err != nil {
		return err
	}
	if record.Bed.Mode != plan.FakeNodes {
		return fmt.Errorf("kubelet: the bed %s has no fake nodes: `bed up %s` starts one", record.Bed.Name, plan.FakeNodes)
	}
	return inside(record, append([]string{record.Bed.Program("bed"), orderCommand}, arguments...))
}

// order is the request for what is asked.
func order(arguments []string) (method, path string, err error) {
	words := len(arguments)
	switch {
	case words == 1 && (arguments[0] == "hold" || arguments[0] == "release"):
		return http.MethodPost, "/" + arguments[0], nil
	case words == 2 && arguments[0] == "end":
		return http.MethodPost, "/end?namespace=" + url.QueryEscape(arguments[1]), nil
	case words == 1 && arguments[0] == "state":
		return http.MethodGet, "/state", nil
	case words == 2 && arguments[0] == "state":
		return http.MethodGet, "/state?namespace=" + url.QueryEscape(arguments[1]), nil
	}
	return "", "", fmt.Errorf("kubelet: %q: state [NAMESPACE], hold, release or end NAMESPACE", arguments)
}

func runOrder(_ selection, arguments []string) error {
	method, path, err := order(arguments)
	if err != nil {
		return err
	}
	request, err := http.NewRequest(method, "http://"+plan.FakeKubelet+path, nil)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	_, err = io.Copy(os.Stdout, response.Body)
	return err
}

// runFakeKubelet is a component of a bed with fake nodes.
func runFakeKubelet(_ selection, arguments []string) error {
	log.SetFlags(log.Ldate | log.Ltime | log.Lmicroseconds)
	if len(arguments) != 1 {
		return fmt.Errorf("%s is started by `bed up %s` alone", plan.FakeKubeletCommand, plan.FakeNodes)
	}
	record, found, err := state.ReadRecord(arguments[0])
	if err != nil || !found {
		return fmt.Errorf("reading the bed in %s (found: %t): %w", arguments[0], found, err)
	}
	api, err := fakenode.NewAPI(plan.Server, record.Bed.Path("pki"), fakenode.Hands)
	if err != nil {
		return err
	}
	kubelet := fakenode.New(api)
	listener, err := net.Listen("tcp", plan.FakeKubelet)
	if err != nil {
		return err
	}
	failed := make(chan error, 2)
	go func() { failed <- kubelet.Run(context.Background()) }()
	go func() { failed <- http.Serve(listener, kubelet.Control()) }()
	return errors.Join(errors.New("the fake kubelet has ended"), <-failed)
}
