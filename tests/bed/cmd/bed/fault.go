package main

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"coxswain.dev/bed/faults"
	"coxswain.dev/bed/plan"
)

// runFaultProxy is a component of a Mixed bed.
func runFaultProxy(_ selection, arguments []string) error {
	record, err := ownRecord(plan.FaultProxyCommand, arguments)
	if err != nil {
		return err
	}
	proxy, config, err := faults.New(plan.Server, record.Bed.Path("pki"))
	if err != nil {
		return err
	}
	pods, err := net.Listen("tcp", plan.NodeAddress+":"+strconv.Itoa(plan.FaultProxyPort))
	if err != nil {
		return err
	}
	orders, err := net.Listen("tcp", plan.FaultProxy)
	if err != nil {
		return err
	}
	if err := divert(); err != nil {
		return err
	}
	failed := make(chan error, 2)
	go func() { failed <- proxy.Serve(pods, config) }()
	go func() { failed <- http.Serve(orders, proxy.Control()) }()
	return errors.Join(errors.New("the proxy between pods and API server has ended"), <-failed)
}

const (
	lookAgain = 50 * time.Millisecond
	lookLimit = 2 * time.Minute
)

// divert leads what pods send to the Service of the API server to the proxy, before kube-proxy's own rules see it: these
// come first in the table when they are made, which is some time after kube-proxy calls itself alive.
func divert() error {
	for began := time.Now(); ; time.Sleep(lookAgain) {
		rules, err := exec.Command("iptables", "--wait", "--table", "nat", "--list-rules", "PREROUTING").CombinedOutput()
		if err != nil {
			return fmt.Errorf("iptables: %w: %s", err, rules)
		}
		if strings.Contains(string(rules), "KUBE-SERVICES") {
			break
		}
		if time.Since(began) > lookLimit {
			return fmt.Errorf("kube-proxy has made no rules within %s", lookLimit)
		}
	}
	arguments := []string{
		"--wait", "--table", "nat", "--insert", "PREROUTING",
		"--source", plan.PodRange, "--destination", plan.ServiceAddress, "--protocol", "tcp", "--dport", "443",
		"--jump", "DNAT", "--to-destination", plan.NodeAddress + ":" + strconv.Itoa(plan.FaultProxyPort),
	}
	if said, err := exec.Command("iptables", arguments...).CombinedOutput(); err != nil {
		return fmt.Errorf("iptables: %w: %s", err, said)
	}
	return nil
}
