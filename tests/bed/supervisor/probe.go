package supervisor

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"coxswain.dev/bed/plan"
)

const (
	probeInterval = 50 * time.Millisecond
	probeTimeout  = 5 * time.Second
)

// prober asks what a plan's probes ask.
type prober struct{ api, local *http.Client }

// newProber reads the administrator's certificate.
func newProber(bed plan.Bed) (*prober, error) {
	identity, err := tls.LoadX509KeyPair(bed.Path("pki", "admin.crt"), bed.Path("pki", "admin.key"))
	if err != nil {
		return nil, fmt.Errorf("reading the administrator's certificate: %w", err)
	}
	authority, err := os.ReadFile(bed.Path("pki", "ca.crt"))
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(authority)
	client := func(config *tls.Config) *http.Client {
		return &http.Client{Timeout: probeTimeout, Transport: &http.Transport{TLSClientConfig: config}}
	}
	return &prober{
		api: client(&tls.Config{Certificates: []tls.Certificate{identity}, RootCAs: roots}),
		// Controllers make themselves a certificate that nobody signed; they are asked over loopback only.
		local: client(&tls.Config{InsecureSkipVerify: true}), //nolint:gosec
	}, nil
}

// wait asks until the answer is yes. When ctx ends first, the error holds the last answer.
func (prober *prober) wait(ctx context.Context, probe plan.Probe) error {
	for {
		err := prober.ask(ctx, probe)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(probeInterval):
		}
	}
}

func (prober *prober) ask(ctx context.Context, probe plan.Probe) error {
	if probe.Socket != "" {
		connection, err := net.DialTimeout("unix", probe.Socket, probeTimeout)
		if err != nil {
			return err
		}
		return connection.Close()
	}
	body, err := prober.fetch(ctx, probe.URL)
	if err != nil || probe.Node == "" {
		return err
	}
	return schedulable(body)
}

func (prober *prober) fetch(ctx context.Context, url string) ([]byte, error) {
	client := prober.local
	if strings.HasPrefix(url, plan.Server+"/") {
		client = prober.api
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	response, err := client.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, 1<<20))
	if err != nil {
		return nil, err
	}
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s answers %s: %.300s", url, response.Status, body)
	}
	return body, nil
}

// schedulable says what keeps pods off the node that body, a Node object, describes.
func schedulable(body []byte) error {
	var node struct {
		Spec struct {
			Taints []struct{ Key, Effect string }
		}
		Status struct {
			Conditions []struct{ Type, Status, Message string }
		}
	}
	if err := json.Unmarshal(body, &node); err != nil {
		return fmt.Errorf("reading the node: %w", err)
	}
	ready := false
	for _, condition := range node.Status.Conditions {
		if condition.Type == "Ready" {
			if condition.Status != "True" {
				return fmt.Errorf("the node is not Ready: %s", condition.Message)
			}
			ready = true
		}
	}
	if !ready {
		return fmt.Errorf("the node has no condition Ready")
	}
	for _, taint := range node.Spec.Taints {
		if taint.Effect != "PreferNoSchedule" {
			return fmt.Errorf("the node has the taint %s:%s", taint.Key, taint.Effect)
		}
	}
	return nil
}
