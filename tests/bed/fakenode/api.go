package fakenode

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"
)

// API is the API server as the fake kubelet needs it: JSON in and out, a connection for each request under way.
type API struct {
	server string
	client *http.Client
}

// requestLimit is generous: an API server that is being measured is busy.
const requestLimit = time.Minute

// NewAPI reads the administrator's certificate from the folder pki.
func NewAPI(server, pki string, connections int) (*API, error) {
	identity, err := tls.LoadX509KeyPair(pki+"/admin.crt", pki+"/admin.key")
	if err != nil {
		return nil, fmt.Errorf("reading the administrator's certificate: %w", err)
	}
	authority, err := os.ReadFile(pki + "/ca.crt")
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(authority)
	// Without HTTP/2, which would put all requests into one connection.
	return &API{server, &http.Client{Transport: &http.Transport{
		TLSClientConfig:     &tls.Config{Certificates: []tls.Certificate{identity}, RootCAs: roots},
		TLSNextProto:        map[string]func(string, *tls.Conn) http.RoundTripper{},
		MaxIdleConnsPerHost: connections,
	}}}, nil
}

// refusal is an answer that is no success.
type refusal struct {
	code int
	text string
}

func (refusal refusal) Error() string {
	return fmt.Sprintf("the API server answers %d: %.300s", refusal.code, refusal.text)
}

func (api *API) open(ctx context.Context, method, path, content string, body any) (io.ReadCloser, error) {
	var sent io.Reader
	if body != nil {
		encoded, err := json.Marshal(body)
		if err != nil {
			return nil, err
		}
		sent = bytes.NewReader(encoded)
	}
	request, err := http.NewRequestWithContext(ctx, method, api.server+path, sent)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", content)
	request.Header.Set("User-Agent", "fake-kubelet")
	response, err := api.client.Do(request)
	if err != nil {
		return nil, err
	}
	if response.StatusCode >= 300 {
		defer response.Body.Close()
		text, _ := io.ReadAll(io.LimitReader(response.Body, 1<<16))
		return nil, refusal{response.StatusCode, string(text)}
	}
	return response.Body, nil
}

// send does one request and forgets the answer's body.
func (api *API) send(ctx context.Context, method, path, content string, body any) error {
	ctx, cancel := context.WithTimeout(ctx, requestLimit)
	defer cancel()
	answer, err := api.open(ctx, method, path, content, body)
	if err != nil {
		return err
	}
	defer answer.Close()
	_, err = io.Copy(io.Discard, answer)
	return err
}

const (
	plainJSON  = "application/json"
	mergePatch = "application/merge-patch+json"
)

// follow lists all pods and then watches them; told is called for each, gone is true for one that is no more.
// It returns when the watch ends, as every watch does at some time; the next one begins with a list.
func (api *API) follow(ctx context.Context, listed func([]pod), told func(pod, bool)) error {
	var all []pod
	version, next := "", ""
	for {
		body, err := api.open(ctx, http.MethodGet, "/api/v1/pods?limit=500&continue="+next, plainJSON, nil)
		if err != nil {
			return err
		}
		var page struct {
			Metadata struct{ ResourceVersion, Continue string }
			Items    []pod
		}
		err = json.NewDecoder(body).Decode(&page)
		body.Close()
		if err != nil {
			return err
		}
		all = append(all, page.Items...)
		version, next = page.Metadata.ResourceVersion, page.Metadata.Continue
		if next == "" {
			break
		}
	}
	listed(all)
	body, err := api.open(ctx, http.MethodGet, "/api/v1/pods?watch=true&resourceVersion="+version, plainJSON, nil)
	if err != nil {
		return err
	}
	defer body.Close()
	events := json.NewDecoder(body)
	for {
		var event struct {
			Type   string
			Object json.RawMessage
		}
		if err := events.Decode(&event); err != nil {
			return err
		}
		if event.Type == "ERROR" {
			return fmt.Errorf("watching pods: %.300s", event.Object)
		}
		pod, err := read(event.Object)
		if err != nil {
			return fmt.Errorf("reading a pod: %w", err)
		}
		told(pod, event.Type == "DELETED")
	}
}
