// Command client is what the integration test runs in a pod: it looks the API server up by name and asks it who it is
// itself, with the pod's own token. It prints one line for each thing that works and ends with 1 at the first that
// does not.
package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"time"
)

const account = "/var/run/secrets/kubernetes.io/serviceaccount/"

func main() {
	if err := run(); err != nil {
		fmt.Println("FAILED:", err)
		os.Exit(1)
	}
}

func run() error {
	addresses, err := net.DefaultResolver.LookupHost(context.Background(), "kubernetes.default.svc")
	if err != nil {
		return err
	}
	fmt.Println("resolved", strings.Join(addresses, " "))

	token, err := os.ReadFile(account + "token")
	if err != nil {
		return err
	}
	authority, err := os.ReadFile(account + "ca.crt")
	if err != nil {
		return err
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(authority)
	client := &http.Client{
		Timeout:   10 * time.Second,
		Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}},
	}
	review := `{"apiVersion":"authentication.k8s.io/v1","kind":"SelfSubjectReview"}`
	for _, server := range []string{"https://kubernetes.default.svc", "https://" + os.Getenv("KUBERNETES_SERVICE_HOST")} {
		request, err := http.NewRequest(http.MethodPost, server+"/apis/authentication.k8s.io/v1/selfsubjectreviews", bytes.NewBufferString(review))
		if err != nil {
			return err
		}
		request.Header.Set("Authorization", "Bearer "+string(token))
		request.Header.Set("Content-Type", "application/json")
		response, err := client.Do(request)
		if err != nil {
			return err
		}
		body, err := io.ReadAll(response.Body)
		response.Body.Close()
		if err != nil {
			return err
		}
		if response.StatusCode != http.StatusCreated || !bytes.Contains(body, []byte("system:serviceaccount:default:default")) {
			return fmt.Errorf("%s answers %s: %s", server, response.Status, body)
		}
		fmt.Println("known to", server)
	}
	return nil
}
