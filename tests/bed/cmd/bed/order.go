package main

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"

	"coxswain.dev/bed/plan"
)

// orderCommand gives a program of the bed an order, from inside. `kubelet`, `component` and `fault` alone run it.
const orderCommand = "order"

// obey hands an order over from inside the bed that is meant, if it is of a mode that knows it.
func obey(which selection, command string, arguments []string, knows func(plan.Mode) bool, needed ...plan.Mode) error {
	words := append([]string{command}, arguments...)
	if _, _, err := order(words); err != nil {
		return err
	}
	record, err := which.running()
	if err != nil {
		return err
	}
	if !knows(record.Bed.Mode) {
		return fmt.Errorf("%s: the bed %s is one of the kind %s, not of %q (`bed up KIND`)", command, record.Bed.Name, record.Bed.Mode, needed)
	}
	return inside(record, append([]string{record.Bed.Program("bed"), orderCommand}, words...))
}

// runKubelet talks with the fake kubelet of a bed that has one.
func runKubelet(which selection, arguments []string) error {
	return obey(which, "kubelet", arguments, plan.Mode.HasFakeNodes, plan.FakeNodes, plan.Mixed)
}

// runComponent treats a component of any bed.
func runComponent(which selection, arguments []string) error {
	return obey(which, "component", arguments, func(plan.Mode) bool { return true })
}

// runFault talks with the proxy between pods and the API server.
func runFault(which selection, arguments []string) error {
	return obey(which, "fault", arguments, func(mode plan.Mode) bool { return mode == plan.Mixed }, plan.Mixed)
}

// order is the request for what is asked.
func order(arguments []string) (method, address string, err error) {
	query := func(name, value string) string { return "?" + name + "=" + url.QueryEscape(value) }
	words := strings.Join(arguments[:min(2, len(arguments))], " ")
	switch {
	case len(arguments) == 2 && (words == "kubelet hold" || words == "kubelet release"):
		return http.MethodPost, plan.FakeKubelet + "/" + arguments[1], nil
	case len(arguments) == 3 && words == "kubelet end":
		return http.MethodPost, plan.FakeKubelet + "/end" + query("namespace", arguments[2]), nil
	case len(arguments) == 2 && words == "kubelet state":
		return http.MethodGet, plan.FakeKubelet + "/state", nil
	case len(arguments) == 3 && words == "kubelet state":
		return http.MethodGet, plan.FakeKubelet + "/state" + query("namespace", arguments[2]), nil
	case len(arguments) == 3 && (words == "component stop" || words == "component start" || words == "component freeze" || words == "component thaw"):
		return http.MethodPost, plan.Supervisor + "/" + arguments[1] + query("component", arguments[2]), nil
	case len(arguments) == 2 && words == "fault none":
		return http.MethodPost, plan.FaultProxy + "/fault", nil
	case len(arguments) == 2 && words == "fault state":
		return http.MethodGet, plan.FaultProxy + "/fault", nil
	case len(arguments) > 1 && arguments[0] == "fault" && strings.Contains(arguments[1], "="):
		return http.MethodPost, plan.FaultProxy + "/fault?" + strings.Join(arguments[1:], "&"), nil
	}
	return "", "", fmt.Errorf("%q: no such order; `bed help` lists them", arguments)
}

func runOrder(_ selection, arguments []string) error {
	method, address, err := order(arguments)
	if err != nil {
		return err
	}
	request, err := http.NewRequest(method, "http://"+address, nil)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode >= http.StatusMultipleChoices {
		said, _ := io.ReadAll(response.Body)
		return fmt.Errorf("%s", strings.TrimSpace(string(said)))
	}
	_, err = io.Copy(os.Stdout, response.Body)
	return err
}
